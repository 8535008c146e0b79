"""Inferences back to back in QEMU at every pipeline depth: each output byte, no guest error."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from nvdla_execution import Target

from fwgen.accel import family
from fwgen.model import load_model
from fwgen.resources import resource_dir

pytestmark = pytest.mark.qemu

ROOT = Path(__file__).resolve().parents[2]
RUNS = 7


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "pipeline_benchmark", ROOT / "benchmarks" / "pipeline.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def digits(bench: ModuleType, folder: Path) -> Any:
    """The example network; what it makes of two inputs comes from the NumPy reference."""
    model = resource_dir("examples") / "digits" / "digits.nvdla"
    program = family("nvdla").lower(load_model(model), "nv_small")
    rng = random.Random(3)
    inputs = [bytes(rng.choices(range(128), k=program.inputs()[0].size)) for _ in range(2)]
    outputs = [Target(program).run([data])[0][: program.outputs()[0].size] for data in inputs]
    return bench.Workload("digits", model, tuple(inputs), tuple(outputs))


WORKS: dict[str, Callable[[ModuleType, Path], Any]] = {
    "digits": digits,
    "chain": lambda bench, folder: bench.deep_chain(folder, 5),
    "branches": lambda bench, folder: bench.branches(folder, 3),
}


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("name", WORKS)
def test_back_to_back(bench: ModuleType, tmp_path: Path, name: str, depth: int) -> None:
    work = WORKS[name](bench, tmp_path)
    result = bench.measure(work, depth, tmp_path, runs=RUNS, test_build=True, check=True)
    assert (result.wrong, result.failed, result.guest_errors) == (0, 0, ())


def test_depth_1_in_an_image_of_depth_4(bench: ModuleType, tmp_path: Path) -> None:
    work = WORKS["chain"](bench, tmp_path)
    result = bench.measure(work, 1, tmp_path, built=4, runs=RUNS)
    assert (result.wrong, result.failed, result.guest_errors) == (0, 0, ())


def test_one_bank_for_both_jobs(bench: ModuleType, tmp_path: Path) -> None:
    work = WORKS["branches"](bench, tmp_path)
    result = bench.measure(work, 4, tmp_path, runs=RUNS, shared=True)
    assert (result.wrong, result.failed, result.guest_errors) == (0, 0, ())


@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("name", ["lenet5.nv_small.int8.nhwc", "lenet5_softmax.nv_small.int8.nhwc"])
def test_lenet(bench: ModuleType, testdata: Path, tmp_path: Path, name: str, depth: int) -> None:
    work = bench.lenet(testdata, "lenet", name)
    result = bench.measure(work, depth, tmp_path, runs=5)
    assert (result.wrong, result.failed, result.guest_errors) == (0, 0, ())


def test_pipelining_gains(bench: ModuleType, tmp_path: Path) -> None:
    """Cycles an inference, with margins: a chain gains by depth 2, branches by depth 4."""
    found = {}
    for name in ("chain", "branches"):
        work = WORKS[name](bench, tmp_path)
        for depth in (1, 2, 4):
            found[name, depth] = bench.measure(work, depth, tmp_path / name, runs=8).cycles
    assert found["chain", 2] < 0.95 * found["chain", 1]
    assert found["chain", 4] < found["chain", 2]
    assert found["branches", 2] < found["branches", 1]
    assert found["branches", 4] < 0.8 * found["branches", 2]


@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("fault", ["irq-lost", "stuck-busy", "irq-late", "irq-twice"])
def test_faults_do_not_reach_the_next_inference(
    bench: ModuleType, tmp_path: Path, depth: int, fault: str
) -> None:
    work = WORKS["branches"](bench, tmp_path)
    failures = 0
    for strike in (0, 3, 11, 25, 34, 40):
        spec = f"{fault}:{strike}" + (":3000" if fault == "irq-late" else "")
        result = bench.measure(work, depth, tmp_path, runs=6, faults=[spec])
        # the inference that failed, and none that is reported right and is wrong
        assert result.failed <= 1 and result.wrong <= result.failed, spec
        assert result.guest_errors == ()
        failures += result.failed
    if fault in ("irq-lost", "stuck-busy"):
        assert failures > 0
    else:
        assert failures == 0
