"""An emulated VIP with memory, driven by command words, and descriptors made by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fwgen.machine.model_library import DRAM, SRAM, Bytes, EmulatedAccelerator, Operation

BASE, SIZE = 0x10000000, 0x100000
COMMANDS, DESCRIPTOR, TABLE = BASE, BASE + 0x8000, BASE + 0x9000
SOURCE, TARGET = BASE + 0x20000, BASE + 0x60000
AXI_BASE, AXI_SIZE = 0xFF000000, 0x1000
B5 = "vip8000nanosi_pid0xb5"

END = (0x10000000, 0)
EVENT, ALL_EVENTS = 5, 0xFFFFFFFF


def load(state: int, *values: int) -> list[int]:
    """LOAD_STATE of consecutive states, padded to 64 bits."""
    words = [0x08000000 | len(values) << 16 | state >> 2, *values]
    return words + [0] * (len(words) % 2)


def event(number: int = EVENT) -> list[int]:
    """GL.EVENT from the pixel engine."""
    return load(0x3804, 0x40 | number)


class Vip:
    """1 MiB at BASE, 4 KiB of AXI SRAM."""

    def __init__(self, library: Path, config: str = B5) -> None:
        self.accelerator = EmulatedAccelerator(library, "vip", config)
        self.memory = self.accelerator.add_memory(DRAM, BASE, SIZE)
        self.axi = self.accelerator.add_memory(SRAM, AXI_BASE, AXI_SIZE)
        self.offsets = {
            name: offset
            for offset in range(0, self.accelerator.window_size, 4)
            if (name := self.accelerator.register_name(offset)) is not None
        }
        self.write("HI.INTR_ENBL", ALL_EVENTS)

    def write(self, name: str, value: int) -> None:
        self.accelerator.write32(self.offsets[name], value)

    def read(self, name: str) -> int:
        return self.accelerator.read32(self.offsets[name])

    def view(self, address: int, size: int) -> Bytes:
        return self.memory[address - BASE : address - BASE + size]

    def put(self, address: int, data: bytes | np.ndarray) -> None:
        raw = np.frombuffer(bytes(data), np.uint8)
        self.view(address, raw.size)[:] = raw

    def put_words(self, address: int, words: Sequence[int]) -> None:
        self.put(address, struct.pack(f"<{len(words)}I", *words))

    def start(self, words: Sequence[int], units: int | None = None) -> None:
        """Start the front end at a command stream."""
        self.put_words(COMMANDS, words)
        count = (len(words) + 1) // 2 if units is None else units
        self.write("FE.COMMAND_ADDRESS", COMMANDS)
        self.write("FE.COMMAND_CONTROL", 0x10000 | count)
        self.write("MMU.SEC_COMMAND_CONTROL", 0x10000 | count)

    def run(self, words: Sequence[int], units: int | None = None) -> int:
        """Run a stream until idle; the interrupts it raised."""
        self.start(words, units)
        self.accelerator.run()
        return self.read("HI.INTR_ACKNOWLEDGE")

    def run_tp(self, words: Sequence[int], before: Sequence[int] = ()) -> int:
        """Run one TP descriptor; the interrupts."""
        self.put_words(DESCRIPTOR, words)
        return self.run([*before, *load(0x10B8, DESCRIPTOR), *load(0x10A4, 0), *event(), *END])

    def errors(self) -> list[str]:
        return self.accelerator.guest_errors()

    def operations(self) -> list[Operation]:
        return self.accelerator.operations()


@dataclass
class TpJob:
    """A TP descriptor by names; a plain copy of a w x h x z block unless changed."""

    width: int = 8
    height: int = 4
    planes: int = 1
    stride: int | None = None
    slice: int | None = None
    window: tuple[int, int, int, int] | None = None  # x start, y start, x end, y end
    process: tuple[int, int] = (0, 0)
    taps: tuple[int, int] = (1, 1)
    tile: tuple[int, int] | None = None
    step: tuple[int, int] | None = None
    source: int = SOURCE
    target: int = TARGET
    table: int | None = None
    sign_support: bool = False
    increments: tuple[int, ...] = (0, 1, 0, 0, 0, 0, 0)
    counts: tuple[int, ...] = (1, 0, 1, 1, 1, 1)
    resets: tuple[bool, bool, bool] = (False, False, False)
    replicate: bool = False
    in_ring: tuple[int, int] = (0, 0x3FFFFFF)
    out_ring: tuple[int, int] = (0, 0x3FFFFFF)
    in_zero: int = 0
    out_zero: int = 0
    multiplier: int = 0
    shift: int = 0
    patches: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def words(self) -> list[int]:
        """The 32 words."""
        w = [0] * 32

        def put(word: int, low: int, count: int, value: int) -> None:
            mask = (1 << count) - 1
            w[word] = w[word] & ~(mask << low) | (value & mask) << low

        stride = self.width if self.stride is None else self.stride
        x0, y0, x1, y1 = self.window or (0, 0, self.width - 1, self.height - 1)
        tile = self.tile or (x1 - x0 + 1, y1 - y0 + 1)
        step = self.step or tile
        put(0, 0, 16, self.width)
        put(1, 0, 16, self.height)
        put(1, 16, 16, self.planes)
        put(2, 0, 16, stride)
        put(3, 0, 32, stride * self.height if self.slice is None else self.slice)
        for word, low, value in (
            (4, 0, x0), (4, 16, y0), (5, 0, x1), (5, 16, y1),
            (8, 0, tile[0]), (8, 16, tile[1]), (9, 0, step[0]), (9, 16, step[1]),
        ):  # fmt: skip
            put(word, low, 16, value)
        w[6] = 1 << 3 | 1 << 4 | 1 << 29
        put(6, 6, 3, self.process[0])
        put(6, 9, 6, self.taps[0] - 1)
        put(6, 16, 2, self.process[1])
        put(6, 19, 6, self.taps[1] - 1)
        if self.table is not None:
            w[6] |= 1 << 27 | 3 << 30
            w[11] = self.table
        w[10], w[13] = self.source, self.target
        w[12] = 1 << 1 | 1 << 31 | self.sign_support << 28
        for k, flag in enumerate(self.resets):
            put(12, 2 + k, 1, int(flag))
        for word, value in zip((14, 15, 17, 18, 20, 21, 23), self.increments, strict=True):
            put(word, 0, 32, value)
        for k, count in enumerate(self.counts):
            put((16, 19, 22)[k // 2], 16 * (k % 2), 16, count)
        w[24] = 10 | int(self.replicate) << 24
        put(24, 10, 5, self.shift)
        put(24, 26, 2, self.shift >> 5)
        w[25], w[26] = self.in_ring
        w[27], w[28] = self.out_ring
        put(29, 24, 8, self.in_zero)
        put(30, 0, 8, self.out_zero)
        put(30, 8, 15, self.multiplier)
        for (word, low, count), value in self.patches.items():
            put(word, low, count, value)
        return w
