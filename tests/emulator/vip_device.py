"""An emulated VIP with memory, driven by command words, and descriptors made by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fwgen.check.random_vip_tp import TpFields
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


def tp_job(**fields: object) -> TpFields:
    """A TP descriptor from SOURCE to TARGET, otherwise that of a small copy."""
    return TpFields(**({"source": SOURCE, "target": TARGET} | fields))  # type: ignore[arg-type]
