"""The static memory planner: Program + Board -> Layout.

Constants first: in place where the accelerator can read them, so that a part
of the image is all the memory they cost; otherwise copied to RAM at boot. Then
tensors: packed by lifetime into the board's regions in order of preference,
at the top of a region whose bottom holds variables and stacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fwgen.board.types import Accelerator, Board, Memory
from fwgen.errors import FitError, ModelError
from fwgen.plan.layout import Arena, Layout, Placement
from fwgen.plan.packing import Item, lower_bound, pack
from fwgen.program.program import Buffer, Program, Role, Space

_STEPS = 20_000  # of the packing, by unit of effort: some two seconds at most
LINE = 64  # bytes of a cache line: what the accelerator touches is padded to it


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
    """

    head: int | None = None
    text: int = 64 * 1024
    reserve: int = 64 * 1024
    least_text: int = 12 * 1024
    least_reserve: int = 12 * 1024
    guard: int = 0
    reuse: bool = True
    effort: int = 1


@dataclass(slots=True)
class _Pool:
    """What is left of a region while the plan grows."""

    memory: Memory
    low: int  # first free address
    high: int  # one past the last free address

    @property
    def free(self) -> int:
        return max(0, self.high - self.low)


@dataclass(slots=True)
class _Plan:
    """A program and what has been decided for it: `waiting` is not placed with the constants."""

    program: Program
    waiting: list[Buffer] = field(default_factory=list)
    loads: dict[int, str] = field(default_factory=dict)
    placements: dict[int, Placement] = field(default_factory=dict)
    arenas: list[Arena] = field(default_factory=list)
    guards: list[int] = field(default_factory=list)


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
    """
    pools = {memory.name: _pool(memory, board, options) for memory in board.memories}
    works = []
    for program in programs:
        _check_buffers(program)
        works.append(_place_what_stays(program, board, pools, options))
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
    return tuple(_layout(work, works, board) for work in works)


def _keeps_contents(buffer: Buffer) -> bool:
    """Whether nobody else may ever write to the buffer's memory."""
    return buffer.zeroed or buffer.data is not None


def _place_what_stays(
    program: Program, board: Board, pools: dict[str, _Pool], options: PlanOptions
) -> _Plan:
    """Place constants that are read in place, and keep room for what is copied at boot."""
    result = _Plan(program)
    constants = [b for b in program.buffers if b.role is Role.CONSTANT]
    tensors = [b for b in program.buffers if b.role is not Role.CONSTANT]
    in_dram = [b for b in constants if b.space is Space.DRAM]
    copied = _place_constants(in_dram, program, board, pools, options, result)
    copied += [b for b in constants if b.space is Space.SRAM]
    with_data = [*copied, *(b for b in tensors if b.data is not None)]
    result.loads = _load_regions(with_data, board, pools)
    result.waiting = [*tensors, *copied]
    return result


def _place_all(
    buffers: Sequence[Buffer],
    work: _Plan,
    board: Board,
    pools: dict[str, _Pool],
    options: PlanOptions,
) -> None:
    accelerator = _accelerator(work.program, board)
    for space in (Space.SRAM, Space.DRAM):
        group = [b for b in buffers if b.space is space]
        if group:
            regions = _tensor_regions(space, work.program, board, accelerator)
            _place_tensors(group, work.program, regions, pools, work.loads, options, work)


def _layout(work: _Plan, works: Sequence[_Plan], board: Board) -> Layout:
    """The finished layout: guards stay where no program's buffers lie."""
    others = [p for other in works if other is not work for p in other.placements.values()]
    guards = [
        guard
        for guard in sorted(work.guards)
        if not any(p.address < guard + LINE and guard < p.address + p.size for p in others)
    ]
    placements = tuple(work.placements[buffer.id] for buffer in work.program.buffers)
    return Layout(board.name, placements, tuple(work.arenas), tuple(guards))


def padded(size: int) -> int:
    """Bytes reserved for a buffer of `size` bytes: whole cache lines, at least one."""
    return max(LINE, _up(size, LINE))


def _up(value: int, to: int) -> int:
    return -(-value // to) * to


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


def _pool(memory: Memory, board: Board, options: PlanOptions) -> _Pool:
    low, high = memory.base, memory.end
    if memory is board.code:
        head = options.head
        if head is None:
            head = _up(4 * (16 + board.cpu.external_irqs), 256)
        low += head
        high -= _kept(memory, options.text, options.least_text)
    if memory is board.data:
        low = max(low, memory.base + _kept(memory, options.reserve, options.least_reserve))
    return _Pool(memory, _up(low, LINE), high)


def _kept(memory: Memory, usual: int, least: int) -> int:
    return max(least, min(usual, memory.size // 4))


def _reachable(memory: Memory, program: Program) -> bool:
    return memory.has("dma") and memory.end <= 1 << program.address_bits


def _place_constants(
    constants: Sequence[Buffer],
    program: Program,
    board: Board,
    pools: dict[str, _Pool],
    options: PlanOptions,
    result: _Plan,
) -> list[Buffer]:
    """Place what can be read in place; return what must be copied to RAM instead."""
    regions = [m for m in board.regions("constants") if _reachable(m, program)]
    if not regions:
        return list(constants)
    waiting = list(constants)
    for memory in regions:
        pool = pools[memory.name]
        taken: list[Buffer] = []
        refused: list[Buffer] = []
        base = end = 0
        for buffer in waiting:
            alignment = max(LINE, buffer.alignment)
            address = _up(end if taken else pool.low, alignment)
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
    if waiting:
        raise _constants_do_not_fit(constants, regions, board, options)
    return []


def _constants_do_not_fit(
    constants: Sequence[Buffer], regions: Sequence[Memory], board: Board, options: PlanOptions
) -> FitError:
    needed = sum(padded(b.size) for b in constants)
    fresh = {m.name: _pool(m, board, options) for m in regions}
    room = sum(pool.free for pool in fresh.values())
    names = ", ".join(f"'{m.name}' ({fresh[m.name].free} bytes free of {m.size})" for m in regions)
    return FitError(
        f"the constants need {needed} bytes, {max(1, needed - room)} more than {names} can give "
        "beside the program's text",
        where=f"board {board.name}",
        expected=f"at most {room} bytes",
        hints=(_largest(constants), "Build for a board with more memory for constants."),
    )


def _load_regions(
    copied: Sequence[Buffer], board: Board, pools: dict[str, _Pool]
) -> dict[int, str]:
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
                hints=(_largest(copied),),
            )
    return result


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
    regions = [m for m in board.regions("tensors", "dma") if _reachable(m, program)]
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
    pools: dict[str, _Pool],
    loads: dict[int, str],
    options: PlanOptions,
    result: _Plan,
) -> None:
    """Pack into the first region; what does not fit goes to the next one, largest first."""
    items = {b.id: _item(b, program, options) for b in buffers}
    waiting = list(buffers)
    for number, memory in enumerate(regions):
        pool = pools[memory.name]
        offsets, chosen = _best_subset(waiting, items, pool, options)
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
    size = padded(buffer.size) + _up(options.guard, LINE)
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
    buffers: Sequence[Buffer], items: dict[int, Item], pool: _Pool, options: PlanOptions
) -> tuple[list[int], list[Buffer]]:
    """The buffers that go into a region: all, or all but the fewest of the largest."""
    by_size = sorted(buffers, key=lambda b: (-items[b.id].size, b.id))

    def attempt(dropped: int, goal: int | None) -> tuple[list[int], list[Buffer]] | None:
        kept = sorted(by_size[dropped:], key=lambda b: b.id)
        chosen = [items[b.id] for b in kept]
        if lower_bound(chosen) > pool.free:
            return None
        packing = pack(chosen, goal, steps=options.effort * _STEPS)
        fits = _arena_base(chosen, packing.height, pool, options) is not None
        return (list(packing.offsets), kept) if fits else None

    everything = attempt(0, None)
    if everything is not None:
        return everything
    room = max(0, pool.free - _up(options.guard, LINE))
    low, high = 0, len(by_size)  # `low` dropped does not fit, `high` (nothing kept) does
    while high - low > 1:
        middle = (low + high) // 2
        if attempt(middle, room) is None:
            low = middle
        else:
            high = middle
    best = attempt(high, room)
    return best if best is not None else ([], [])


def _is_shared(memory: Memory) -> bool:
    """Whether the linker places things at the bottom of this region."""
    return not {"data", "code", "constants"}.isdisjoint(memory.use)


def _arena_base(
    items: Sequence[Item], height: int, pool: _Pool, options: PlanOptions
) -> int | None:
    """Address of offset 0 of a tensor arena in what is left of a region; None: no room."""
    alignment = max((item.alignment for item in items), default=LINE)
    guard = _up(options.guard, LINE)
    if _is_shared(pool.memory):
        base = (pool.high - height) // alignment * alignment
        return base if base - guard >= pool.low else None
    base = _up(pool.low + guard, alignment)
    return base if base + height <= pool.high else None


def _commit(
    buffers: Sequence[Buffer],
    items: dict[int, Item],
    offsets: Sequence[int],
    pool: _Pool,
    loads: dict[int, str],
    options: PlanOptions,
    result: _Plan,
) -> None:
    """Turn offsets into addresses at the top of the region."""
    chosen = [items[b.id] for b in buffers]
    guard = _up(options.guard, LINE)  # one in front of the arena, one behind each buffer
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
    if _is_shared(pool.memory):
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
    pools: dict[str, _Pool],
    options: PlanOptions,
) -> FitError:
    memory = regions[-1]
    pool = pools[memory.name]
    chosen = [items[b.id] for b in buffers]
    needed = pack(chosen, steps=options.effort * _STEPS).height
    bound = lower_bound(chosen)
    hints = [_largest(buffers)]
    if memory.has("data"):
        kept = _kept(memory, options.reserve, options.least_reserve)
        hints.append(f"{kept} bytes of '{memory.name}' are kept for variables and stacks.")
    hints.append("Build for a board with more memory, or compile a smaller model.")
    return FitError(
        f"the tensors need {needed} bytes (at least {bound}), "
        f"memory '{memory.name}' has {pool.free} of {memory.size} bytes free",
        where=", ".join(f"memory '{m.name}'" for m in regions),
        expected=f"at most {pool.free} bytes",
        hints=tuple(hints),
    )


def _largest(buffers: Sequence[Buffer]) -> str:
    top = sorted(buffers, key=lambda b: (-b.size, b.id))[:5]
    return "The largest: " + ", ".join(f"{b.name} ({b.size} bytes)" for b in top) + "."
