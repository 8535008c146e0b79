"""Layout: where every byte of a Program lives on a board."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """One buffer's place.

    Attributes:
        buffer: buffer id.
        region: name of the board's memory region.
        address: absolute byte address, as CPU and accelerator see it.
        size: bytes reserved (padded to the cache line).
        load_region: region that holds the initial contents when they are copied
            at boot, None when executed in place or without contents.
    """

    buffer: int
    region: str
    address: int
    size: int
    load_region: str | None = None


@dataclass(frozen=True, slots=True)
class Arena:
    """A contiguous reserved range [base, base + size) of one region.

    kind is "constants" (read only, part of the image) or "tensors".
    lower_bound is the largest sum of sizes that are alive at the same time:
    no plan can be smaller.
    """

    region: str
    kind: str
    base: int
    size: int
    lower_bound: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Placements of all buffers, and the ranges the linker script must keep free."""

    board: str
    placements: tuple[Placement, ...]
    arenas: tuple[Arena, ...]

    def address(self, buffer: int) -> int:
        """Absolute address of a buffer's first byte."""
        return self.placements[buffer].address
