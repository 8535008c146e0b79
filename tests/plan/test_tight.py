"""Memory that is just large enough: plans that exist but leave next to nothing free."""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fwgen.board.profile import load_board
from fwgen.board.types import Memory
from fwgen.plan.packing import pack
from fwgen.plan.planner import plan
from fwgen.program.program import Buffer, Program, Role, Space, Step

ROOT = Path(__file__).resolve().parents[2]
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """The planner's benchmark, which makes sets and checks packings by definition."""
    path = ROOT / "benchmarks" / "planner.py"
    spec = importlib.util.spec_from_file_location("planner_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("seed", "pieces"), [(1, 100), (3, 220), (5, 340), (7, 160), (8, 280)])
def test_sets_without_a_free_byte_are_packed(benchmark: ModuleType, seed: int, pieces: int) -> None:
    """Cut from 1 MiB without straight cuts through the whole, so that all of it is in use."""
    items = benchmark.random_set(seed, pieces, loose=False)
    packing = pack(items)
    benchmark.check_plan(items, packing.offsets, MEBIBYTE)
    assert packing.height == packing.lower_bound == MEBIBYTE


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("name", ["A", "B", "D", "E", "G", "H", "J"])
def test_a_region_of_just_the_size_is_enough(testdata: Path, name: str, mirrored: bool) -> None:
    """The MiniMalloc paper's sets, also from the last step to the first, in a region of 1 MiB."""
    with (testdata / "planner" / f"{name}.{MEBIBYTE}.csv").open(newline="") as file:
        rows = [(int(r["lower"]), int(r["upper"]), int(r["size"])) for r in csv.DictReader(file)]
    if mirrored:
        rows = [(-upper, -lower, size) for lower, upper, size in rows]
    times = sorted({time for lower, upper, _ in rows for time in (lower, upper)})
    step = {time: number for number, time in enumerate(times)}
    buffers = tuple(
        Buffer(
            id=number,
            name=f"b{number}",
            size=size,
            alignment=64,
            role=Role.INTERNAL,
            data=None,
            first_step=step[lower],
            last_step=step[upper] - 1,
            zeroed=False,
            space=Space.DRAM,
            origin=f"row {number}",
        )
        for number, (lower, upper, size) in enumerate(rows)
    )
    steps = tuple(Step((), (), ()) for _ in times)
    program = Program("nvdla", "nv_small", "made", "0" * 64, 32, buffers, (), (), steps, ())
    tight = Memory("tight", 0x60000000, MEBIBYTE, ("tensors", "dma"), None)
    rom = Memory("rom", 0, MEBIBYTE, ("code", "constants"), None)
    ram = Memory("vars", 0x10000000, 0x20000, ("data",), "rom")
    board = dataclasses.replace(load_board("mps2-an385"), memories=(rom, ram, tight))
    layout = plan(program, board)
    placed = [(p.address - tight.base, row) for p, row in zip(layout.placements, rows, strict=True)]
    for number, (low, (lower, upper, size)) in enumerate(placed):
        assert low >= 0 and low + size <= MEBIBYTE
        for other, (first, end, length) in placed[:number]:
            together = lower < end and first < upper
            assert not together or low + size <= other or other + length <= low
