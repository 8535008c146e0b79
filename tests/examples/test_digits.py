"""The digits example: the stored results, their reproduction, the reference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from nvdla_execution import Target

from fwgen.accel import family
from fwgen.model.nvdla.model import read_model
from fwgen.model.nvdla.packing import pack_feature, unpack_feature

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
FILES = ("digits.npz", "tests.npz", "digits.nvdla")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The example's modules; it is a folder of scripts, not a package."""
    monkeypatch.syspath_prepend(str(DIGITS))
    import loadable
    import network
    import reference

    return {"network": network, "reference": reference, "loadable": loadable}


def test_accuracy_of_the_stored_network(example: dict[str, ModuleType]) -> None:
    layers = example["network"].load_layers()
    images, labels = example["network"].load_tests()
    assert len(images) >= 100
    scores = [example["reference"].infer(image, layers) for image in images]
    hits = sum(int(s.argmax()) == int(n) for s, n in zip(scores, labels, strict=True))
    assert hits / len(labels) >= 0.97
    # Every digit occurs, and the outputs are no constant.
    assert set(labels.tolist()) == set(range(10))
    assert len({s.tobytes() for s in scores}) == len(scores)


def test_reference_against_plain_loops(example: dict[str, ModuleType]) -> None:
    """One layer computed with Python integers only."""
    layer = example["network"].load_layers()[1]
    rng = np.random.default_rng(3)
    image = rng.integers(-128, 128, (16, 4, 4)).astype(np.int8)
    got = example["reference"].convolve(image, layer)
    for k, y, x in ((0, 0, 0), (5, 1, 2), (31, 3, 3), (17, 2, 0)):
        total = int(layer.bias[k]) << layer.bias_shift
        for c in range(16):
            for r in range(3):
                for s in range(3):
                    row, column = y + r - 1, x + s - 1
                    if 0 <= row < 4 and 0 <= column < 4:
                        total += int(image[c, row, column]) * int(layer.weights[k, c, r, s])
        product = max(total, 0) * layer.scale
        quotient, rest = divmod(abs(product), 2**layer.shift)
        rounded = quotient + (2 * rest >= 2**layer.shift)
        expected = max(-128, min(127, rounded if product >= 0 else -rounded))
        assert got[k, y, x] == expected


@pytest.mark.parametrize(
    ("value", "shift", "expected"), [(3, 1, 2), (-3, 1, -2), (5, 2, 1), (6, 2, 2), (7, 0, 7)]
)
def test_rounding_is_to_nearest_ties_away(
    example: dict[str, ModuleType], value: int, shift: int, expected: int
) -> None:
    assert example["reference"].shift_right(np.array([value]), shift)[0] == expected


def test_the_file_is_what_the_script_writes(example: dict[str, ModuleType]) -> None:
    layers = example["network"].load_layers()
    assert example["loadable"].digits_loadable(layers) == (DIGITS / "digits.nvdla").read_bytes()


def test_the_file_on_the_reference_accelerator(example: dict[str, ModuleType]) -> None:
    """Reader and lowering against the example's own arithmetic, without firmware."""
    model = read_model((DIGITS / "digits.nvdla").read_bytes(), "digits.nvdla", "digits")
    target = Target(family("nvdla").lower(model, "nv_small"))
    layers = example["network"].load_layers()
    images, _ = example["network"].load_tests()
    for image in images[:3]:
        (out,) = target.run([pack_feature(image, 8)])
        expected = example["reference"].infer(image, layers)
        assert unpack_feature(out, (10, 1, 1), 8).reshape(-1).tolist() == expected.tolist()


def test_results_are_small() -> None:
    assert sum((DIGITS / name).stat().st_size for name in FILES) < 200_000


@pytest.mark.slow
def test_training_gives_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="training needs scikit-learn")
    command = [sys.executable, DIGITS / "train.py", "--output", tmp_path]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (DIGITS / name).read_bytes(), name
