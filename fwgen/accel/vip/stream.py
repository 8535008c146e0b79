"""Command buffers: what the front end plays for a whole network, or for a part of it.

The state buffers of a graph's operations follow each other, then the end that a
driver adds: flush the caches, wait for the engines, raise an event, stop. Facts: the
front end's commands (Mesa's etnaviv driver, Linux etnaviv driver).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from fwgen.accel.vip.loads import StateLoad
from fwgen.accel.vip.registers import EVENT, FLUSH_CACHE, SEMAPHORE
from fwgen.model.nbg.states import load_state

EVENT_ID = 0
EVENT_BIT = 1 << EVENT_ID
"""Of INTR_ACKNOWLEDGE, when a command buffer is done."""

FETCH_LIMIT = 0xFFFF
"""64-bit words that the front end can be told to fetch."""

_END = 2 << 27
_STALL = 9 << 27
_FROM_PIXEL_ENGINE = 0x40
_FRONT_END_AND_PIXEL_ENGINE = 0x0701
_FLUSH_ALL = 0xC23

TAIL = (
    load_state(FLUSH_CACHE),
    _FLUSH_ALL,
    load_state(SEMAPHORE),
    _FRONT_END_AND_PIXEL_ENGINE,
    _STALL,
    _FRONT_END_AND_PIXEL_ENGINE,
    load_state(EVENT),
    _FROM_PIXEL_ENGINE | EVENT_ID,
    _END,
    0,
)
"""What ends every command buffer."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The words of all command buffers, one after another.

    Attributes:
        words: 32-bit words; where a load names an address, what is added to it.
        fixups: (byte offset, load) of the words that get an address; the operation
            beside it is the one whose descriptor a job load names.
        buffers: (byte offset, bytes) of each buffer; each starts on 64 bytes.
    """

    words: tuple[int, ...]
    fixups: tuple[tuple[int, StateLoad, int], ...]
    buffers: tuple[tuple[int, int], ...]

    def data(self) -> bytes:
        """The words as bytes."""
        return struct.pack(f"<{len(self.words)}I", *self.words)


def make_stream(parts: Sequence[Sequence[tuple[int, Sequence[StateLoad]]]]) -> Stream:
    """Command buffers for groups of operations.

    Args:
        parts: for each buffer the operations in it, by index, with their loads.
    """
    words: list[int] = []
    fixups: list[tuple[int, StateLoad, int]] = []
    buffers: list[tuple[int, int]] = []
    for part in parts:
        words += [0] * (-len(words) % 16)
        start = len(words)
        for operation, loads in part:
            for load in loads:
                words.append(load_state(load.state))
                if load.is_job or load.place is not None:
                    fixups.append((4 * len(words), load, operation))
                words.append(load.value & 0xFFFFFFFF)
        words += TAIL
        buffers.append((4 * start, 4 * (len(words) - start)))
    return Stream(tuple(words), tuple(fixups), tuple(buffers))
