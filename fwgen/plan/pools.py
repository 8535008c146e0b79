"""What the planner's parts share: options, free memory of regions, decisions so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fwgen.board.types import Board, Memory
from fwgen.plan.layout import Arena, Placement
from fwgen.program.program import Buffer, Program

LINE = 64  # bytes of a cache line: what the accelerator touches is padded to it

RAM_IMAGE_TEXT = 512 * 1024
"""Bytes for the program text in front of the constants, on boards that load the image to RAM."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What the build wants of the plan.

    Attributes:
        head: bytes at the start of the code region in front of the constants
            (vector table and what must follow it); None: room for the board's
            interrupts.
        text: bytes kept free behind the constants for the program text, in a
            region that is large enough; in a smaller one a quarter of it, and at
            least `least_text`. The linker has the last word.
        reserve: the same for variables and stacks at the bottom of a data region.
        least_text, least_reserve: what the smallest image needs.
        guard: bytes of guard behind each tensor buffer, rounded up to whole
            cache lines; 0 for none.
        reuse: whether buffers that never live at the same time may share memory.
        effort: multiplies the steps the packing may take.
        places: (pattern of names, region): where the user wants buffers.
        nearest_first: whether weights that fit beside the tensors in the nearest memory
            for tensors are copied there at boot.
        weights: "in-place", "copy" or "auto": in place where the accelerator can.
    """

    head: int | None = None
    text: int = 64 * 1024
    reserve: int = 64 * 1024
    least_text: int = 12 * 1024
    least_reserve: int = 12 * 1024
    guard: int = 0
    reuse: bool = True
    effort: int = 1
    places: tuple[tuple[str, str], ...] = ()
    nearest_first: bool = False
    weights: str = "auto"


@dataclass(slots=True)
class Pool:
    """What is left of a region while the plan grows."""

    memory: Memory
    low: int  # first free address
    high: int  # one past the last free address

    @property
    def free(self) -> int:
        return max(0, self.high - self.low)


@dataclass(slots=True)
class Work:
    """A program and what has been decided for it.

    `waiting` are the tensors, `wishes` gives the region that a buffer must lie in.
    """

    program: Program
    waiting: list[Buffer] = field(default_factory=list)
    wishes: dict[int, str] = field(default_factory=dict)
    loads: dict[int, str] = field(default_factory=dict)
    placements: dict[int, Placement] = field(default_factory=dict)
    arenas: list[Arena] = field(default_factory=list)
    guards: list[int] = field(default_factory=list)


def padded(size: int) -> int:
    """Bytes reserved for a buffer of `size` bytes: whole cache lines, at least one."""
    return max(LINE, up(size, LINE))


def up(value: int, to: int) -> int:
    return -(-value // to) * to


def make_pool(memory: Memory, board: Board, options: PlanOptions) -> Pool:
    low, high = memory.base, memory.end
    if memory is board.code and board.cpu.irq_controller != "nvic":
        # One image, from its entry point on: text, then constants.
        low = board.vector_table + kept(memory, RAM_IMAGE_TEXT, options.least_text)
        if memory is board.data:
            high -= kept(memory, options.reserve, options.least_reserve)
        return Pool(memory, up(low, LINE), high)
    if memory is board.code:
        head = options.head
        if head is None:
            head = up(4 * (16 + board.cpu.external_irqs), 256)
        low += head
        high -= kept(memory, options.text, options.least_text)
    if memory is board.data:
        low = max(low, memory.base + kept(memory, options.reserve, options.least_reserve))
    return Pool(memory, up(low, LINE), high)


def kept(memory: Memory, usual: int, least: int) -> int:
    return max(least, min(usual, memory.size // 4))


def reachable(memory: Memory, program: Program) -> bool:
    return memory.has("dma") and memory.end <= 1 << program.address_bits


def is_shared(memory: Memory) -> bool:
    """Whether the linker places things at the bottom of this region."""
    return not {"data", "code", "constants"}.isdisjoint(memory.use)


def largest(buffers: Sequence[Buffer]) -> str:
    top = sorted(buffers, key=lambda b: (-b.size, b.id))[:5]
    return "The largest: " + ", ".join(f"{b.name} ({b.size} bytes)" for b in top) + "."
