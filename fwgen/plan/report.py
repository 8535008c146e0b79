"""The memory map of a build as data: regions, arenas, buffers, used and free bytes."""

from __future__ import annotations

from fwgen.board.types import Board
from fwgen.plan.layout import Layout
from fwgen.program.program import Program


def memory_map(layout: Layout, program: Program, board: Board) -> dict[str, object]:
    """JSON-ready memory map of the planned part; text and variables come with the link.

    Each region lists its arenas and its buffers by address. `used` counts the
    arenas and the initial contents kept for the copy at boot; `gap` is what the
    tensor arenas are above the lower bound.
    """
    regions: list[dict[str, object]] = []
    for memory in board.memories:
        arenas = [a for a in layout.arenas if a.region == memory.name]
        loads = sum(p.size for p in layout.placements if p.load_region == memory.name)
        used = sum(a.size for a in arenas) + loads
        placed = sorted(
            (p for p in layout.placements if p.region == memory.name),
            key=lambda p: (p.address, p.buffer),
        )
        regions.append(
            {
                "name": memory.name,
                "base": memory.base,
                "size": memory.size,
                "use": list(memory.use),
                "used": used,
                "free": memory.size - used,
                "arenas": [
                    {
                        "kind": a.kind,
                        "base": a.base,
                        "size": a.size,
                        "lower_bound": a.lower_bound,
                        "gap": a.size - a.lower_bound,
                    }
                    for a in arenas
                ],
                "buffers": [
                    {
                        "name": program.buffers[p.buffer].name,
                        "role": str(program.buffers[p.buffer].role),
                        "address": p.address,
                        "size": program.buffers[p.buffer].size,
                        "reserved": p.size,
                        "first_step": program.buffers[p.buffer].first_step,
                        "last_step": program.buffers[p.buffer].last_step,
                        "load_region": p.load_region,
                    }
                    for p in placed
                ],
            }
        )
    return {"board": board.name, "model": program.model_name, "regions": regions}
