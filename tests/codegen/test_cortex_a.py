"""What is computed for Cortex-A: memory attributes, the linker's regions, cache lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fwgen.board.profile import load_board
from fwgen.board.types import Board, Memory
from fwgen.build.options import BuildOptions
from fwgen.codegen.context import project_context
from fwgen.codegen.cortex_a import mmu_map
from fwgen.errors import FitError

from .conftest import tiny_plan


@pytest.fixture(scope="module")
def rv1126() -> Board:
    return load_board("rv1126-nvdla")


def one_memory(board: Board, base: int, size: int) -> Board:
    """The same board with all of the image in one region."""
    memory = Memory(
        "dram", base, size, ("code", "constants", "data", "tensors", "dma"), cached=True
    )
    cpu = replace(board.cpu, vector_table=base + 0x8000)
    return replace(board, cpu=cpu, memories=(memory,))


def test_memory_attributes(board: Board, rv1126: Board) -> None:
    assert mmu_map(board).ranges == ()
    found = mmu_map(rv1126)
    assert [(r.first, r.last, r.kind) for r in found.ranges] == [
        ("0x00000000u", "0x000fffffu", "FWGEN_MMU_NONE"),
        ("0x02008000u", "0x02ffffffu", "FWGEN_MMU_CACHED | FWGEN_MMU_CODE"),
        ("0x03000000u", "0x03ffffffu", "FWGEN_MMU_CACHED"),
        ("0x04000000u", "0x07ffffffu", "FWGEN_MMU_CACHED"),
    ]
    assert found.tables == 1  # the first MiB of the text begins in the middle

    odd = replace(
        rv1126,
        memories=(
            replace(rv1126.memories[0], base=0, size=0x180000),
            replace(rv1126.memories[1], base=0x180000, size=0x1000, cached=False),
            replace(rv1126.memories[2], base=0xFF700000, size=0x18000),
        ),
    )
    found = mmu_map(odd)
    # Memory at zero: null pointers are addresses.
    assert [r.kind for r in found.ranges] == ["FWGEN_MMU_CACHED | FWGEN_MMU_CODE", "0"] + [
        "FWGEN_MMU_CACHED"
    ]
    assert found.tables == 2


def test_options_of_the_port(rv1126: Board) -> None:
    def defines(board: Board) -> dict[str, str]:
        context = project_context((tiny_plan(board),), board, BuildOptions())
        return {define.name: define.value for define in context.defines}

    found = defines(rv1126)
    assert (found["FWGEN_GIC"], found["FWGEN_GICC_BASE"]) == ("2", "0xfeff2000u")
    assert (found["FWGEN_TIMER_HZ"], found["FWGEN_DCACHE"]) == ("24000000u", "1")
    assert found["FWGEN_PSCI"] == "FWGEN_PSCI_SMC"
    cpu = replace(
        rv1126.cpu, irq_controller="gicv3", gic_redistributor=0xFF140000, timer_hz=None, psci="none"
    )
    memories = tuple(replace(memory, cached=False) for memory in rv1126.memories)
    found = defines(replace(rv1126, cpu=cpu, memories=memories))
    assert (found["FWGEN_GIC"], found["FWGEN_GICR_BASE"]) == ("3", "0xff140000u")
    assert "FWGEN_GICC_BASE" not in found
    assert (found["FWGEN_TIMER_HZ"], found["FWGEN_DCACHE"]) == ("0u", "0")
    assert found["FWGEN_PSCI"] == "FWGEN_PSCI_NONE"


def test_the_least_urgent_priority_that_interrupts(rv1126: Board) -> None:
    context = project_context((tiny_plan(rv1126),), rv1126, BuildOptions())
    assert context.kernel_config.kernel_interrupt_priority == "0xe0"
    assert context.kernel_config.max_syscall_interrupt_priority == "0x50"


def test_one_binary_from_its_entry_point(rv1126: Board) -> None:
    board = one_memory(rv1126, 0x40000000, 0x4000000)
    link = project_context((tiny_plan(board),), board, BuildOptions()).link
    regions = {region.name: region for region in link.regions}
    code, data = regions[link.code_region], regions[link.data_region]
    assert link.vector_address == "0x40008000"
    assert link.vector_region == link.code_region
    assert code.origin == 0x40008000
    assert link.data_load_region == link.code_region
    constants = [r for r in regions.values() if r.comment == "constants"]
    assert [r.origin for r in constants] == [code.origin + code.length]
    assert data.origin >= constants[0].origin + constants[0].length
    assert code.length == 512 * 1024


def test_text_that_leaves_no_room(rv1126: Board) -> None:
    with pytest.raises(FitError):
        tiny_plan(one_memory(rv1126, 0x40000000, 0x10000))


def test_buffers_that_share_a_cache_line(rv1126: Board) -> None:
    plan = tiny_plan(rv1126)
    for change in ({"address": 0x40}, {"size": -32}):
        placements = tuple(
            replace(p, address=p.address + change.get("address", 0) // 2,
                    size=p.size + change.get("size", 0))
            if p.region == "dram"
            else p
            for p in plan.layout.placements
        )  # fmt: skip
        wrong = replace(plan, layout=replace(plan.layout, placements=placements))
        with pytest.raises(FitError, match="shares a cache line"):
            project_context((wrong,), rv1126, BuildOptions())
