"""How long fwgen's own work takes, each beside a peer that cannot be avoided:

    python benchmarks/tool_time.py [--rounds N] [--json]

| what | limit | peer |
|---|---|---|
| clean build of LeNet-5 | 3 s | the compiler alone on the same sources, one after the other |
| build with nothing to do | 0.3 s | `python -c pass` |
| boot, inference and comparison in QEMU | 1.5 s | `qemu-system-arm --version` |
| `import fwgen` | 0.2 s | `python -c pass` |
| `fwgen boards list` | 0.5 s | `python -c pass` |

Times are the median of the rounds, by the wall clock and by the processor's; all in turn in each
round, so that what disturbs one disturbs all. The limits are for a machine that does nothing else;
on a loaded one CPU time and the ratio say more. LeNet-5 is one of the reference data
(FWGEN_TESTDATA); without it the digits example is built.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
TESTDATA = Path(os.environ.get("FWGEN_TESTDATA", REPOSITORY.parent / "shared"))
LENET = TESTDATA / "nvdla" / "loadables" / "lenet5.nv_small.int8.nhwc.nvdla"
DIGITS = REPOSITORY / "examples" / "digits" / "digits.nvdla"
BOARD = "mps2-an385"
FWGEN = (sys.executable, "-m", "fwgen")


@dataclass(frozen=True, slots=True)
class Measured:
    """Median seconds of a command: by the wall clock, and of all its processes' CPU time."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    what: str
    limit: float
    own: Measured
    peer: str
    other: Measured


def run(command: Sequence[str], folder: Path | None = None) -> None:
    """Run a command to its end.

    Raises:
        SystemExit: it failed.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def timed(work: Callable[[], None]) -> Measured:
    """One execution."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    work()
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Measured(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def compile_alone(build: Path) -> Callable[[], None]:
    """What a clean build cannot avoid: every compiler call of it, one after the other."""
    commands = json.loads((build / "compile_commands.json").read_text())
    calls = []
    for entry in commands:
        words = entry["arguments"] if "arguments" in entry else entry["command"].split()
        calls.append((words, Path(entry["directory"])))

    def work() -> None:
        for words, folder in calls:
            run(words, folder)

    return work


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How long fwgen's own work takes.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    model = LENET if LENET.is_file() else DIGITS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build, kept, alone = folder / "build", folder / "kept", folder / "alone"
        options = (*FWGEN, "build", "-q", "-b", BOARD, str(model), "-o")

        def clean() -> None:
            shutil.rmtree(build, ignore_errors=True)
            run((*options, str(build)))

        # Kernel and emulator come from the cache from now on.
        run((*options, str(kept)))
        run((*options, str(alone)))
        run((*FWGEN, "run", "-q", str(kept)))
        python = (sys.executable, "-c", "pass")
        qemu = os.environ.get("FWGEN_QEMU", "qemu-system-arm")
        work: list[tuple[str, float, Callable[[], None], str, Callable[[], None]]] = [
            ("clean build", 3.0, clean, "compiler alone", compile_alone(alone)),
            (
                "build, nothing to do",
                0.3,
                lambda: run((*options, str(kept))),
                "python -c pass",
                lambda: run(python),
            ),
            (
                "run in QEMU",
                1.5,
                lambda: run((*FWGEN, "run", "-q", str(kept))),
                "qemu-system-arm --version",
                lambda: run((qemu, "--version")),
            ),
            (
                "import fwgen",
                0.2,
                lambda: run((sys.executable, "-c", "import fwgen")),
                "python -c pass",
                lambda: run(python),
            ),
            (
                "fwgen boards list",
                0.5,
                lambda: run((*FWGEN, "boards", "list")),
                "python -c pass",
                lambda: run(python),
            ),
        ]
        taken: list[list[tuple[Measured, Measured]]] = [[] for _ in work]
        for _ in range(arguments.rounds):
            for results, (_, _, own, _, other) in zip(taken, work, strict=True):
                results.append((timed(own), timed(other)))

    def median(values: Sequence[Measured]) -> Measured:
        return Measured(
            round(statistics.median(v.wall for v in values), 3),
            round(statistics.median(v.cpu for v in values), 3),
        )

    rows = [
        Row(what, limit, median([o for o, _ in r]), peer, median([p for _, p in r]))
        for (what, limit, _, peer, _), r in zip(work, taken, strict=True)
    ]
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    print(f"{model.stem} on {BOARD}, {arguments.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print(f"{'':21} {'wall s':>7} {'CPU s':>7} {'limit':>6}        {'CPU / peer':>10}  peer")
    for row in rows:
        verdict = "ok" if row.own.wall < row.limit else "over"
        if verdict == "over" and row.own.cpu < row.limit:
            verdict = "CPU ok"
        ratio = row.own.cpu / row.other.cpu if row.other.cpu else 0.0
        print(
            f"{row.what:21} {row.own.wall:7.2f} {row.own.cpu:7.2f} {row.limit:6.1f} {verdict:6} "
            f"{ratio:10.1f}  {row.peer} ({row.other.cpu:.2f} s)"
        )


if __name__ == "__main__":
    main()
