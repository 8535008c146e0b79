"""The static memory planner: Program + Board -> Layout.

Constants first: in place where the accelerator can read them, so that a part
of the image is all the memory they cost; otherwise copied to RAM at boot. Then
tensors: packed by lifetime into the board's regions in order of preference,
at the top of a region whose bottom holds variables and stacks.
"""

from __future__ import annotations

from collections.abc import Sequence

from fwgen.board.types import Accelerator, Board, Memory
from fwgen.errors import FitError, ModelError
from fwgen.plan.constants import (
    constants_do_not_fit,
    load_regions,
    place_constants,
    place_copies,
)
from fwgen.plan.layout import Arena, Layout, Placement
from fwgen.plan.packing import Item, lower_bound, pack
from fwgen.plan.placement import check_weights, not_in_place, place_error, wished_regions
from fwgen.plan.pools import (
    LINE,
    PlanOptions,
    Pool,
    Work,
    is_shared,
    kept,
    largest,
    make_pool,
    padded,
    reachable,
    up,
)
from fwgen.program.program import Buffer, Program, Role, Space

__all__ = ["LINE", "PlanOptions", "padded", "plan", "plan_all"]

_STEPS = 20_000  # of the packing, by unit of effort: some two seconds at most
_STEPS_TO_FIT = 100_000  # where all would fit by the bound, but no plan was found yet


def plan(program: Program, board: Board, options: PlanOptions = PlanOptions()) -> Layout:  # noqa: B008
    """Place all buffers of a program.

    Raises:
        FitError: a region is too small; the message has the exact numbers.
        ModelError: a buffer cannot be placed on this board at all.
    """
    return plan_all((program,), board, options)[0]


def plan_all(
    programs: Sequence[Program],
    board: Board,
    options: PlanOptions = PlanOptions(),  # noqa: B008
    exclusive: Sequence[Sequence[int]] = (),
) -> tuple[Layout, ...]:
    """Place the buffers of all programs of an image.

    Args:
        programs: in the order of their layouts.
        board: where.
        options: for all of them.
        exclusive: groups of programs, by index, of which only one is in use at a time: from
            the filling of its inputs to the reading of its outputs. Their tensors may
            overlap; what must keep its contents never does. No program is in two groups.

    Raises:
        FitError: a region is too small; the message has the exact numbers.
        ModelError: a buffer cannot be placed on this board at all.
        UsageError: a place was wished for that does not exist.
    """
    check_weights(options.weights)
    wishes = wished_regions(programs, board, options.places)
    pools = {memory.name: make_pool(memory, board, options) for memory in board.memories}
    works = []
    for program, wished in zip(programs, wishes, strict=True):
        _check_buffers(program)
        works.append(_place_what_stays(program, wished, board, pools, options))
    sharing = {index for group in exclusive for index in group}
    for index, work in enumerate(works):
        lasting = [b for b in work.waiting if index not in sharing or _keeps_contents(b)]
        _place_all(lasting, work, board, pools, options)
    for group in exclusive:
        before = {name: (pool.low, pool.high) for name, pool in pools.items()}
        after = dict(before)
        for index in group:
            for name, (low, high) in before.items():
                pools[name].low, pools[name].high = low, high
            work = works[index]
            _place_all(
                [b for b in work.waiting if not _keeps_contents(b)], work, board, pools, options
            )
            for name, pool in pools.items():
                after[name] = max(after[name][0], pool.low), min(after[name][1], pool.high)
        for name, (low, high) in after.items():
            pools[name].low, pools[name].high = low, high
    for work in works:
        _place_near(work, board, pools, options)
    return tuple(_layout(work, works, board) for work in works)


def _keeps_contents(buffer: Buffer) -> bool:
    """Whether nobody else may ever write to the buffer's memory."""
    return buffer.zeroed or buffer.data is not None


def _place_what_stays(
    program: Program,
    wishes: dict[int, str],
    board: Board,
    pools: dict[str, Pool],
    options: PlanOptions,
) -> Work:
    """Place the constants, except those that go where the tensors leave room."""
    result = Work(program, wishes=wishes)
    tensors = [b for b in program.buffers if b.role is not Role.CONSTANT]
    constants = [b for b in program.buffers if b.role is Role.CONSTANT]
    in_dram = [b for b in constants if b.space is Space.DRAM]
    in_sram = [b for b in constants if b.space is Space.SRAM]
    free = [b for b in in_dram if b.id not in wishes]
    for region in dict.fromkeys(wishes.values()):
        here = [b for b in in_dram if wishes.get(b.id) == region]
        memory = board.memory(region)
        if here and memory.has("constants"):
            if place_constants(here, [memory], pools, result):
                raise place_error(here, region, pools[region].free)
        elif here:
            place_copies(here, [memory], board, pools, result)
    regions = [m for m in board.regions("constants") if reachable(m, program)]
    if options.weights == "in-place" and free and not regions:
        raise not_in_place(free, board)
    if options.weights == "copy" or not regions:
        if free:
            targets = _tensor_regions(Space.DRAM, program, board, None)
            place_copies(free, targets, board, pools, result)
    elif not options.nearest_first and place_constants(free, regions, pools, result):
        raise constants_do_not_fit(free, regions, board, options)
    if in_sram:
        accelerator = _accelerator(program, board)
        targets = _tensor_regions(Space.SRAM, program, board, accelerator)
        place_copies(in_sram, targets, board, pools, result)
    result.loads |= load_regions([b for b in tensors if b.data is not None], board, pools)
    result.waiting = tensors
    return result


def _place_near(work: Work, board: Board, pools: dict[str, Pool], options: PlanOptions) -> None:
    """Copy to the nearest memory what the tensors have left room for; the rest stays in place."""
    constants = [b for b in work.program.buffers if b.role is Role.CONSTANT]
    waiting = [b for b in constants if b.id not in work.placements]
    if not waiting:
        return
    nearest = _tensor_regions(Space.DRAM, work.program, board, None)[0]
    room = pools[nearest.name].free
    near: list[Buffer] = []
    for buffer in waiting:
        if padded(buffer.size) <= room and not nearest.has("constants"):
            room -= padded(buffer.size)
            near.append(buffer)
    if near:
        place_copies(near, [nearest], board, pools, work)
    rest = [b for b in waiting if b.id not in work.placements]
    regions = [m for m in board.regions("constants") if reachable(m, work.program)]
    if place_constants(rest, regions, pools, work):
        raise constants_do_not_fit(rest, regions, board, options)


def _place_all(
    buffers: Sequence[Buffer],
    work: Work,
    board: Board,
    pools: dict[str, Pool],
    options: PlanOptions,
) -> None:
    accelerator = _accelerator(work.program, board)
    for space in (Space.SRAM, Space.DRAM):
        group = [b for b in buffers if b.space is space]
        if group:
            regions = _tensor_regions(space, work.program, board, accelerator)
            _place_tensors(group, work.program, regions, pools, work.loads, options, work)


def _layout(work: Work, works: Sequence[Work], board: Board) -> Layout:
    """The finished layout: guards stay where no program's buffers lie."""
    others = [p for other in works if other is not work for p in other.placements.values()]
    guards = [
        guard
        for guard in sorted(work.guards)
        if not any(p.address < guard + LINE and guard < p.address + p.size for p in others)
    ]
    placements = tuple(work.placements[buffer.id] for buffer in work.program.buffers)
    return Layout(board.name, placements, tuple(work.arenas), tuple(guards))


def _check_buffers(program: Program) -> None:
    for number, buffer in enumerate(program.buffers):
        if buffer.id != number:
            raise ModelError(f"buffer '{buffer.name}' has the id {buffer.id} at place {number}")
        if buffer.alignment < 1 or buffer.alignment & (buffer.alignment - 1):
            raise ModelError(
                f"the alignment {buffer.alignment} of buffer '{buffer.name}' is no power of two",
                where=buffer.origin,
            )
        if buffer.size < 0:
            raise ModelError(f"buffer '{buffer.name}' has a negative size", where=buffer.origin)


def _accelerator(program: Program, board: Board) -> Accelerator | None:
    for item in board.accelerators:
        if item.family == program.family and item.config == program.config:
            return item
    return None


def _tensor_regions(
    space: Space, program: Program, board: Board, accelerator: Accelerator | None
) -> list[Memory]:
    if space is Space.SRAM:
        if accelerator is None or accelerator.sram is None:
            raise ModelError(
                "the model uses the accelerator's second memory port, which the board lacks",
                where=f"board {board.name}",
                hints=("Compile the model without the SRAM (CVSRAM) memory.",),
            )
        return [board.memory(accelerator.sram)]
    regions = [m for m in board.regions("tensors", "dma") if reachable(m, program)]
    if not regions:
        raise FitError(
            "the board has no memory for tensors that the accelerator can reach",
            where=f"board {board.name}",
            expected=f'a memory below {1 << program.address_bits:#x} with use "tensors" and "dma"',
        )
    return regions


def _place_tensors(
    buffers: Sequence[Buffer],
    program: Program,
    regions: Sequence[Memory],
    pools: dict[str, Pool],
    loads: dict[int, str],
    options: PlanOptions,
    result: Work,
) -> None:
    """Pack into the first region; what does not fit goes to the next one, largest first."""
    items = {b.id: _item(b, program, options) for b in buffers}
    waiting = list(buffers)
    for number, memory in enumerate(regions):
        pool = pools[memory.name]
        may = [b for b in waiting if result.wishes.get(b.id, memory.name) == memory.name]
        wished = {b.id for b in may if b.id in result.wishes}
        offsets, chosen = _best_subset(may, items, pool, options, wished)
        if not wished <= {b.id for b in chosen}:
            raise place_error([b for b in may if b.id in wished], memory.name, pool.free)
        if len(chosen) < len(waiting) and number == len(regions) - 1:
            raise _tensors_do_not_fit(waiting, items, regions, pools, options)
        if chosen:
            _commit(chosen, items, offsets, pool, loads, options, result)
        taken = {b.id for b in chosen}
        waiting = [b for b in waiting if b.id not in taken]
        if not waiting:
            return


def _item(buffer: Buffer, program: Program, options: PlanOptions) -> Item:
    """Size and lifetime for the packing. Steps are inclusive, Item's end is not."""
    size = padded(buffer.size) + up(options.guard, LINE)
    alignment = max(LINE, buffer.alignment)
    always = (
        buffer.role is not Role.INTERNAL
        or buffer.zeroed
        or buffer.data is not None
        or not options.reuse
    )
    if always:
        return Item(-1, len(program.steps) + 1, size, alignment)
    first, last = sorted((buffer.first_step, buffer.last_step))
    first, last = max(first, -1), min(last, len(program.steps))
    return Item(min(first, last), last + 1, size, alignment)


def _best_subset(
    buffers: Sequence[Buffer],
    items: dict[int, Item],
    pool: Pool,
    options: PlanOptions,
    wished: set[int],
) -> tuple[list[int], list[Buffer]]:
    """The buffers that go into a region: all, or all but the fewest of the largest.

    What is wished to lie there is left out last.
    """
    by_size = sorted(buffers, key=lambda b: (b.id in wished, -items[b.id].size, b.id))

    def attempt(
        dropped: int, goal: int | None, steps: int = _STEPS
    ) -> tuple[list[int], list[Buffer]] | None:
        kept = sorted(by_size[dropped:], key=lambda b: b.id)
        chosen = [items[b.id] for b in kept]
        if lower_bound(chosen) > pool.free:
            return None
        packing = pack(chosen, goal, steps=options.effort * steps)
        fits = _arena_base(chosen, packing.height, pool, options) is not None
        return (list(packing.offsets), kept) if fits else None

    everything = attempt(0, None)
    if everything is not None:
        return everything
    room = max(0, pool.free - up(options.guard, LINE))
    # The lowest plan was too much to ask for; one that just fits may be found.
    everything = attempt(0, room, _STEPS_TO_FIT)
    if everything is not None:
        return everything
    low, high = 0, len(by_size)  # `low` dropped does not fit, `high` (nothing kept) does
    while high - low > 1:
        middle = (low + high) // 2
        if attempt(middle, room) is None:
            low = middle
        else:
            high = middle
    best = attempt(high, room)
    return best if best is not None else ([], [])


def _arena_base(items: Sequence[Item], height: int, pool: Pool, options: PlanOptions) -> int | None:
    """Address of offset 0 of a tensor arena in what is left of a region; None: no room."""
    alignment = max((item.alignment for item in items), default=LINE)
    guard = up(options.guard, LINE)
    if is_shared(pool.memory):
        base = (pool.high - height) // alignment * alignment
        return base if base - guard >= pool.low else None
    base = up(pool.low + guard, alignment)
    return base if base + height <= pool.high else None


def _commit(
    buffers: Sequence[Buffer],
    items: dict[int, Item],
    offsets: Sequence[int],
    pool: Pool,
    loads: dict[int, str],
    options: PlanOptions,
    result: Work,
) -> None:
    """Turn offsets into addresses at the top of the region."""
    chosen = [items[b.id] for b in buffers]
    guard = up(options.guard, LINE)  # one in front of the arena, one behind each buffer
    height = max(offset + item.size for offset, item in zip(offsets, chosen, strict=True))
    base = _arena_base(chosen, height, pool, options)
    assert base is not None
    spans = []
    for buffer, item, offset in zip(buffers, chosen, offsets, strict=True):
        address = base + offset
        result.placements[buffer.id] = Placement(
            buffer.id, pool.memory.name, address, item.size - guard, loads.get(buffer.id)
        )
        spans.append((address, address + item.size - guard))
    start, end = base - guard, base + height
    result.arenas.append(
        Arena(pool.memory.name, "tensors", start, end - start, lower_bound(chosen))
    )
    if guard:
        result.guards += [start, *_free_guards(spans)]
    if is_shared(pool.memory):
        pool.high = start
    else:
        pool.low = end


def _free_guards(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Ends of buffers behind which a guard line is free at all times."""
    ends = sorted({end for _, end in spans})
    return [end for end in ends if not any(low < end + LINE and end < high for low, high in spans)]


def _tensors_do_not_fit(
    buffers: Sequence[Buffer],
    items: dict[int, Item],
    regions: Sequence[Memory],
    pools: dict[str, Pool],
    options: PlanOptions,
) -> FitError:
    memory = regions[-1]
    pool = pools[memory.name]
    chosen = [items[b.id] for b in buffers]
    needed = pack(chosen, steps=options.effort * _STEPS).height
    bound = lower_bound(chosen)
    hints = [largest(buffers)]
    if memory.has("data"):
        reserve = kept(memory, options.reserve, options.least_reserve)
        hints.append(f"{reserve} bytes of '{memory.name}' are kept for variables and stacks.")
    hints.append("Build for a board with more memory, or compile a smaller model.")
    return FitError(
        f"the tensors need {needed} bytes (at least {bound}), "
        f"memory '{memory.name}' has {pool.free} of {memory.size} bytes free",
        where=", ".join(f"memory '{m.name}'" for m in regions),
        expected=f"at most {pool.free} bytes",
        hints=tuple(hints),
    )
