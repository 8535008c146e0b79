"""Builds random but legal register programs with their memory.

A `Builder` hands out memory, encodes registers by field name, keeps the
ping-pong group of every block and puts a wait where the program must not run
ahead (tables shared by both groups, a group still in use).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fwgen.accel.nvdla.registers import FIELDS, OFFSETS
from fwgen.reference.nvdla.configs import CONFIGS, Config

Bytes = npt.NDArray[np.uint8]

DRAM, SRAM = 0, 1

_BASES = {DRAM: 0x8000_0000, SRAM: 0x5000_0000}
_ALIGN = 256
_GUARD = 256  # random bytes around every buffer: a stray write is a difference


@dataclass(frozen=True, slots=True)
class Write:
    """One register write; the name is "BLOCK.REGISTER"."""

    register: str
    value: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Let everything that runs come to an end."""


@dataclass(frozen=True, slots=True)
class LayerCase:
    """One generated program: memory contents, commands, and the groups it used."""

    unit: str
    config: str
    seed: int
    segments: tuple[tuple[int, int, Bytes], ...]
    commands: tuple[Write | Wait, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory handed out: port, address and size in bytes."""

    space: int
    address: int
    size: int

    @property
    def ram_type(self) -> int:
        """Value of a RAM_TYPE field: 1 = DRAM, 0 = SRAM."""
        return 1 if self.space == DRAM else 0


@dataclass(slots=True)
class Builder:
    """Collects one case. `rng` decides everything."""

    config: Config
    rng: np.random.Generator
    commands: list[Write | Wait] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Scales and shifts fit the data, so that results neither vanish nor all saturate.
    sane: bool = True
    # Values grow to the limits of the 32-bit stages.
    big: bool = False
    _memory: dict[int, list[Bytes]] = field(default_factory=lambda: {DRAM: [], SRAM: []})
    _used: dict[str, int] = field(default_factory=dict)
    _since_wait: dict[str, int] = field(default_factory=dict)

    # --- chance -------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return bool(self.rng.random() < probability)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]; the ends are favoured."""
        if high <= low:
            return low
        roll = self.rng.random()
        if roll < 0.1:
            return low
        if roll < 0.2:
            return high
        return int(self.rng.integers(low, high + 1))

    def pick(self, options: Sequence[int]) -> int:
        """One of the options."""
        return int(options[int(self.rng.integers(len(options)))])

    def signed(self, bits: int) -> int:
        """A signed value of `bits` bits: extremes, small, or of any magnitude."""
        roll = self.rng.random()
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if roll < 0.12:
            return self.pick((low, high, low + 1, -1, 0, 1))
        magnitude = int(self.rng.integers(1, bits))
        value = int(self.rng.integers(-(1 << magnitude), 1 << magnitude))
        return max(low, min(high, value))

    def sized(self, bits: int, width: int) -> int:
        """A signed value of about `bits` bits that fits `width` bits."""
        bits = max(1, min(bits, width - 1))
        magnitude = self.between(1 << (bits - 1), (1 << bits) - 1)
        return -magnitude if self.chance(0.4) else magnitude

    # --- memory -------------------------------------------------------------

    def content(self, size: int) -> Bytes:
        """Random bytes: uniform, extreme, small or sparse."""
        kind = self.rng.random()
        if kind < 0.55:
            return self.rng.integers(0, 256, size, dtype=np.uint8)
        if kind < 0.75:
            values = np.array([0x80, 0x7F, 0xFF, 0x00, 0x01, 0x81], dtype=np.uint8)
            return values[self.rng.integers(0, values.size, size)]
        if kind < 0.9:
            return self.rng.integers(-8, 9, size).astype(np.int8).view(np.uint8)
        values = self.rng.integers(0, 256, size, dtype=np.uint8)
        return np.where(self.rng.random(size) < 0.7, np.uint8(0), values)

    def buffer(self, size: int) -> Buffer:
        """Memory with random content, in either port where the configuration has two."""
        space = SRAM if self.config.has_sram and self.chance(0.25) else DRAM
        pieces = self._memory[space]
        at = sum(piece.size for piece in pieces) + _GUARD
        padded = -(-(size + _GUARD) // _ALIGN) * _ALIGN
        piece = np.concatenate([self.content(_GUARD), self.content(padded)])
        pieces.append(piece)
        return Buffer(space, _BASES[space] + at, size)

    def segments(self) -> tuple[tuple[int, int, Bytes], ...]:
        """(port, base, bytes) of everything handed out."""
        return tuple(
            (space, _BASES[space], np.concatenate(pieces))
            for space, pieces in self._memory.items()
            if pieces
        )

    # --- registers ----------------------------------------------------------

    def raw(self, register: str, value: int) -> None:
        """Write a whole register."""
        assert register in OFFSETS, register
        self.commands.append(Write(register, value & 0xFFFFFFFF))

    def fields(self, register: str, **values: int) -> None:
        """Write a register from its fields; other bits are 0.

        Raises:
            ValueError: a value does not fit its field.
        """
        known = {item.name: item for item in FIELDS[register]}
        word = 0
        for name, value in values.items():
            item = known[name]
            if not -(1 << (item.width - 1)) <= value < 1 << item.width:
                raise ValueError(f"{register}.{name} = {value} needs more than {item.width} bits")
            word |= (value & ((1 << item.width) - 1)) << item.lsb
        self.raw(register, word)

    def address(self, low: str, high: str, buffer: Buffer, offset: int = 0) -> None:
        """Write an address register pair."""
        self.raw(low, (buffer.address + offset) & 0xFFFFFFFF)
        self.raw(high, (buffer.address + offset) >> 32)

    def wait(self) -> None:
        """Everything programmed so far must end before what follows."""
        if self._since_wait:
            self.commands.append(Wait())
            self._since_wait.clear()

    def select(self, *blocks: str) -> None:
        """Begin an operation: point the producers at the groups that run next."""
        if any(self._since_wait.get(block, 0) >= 2 for block in blocks):
            self.wait()
        for block in blocks:
            self.fields(f"{block}.S_POINTER", PRODUCER=self._used.get(block, 0) & 1)

    def enable(self, *blocks: str) -> None:
        """End an operation: arm the groups, in random order."""
        order = list(blocks)
        self.rng.shuffle(order)
        for block in order:
            self.fields(f"{block}.D_OP_ENABLE", OP_EN=1)
            self._used[block] = self._used.get(block, 0) + 1
            self._since_wait[block] = self._since_wait.get(block, 0) + 1

    def note(self, text: str) -> None:
        """Add to the one-line summary."""
        self.notes.append(text)

    def finish(self, unit: str, seed: int) -> LayerCase:
        """The finished case."""
        self.wait()
        return LayerCase(
            unit, self.config.name, seed, self.segments(), tuple(self.commands),
            " ".join(self.notes),
        )  # fmt: skip


def builder(config: str, seed: int) -> Builder:
    """A builder whose decisions follow from the seed alone."""
    b = Builder(CONFIGS[config], np.random.default_rng(seed))
    b.sane = b.chance(0.8)
    b.big = b.chance(0.15)
    return b


@dataclass(frozen=True, slots=True)
class CubeSpec:
    """A feature cube placed in memory."""

    buffer: Buffer
    offset: int
    width: int
    height: int
    channels: int
    line_stride: int
    surface_stride: int

    @property
    def address(self) -> int:
        """Address of the first element."""
        return self.buffer.address + self.offset


def place_cube(
    b: Builder, width: int, height: int, channels: int, element_bytes: int = 1
) -> CubeSpec:
    """Allocate a cube, packed or with padded lines and surfaces."""
    atom = b.config.atom
    pixel = atom * element_bytes
    line = width * pixel
    if b.chance(0.35):
        line += atom * b.between(0, 5)
    surface = line * height
    if b.chance(0.35):
        surface += atom * b.between(0, 9)
    surfaces = -(-channels // atom)
    return CubeSpec(b.buffer(surface * surfaces), 0, width, height, channels, line, surface)
