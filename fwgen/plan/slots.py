"""Where the models of slots lie: the addresses that firmware and packages agree on.

A package is linked for them on the host (docs/update.md). The layout hash stands for all
that both sides must have in common; it is in the firmware and in each package.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from fwgen.board.types import Board, Memory
from fwgen.errors import UsageError
from fwgen.plan.layout import Layout
from fwgen.program.commands import Kernel

FORMAT = 1
"""Version of the package format: part of the hash."""

HEADER_SIZE = 512
CONSTANTS = "slot"
TENSORS = "slot_tensors"


@dataclass(frozen=True, slots=True)
class SlotLayout:
    """The addresses of a board's slots.

    Attributes:
        bases: where a package's first byte is when its model runs: one address for models
            that are copied, one for each slot for models that stay there.
        room: bytes that a package may have.
        tensors: (address, bytes) of the memory of all tensors.
        hash: 8 bytes.
    """

    bases: tuple[int, ...]
    room: int
    tensors: tuple[int, int]
    hash: bytes


def slot_kernels(board: Board) -> tuple[Kernel, ...]:
    """CPU kernels that firmware with slots has: for whatever model may come.

    Beside hardware the CPU does what the hardware lacks; without, everything.
    """
    if all(accelerator.is_hardware for accelerator in board.accelerators):
        return (Kernel.SOFTMAX, Kernel.POWER)
    return tuple(Kernel)


def has_slots(board: Board) -> bool:
    """Whether the board's profile has model slots."""
    return board.nvmem is not None and bool(board.nvmem.of_kind("slot"))


def slot_layout(board: Board) -> SlotLayout:
    """The addresses of the board's slots.

    Raises:
        UsageError: the board has none.
    """
    nvmem = board.nvmem
    if nvmem is None or nvmem.tensors is None or not has_slots(board):
        raise UsageError(
            "the board has no model slots",
            where=board.name,
            expected="a profile whose [nvmem] has two partitions of kind 'slot'",
            hints=("`fwgen boards list`: mps2-an385-nvmem has slots.",),
        )
    slots = nvmem.of_kind("slot")
    memory = board.memory(nvmem.memory)
    room = slots[0].size
    if nvmem.run is None:
        bases = tuple(memory.base + slot.offset for slot in slots)
    else:
        run = board.memory(nvmem.run)
        bases, room = (run.base,), min(room, run.size)
    tensors = board.memory(nvmem.tensors)
    facts = {
        "format": FORMAT,
        "board": board.name,
        "core": board.cpu.core,
        "accelerators": [
            [a.name, a.family, a.config, a.base, a.irq, a.sram] for a in board.accelerators
        ],
        "bases": bases,
        "room": room,
        "tensors": [tensors.base, tensors.size],
    }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).digest()[:8]
    return SlotLayout(bases, room, (tensors.base, tensors.size), digest)


def slot_board(board: Board, base: int) -> Board:
    """The board as the planner of a package sees it.

    Constants go behind the header of a package at `base`, tensors into their memory;
    nothing else of the board can be used.
    """
    nvmem = board.nvmem
    assert nvmem is not None and nvmem.tensors is not None
    layout = slot_layout(board)
    holder = board.memory(nvmem.run if nvmem.run is not None else nvmem.memory)
    tensors = board.memory(nvmem.tensors)
    memories: list[Memory] = [
        replace(m, use=tuple(use for use in m.use if use in ("code", "data")))
        for m in board.memories
        if m.has("code") or m.has("data")
    ]
    memories.append(
        Memory(
            CONSTANTS,
            base + HEADER_SIZE,
            layout.room - HEADER_SIZE,
            ("constants", "dma"),
            cached=holder.cached,
        )
    )
    memories.append(
        Memory(TENSORS, tensors.base, tensors.size, ("tensors", "dma"), cached=tensors.cached)
    )
    return replace(board, memories=tuple(memories))


def tensor_range(layout: Layout) -> tuple[int, int]:
    """(address, bytes) of the tensors of a package, (the memory's start, 0) without any."""
    arenas = [arena for arena in layout.arenas if arena.kind == "tensors" and arena.size]
    if not arenas:
        return 0, 0
    start = min(arena.base for arena in arenas)
    return start, max(arena.base + arena.size for arena in arenas) - start
