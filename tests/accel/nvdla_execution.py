"""Plays a Program on the NumPy reference accelerator, as the target's executor would.

Buffers are placed by lifetime in one block of memory, and everything that the
Program does not declare as zero or constant is filled with noise first: a
forgotten byte or a lifetime that is too short shows up as a wrong result.
"""

from __future__ import annotations

import struct

import numpy as np
from emu_reference import power, softmax
from numpy.typing import NDArray

from fwgen.accel.nvdla.registers import OFFSETS
from fwgen.program.commands import (
    AddressOf,
    Cpu,
    End,
    Kernel,
    Poll,
    SelectGroup,
    Value,
    Wait,
    Write,
    WritePort,
)
from fwgen.program.program import Program, Role
from fwgen.reference.nvdla.interpreter import ReferenceNvdla

BASE = 0x8000_0000
STATUS = OFFSETS["GLB.S_INTR_STATUS"]


def _bits_of(word: int) -> float:
    value: float = struct.unpack("<f", struct.pack("<I", word))[0]
    return value


class Target:
    """One board after boot; `run` is one inference."""

    def __init__(self, program: Program, seed: int = 1) -> None:
        self.program = program
        self.addresses = self._place()
        size = max(self.addresses[b.id] + -(-b.size // 64) * 64 for b in program.buffers) - BASE
        self.nvdla = ReferenceNvdla(program.config)
        self.memory: NDArray[np.uint8] = self.nvdla.add_memory(0, BASE, size)
        self.memory[:] = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
        for buffer in program.buffers:
            if buffer.zeroed:
                self._bytes(buffer.id)[:] = 0
            if buffer.data is not None:
                self._bytes(buffer.id)[:] = np.frombuffer(buffer.data, np.uint8)
        self.parity = 0

    def _place(self) -> list[int]:
        """First fit by size; buffers share memory when their lives do not meet."""
        placed: list[tuple[int, int, int, int]] = []
        addresses = [0] * len(self.program.buffers)
        for buffer in sorted(self.program.buffers, key=lambda b: (-b.size, b.id)):
            fixed = buffer.role is not Role.INTERNAL or buffer.zeroed or buffer.data is not None
            first, last = (-1, 1 << 30) if fixed else (buffer.first_step, buffer.last_step)
            at, size = BASE, -(-buffer.size // 64) * 64
            for low, high, begin, end in sorted(placed):
                if begin <= last and first <= end and at < high and low < at + size:
                    at = high
            addresses[buffer.id] = at
            placed.append((at, at + size, first, last))
        return addresses

    def _bytes(self, buffer: int) -> NDArray[np.uint8]:
        at = self.addresses[buffer] - BASE
        return self.memory[at : at + self.program.buffers[buffer].size]

    def _value(self, value: Value) -> int:
        if isinstance(value, AddressOf):
            address = self.addresses[value.buffer] + value.offset
            return (address >> 32) if value.high else address & 0xFFFFFFFF
        return value

    def _swap(self, mask: int) -> int:
        for pair in range(16):
            if self.parity >> pair & 1:
                low, high = mask >> (2 * pair) & 1, mask >> (2 * pair + 1) & 1
                mask &= ~(3 << (2 * pair))
                mask |= high << (2 * pair) | low << (2 * pair + 1)
        return mask

    def run(self, inputs: list[bytes]) -> list[bytes]:
        """Bind inputs (bytes of each input's tensor), run, return the output buffers."""
        program = self.program
        for tensor, data in zip(program.inputs(), inputs, strict=True):
            whole = self._bytes(tensor.buffer)
            whole[tensor.offset : tensor.offset + len(data)] = np.frombuffer(data, np.uint8)
        seen = 0
        for command in program.commands:
            if isinstance(command, Write):
                self.nvdla.write(command.register, self._value(command.value))
            elif isinstance(command, WritePort):
                for word in command.values:
                    self.nvdla.write(command.register, word)
            elif isinstance(command, SelectGroup):
                self.nvdla.write(command.register, command.group ^ self.parity >> command.pair & 1)
            elif isinstance(command, Poll):
                assert self.nvdla.read(command.register) & command.mask == command.expected
            elif isinstance(command, Wait):
                status = self.nvdla.read(STATUS)
                self.nvdla.write(STATUS, status)
                seen |= status
                mask = self._swap(command.mask)
                assert seen & mask == mask, f"waits for {mask:x}, has {seen:x}"
                seen &= ~mask
            elif isinstance(command, Cpu):
                self._cpu(command)
            elif isinstance(command, End):
                self.parity ^= command.toggled_pairs
        return [self._bytes(t.buffer).tobytes() for t in program.outputs()]

    def _cpu(self, command: Cpu) -> None:
        words = [self._value(value) for value in command.arguments]
        source = self.memory[words[0] - BASE :]
        destination = self.memory[words[1] - BASE :]
        if command.kernel is Kernel.SOFTMAX:
            channels, form = words[2], words[3]
            softmax(source, destination, channels, form, *map(_bits_of, words[4:]))
        else:
            power(source, destination, *words[2:10], *map(_bits_of, words[10:]))
