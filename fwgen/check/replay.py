"""Plays register traces on a model of the accelerator and judges their checks.

Memory commands run first, then the register commands in file order, then the
interrupts that the trace names are waited for. An interrupt is taken as the
published test bench does it: status and not mask, every set bit must be one
that the trace asked for, the value is written back. A check runs when its
event happens. A case passes only if at least one memory or register check was
made, all were right, every event happened and the model reported no error of
the register program.

A case may also be a network binary graph with its inputs and outputs
(replay_graph.py).
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fwgen.check.memory_file import TraceError
from fwgen.check.replay_graph import (
    GRAPH_SUFFIX,
    GraphNotRunError,
    graph_config,
    replay_graph,
)
from fwgen.check.result import CheckResult, ReplayResult
from fwgen.check.targets import CONFIGURATIONS, Bytes, Target, open_target
from fwgen.check.trace import (
    CheckCrc,
    CheckFile,
    CheckNothing,
    MemInit,
    MemLoad,
    Poll,
    RegRead,
    RegWrite,
    Space,
    SyncNotify,
    SyncWait,
    Trace,
    interrupt_name,
    read_trace,
)
from fwgen.errors import FwgenError, UsageError

_INTR_MASK = 0x1004
_INTR_STATUS = 0x100C

# Memory beyond the named ranges that a trace may touch: operands without a
# memory command, lines longer than the checked part, absent pixel files.
_PAD_BEFORE = 1 << 16
_PAD_AFTER = 16 << 20

# Model events a poll or a wait may take before it is given up.
_MAX_EVENTS = 100_000


class _Failed(Exception):
    """The replay cannot go on; the message is the reason."""


class _Memory:
    """The segments of a trace, padded, merged and mapped into the target."""

    def __init__(self, trace: Trace, target: Target) -> None:
        self._segments: list[tuple[Space, int, Bytes]] = []
        for space in Space:
            for base, end in _merge(_extents(trace, space)):
                data = target.add_memory(int(space), base, end - base)
                self._segments.append((space, base, data))

    def view(self, space: Space, base: int, size: int) -> Bytes:
        """The bytes of a range that the trace names."""
        for candidate, start, data in self._segments:
            if candidate == space and start <= base and base + size <= start + data.size:
                return data[base - start : base - start + size]
        raise _Failed(f"no memory at 0x{base:x}, size 0x{size:x}")


def _extents(trace: Trace, space: Space) -> Iterator[tuple[int, int]]:
    for command in trace.memory:
        if command.space != space:
            continue
        if isinstance(command, MemLoad):
            size = command.image.size if command.image is not None else 0
        else:
            size = command.size
        yield command.base, command.base + size
    for check in trace.checks:
        if not isinstance(check, CheckNothing) and check.space == space:
            yield check.base, check.base + check.size


def _merge(extents: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """Padded ranges, page aligned, overlapping ones joined."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(extents):
        base = max(0, low - _PAD_BEFORE) & ~0xFFF
        end = min(1 << 64, (high + _PAD_AFTER + 0xFFF) & ~0xFFF)
        if merged and base <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((base, end))
    return merged


def _fill(view: Bytes, command: MemInit) -> None:
    if command.pattern in ("ALL_ZERO", "X"):
        view[:] = 0
    elif command.pattern == "RANDOM":
        generator = np.random.default_rng((command.base, command.size))
        view[:] = generator.integers(0, 256, view.size, dtype=np.uint8)
    elif command.pattern == "ADDR":
        words = np.arange(-(-view.size // 4), dtype=np.uint64) * 4 + command.base
        view[:] = words.astype("<u4").view(np.uint8)[: view.size]
    else:
        view[:] = {"ONES": 0xFF, "AFIVE": 0xA5, "FIVEA": 0x5A}[command.pattern]


class _Player:
    """One replay under way."""

    def __init__(self, trace: Trace, target: Target) -> None:
        self.trace = trace
        self.target = target
        self.memory = _Memory(trace, target)
        self.results: list[CheckResult] = []
        self.happened: set[str] = set()
        # Per status bit, the events that its next firings raise, in file order.
        self.expected: dict[int, deque[str]] = {}
        for item in trace.interrupts:
            self.expected.setdefault(item.bit, deque()).append(item.event)
        self.interrupt_events = {item.event for item in trace.interrupts}

    def play(self) -> None:
        """Run the whole trace.

        Raises:
            _Failed: an interrupt that nobody asked for or that never came, a
                poll that never ends.
        """
        for command in self.trace.memory:
            if isinstance(command, MemInit):
                _fill(self.memory.view(command.space, command.base, command.size), command)
            elif isinstance(command, MemLoad) and command.image is not None:
                size = command.image.size
                command.image.store(self.memory.view(command.space, command.base, size))
        for step in self.trace.steps:
            if isinstance(step, RegWrite):
                self.target.write(step.offset, step.value)
            elif isinstance(step, RegRead):
                self.read(step)
            elif isinstance(step, Poll):
                self.poll(step)
            elif isinstance(step, SyncNotify):
                self.raise_event(step.event)
            elif isinstance(step, SyncWait):
                self.wait(step)
        self.drain()

    def read(self, step: RegRead) -> None:
        value = self.target.read(step.offset)
        if step.expected is None:
            return
        passed = value == step.expected
        detail = f"{step.register} is 0x{value:x}"
        if not passed:
            detail += f" instead of 0x{step.expected:x}"
        self.results.append(CheckResult(step.line, "register", 4, passed, detail))

    def poll(self, step: Poll) -> None:
        for _ in range(_MAX_EVENTS):
            value = self.target.read(step.offset)
            if value & step.mask == step.expected:
                return
            if not self.advance():
                break
        raise _Failed(
            f"line {step.line}: {step.register} stays 0x{value:x}, polled for 0x{step.expected:x}"
        )

    def wait(self, step: SyncWait) -> None:
        if step.event not in self.interrupt_events:
            # Raised by another queue of the test bench; file order stands for it.
            return
        for _ in range(_MAX_EVENTS):
            self.interrupts()
            if step.event in self.happened:
                return
            if not self.advance():
                break
        raise _Failed(f'line {step.line}: event "{step.event}" never happens')

    def advance(self) -> bool:
        """Go to the next completion and take its interrupts."""
        more = self.target.step()
        self.interrupts()
        return more

    def drain(self) -> None:
        """Run until nothing is under way, then see what never came."""
        self.interrupts()
        for _ in range(_MAX_EVENTS):
            if not self.advance():
                break
        else:
            raise _Failed("the model does not come to rest")
        missing = [
            f'{interrupt_name(bit)} for "{event}"'
            for bit, events in sorted(self.expected.items())
            for event in events
        ]
        if missing:
            raise _Failed(f"interrupt never came: {', '.join(missing)}{self._masked()}")

    def _masked(self) -> str:
        masked = self.target.read(_INTR_STATUS) & self.target.read(_INTR_MASK)
        names = [interrupt_name(bit) for bit in range(32) if masked >> bit & 1]
        return f" (pending but masked: {', '.join(names)})" if names else ""

    def interrupts(self) -> None:
        """The interrupt handler of the test bench."""
        for _ in range(_MAX_EVENTS):
            status = self.target.read(_INTR_STATUS) & ~self.target.read(_INTR_MASK)
            if not status:
                return
            fired = [bit for bit in range(32) if status >> bit & 1]
            events = []
            for bit in fired:
                queue = self.expected.get(bit)
                if not queue:
                    raise _Failed(f"interrupt {interrupt_name(bit)} that nobody asked for")
                events.append(queue.popleft())
            self.target.write(_INTR_STATUS, status)
            for event in events:
                self.raise_event(event)
        raise _Failed("the interrupt status does not clear")

    def raise_event(self, event: str) -> None:
        self.happened.add(event)
        for check in self.trace.checks:
            if check.event == event:
                self.check(check)

    def check(self, check: CheckCrc | CheckFile | CheckNothing) -> None:
        if isinstance(check, CheckNothing):
            return
        data = self.memory.view(check.space, check.base, check.size)
        where = f"0x{check.base:x}, {check.size} bytes"
        if isinstance(check, CheckCrc):
            crc = zlib.crc32(data.tobytes())
            passed = crc == check.crc
            detail = f"CRC of {where} is 0x{crc:08x}"
            if not passed:
                detail += f" instead of 0x{check.crc:08x}"
            self.results.append(CheckResult(check.line, "crc", check.size, passed, detail))
            return
        golden = np.zeros(check.size, dtype=np.uint8)
        check.image.store(golden)
        differs = np.flatnonzero(data != golden)
        detail = f"{where} equal to {check.image.name}"
        if differs.size:
            at = int(differs[0])
            detail = (
                f"{differs.size} of {check.size} bytes differ from {check.image.name}, first at "
                f"0x{check.base + at:x}: 0x{data[at]:02x} instead of 0x{golden[at]:02x}"
            )
        self.results.append(CheckResult(check.line, "file", check.size, not differs.size, detail))


def play_trace(trace: Trace, target: Target, config: str, model: str) -> ReplayResult:
    """Play a trace on a fresh target."""
    player = _Player(trace, target)
    reasons = []
    try:
        player.play()
    except _Failed as failure:
        reasons.append(str(failure))
    errors = tuple(target.guest_errors())
    made = {check.line for check in player.results}
    for result in player.results:
        if not result.passed:
            reasons.append(f"line {result.line}: {result.detail}")
    for check in trace.checks:
        if not reasons and not isinstance(check, CheckNothing) and check.line not in made:
            reasons.append(f'line {check.line}: event "{check.event}" never happened')
    if errors:
        reasons.append(f"{len(errors)} guest errors, first: {errors[0]}")
    if not player.results and not reasons:
        reasons.append("the trace checks nothing")
    return ReplayResult(
        name=trace.path.stem,
        path=trace.path,
        config=config,
        model=model,
        passed=not reasons,
        reason="; ".join(reasons),
        checks=tuple(player.results),
        guest_errors=errors,
        notes=trace.notes,
    )


def infer_config(path: Path) -> str | None:
    """The configuration named by the nearest directory above a case, or None."""
    for parent in path.resolve().parents:
        if parent.name in CONFIGURATIONS:
            return parent.name
    return None


@dataclass(frozen=True, slots=True)
class Case:
    """One .cfg or .nb file and the configuration to play it on (None: not known)."""

    path: Path
    config: str | None


def find_cases(paths: Sequence[Path], config: str | None = None) -> list[Case]:
    """Cases under files, case directories or trees of them, in path order.

    Raises:
        UsageError: a path does not exist, or there is no case in it.
    """
    cases: list[Case] = []
    for path in paths:
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.suffix in (".cfg", GRAPH_SUFFIX))
        elif path.exists():
            found = [path]
        else:
            raise UsageError("no such file or directory", where=str(path))
        if not found:
            raise UsageError("no trace (*.cfg) and no graph (*.nb) found", where=str(path))
        cases.extend(
            Case(
                file,
                graph_config(file) if file.suffix == GRAPH_SUFFIX else config or infer_config(file),
            )
            for file in found
        )
    return cases


def replay(
    case: Path, config: str, library: Path | None = None, model: str = "emulator"
) -> ReplayResult:
    """Read one trace and play it.

    Args:
        case: a .cfg or .nb file.
        config: configuration name.
        library: shared library of the emulator; not needed for "reference".

    Raises:
        TraceError: the trace or one of its memory files is malformed.
        UsageError: unknown configuration or model.
        ModelError: the graph is damaged or cannot be run.
    """
    if case.suffix == GRAPH_SUFFIX:
        return replay_graph(case, config, library, model)
    trace = read_trace(case)
    target = open_target(model, config, library)
    try:
        return play_trace(trace, target, config, model)
    finally:
        target.close()


def _replay_case(work: tuple[Case, Path | None, str]) -> ReplayResult:
    case, library, model = work
    config = case.config

    def outcome(reason: str, *, skipped: bool = False, malformed: bool = False) -> ReplayResult:
        return ReplayResult(
            case.path.stem,
            case.path,
            config or "",
            model,
            False,
            reason,
            skipped=skipped,
            malformed=malformed,
        )

    if config is None:
        return outcome(
            "a graph for no NPU that is known"
            if case.path.suffix == GRAPH_SUFFIX
            else "configuration unknown: give --config or use a directory named after it",
            skipped=True,
        )
    try:
        return replay(case.path, config, library, model)
    except GraphNotRunError as error:
        return outcome(str(error), skipped=True)
    except TraceError as error:
        return outcome(str(error), malformed=True)
    except FwgenError as error:
        return outcome(str(error))


def replay_many(
    cases: Sequence[Case], library: Path | None = None, model: str = "emulator", jobs: int = 1
) -> Iterator[ReplayResult]:
    """Play cases in `jobs` processes; results come in the order of the cases.

    A malformed case is a failed result, a case without a configuration a
    skipped one; neither stops the others.
    """
    work = [(case, library, model) for case in cases]
    if jobs <= 1 or len(work) <= 1:
        yield from map(_replay_case, work)
        return
    with ProcessPoolExecutor(max_workers=min(jobs, len(work))) as pool:
        yield from pool.map(_replay_case, work, chunksize=4)
