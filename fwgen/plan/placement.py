"""Wishes about where buffers lie: by name, nearest memory first, weights in place or copied.

The planner asks here before it decides by itself (docs/planner.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from fwgen.board.types import Board, Memory
from fwgen.errors import FitError, UsageError
from fwgen.plan.layout import Layout
from fwgen.program.program import Buffer, Program, Role

WEIGHTS = ("auto", "in-place", "copy")
"""What may become of constants: read where the image holds them or copied to RAM at boot."""


def wished_regions(
    programs: Sequence[Program], board: Board, places: Sequence[tuple[str, str]]
) -> list[dict[int, str]]:
    """For each program, the region that each named buffer must lie in.

    Args:
        places: (pattern, region). A pattern with * and ? is matched with the names of
            buffers and of the tensors that the application binds; a later pair goes
            before an earlier one. Both banks of a tensor follow it.

    Raises:
        UsageError: no such region or buffer, or a region that accelerators do not reach.
    """
    for _, region in places:
        _check_region(region, board)
    found = [_wished(program, places) for program in programs]
    for program, wishes in zip(programs, found, strict=True):
        for buffer, region in wishes.items():
            tensor = program.buffers[buffer].role is not Role.CONSTANT
            if tensor and not board.memory(region).has("tensors"):
                raise UsageError(
                    f"'{program.buffers[buffer].name}' is no constant, and '{region}' holds no "
                    "tensors",
                    where="--place",
                    expected="a memory of the board with tensors",
                )
    for pattern, _ in places:
        if not any(_matching(program, pattern) for program in programs):
            tensors = [t.name for program in programs for t in program.tensors]
            names = tensors + [b.name for program in programs for b in program.buffers]
            some = ", ".join(dict.fromkeys(tensors))
            close = get_close_matches(pattern, names, 1)
            raise UsageError(
                f"no tensor is called '{pattern}'",
                where="--place",
                expected=f"a tensor ({some}) or a buffer",
                hints=(
                    *(f"Did you mean '{name}'?" for name in close),
                    "`fwgen inspect --stage layout` lists all buffers.",
                ),
            )
    return found


def _check_region(name: str, board: Board) -> None:
    usable = [m.name for m in board.memories if m.has("dma") and _for_buffers(m)]
    if name not in usable:
        raise UsageError(
            f"'{name}' is no memory of {board.name} for tensors",
            where="--place",
            expected="one of " + ", ".join(usable),
        )


def _for_buffers(memory: Memory) -> bool:
    return memory.has("tensors") or memory.has("constants")


def _wished(program: Program, places: Sequence[tuple[str, str]]) -> dict[int, str]:
    return {buffer: region for pattern, region in places for buffer in _matching(program, pattern)}


def _matching(program: Program, pattern: str) -> list[int]:
    second = dict(program.banks)
    found = {b.id for b in program.buffers if fnmatchcase(b.name, pattern)}
    found |= {t.buffer for t in program.tensors if fnmatchcase(t.name, pattern)}
    found |= {second[buffer] for buffer in found if buffer in second}
    return sorted(found)


def check_weights(weights: str) -> None:
    """Raises UsageError for an unknown way to treat weights."""
    if weights not in WEIGHTS:
        raise UsageError(
            f"weights '{weights}' do not exist",
            where="build options",
            expected="one of " + ", ".join(WEIGHTS),
        )


def not_in_place(constants: Sequence[Buffer], board: Board) -> FitError:
    """The error where weights must be read in place and the accelerator cannot reach them."""
    return FitError(
        f"{len(constants)} constants cannot be read in place: no memory for constants is within "
        "the accelerator's reach",
        where=f"board {board.name}",
        expected='a memory with use "constants" and "dma"',
        hints=("Build with --weights copy, or leave the option out.",),
    )


def place_error(buffers: Sequence[Buffer], region: str, free: int) -> FitError:
    """The error where what was wished to be in a region does not fit."""
    total = sum(b.size for b in buffers)
    return FitError(
        f"'{region}' has {free} bytes free and cannot take "
        + ", ".join(b.name for b in buffers[:5])
        + (", ..." if len(buffers) > 5 else "")
        + f" ({total} bytes)",
        where="--place",
        expected=f"at most {free} bytes",
        hints=("Place less there, or let the planner choose.",),
    )


def placement_costs(program: Program, layout: Layout) -> dict[str, object]:
    """What the placement of a model costs, for the report: bytes by region, JSON-ready.

    `copied_at_boot` are bytes of constants that take memory twice, `second_banks` bytes of
    tensors that a pipelined build has besides.
    """
    by_region: dict[str, dict[str, int]] = {}
    for place in layout.placements:
        is_constant = program.buffers[place.buffer].role is Role.CONSTANT
        entry = by_region.setdefault(place.region, {"constants": 0, "tensors": 0})
        entry["constants" if is_constant else "tensors"] += place.size
    twins = {second for _, second in program.banks}
    return {
        "model": program.model_name,
        "buffers": [{"region": name, **entry} for name, entry in sorted(by_region.items())],
        "arenas": [
            {"region": arena.region, "kind": arena.kind, "size": arena.size}
            for arena in layout.arenas
        ],
        "copied_at_boot": sum(p.size for p in layout.placements if p.load_region is not None),
        "second_banks": sum(p.size for p in layout.placements if p.buffer in twins),
    }
