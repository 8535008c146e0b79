"""Where constants lie: read in place, or copied to RAM at boot from a load image."""

from __future__ import annotations

from collections.abc import Sequence

from fwgen.board.types import Board, Memory
from fwgen.errors import FitError
from fwgen.plan.layout import Arena, Placement
from fwgen.plan.pools import (
    LINE,
    PlanOptions,
    Pool,
    Work,
    is_shared,
    largest,
    make_pool,
    padded,
    up,
)
from fwgen.program.program import Buffer


def place_constants(
    constants: Sequence[Buffer],
    regions: Sequence[Memory],
    pools: dict[str, Pool],
    result: Work,
) -> list[Buffer]:
    """Place what is read in place; return what finds no room."""
    waiting = list(constants)
    for memory in regions:
        pool = pools[memory.name]
        taken: list[Buffer] = []
        refused: list[Buffer] = []
        base = end = 0
        for buffer in waiting:
            alignment = max(LINE, buffer.alignment)
            address = up(end if taken else pool.low, alignment)
            if address + padded(buffer.size) > pool.high:
                refused.append(buffer)
                continue
            base = base if taken else address
            end = address + padded(buffer.size)
            taken.append(buffer)
            result.placements[buffer.id] = Placement(
                buffer.id, memory.name, address, padded(buffer.size)
            )
        if taken:
            total = sum(padded(b.size) for b in taken)
            result.arenas.append(Arena(memory.name, "constants", base, end - base, total))
            pool.low = end
        waiting = refused
    return waiting


def constants_do_not_fit(
    constants: Sequence[Buffer], regions: Sequence[Memory], board: Board, options: PlanOptions
) -> FitError:
    needed = sum(padded(b.size) for b in constants)
    fresh = {m.name: make_pool(m, board, options) for m in regions}
    room = sum(pool.free for pool in fresh.values())
    names = ", ".join(f"'{m.name}' ({fresh[m.name].free} bytes free of {m.size})" for m in regions)
    return FitError(
        f"the constants need {needed} bytes, {max(1, needed - room)} more than {names} can give "
        "beside the program's text",
        where=f"board {board.name}",
        expected=f"at most {room} bytes",
        hints=(largest(constants), "Build for a board with more memory for constants."),
    )


def load_regions(copied: Sequence[Buffer], board: Board, pools: dict[str, Pool]) -> dict[int, str]:
    """Where the initial contents of buffers in RAM lie until they are copied at boot."""
    result: dict[int, str] = {}
    regions = board.regions("constants") or (board.code,)
    for buffer in copied:
        for memory in regions:
            pool = pools[memory.name]
            if padded(buffer.size) <= pool.free:
                pool.low += padded(buffer.size)
                result[buffer.id] = memory.name
                break
        else:
            raise FitError(
                f"the initial contents of '{buffer.name}' need {padded(buffer.size)} bytes, "
                f"'{regions[-1].name}' has {pools[regions[-1].name].free} left",
                where=f"board {board.name}",
                expected=f"at most {max(pools[m.name].free for m in regions)} bytes",
                hints=(largest(copied),),
            )
    return result


def place_copies(
    constants: Sequence[Buffer],
    regions: Sequence[Memory],
    board: Board,
    pools: dict[str, Pool],
    result: Work,
) -> None:
    """Place constants side by side in RAM, apart from the tensors, and their load images."""
    result.loads |= load_regions(constants, board, pools)
    waiting = list(constants)
    for memory in regions:
        pool = pools[memory.name]
        taken: list[Buffer] = []
        size = 0
        for buffer in waiting:
            if size + padded(buffer.size) <= pool.free - LINE:
                taken.append(buffer)
                size += padded(buffer.size)
        if not taken:
            continue
        base = up(pool.low, LINE)
        if is_shared(memory):
            base = (pool.high - size) // LINE * LINE
            pool.high = base
        else:
            pool.low = base + size
        result.arenas.append(Arena(memory.name, "constants", base, size, size))
        for buffer in taken:
            result.placements[buffer.id] = Placement(
                buffer.id, memory.name, base, padded(buffer.size), result.loads[buffer.id]
            )
            base += padded(buffer.size)
        waiting = [b for b in waiting if b.id not in result.placements]
        if not waiting:
            return
    needed = sum(padded(b.size) for b in constants)
    names = ", ".join(f"'{m.name}'" for m in regions)
    raise FitError(
        f"the constants that are copied at boot need {needed} bytes, more than {names} can give",
        where=f"board {board.name}",
        expected=f"at most {sum(pools[m.name].free for m in regions)} more bytes",
        hints=(largest(constants), "Read them in place, where the accelerator can."),
    )
