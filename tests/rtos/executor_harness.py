"""What the executor's tests share: commands as words, the library, an interpreter.

The interpreter follows docs/program.md and nothing else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field

OK, TIMEOUT, DEVICE, NOT_SUPPORTED, CANCELLED, PROGRAM = 0, 7, 8, 9, 18, 19
OPERATION, PARITY, STATUS, LOGGED, NOW, KERNEL_COUNT, CACHE, CACHE_AT, CACHE_SIZE, RESETS = range(
    10
)
FOREVER = 0xFFFFFFFF

# pairs of the tests -> pointer register; 8 and 9 have none of their own
POINTERS = {0: 0x9004, 2: 0xB004, 5: 0x8004, 10: 0x7004}


def run(register: int, *values: int) -> list[int]:
    return [1 << 28 | len(values) << 20 | register >> 2, *values]


def port(register: int, *values: int) -> list[int]:
    return [2 << 28 | len(values) << 20 | register >> 2, *values]


def put(register: int, value: int) -> list[int]:
    return [3 << 28 | value << 20 | register >> 2]


def group(pair: int, number: int, register: int | None = None) -> list[int]:
    register = POINTERS[pair] if register is None else register
    return [4 << 28 | (pair << 1 | number) << 20 | register >> 2]


def wait(mask: int, milliseconds: int = 0) -> list[int]:
    return [5 << 28 | milliseconds, mask]


def poll(register: int, mask: int, value: int) -> list[int]:
    return [6 << 28 | register >> 2, mask, value]


def cpu(kernel: int, *arguments: int) -> list[int]:
    return [7 << 28 | kernel << 20 | len(arguments), *arguments]


def cache(action: int, address: int, size: int) -> list[int]:
    return [8 << 28 | action << 20, address, size]


def mark(operation: int) -> list[int]:
    return [9 << 28 | operation]


def end(pairs: int = 0) -> list[int]:
    return [pairs]


def command_words(word: int) -> int:
    """Words of a command, itself included."""
    count = word >> 20 & 0xFF
    return {1: 1 + count, 2: 1 + count, 5: 2, 6: 3, 7: 1 + (word & 0xFFFFF), 8: 3}.get(
        word >> 28, 1
    )


def spread(pairs: int) -> int:
    return sum(1 << 2 * n for n in range(16) if pairs >> n & 1)


@dataclass
class Harness:
    """The library and what the "hardware" does when the executor waits."""

    library: ctypes.CDLL
    on_wait: Callable[[int], int] = lambda ticks: ticks
    on_write: Callable[[int, int], None] = lambda offset, value: None
    _keep: list[object] = field(default_factory=list)

    def reset(self) -> None:
        write = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32)(
            lambda offset, value: self.on_write(offset, value)
        )
        waiting = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)(
            lambda ticks: self.on_wait(ticks)
        )
        self._keep = [write, waiting]
        self.library.harness_reset(write, waiting)

    def run(self, program: list[int], timeout: int = FOREVER) -> int:
        words = (ctypes.c_uint32 * len(program))(*program)
        return int(self.library.harness_run(words, len(program), ctypes.c_uint32(timeout)))

    def install(self, program: list[int]) -> None:
        """Makes it the program of the model that recovery reads."""
        words = (ctypes.c_uint32 * len(program))(*program)
        self.library.harness_program(words, len(program))

    def get(self, what: int) -> int:
        return int(self.library.harness_get(what)) & 0xFFFFFFFF

    def log(self, first: int = 0) -> list[tuple[int, int]]:
        entries = ctypes.cast(self.library.harness_log(), ctypes.POINTER(ctypes.c_uint32))
        return [(entries[2 * i], entries[2 * i + 1]) for i in range(first, self.get(LOGGED))]


class Interpreter:
    """docs/program.md, word for word: the writes that a run makes."""

    def __init__(self) -> None:
        self.parity = 0

    def play(self, program: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
        writes: list[tuple[int, int]] = []
        masks: list[int] = []
        at = 0
        while True:
            word = program[at]
            code, count, register = word >> 28, word >> 20 & 0xFF, (word & 0xFFFFF) * 4
            at += 1
            if code == 0:
                self.parity ^= word & 0xFFFF
                return writes, masks
            if code in (1, 2):
                for i in range(count):
                    writes.append((register + (4 * i if code == 1 else 0), program[at + i]))
                at += count
            elif code == 3:
                writes.append((register, count))
            elif code == 4:
                writes.append((register, (count & 1) ^ (self.parity >> (count >> 1) & 1)))
            elif code == 5:
                mask = 0
                for bit in range(32):
                    if program[at] >> bit & 1:
                        mask |= 1 << (bit ^ (self.parity >> (bit >> 1) & 1))
                masks.append(mask)
                at += 1
            elif code == 7:
                at += word & 0xFFFFF
            elif code in (6, 8):
                at += 2
