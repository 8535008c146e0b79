"""Reader of NVDLA register traces: the .cfg command files and the .dat memory files.

The grammar is that of the trace tests published with the NVDLA hardware:
line based, `//` comments, otherwise `command(arguments);`. Numbers are decimal
or 0x..., strings are quoted, register names are NVDLA_<BLOCK>.<REGISTER>_0.

What a command means where the published test bench leaves it open:

- mem_init patterns: ALL_ZERO and X fill with 0, ONES with 0xff, AFIVE with
  0xa5, FIVEA with 0x5a, ADDR stores in each 32-bit word its own address, RANDOM
  fills with bytes that depend on base and size only.
- mem_load of a file that does not exist leaves the memory as it is; the trace
  carries a note. (The pixel files of the published image traces are absent and
  zeros are meant.)
- mem_reserve says that a range of memory is used; mem_release has no effect.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from fwgen.check.memory_file import (
    MAX_EXTENT,
    DatImage,
    TraceError,
    plain_number,
    read_dat,
)
from fwgen.check.register_names import RegisterMap, default_registers

PATTERNS = ("ALL_ZERO", "RANDOM", "ONES", "X", "AFIVE", "FIVEA", "ADDR")


class Space(IntEnum):
    """The memory ports."""

    DRAM = 0  # pri_mem, also written 1
    SRAM = 1  # sec_mem, also written 0


# Interrupt sources by name and their bit for group 0 in the status register.
INTERRUPT_BITS: Mapping[str, int] = {
    "SDP": 0,
    "CDP": 2,
    "PDP": 4,
    "BDMA": 6,
    "RUBIK": 8,
    "CDMA_DAT": 16,
    "CDMA_WT": 18,
    "CACC": 20,
}


def interrupt_name(bit: int) -> str:
    """The trace's name of an interrupt status bit, e.g. "SDP_0"."""
    for name, first in INTERRUPT_BITS.items():
        if first <= bit <= first + 1:
            return f"{name}_{bit - first}"
    return f"bit {bit}"


@dataclass(frozen=True, slots=True)
class MemInit:
    """Fill [base, base + size) with a pattern."""

    line: int
    space: Space
    base: int
    size: int
    pattern: str


@dataclass(frozen=True, slots=True)
class MemLoad:
    """Write a file's bytes at base; `image` is None where the file is absent."""

    line: int
    space: Space
    base: int
    image: DatImage | None


@dataclass(frozen=True, slots=True)
class MemReserve:
    """A range that the trace uses."""

    line: int
    space: Space
    base: int
    size: int


@dataclass(frozen=True, slots=True)
class RegWrite:
    """Write a register; `register` is its name, `offset` its byte offset."""

    line: int
    register: str
    offset: int
    value: int


@dataclass(frozen=True, slots=True)
class RegRead:
    """Read a register; with `expected` the value must be equal."""

    line: int
    register: str
    offset: int
    expected: int | None


@dataclass(frozen=True, slots=True)
class Poll:
    """Read a register until (value & mask) == expected."""

    line: int
    register: str
    offset: int
    mask: int
    expected: int


@dataclass(frozen=True, slots=True)
class IntrNotify:
    """When interrupt status bit `bit` fires, event `event` happens."""

    line: int
    bit: int
    event: str


@dataclass(frozen=True, slots=True)
class SyncNotify:
    """An event between the test bench's queues."""

    line: int
    event: str


@dataclass(frozen=True, slots=True)
class SyncWait:
    """Commands after this one wait for an event."""

    line: int
    event: str


@dataclass(frozen=True, slots=True)
class CheckCrc:
    """On the event, CRC-32 of the memory must equal `crc`."""

    line: int
    event: str
    space: Space
    base: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class CheckFile:
    """On the event, the memory must equal the file."""

    line: int
    event: str
    space: Space
    base: int
    size: int
    image: DatImage


@dataclass(frozen=True, slots=True)
class CheckNothing:
    """The event must happen."""

    line: int
    event: str


MemoryCommand = MemInit | MemLoad | MemReserve
Step = RegWrite | RegRead | Poll | SyncNotify | SyncWait
Check = CheckCrc | CheckFile | CheckNothing


@dataclass(frozen=True, slots=True)
class Trace:
    """One .cfg file. Each list is in file order."""

    path: Path
    memory: tuple[MemoryCommand, ...]
    steps: tuple[Step, ...]
    interrupts: tuple[IntrNotify, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()


_COMMAND = re.compile(r'\s*([A-Za-z_]\w*)\s*\(((?:"[^"]*"|[^"()])*)\)\s*;')
_ARGUMENT = re.compile(r'\s*("[^"]*"|[^",\s][^",]*?)\s*(,|$)')


@dataclass(slots=True)
class _Line:
    """One command with its place, and the accessors that turn arguments into values."""

    path: Path
    number: int
    name: str
    arguments: list[str]

    @property
    def where(self) -> str:
        return f"{self.path}:{self.number}"

    def fail(
        self, message: str, expected: str | None = None, hints: tuple[str, ...] = ()
    ) -> TraceError:
        return TraceError(
            f"{self.name}: {message}", where=self.where, expected=expected, hints=hints
        )

    def count(self, low: int, high: int | None = None) -> None:
        high = low if high is None else high
        got = len(self.arguments)
        if not low <= got <= high:
            wanted = str(low) if low == high else f"{low} or {high}"
            raise self.fail(f"{got} arguments", expected=wanted)

    def number_at(self, index: int) -> int:
        text = self.arguments[index]
        try:
            value = plain_number(text)
        except ValueError:
            raise self.fail(f'argument {index + 1} is "{text}"', "a number") from None
        if value >= 1 << 64:
            raise self.fail(f"argument {index + 1} does not fit 64 bits")
        return value

    def word_at(self, index: int) -> int:
        value = self.number_at(index)
        if value > 0xFFFFFFFF:
            raise self.fail(f"argument {index + 1} is 0x{value:x}", "a 32-bit value")
        return value

    def name_at(self, index: int) -> str:
        text = self.arguments[index]
        if not re.fullmatch(r"[A-Za-z_][\w.]*", text):
            raise self.fail(f'argument {index + 1} is "{text}"', "an identifier")
        return text

    def is_string(self, index: int) -> bool:
        return self.arguments[index].startswith('"')

    def string_at(self, index: int) -> str:
        text = self.arguments[index]
        if not self.is_string(index):
            raise self.fail(f'argument {index + 1} is "{text}"', 'a "quoted" file name')
        return text[1:-1]

    def space_at(self, index: int) -> Space:
        text = self.arguments[index]
        spaces = {"pri_mem": Space.DRAM, "1": Space.DRAM, "sec_mem": Space.SRAM, "0": Space.SRAM}
        if text not in spaces:
            raise self.fail(f'unknown memory "{text}"', "pri_mem, sec_mem, 1 or 0")
        return spaces[text]

    def range_at(self, base_index: int, size_index: int) -> tuple[int, int]:
        base, size = self.number_at(base_index), self.number_at(size_index)
        if size > MAX_EXTENT or base + size > 1 << 64:
            raise self.fail(f"size 0x{size:x} is too large", f"at most 0x{MAX_EXTENT:x}")
        return base, size


@dataclass(slots=True)
class _Reader:
    """Collects the commands of one file."""

    path: Path
    registers: RegisterMap
    memory: list[MemoryCommand] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    interrupts: list[IntrNotify] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    images: dict[str, DatImage | None] = field(default_factory=dict)
    memory_events: dict[str, int] = field(default_factory=dict)

    def register(self, line: _Line, index: int) -> tuple[str, int]:
        text = line.arguments[index]
        offset = self.registers.offset(text)
        if offset is None:
            near = difflib.get_close_matches(text, self.registers.names(), 3)
            hints = (f"Near names: {', '.join(near)}.",) if near else ()
            raise line.fail(f'unknown register "{text}"', "NVDLA_<BLOCK>.<REGISTER>_0", hints)
        return text, offset

    def image(self, line: _Line, index: int) -> DatImage | None:
        name = line.string_at(index)
        if name not in self.images:
            path = self.path.parent / name
            if not name or path.is_dir():
                raise line.fail(f'"{name}" is not a file')
            self.images[name] = read_dat(path) if path.exists() else None
            if self.images[name] is None:
                self.notes.append(f"line {line.number}: {name} is absent, memory left zero")
        return self.images[name]

    def memory_event(self, line: _Line, index: int) -> None:
        """The optional last argument of a memory command: an event that it raises."""
        if len(line.arguments) > index:
            self.memory_events[line.name_at(index)] = line.number

    def mem_init(self, line: _Line) -> None:
        line.count(4, 5)
        self.memory_event(line, 4)
        space = line.space_at(0)
        pattern = line.arguments[3]
        if pattern not in PATTERNS:
            raise line.fail(f'unknown pattern "{pattern}"', ", ".join(PATTERNS))
        if line.is_string(2):
            image = self.image(line, 2)
            base, size = line.number_at(1), image.size if image is not None else 0
        else:
            base, size = line.range_at(1, 2)
        self.memory.append(MemInit(line.number, space, base, size, pattern))

    def mem_load(self, line: _Line) -> None:
        line.count(3, 4)
        self.memory_event(line, 3)
        space, base = line.space_at(0), line.number_at(1)
        self.memory.append(MemLoad(line.number, space, base, self.image(line, 2)))

    def mem_reserve(self, line: _Line) -> None:
        line.count(3, 4)
        base, size = line.range_at(1, 2)
        self.memory.append(MemReserve(line.number, line.space_at(0), base, size))

    def mem_release(self, line: _Line) -> None:
        line.count(2, 4)
        line.space_at(0)

    def reg_write(self, line: _Line) -> None:
        line.count(2)
        name, offset = self.register(line, 0)
        self.steps.append(RegWrite(line.number, name, offset, line.word_at(1)))

    def reg_read(self, line: _Line) -> None:
        line.count(1, 2)
        name, offset = self.register(line, 0)
        self.steps.append(RegRead(line.number, name, offset, None))

    def reg_read_check(self, line: _Line) -> None:
        line.count(2)
        name, offset = self.register(line, 0)
        self.steps.append(RegRead(line.number, name, offset, line.word_at(1)))

    def poll_reg_equal(self, line: _Line) -> None:
        line.count(2)
        name, offset = self.register(line, 0)
        self.steps.append(Poll(line.number, name, offset, 0xFFFFFFFF, line.word_at(1)))

    def poll_field_equal(self, line: _Line) -> None:
        if len(line.arguments) == 2:
            register, _, field_name = line.arguments[0].rpartition(".")
            value = line.word_at(1)
        else:
            line.count(3)
            register, field_name, value = line.arguments[0], line.name_at(1), line.word_at(2)
        name, offset = self.register(_Line(self.path, line.number, line.name, [register]), 0)
        place = self.registers.field(register, field_name)
        if place is None:
            raise line.fail(f'"{register}" has no field "{field_name}"')
        lsb, width = place
        if value >> width:
            raise line.fail(f"value 0x{value:x} does not fit {field_name}", f"{width} bits")
        mask = ((1 << width) - 1) << lsb
        self.steps.append(Poll(line.number, name, offset, mask, value << lsb))

    def sync_notify(self, line: _Line) -> None:
        line.count(2)
        self.steps.append(SyncNotify(line.number, line.name_at(1)))

    def sync_wait(self, line: _Line) -> None:
        line.count(2)
        self.steps.append(SyncWait(line.number, line.name_at(1)))

    def intr_notify(self, line: _Line) -> None:
        line.count(2)
        source = line.name_at(0).upper()
        unit, group = source[:-1].rstrip("_"), source[-1]
        if unit not in INTERRUPT_BITS or group not in "01":
            units = ", ".join(f"{name}_0" for name in INTERRUPT_BITS)
            raise line.fail(f'unknown interrupt "{line.arguments[0]}"', f"{units} (or _1)")
        bit = INTERRUPT_BITS[unit] + int(group)
        self.interrupts.append(IntrNotify(line.number, bit, line.name_at(1)))

    def check_crc(self, line: _Line) -> None:
        line.count(5)
        base, size = self.checked_range(line)
        self.checks.append(
            CheckCrc(line.number, line.name_at(0), line.space_at(1), base, size, line.word_at(4))
        )

    def check_file(self, line: _Line) -> None:
        line.count(5)
        base, size = self.checked_range(line)
        image = self.image(line, 4)
        if image is None:
            raise line.fail(f"file {line.arguments[4]} does not exist")
        if image.size > size:
            raise line.fail(f"the file holds {image.size} bytes", f"at most {size}")
        self.checks.append(
            CheckFile(line.number, line.name_at(0), line.space_at(1), base, size, image)
        )

    def checked_range(self, line: _Line) -> tuple[int, int]:
        base, size = line.range_at(2, 3)
        if base % 4 or size % 4 or not size:
            raise line.fail(
                f"base 0x{base:x}, size 0x{size:x}", "multiples of 4 and at least one word"
            )
        return base, size

    def check_nothing(self, line: _Line) -> None:
        line.count(1)
        self.checks.append(CheckNothing(line.number, line.name_at(0)))


_HANDLERS: Mapping[str, Callable[[_Reader, _Line], None]] = {
    name: getattr(_Reader, name)
    for name in (
        "reg_write", "reg_read", "reg_read_check", "poll_reg_equal", "poll_field_equal",
        "mem_init", "mem_load", "mem_reserve", "mem_release",
        "sync_notify", "sync_wait", "intr_notify", "check_crc", "check_file", "check_nothing",
    )
}  # fmt: skip


def _strip_comment(text: str) -> str:
    """The line before `//`, which may stand in a quoted string."""
    quoted = False
    for index, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif not quoted and text.startswith("//", index):
            return text[:index]
    return text


def _commands(path: Path, number: int, text: str) -> list[_Line]:
    """The commands of one line."""
    commands = []
    rest = _strip_comment(text).rstrip()
    while rest.strip():
        match = _COMMAND.match(rest)
        if match is None:
            raise TraceError(
                f'cannot read "{rest.strip()[:60]}"',
                where=f"{path}:{number}",
                expected="command(arguments);",
            )
        commands.append(_Line(path, number, match[1], _arguments(path, number, match[2])))
        rest = rest[match.end() :]
    return commands


def _arguments(path: Path, number: int, text: str) -> list[str]:
    arguments: list[str] = []
    position = 0
    more = bool(text.strip())
    while more:
        match = _ARGUMENT.match(text, position)
        if match is None:
            raise TraceError(
                f'cannot read the arguments "{text.strip()[:60]}"',
                where=f"{path}:{number}",
                expected="values separated by commas",
            )
        arguments.append(match[1])
        position = match.end()
        more = match[2] == ","
    return arguments


def read_trace(path: Path, registers: RegisterMap | None = None) -> Trace:
    """Read a .cfg file and the memory files that it names.

    Raises:
        TraceError: a file is unreadable or breaks the grammar; says where.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"cannot read trace: {error}", where=str(path)) from None
    reader = _Reader(path, registers if registers is not None else default_registers())
    for number, raw in enumerate(text.splitlines(), 1):
        for line in _commands(path, number, raw):
            handler = _HANDLERS.get(line.name)
            if handler is None:
                near = difflib.get_close_matches(line.name, list(_HANDLERS), 1)
                raise TraceError(
                    f'unknown command "{line.name}"',
                    where=line.where,
                    expected=f'"{near[0]}"' if near else ", ".join(_HANDLERS),
                )
            handler(reader, line)
    _check_events(reader)
    return Trace(
        path,
        tuple(reader.memory),
        tuple(reader.steps),
        tuple(reader.interrupts),
        tuple(reader.checks),
        tuple(reader.notes),
    )


def _check_events(reader: _Reader) -> None:
    """Every event that is waited for must be one that can happen."""
    known = {item.event for item in reader.interrupts}
    for event, number in reader.memory_events.items():
        if event in known:
            raise TraceError(
                f'memory command that waits for the interrupt event "{event}" is not supported',
                where=f"{reader.path}:{number}",
            )
    known |= set(reader.memory_events)
    known |= {item.event for item in reader.steps if isinstance(item, SyncNotify)}
    waits = [item for item in reader.steps if isinstance(item, SyncWait)]
    for item in [*reader.checks, *waits]:
        if item.event not in known:
            raise TraceError(
                f'nothing raises event "{item.event}"',
                where=f"{reader.path}:{item.line}",
                expected="an intr_notify or sync_notify with that name",
            )
