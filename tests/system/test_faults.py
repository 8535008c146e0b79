"""The hardware misbehaves: the firmware says so in time, and computes right afterwards.

The digits model runs an odd number of operations on the convolution core and on SDP
(three) and an even number on PDP (two), so register groups that are not put right
after a failed inference show in the next one. Expected bytes are those of the
example's NumPy reference, another image for each inference.

What NVDLA cannot notice (a failed memory access has no error bit, a flipped bit
anyway) no driver can report: the emulator's guest error and the comparison do.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.cli.main import run
from fwgen.machine.frames import Status
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Target
from fwgen.machine.link import NO_OPERATION, LinkError, StatusInfo
from fwgen.machine.session import QemuSession
from fwgen.pipeline import build_model

pytestmark = pytest.mark.qemu

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
OPERATIONS = 8  # of one inference: CONV SDP PDP, CONV SDP PDP, CONV SDP
IMAGES = 4
LIMIT_MS = 50
LATE = 25_000_000  # cycles; one second on the MPS2

Build = Callable[..., tuple[Path, Board]]


@dataclass(frozen=True)
class Case:
    """Inputs and the bytes of the output, by number of the image."""

    images: list[bytes]
    scores: list[bytes]


@pytest.fixture(scope="module")
def case() -> Case:
    code = (
        "import sys, numpy as np, network, reference;"
        f"images = network.load_tests()[0][:{IMAGES}]; layers = network.load_layers();"
        "out = np.stack([np.asarray(reference.infer(i, layers)).reshape(10) for i in images]);"
        "sys.stdout.buffer.write(out.astype(np.int8).tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=DIGITS, capture_output=True, check=True)
    scores = [done.stdout[i : i + 10] + bytes(6) for i in range(0, 10 * IMAGES, 10)]
    with np.load(DIGITS / "tests.npz") as stored:
        pictures = stored["images"][:IMAGES]
    images = []
    for picture in pictures:
        # One channel in blocks of eight.
        cube = np.zeros((8, 8, 8), np.int8)
        cube[..., 0] = picture.reshape(8, 8)
        images.append(cube.tobytes())
    assert len(set(scores)) == IMAGES
    return Case(images, scores)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    built: dict[tuple[str, bool], tuple[Path, Board]] = {}

    def make(name: str = "mps2-an385", *, reset: bool = True) -> tuple[Path, Board]:
        if (name, reset) not in built:
            board = load_board(name)
            if not reset:
                accelerators = tuple(
                    replace(item, reset_register=None) for item in board.accelerators
                )
                board = replace(board, accelerators=accelerators)
            folder = tmp_path_factory.mktemp("faults") / "build"
            build_model(DIGITS / "digits.nvdla", board, folder, BuildOptions(jobs=1))
            built[name, reset] = folder, board
        return built[name, reset]

    return make


@dataclass(frozen=True)
class Outcome:
    """Of one boot.

    Attributes:
        results: status of each inference on the link.
        right: whether its bytes were the expected ones; False where it failed.
        operations: the operation that a failed inference names.
        status: the runtime's counters at the end.
        milliseconds: guest time from the first register write of each failed inference
            to the recovery of the engine.
    """

    results: list[int]
    right: list[bool]
    operations: list[int | None]
    status: StatusInfo
    milliseconds: list[float]


def times_to_recovery(trace: Path) -> list[float]:
    """Milliseconds from the program's first write to the driver's look at the version."""
    begin = None
    times = []
    lines = [line.split() for line in trace.read_text().splitlines()]
    for fields in lines:
        time, name = int(fields[0]), fields[-1]
        if begin is None and name.endswith("S_POINTER") and fields[2] == "W":
            begin = time
        elif begin is not None and name == "GLB.S_NVDLA_HW_VERSION":
            times.append((time - begin) / 1e6)
            begin = None
        elif name == "GLB.S_INTR_MASK" and fields[2] == "W" and fields[4] != "0xffffffff":
            begin = None  # the next inference is prepared: this one went well
    return times


def boot(
    place: tuple[Path, Board],
    case: Case,
    faults: Sequence[str],
    *,
    icount: bool = True,
    timeout_ms: int = LIMIT_MS,
) -> Outcome:
    folder, board = place
    machine = machine_config(
        board, icount=icount, faults={board.accelerators[0].name: list(faults)}
    )
    results, right, operations = [], [], []
    trace = folder.parent / "trace.txt"
    with QemuSession(folder / "firmware.elf", machine, limit=60, trace=trace) as session:
        target = Target(session)
        link = session.link
        for image, scores in zip(case.images, case.scores, strict=True):
            link.write_tensor(target.inputs[0], image)
            link.fill_tensor(target.outputs[0], 0xA5)
            before = link.status()
            try:
                link.run(timeout_ms=timeout_ms)
            except LinkError as error:
                results.append(int(error.status))
                right.append(False)
                number = int.from_bytes(error.payload[:4], "little")
                operations.append(number if number != NO_OPERATION else None)
            else:
                results.append(0)
                right.append(link.read_tensor(target.outputs[0]) == scores)
                operations.append(None)
            # The other tasks run on: the link answers, and time goes on.
            after = link.status()
            assert after.uptime_ticks >= before.uptime_ticks
            assert after.inferences + after.errors == len(results)
            assert after.errors == sum(result != 0 for result in results)
            assert after.tick_hz == 1000
            if results[-1] != 0:
                assert after.last_status == results[-1]
                assert after.last_failed_operation == operations[-1]
        status = link.status()
        names = {task.name for task in link.tasks()}
        assert board.accelerators[0].name in names
    return Outcome(results, right, operations, status, times_to_recovery(trace))


def check_one_failure(outcome: Outcome, operation: int) -> None:
    """The first inference timed out in time; every other one has the right bytes."""
    assert outcome.results == [Status.TIMEOUT, 0, 0, 0]
    assert outcome.right == [False, True, True, True]
    assert outcome.operations[0] is not None
    # A wait follows the operations it waits for: the one named started last.
    assert operation <= outcome.operations[0] <= operation + 1
    (milliseconds,) = outcome.milliseconds
    # The tick in which it starts is not counted; recovery may wait a tick.
    assert LIMIT_MS - 1 <= milliseconds <= LIMIT_MS + 3
    assert outcome.status.resets == 1
    assert outcome.status.errors == 1


@pytest.mark.parametrize("operation", range(OPERATIONS))
def test_lost_interrupt(build: Build, case: Case, operation: int) -> None:
    check_one_failure(boot(build(), case, [f"irq-lost:{operation}"]), operation)


@pytest.mark.parametrize("operation", range(OPERATIONS))
def test_stuck_engine(build: Build, case: Case, operation: int) -> None:
    check_one_failure(boot(build(), case, [f"stuck-busy:{operation}"]), operation)


@pytest.mark.parametrize("operation", range(OPERATIONS))
def test_interrupt_after_the_limit(build: Build, case: Case, operation: int) -> None:
    """It would come in the middle of a later inference; the reset takes it along."""
    check_one_failure(boot(build(), case, [f"irq-late:{operation}:{LATE}"]), operation)


@pytest.mark.parametrize("kind", ["irq-lost:0", "stuck-busy:4", f"irq-late:7:{2 * LATE}"])
def test_on_another_machine(build: Build, case: Case, kind: str) -> None:
    outcome = boot(build("mps3-an547"), case, [kind])
    check_one_failure(outcome, int(kind.split(":")[1]))


@pytest.mark.parametrize("kind", ["irq-lost:3", "stuck-busy:3"])
def test_while_a_thread_computes(build: Build, case: Case, kind: str) -> None:
    """Virtual time follows the wall clock here, so only what happened is compared."""
    outcome = boot(build(), case, [kind], icount=False, timeout_ms=1500)
    assert outcome.results == [Status.TIMEOUT, 0, 0, 0]
    assert outcome.right == [False, True, True, True]


def test_one_failure_after_the_other(build: Build, case: Case) -> None:
    """Faults count completed operations: lost ones did complete, stuck ones did not."""
    outcome = boot(build(), case, ["irq-lost:1", "stuck-busy:3", "irq-lost:6"])
    assert outcome.results == [Status.TIMEOUT] * 3 + [0]
    assert outcome.right == [False] * 3 + [True]
    assert outcome.status.resets == 3


@pytest.mark.parametrize("kind", ["irq-lost:*", "stuck-busy:*"])
def test_hardware_that_never_works(build: Build, case: Case, kind: str) -> None:
    outcome = boot(build(), case, [kind])
    assert outcome.results == [Status.TIMEOUT] * IMAGES
    assert len(outcome.milliseconds) == IMAGES
    assert all(LIMIT_MS - 1 <= time <= LIMIT_MS + 3 for time in outcome.milliseconds)


HARMLESS = [
    *(f"irq-twice:{n}" for n in range(OPERATIONS)),
    "irq-twice:*",
    *(f"irq-spurious:{n}" for n in (0, 2, 5)),
    "irq-spurious:*",
    *(f"irq-late:{n}:{cycles}" for n in (0, 1, 2, 7) for cycles in (1, 3000, 200_000)),
    "irq-late:*:3000",
]


@pytest.mark.parametrize("kind", HARMLESS)
def test_what_does_no_harm(build: Build, case: Case, kind: str) -> None:
    outcome = boot(build(), case, [kind])
    assert outcome.results == [0] * IMAGES
    assert outcome.right == [True] * IMAGES
    assert outcome.status.resets == 0
    if kind == "irq-spurious:*":
        assert outcome.status.spurious_interrupts > 0


@pytest.mark.parametrize("operation", [0, 2, 4, 7])
def test_failed_memory_access(build: Build, case: Case, operation: int) -> None:
    outcome = boot(build(), case, [f"dma-error:{operation}"])
    # The units report completion; the output of one of them was not written.
    assert outcome.results == [0] * IMAGES
    assert outcome.right[1:] == [True] * (IMAGES - 1)
    assert not outcome.right[0]


def test_flipped_bit(build: Build, case: Case) -> None:
    outcome = boot(build(), case, ["bit-flip:7:8"])
    assert outcome.results == [0] * IMAGES
    assert outcome.right == [False, True, True, True]


@pytest.mark.parametrize("operation", range(OPERATIONS))
def test_lost_interrupt_without_a_reset(build: Build, case: Case, operation: int) -> None:
    """The groups follow from the hardware's own pointers."""
    outcome = boot(build(reset=False), case, [f"irq-lost:{operation}"])
    check_one_failure(outcome, operation)


def test_stuck_engine_without_a_reset(build: Build, case: Case) -> None:
    """Nothing can be done: each inference says so, and the rest of the system runs."""
    outcome = boot(build(reset=False), case, ["stuck-busy:4"])
    assert outcome.results == [Status.DEVICE] * IMAGES


# ---- fwgen run ----


@pytest.fixture
def files(case: Case, tmp_path: Path) -> list[str]:
    (tmp_path / "image.bin").write_bytes(case.images[0])
    (tmp_path / "scores.bin").write_bytes(case.scores[0])
    return [
        *("--input", f"image={tmp_path / 'image.bin'}"),
        *("--expect", f"scores={tmp_path / 'scores.bin'}"),
    ]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("irq-lost:0", "did not raise its interrupt in time, in operation 1"),
        ("irq-lost:*", "did not raise its interrupt in time, in operation 1"),
        ("stuck-busy:2", "did not raise its interrupt in time, in operation 2"),
        (f"irq-late:7:{LATE}", "did not raise its interrupt in time, in operation 7"),
    ],
)
def test_run_names_the_operation(
    build: Build,
    files: list[str],
    fault: str,
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = str(build()[0])
    arguments = ["run", folder, *files, "--fault", fault, "--timeout-ms", str(LIMIT_MS)]
    assert run(arguments) == 5
    captured = capsys.readouterr()
    assert words in captured.err and captured.out == ""
    assert run([*arguments, "--json"]) == 5
    error = json.loads(capsys.readouterr().out)
    assert error["exit_code"] == 5 and words in error["message"]


@pytest.mark.parametrize("fault", ["irq-twice:*", "irq-spurious:*", "irq-late:*:3000"])
def test_run_passes(
    build: Build, files: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(build()[0]), *files, "--fault", fault, "--repeat", "3"]) == 0
    assert "PASS: 48 bytes compared, all equal" in capsys.readouterr().out


def test_run_finds_wrong_bytes(
    build: Build, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(build()[0])
    assert run(["run", folder, *files, "--fault", "bit-flip:7:8", "--repeat", "2"]) == 1
    assert "FAIL: 32 bytes compared, 1 different" in capsys.readouterr().out
    assert run(["run", folder, *files, "--fault", "dma-error:7", "--repeat", "2"]) == 1
    text = capsys.readouterr().out
    assert "guest error: " in text and "DMA error (injected fault)" in text
    assert "run 1" not in text  # the second inference is right
