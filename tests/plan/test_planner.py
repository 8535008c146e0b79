"""The planner's promises, for programs drawn at random and for the edges by hand."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwgen.board.profile import load_board
from fwgen.board.types import Board, Memory
from fwgen.errors import FitError, ModelError
from fwgen.plan.layout import Layout
from fwgen.plan.packing import Item, lower_bound
from fwgen.plan.planner import PlanOptions, padded, plan
from fwgen.plan.report import memory_map
from fwgen.program.program import Buffer, Program, Role, Space, Step

ROLES = [Role.CONSTANT, Role.INPUT, Role.OUTPUT, Role.INTERNAL, Role.INTERNAL, Role.INTERNAL]


def make_buffer(number: int, length: int, role: Role, **changes: object) -> Buffer:
    values: dict[str, object] = {
        "id": number,
        "name": f"b{number}",
        "size": length,
        "alignment": 64,
        "role": role,
        "data": bytes(length) if role is Role.CONSTANT else None,
        "first_step": -1,
        "last_step": 8,
        "zeroed": False,
        "space": Space.DRAM,
        "origin": f"memory {number}",
    }
    return Buffer(**(values | changes))  # type: ignore[arg-type]


def make_program(buffers: list[Buffer], steps: int = 8) -> Program:
    return Program(
        family="nvdla",
        config="nv_small",
        model_name="made",
        model_sha256="0" * 64,
        address_bits=32,
        buffers=tuple(buffers),
        tensors=(),
        operations=(),
        steps=tuple(Step((), (), ()) for _ in range(steps)),
        commands=(),
    )


def make_board(*memories: Memory) -> Board:
    return dataclasses.replace(load_board("mps2-an385"), memories=memories)


def ram(name: str, base: int, size: int, *use: str, load: str | None = None) -> Memory:
    return Memory(name, base, size, use, load)  # type: ignore[arg-type]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    buffers = []
    for number in range(draw(st.integers(1, 25))):
        role = draw(st.sampled_from(ROLES))
        first = draw(st.integers(0, 7))
        last = draw(st.integers(first, 7))
        buffers.append(
            make_buffer(
                number,
                draw(st.integers(0, 5000)),
                role,
                alignment=draw(st.sampled_from([1, 16, 64, 64, 64, 256])),
                first_step=first if role is Role.INTERNAL else -1,
                last_step=last if role is Role.INTERNAL else 8,
                zeroed=draw(st.booleans()) and role is Role.INTERNAL and draw(st.booleans()),
            )
        )
    return make_program(buffers)


def lifetime(buffer: Buffer) -> tuple[int, int]:
    if buffer.role is Role.INTERNAL and not buffer.zeroed:
        return buffer.first_step, buffer.last_step
    return -1, 8


def check_layout(layout: Layout, program: Program, board: Board) -> None:
    """Every promise of the plan, by definition and without the planner's helpers."""
    assert [p.buffer for p in layout.placements] == [b.id for b in program.buffers]
    for placement, buffer in zip(layout.placements, program.buffers, strict=True):
        region = board.memory(placement.region)
        assert region.base <= placement.address
        assert placement.address + placement.size <= region.end
        assert placement.size >= buffer.size
        assert placement.size % 64 == 0
        assert placement.address % max(64, buffer.alignment) == 0
        assert "dma" in region.use
        if buffer.data is not None:
            assert placement.load_region is not None or "constants" in region.use
        else:
            assert "tensors" in region.use
        holders = [
            a
            for a in layout.arenas
            if a.region == placement.region
            and a.base <= placement.address
            and placement.address + placement.size <= a.base + a.size
        ]
        assert len(holders) == 1
    for i, a in enumerate(program.buffers):
        for b in program.buffers[:i]:
            (a0, a1), (b0, b1) = lifetime(a), lifetime(b)
            pa, pb = layout.placements[a.id], layout.placements[b.id]
            apart = pa.address + pa.size <= pb.address or pb.address + pb.size <= pa.address
            assert apart or a1 < b0 or b1 < a0, (a.name, b.name)
    for i, one in enumerate(layout.arenas):
        assert one.size >= one.lower_bound > 0
        for other in layout.arenas[:i]:
            assert one.base + one.size <= other.base or other.base + other.size <= one.base
    for guard in layout.guards:
        assert guard % 64 == 0
        assert any(
            a.kind == "tensors" and a.base <= guard and guard + 64 <= a.base + a.size
            for a in layout.arenas
        )
        for p in layout.placements:
            assert guard + 64 <= p.address or p.address + p.size <= guard


@settings(max_examples=60, deadline=None)
@given(programs(), st.sampled_from(["mps2-an385", "mps3-an547"]), st.sampled_from([0, 4, 64]))
def test_every_plan_keeps_its_promises(program: Program, name: str, guard: int) -> None:
    board = load_board(name)
    layout = plan(program, board, PlanOptions(guard=guard))
    check_layout(layout, program, board)
    assert layout == plan(program, board, PlanOptions(guard=guard))
    if guard:
        tensors = [a for a in layout.arenas if a.kind == "tensors"]
        assert len(layout.guards) >= 2 * len(tensors)  # before the first, behind the last


@settings(max_examples=40, deadline=None)
@given(programs())
def test_small_regions_spill_or_fail_with_numbers(program: Program) -> None:
    board = make_board(
        ram("rom", 0, 0x100000, "code", "constants", "dma"),
        ram("vars", 0x20000000, 0x20000, "data", load="rom"),
        ram("near", 0x30000000, 0x1000, "tensors", "dma"),
        ram("far", 0x40000000, 0x4000, "tensors", "dma"),
    )
    try:
        layout = plan(program, board)
    except FitError as error:
        needed, bound, free, size = map(int, re.findall(r"\d+", error.message))
        assert needed >= bound and needed > free and size == 0x4000
    else:
        check_layout(layout, program, board)


def test_all_in_a_row_reuses_memory() -> None:
    """A chain of equal activations needs two of them, whatever its length."""
    buffers = [make_buffer(i, 1000, Role.INTERNAL, first_step=i, last_step=i + 1) for i in range(7)]
    layout = plan(make_program(buffers), load_board("mps2-an385"))
    (arena,) = layout.arenas
    assert arena.size == arena.lower_bound == 2 * 1024
    board = load_board("mps2-an385")
    assert arena.base + arena.size == board.memory("ssram23").end
    apart = plan(make_program(buffers), board, PlanOptions(reuse=False))
    assert apart.arenas[0].size == 7 * 1024


def test_constants_follow_the_vectors() -> None:
    board = load_board("mps2-an385")
    buffers = [make_buffer(0, 100, Role.CONSTANT), make_buffer(1, 64, Role.CONSTANT)]
    layout = plan(make_program(buffers), board)
    assert [p.address for p in layout.placements] == [0x100, 0x180]
    assert [(a.kind, a.base, a.size) for a in layout.arenas] == [("constants", 0x100, 192)]
    shifted = plan(make_program(buffers), board, PlanOptions(head=0x400))
    assert shifted.address(0) == 0x400
    ddr = plan(make_program(buffers), load_board("mps3-an547"))
    assert ddr.address(0) == 0x60000000


def test_constants_out_of_reach_are_copied_at_boot() -> None:
    board = make_board(
        ram("flash", 0, 0x100000, "code", "constants"),
        ram("sram", 0x20000000, 0x40000, "data", "tensors", "dma", load="flash"),
    )
    program = make_program([make_buffer(0, 100, Role.CONSTANT), make_buffer(1, 640, Role.INPUT)])
    layout = plan(program, board)
    check_layout(layout, program, board)
    assert layout.placements[0].region == "sram"
    assert layout.placements[0].load_region == "flash"
    regions = memory_map(layout, program, board)["regions"]
    used = {r["name"]: (r["used"], r["free"]) for r in regions}  # type: ignore[attr-defined]
    assert used == {"flash": (128, 0x100000 - 128), "sram": (768, 0x40000 - 768)}


def test_internal_buffers_with_contents_are_loaded_and_kept() -> None:
    buffers = [
        make_buffer(0, 64, Role.INTERNAL, data=bytes(64), first_step=3, last_step=3),
        make_buffer(1, 64, Role.INTERNAL, first_step=5, last_step=6),
    ]
    layout = plan(make_program(buffers), load_board("mps2-an385"))
    assert layout.placements[0].load_region == "ssram1"
    assert layout.address(0) != layout.address(1)


def test_the_largest_goes_to_the_second_region() -> None:
    board = load_board("mps3-an547")
    buffers = [make_buffer(0, 5 << 20, Role.INPUT), make_buffer(1, 4096, Role.OUTPUT)]
    layout = plan(make_program(buffers), board)
    assert [p.region for p in layout.placements] == ["ddr", "sram"]


def test_one_byte_too_many() -> None:
    """Exactly full is a plan; one more line is an error that counts the bytes."""

    def board(size: int) -> Board:
        return make_board(
            ram("rom", 0, 0x100000, "code", "constants", "dma"),
            ram("vars", 0x10000000, 0x20000, "data", load="rom"),
            ram("sram", 0x20000000, size, "tensors", "dma"),
        )

    buffers = [make_buffer(0, 1000, Role.INPUT), make_buffer(1, 2000, Role.OUTPUT)]
    exact = 1024 + 2048
    check_layout(plan(make_program(buffers), board(exact)), make_program(buffers), board(exact))
    with pytest.raises(FitError, match=r"need 3072 bytes .*'sram' has 3008 of 3008 bytes") as info:
        plan(make_program(buffers), board(exact - 64))
    assert "b1 (2000 bytes), b0 (1000 bytes)" in info.value.hints[0]
    assert info.value.exit_code == 4


def test_a_region_of_one_line() -> None:
    board = make_board(
        ram("rom", 0, 0x100000, "code", "constants", "dma"),
        ram("vars", 0x10000000, 0x20000, "data", load="rom"),
        ram("sram", 0x20000000, 64, "tensors", "dma"),
    )
    with pytest.raises(FitError, match="has 64 of 64 bytes free"):
        plan(make_program([make_buffer(0, 65, Role.INPUT)]), board)


def test_variables_keep_their_reserve() -> None:
    board = load_board("mps2-an385")
    room = (4 << 20) - (64 << 10)
    layout = plan(make_program([make_buffer(0, room, Role.INPUT)]), board)
    assert layout.address(0) == 0x20000000 + (64 << 10)
    layout = plan(make_program([make_buffer(0, room + 1, Role.INPUT)]), board)
    assert layout.placements[0].region == "psram"


def test_small_regions_keep_a_smaller_reserve() -> None:
    """What a small microcontroller has is not spent on room for a program that is not there."""
    board = make_board(
        ram("rom", 0, 32 << 10, "code", "constants", "dma"),
        ram("ram", 0x20000000, 48 << 10, "data", "tensors", "dma", load="rom"),
    )
    options = PlanOptions(least_text=10 << 10, least_reserve=20 << 10)

    def planned(constant: int, tensor: int) -> Layout:
        buffers = [make_buffer(0, constant, Role.CONSTANT), make_buffer(1, tensor, Role.INPUT)]
        return plan(make_program(buffers), board, options)

    constant, tensor = (22 << 10) - 256, 28 << 10
    assert planned(constant, tensor).address(1) == 0x20000000 + (20 << 10)
    with pytest.raises(FitError, match=f"64 more than 'rom' \\({constant} bytes free of 32768"):
        planned(constant + 1, tensor)
    with pytest.raises(FitError, match=f"'ram' has {tensor} of 49152 bytes free") as info:
        planned(constant, tensor + 1)
    assert f"{20 << 10} bytes of 'ram' are kept for variables and stacks." in info.value.hints


def test_constants_too_large() -> None:
    board = load_board("mps2-an385")
    needed = 5 << 20
    with pytest.raises(FitError, match=rf"need {needed} bytes") as info:
        plan(make_program([make_buffer(0, needed, Role.CONSTANT)]), board)
    free = (4 << 20) - 256 - (64 << 10)
    assert f"{needed - free} more than 'ssram1' ({free} bytes free of {4 << 20})" in (
        info.value.message
    )


def test_the_second_port_needs_memory() -> None:
    program = make_program([make_buffer(0, 64, Role.INTERNAL, space=Space.SRAM)])
    board = load_board("mps3-an547")
    with pytest.raises(ModelError, match="second memory port"):
        plan(program, board)
    dla = dataclasses.replace(board.accelerators[0], sram="sram")
    layout = plan(program, dataclasses.replace(board, accelerators=(dla,)))
    assert layout.placements[0].region == "sram"


def test_addresses_stay_in_reach_of_the_accelerator() -> None:
    program = dataclasses.replace(make_program([make_buffer(0, 64, Role.INPUT)]), address_bits=29)
    with pytest.raises(FitError, match="can reach"):
        plan(program, load_board("mps2-an500"))  # all RAM is at 0x20000000 and above


@pytest.mark.parametrize("changes", [{"alignment": 48}, {"alignment": 0}, {"size": -1}])
def test_impossible_buffers_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        plan(make_program([make_buffer(0, 64, Role.INTERNAL, **changes)]), load_board("mps2-an385"))


def test_arena_bound_is_the_peak_of_live_bytes() -> None:
    buffers = [
        make_buffer(0, 3000, Role.INTERNAL, first_step=0, last_step=1),
        make_buffer(1, 5000, Role.INTERNAL, first_step=1, last_step=2),
        make_buffer(2, 4000, Role.INTERNAL, first_step=2, last_step=4),
    ]
    layout = plan(make_program(buffers), load_board("mps2-an385"))
    peak = max(
        sum(padded(b.size) for b in buffers if b.first_step <= step <= b.last_step)
        for step in range(8)
    )
    assert layout.arenas[0].lower_bound == peak == layout.arenas[0].size


def test_lower_bound_counts_exclusive_ends() -> None:
    assert lower_bound([Item(0, 2, 5), Item(2, 3, 6), Item(1, 2, 1)]) == 6
    assert lower_bound([]) == 0
