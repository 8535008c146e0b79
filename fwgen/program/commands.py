"""The commands of a Program.

A Program is a constant list that a small executor on the target plays: register
writes, waits for interrupts, CPU kernels, cache maintenance. Everything that
can be known on the host has been decided here; only the addresses of buffers are
still symbolic (`AddressOf`) and become numbers when a Layout is known.
docs/program.md gives the 32-bit encoding of each command.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class AddressOf:
    """One 32-bit half of the address of a byte in a buffer.

    Attributes:
        buffer: id of the buffer.
        offset: bytes from the buffer's start.
        high: True for bits 63:32 of the address, False for bits 31:0.
        following: of a buffer with two banks the one of the run that follows,
            else the one of this run.
    """

    buffer: int
    offset: int = 0
    high: bool = False
    following: bool = False


Value = int | AddressOf


@dataclass(frozen=True, slots=True)
class Write:
    """Write a 32-bit value to a register (byte offset in the window)."""

    register: int
    value: Value


@dataclass(frozen=True, slots=True)
class WritePort:
    """Write values one after another to the same register (table upload)."""

    register: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SelectGroup:
    """Write a ping-pong group number to a pointer register.

    The executor writes `group` exclusive-or the parity that it keeps for `pair`:
    a unit that ran an odd number of operations starts the next run with the other
    group (docs/program.md, "Repeated runs").

    Attributes:
        register: byte offset of the pointer register.
        group: 0 or 1, as if this were the first run after reset.
        pair: 0..15, number of the unit's pair of status bits.
    """

    register: int
    group: int
    pair: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until all interrupt status bits of `mask` have been seen.

    Attributes:
        mask: status bits as if this were the first run after reset.
        timeout_ms: 0 for the default of the build.
        operations: indices of the operations that end here.
    """

    mask: int
    timeout_ms: int = 0
    operations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Poll:
    """Read a register until (value & mask) == expected; bounded by the timeout."""

    register: int
    mask: int
    expected: int


class Kernel(IntEnum):
    """CPU kernels; the numbers are part of the encoding."""

    SOFTMAX = 1
    POWER = 2
    CONVOLUTION = 3
    POINTWISE = 4
    POOLING = 5
    NORMALISATION = 6


@dataclass(frozen=True, slots=True)
class Cpu:
    """Run a kernel on the CPU. Arguments are 32-bit words (floats as their bits)."""

    kernel: Kernel
    arguments: tuple[Value, ...]


class CacheAction(IntEnum):
    """What to do with the data cache over a range."""

    CLEAN = 1
    INVALIDATE = 2


@dataclass(frozen=True, slots=True)
class Cache:
    """Maintain the data cache over a whole buffer (before or after DMA).

    `following` as in AddressOf.
    """

    action: CacheAction
    buffer: int
    following: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """The next commands belong to this operation (profile, canary check, errors)."""

    operation: int


@dataclass(frozen=True, slots=True)
class End:
    """End of the program; flips the parity of the given pairs (bit n = pair n)."""

    toggled_pairs: int = 0


class Condition(IntEnum):
    """What the executor knows of a run; the numbers are part of the encoding."""

    BANK_A = 0
    """Inputs and outputs of this run are in the first bank."""
    BANK_B = 1
    COLD = 2
    """The run before has not done this run's first commands."""
    NEXT = 3
    """A run of the same program follows. Asked here, once a run."""
    NEXT_BANK_A = 4
    """A run follows, and its inputs and outputs are in the first bank."""
    NEXT_BANK_B = 5
    AHEAD = 6
    """NEXT was asked and a run follows."""


@dataclass(frozen=True, slots=True)
class Only:
    """Commands that are skipped unless a condition holds."""

    condition: Condition
    commands: tuple[Command, ...]


Command = Write | WritePort | SelectGroup | Wait | Poll | Cpu | Cache | Mark | End | Only
