"""What the user may decide about places: by name, weights in place or copied, nearest first."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from fwgen.accel import family
from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.emulate import RunOptions, open_build, run_build
from fwgen.errors import FitError, UsageError
from fwgen.model import load_model
from fwgen.pipeline import build_model
from fwgen.plan.layout import Layout
from fwgen.plan.placement import placement_costs
from fwgen.plan.planner import PlanOptions, plan
from fwgen.program.program import Program, Role
from fwgen.resources import resource_dir

MODEL = resource_dir("examples") / "digits" / "digits.nvdla"


@pytest.fixture(scope="module")
def program() -> Program:
    return family("nvdla").lower(load_model(MODEL), "nv_small")


def by_role(program: Program, layout: Layout, role: Role) -> set[tuple[str, str | None]]:
    return {
        (p.region, p.load_region)
        for p in layout.placements
        if program.buffers[p.buffer].role is role
    }


def check_apart(program: Program, layout: Layout) -> None:
    """Constants share memory with nothing, and every buffer lies in an arena."""
    spans = [(p.region, p.address, p.address + p.size, p.buffer) for p in layout.placements]
    for region, start, end, buffer in spans:
        arenas = [a for a in layout.arenas if a.region == region]
        assert any(a.base <= start and end <= a.base + a.size for a in arenas)
        if program.buffers[buffer].role is Role.CONSTANT:
            others = [s for s in spans if s[3] != buffer and s[0] == region]
            assert not any(low < end and start < high for _, low, high, _ in others)
    ordered = sorted((a.base, a.base + a.size) for a in layout.arenas)
    assert all(a[1] <= b[0] for a, b in zip(ordered, ordered[1:], strict=False))


@pytest.mark.parametrize("name", ["mps2-an385", "mps3-an547"])
def test_weights_copied_or_in_place(program: Program, name: str) -> None:
    board = load_board(name)
    in_place = plan(program, board, PlanOptions(weights="in-place"))
    copied = plan(program, board, PlanOptions(weights="copy"))
    home = {region for region, load in by_role(program, in_place, Role.CONSTANT) if load is None}
    assert home and by_role(program, in_place, Role.CONSTANT) == {(r, None) for r in home}
    target = board.regions("tensors", "dma")[0].name
    assert by_role(program, copied, Role.CONSTANT) == {(target, next(iter(home)))}
    for layout in (in_place, copied):
        check_apart(program, layout)
    constants = sum(p.size for p in copied.placements if p.load_region)
    assert placement_costs(program, copied)["copied_at_boot"] == constants > 0
    assert placement_costs(program, in_place)["copied_at_boot"] == 0


def test_in_place_is_an_error_where_it_is_impossible(program: Program) -> None:
    with pytest.raises(FitError, match="cannot be read in place"):
        plan(program, out_of_reach(), PlanOptions(weights="in-place"))
    check_apart(program, plan(program, out_of_reach()))


def out_of_reach() -> Board:
    """A board whose accelerator cannot read the memory of the image."""
    board = load_board("mps2-an385")
    memories = tuple(
        dataclasses.replace(m, use=tuple(u for u in m.use if u != "dma")) if m is board.code else m
        for m in board.memories
    )
    return dataclasses.replace(board, memories=memories)


def test_nearest_first_takes_what_fits(program: Program) -> None:
    board = load_board("mps3-an547")
    near = plan(program, board, PlanOptions(nearest_first=True))
    assert by_role(program, near, Role.CONSTANT) == {("sram", "ddr")}
    sram = board.memory("sram")
    tensors = sum(a.size for a in near.arenas if a.region == "sram" and a.kind == "tensors")
    constants = sorted(b.size for b in program.buffers if b.role is Role.CONSTANT)
    small = dataclasses.replace(sram, size=-(-(tensors + constants[-1] + 512) // 64) * 64)
    tight = dataclasses.replace(
        board, memories=tuple(small if m is sram else m for m in board.memories)
    )
    layout = plan(program, tight, PlanOptions(nearest_first=True))
    assert by_role(program, layout, Role.CONSTANT) == {("sram", "ddr"), ("ddr", None)}
    check_apart(program, layout)


def test_places_by_name(program: Program) -> None:
    board = load_board("mps2-an385")
    tensor = program.inputs()[0]
    weights = next(b for b in program.buffers if b.role is Role.CONSTANT)
    places = ((tensor.name, "psram"), (weights.name, "ssram23"))
    layout = plan(program, board, PlanOptions(places=places))
    assert layout.placements[tensor.buffer].region == "psram"
    assert layout.placements[weights.id].region == "ssram23"
    assert layout.placements[weights.id].load_region == "ssram1"
    rest = {p.region for p in layout.placements if p.buffer not in (tensor.buffer, weights.id)}
    assert rest == {"ssram1", "ssram23"}
    check_apart(program, layout)


def test_patterns_and_banks() -> None:
    board = load_board("mps2-an385")
    banked = family("nvdla").lower(load_model(MODEL), "nv_small", 2)
    layout = plan(banked, board, PlanOptions(places=(("*", "psram"), ("op*", "ssram23"))))
    for first, second in banked.banks:
        assert layout.placements[first].region == layout.placements[second].region == "psram"
    assert {layout.placements[b.id].region for b in banked.buffers if b.role is Role.INTERNAL} == {
        "ssram23"
    }
    check_apart(banked, layout)


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ((("nothing", "psram"),), "no tensor is called 'nothing'"),
        ((("*", "flash"),), "'flash' is no memory"),
        ((("*", "ssram1"),), "holds no tensors"),
    ],
)
def test_wishes_that_cannot_be(
    program: Program, places: tuple[tuple[str, str], ...], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        plan(program, load_board("mps2-an385"), PlanOptions(places=places))


def test_a_misspelt_tensor_is_known(program: Program) -> None:
    name = program.inputs()[0].name
    with pytest.raises(UsageError) as caught:
        plan(program, load_board("mps2-an385"), PlanOptions(places=((name + "x", "psram"),)))
    assert f"Did you mean '{name}'?" in caught.value.hints
    assert name in str(caught.value.expected)


def test_a_wish_that_does_not_fit(program: Program) -> None:
    board = load_board("mps2-an385")
    psram = dataclasses.replace(board.memory("psram"), size=64)
    small = dataclasses.replace(
        board, memories=tuple(psram if m.name == "psram" else m for m in board.memories)
    )
    for buffer in (program.inputs()[0].buffer, 0):
        name = program.buffers[buffer].name
        with pytest.raises(FitError):
            plan(program, small, PlanOptions(places=((name, "psram"),)))


def test_fusion_is_fixed_by_the_model(tmp_path: Path) -> None:
    options = BuildOptions(fusion=(("conv+relu", False),))
    with pytest.raises(UsageError, match="fixes which") as caught:
        build_model(MODEL, "mps2-an385", tmp_path / "out", options)
    assert "conv+sdp" in (caught.value.expected or "")
    assert not (tmp_path / "out" / "firmware.elf").exists()


@pytest.mark.qemu
@pytest.mark.parametrize(
    ("board", "options"),
    [
        ("mps2-an385", {"weights": "copy"}),
        ("mps3-an547", {"sram_first": True}),
        ("mps2-an385", {"places": (("input0", "psram"), ("*weights", "psram"))}),
        (None, {}),
    ],
    ids=["copy", "sram-first", "place", "out of reach"],
)
def test_inferences_are_right_wherever_things_lie(
    testdata: Path, tmp_path: Path, board: str | None, options: dict[str, object]
) -> None:
    stem = testdata / "nvdla" / "loadables" / "lenet5.nv_small.int8.nhwc"
    profile = out_of_reach() if board is None else load_board(board)
    build_model(
        Path(f"{stem}.nvdla"),
        profile,
        tmp_path / "out",
        BuildOptions(**options),  # type: ignore[arg-type]
    )
    size = json.loads((tmp_path / "out" / "size.json").read_text())
    assert size["placement"][0]["copied_at_boot"] > 0
    report = run_build(
        open_build(tmp_path / "out"),
        RunOptions(
            inputs={"0": Path(f"{stem}.in0.bin")},
            expected={"0": Path(f"{stem}.out0.bin")},
            repeats=2,
        ),
    )
    assert report.passed and report.bytes_compared > 0
