"""The target's interface under C applications in QEMU: codes, asserts, order, engines, soak.

The applications in apps/ check themselves and print a line for each check. Expected
bytes come from the integer reference of the digits example, which shares no code with
fwgen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from nbg_cases import nbg_cases

from fwgen.board.profile import load_board
from fwgen.build.application import Application
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.errors import TaskError
from fwgen.machine.from_board import machine_config
from fwgen.machine.session import QemuSession
from fwgen.machine.transport import LineClosed
from fwgen.pipeline import build_models

pytestmark = pytest.mark.qemu

APPS = Path(__file__).parent / "apps"
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
CASES = 8
SOAK = int(os.environ.get("FWGEN_SOAK", "500"))
"""Inferences of the soak; 10000 for the long one."""

Play = Callable[..., str]


@pytest.fixture(scope="module")
def cases() -> str:
    """cases.h: images as the accelerator wants them, and the right scores."""
    code = (
        "import sys, numpy as np, network, reference;"
        f"images = network.load_tests()[0][:{CASES}]; layers = network.load_layers();"
        "out = np.stack([np.asarray(reference.infer(i, layers)).reshape(10) for i in images]);"
        "sys.stdout.buffer.write(out.astype(np.int8).tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=DIGITS, capture_output=True, check=True)
    scores = [done.stdout[i : i + 10] + bytes(6) for i in range(0, 10 * CASES, 10)]
    assert len(set(scores)) == CASES
    with np.load(DIGITS / "tests.npz") as stored:
        pictures = stored["images"][:CASES]
    images = []
    for picture in pictures:
        cube = np.zeros((8, 8, 8), np.int8)  # one channel in blocks of eight
        cube[..., 0] = picture.reshape(8, 8)
        images.append(cube.tobytes())

    return cases_text(images, scores)


def cases_text(images: Sequence[bytes], scores: Sequence[bytes]) -> str:
    """cases.h of these inputs and outputs."""

    def rows(name: str, items: Sequence[bytes]) -> str:
        body = ",\n".join("{" + ", ".join(map(str, item)) + "}" for item in items)
        align = "__attribute__((aligned(4), unused))"
        return f"static const uint8_t {name}[CASES][{len(items[0])}] {align} = {{\n{body}\n}};\n"

    return (
        f"#include <stdint.h>\n#define CASES {len(images)}u\n"
        + rows("images", images)
        + rows("scores", scores)
    )


@pytest.fixture
def play(tmp_path: Path, cases: str) -> Play:
    """Builds an application with the digits model and runs it to "app: end": its text."""

    def run(
        name: str,
        *,
        board: str = "mps2-an385",
        models: int = 1,
        model: Path = DIGITS / "digits.nvdla",
        data: str = cases,
        end: str = "app: end",
        faults: Sequence[str] = (),
        defines: Sequence[str] = (),
        limit: float = 120.0,
        **options: object,
    ) -> str:
        for file in (APPS / f"{name}.c", APPS / "app.h"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
        (tmp_path / "cases.h").write_text(data)
        profile = load_board(board)
        app = Application.of(tmp_path / f"{name}.c", defines=defines)
        folder = tmp_path / "build"
        settings = BuildOptions(app=app, jobs=1, **options)  # type: ignore[arg-type]
        build_models([model] * models, profile, folder, settings)
        machine = machine_config(profile, faults={"dla0": list(faults)} if faults else None)
        lines: list[str] = []
        with QemuSession(
            folder / "firmware.elf", machine, limit=limit, echo=lines.append
        ) as session:
            deadline = time.monotonic() + limit

            def collect() -> None:
                while not any(end in line for line in lines):
                    assert time.monotonic() < deadline, "\n".join(lines)
                    session.link.drain(0.2)

            session.guard(collect)
            session.update_events()
            assert [e.message for e in session.guest_errors] == []
        return "\n".join(lines)

    return run


def all_good(text: str, *names: str) -> None:
    assert "BAD" not in text and "fails" not in text, text
    found = re.findall(r"app: (\w+) good", text)
    assert found == list(names), text


def test_bad_input_has_its_codes_and_corrupts_nothing(play: Play) -> None:
    text = play("codes", queue_length=3)
    all_good(
        text, "buffers", "arguments", "fences", "events", "interrupts", "queue_full",
        "timeout_zero", "busy_slot",
    )  # fmt: skip


@pytest.mark.parametrize("mistake", range(7))
def test_misuse_asserts_in_test_builds(play: Play, mistake: int) -> None:
    with pytest.raises((TaskError, LineClosed)) as caught:
        play("misuse", kind=BuildKind.TEST, defines=[f"MISUSE={mistake}"], end="app: went on")
    text = str(caught.value)
    assert "kind=assert" in text and "task=client" in text
    assert re.search(r"file=(accel|models|task|fence|nvdla_api)\.c", text)


def test_conditions_of_the_run_time_do_not_assert(play: Play) -> None:
    text = play("misuse", kind=BuildKind.TEST, defines=["MISUSE=7"], end="app: went on")
    assert "app: now" in text


def test_priorities_and_turns(play: Play) -> None:
    all_good(play("order", queue_length=16), "turns", "priorities", "mixed")


@pytest.mark.parametrize("board", ["mps2-an385-cpu", "mps3-an547-cpu"])
def test_the_cpu_in_the_place_of_hardware(play: Play, board: str) -> None:
    all_good(play("on_cpu", board=board, limit=60.0), "results", "deadline", "cancelling")


def test_one_application_serves_every_accelerator(play: Play, testdata: Path) -> None:
    """The digits on NVDLA; LeNet-5 on the NPUs of an i.MX 8M Plus and an RV1126."""
    all_good(play("same"), "results")
    for board, name, version in (
        ("imx8mp-m7", "net_lenet_9F", 0x80008002),
        ("rv1126", "net_lenet", 0x80008003),
    ):
        graphs = {case.name: case for case in nbg_cases(testdata)}
        if name not in graphs:
            pytest.skip("reference data has no network binary graphs")
        data = cases_text(graphs[name].tensors("in"), graphs[name].tensors("out"))
        text = play("same", board=board, model=graphs[name].path, data=data)
        all_good(text, "results")
        assert f"app: version {version}" in text


def test_two_engines(play: Play) -> None:
    text = play("dual", board="mps3-an547-dual", models=2)
    all_good(text, "interrupts", "at_once", "cascade", "handles")


@pytest.mark.parametrize(
    ("depth", "faults"),
    [
        (1, ["irq-lost:p=1/50:seed=11"]),
        (4, ["irq-lost:p=1/50:seed=12"]),
        (1, ["irq-lost:p=1/200", "irq-twice:p=1/20:seed=2", "irq-late:p=1/20:seed=3:30000"]),
    ],
)
def test_lost_interrupts_never_make_a_wrong_result(
    play: Play, depth: int, faults: list[str]
) -> None:
    text = play(
        "soak",
        faults=faults,
        defines=[f"INFERENCES={SOAK}u"],
        timeout_ms=5,
        pipeline_depth=depth,
        limit=120.0 + SOAK / 10,
    )
    counts = {k: int(v) for k, v in re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE)}
    print(counts)
    assert counts["wrong"] == counts["strange"] == 0, text
    assert counts["right"] + counts["failed"] == SOAK // 4 * 4
    assert counts["failed"] > SOAK // 100
    assert counts["least"] > SOAK // 5
    assert counts["inferences"] == counts["right"]
    assert counts["resets"] > 0


@pytest.mark.parametrize("depth", [1, 4])
def test_races_end_with_their_codes(play: Play, depth: int) -> None:
    all_good(
        play("hostile", pipeline_depth=depth),
        "latch", "closing", "destroying", "failures", "waiting", "streaming", "cancelling",
        "ahead", "storm",
    )  # fmt: skip
