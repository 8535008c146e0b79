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
    """Placements of all buffers, and the ranges the linker script must keep free.

    Attributes:
        placements: by buffer id.
        guards: addresses of the guard lines of test builds, ascending: inside
            the tensor arenas, used by no buffer at any time. The first word of
            each is a canary.
    """

    board: str
    placements: tuple[Placement, ...]
    arenas: tuple[Arena, ...]
    guards: tuple[int, ...] = ()

    def address(self, buffer: int) -> int:
        """Absolute address of a buffer's first byte."""
        return self.placements[buffer].address

    def to_json(self) -> dict[str, object]:
        """The layout as JSON-ready data; addresses are numbers."""
        return {
            "board": self.board,
            "placements": [
                {
                    "buffer": p.buffer,
                    "region": p.region,
                    "address": p.address,
                    "size": p.size,
                    "load_region": p.load_region,
                }
                for p in self.placements
            ],
            "arenas": [
                {
                    "region": a.region,
                    "kind": a.kind,
                    "base": a.base,
                    "size": a.size,
                    "lower_bound": a.lower_bound,
                }
                for a in self.arenas
            ],
            "guards": list(self.guards),
        }
