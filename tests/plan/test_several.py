"""Several models in one image: names, accelerators, and memory that is shared on demand."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

from fwgen.board.profile import load_board
from fwgen.build.options import BuildOptions
from fwgen.codegen.linker import link_map
from fwgen.errors import ModelError, UsageError
from fwgen.images import assign_accelerators, exclusive_groups, unique_names
from fwgen.plan.layout import Layout
from fwgen.plan.planner import PlanOptions, plan, plan_all
from fwgen.program.program import Buffer, Program, Role

DUAL = load_board("mps3-an547-dual")
BOARD = load_board("mps2-an385")


@pytest.fixture(scope="module")
def tiny() -> ModuleType:
    path = Path(__file__).parent.parent / "codegen" / "conftest.py"
    spec = spec_from_file_location("fwgen_tests_tiny_several", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_are_unique() -> None:
    assert unique_names(["a", "b", "a", "a-2", "a"]) == ("a", "b", "a-2", "a-2-2", "a-3")
    with pytest.raises(UsageError, match="needs a model"):
        unique_names([])


def assign(names: str, *wanted: tuple[str, str], can_run: object = None) -> tuple[int, ...]:
    models = [(name, "nvdla") for name in names.split()]
    options = BuildOptions(accelerators=wanted)
    return assign_accelerators(models, DUAL, options, can_run or {})  # type: ignore[arg-type]


def test_models_take_turns_and_go_where_they_are_wanted() -> None:
    assert assign("a b c") == (0, 1, 0)
    assert assign("a b c", ("a", "dla1")) == (1, 0, 1)
    assert assign("a b", ("b", "dla0"), ("a", "dla0")) == (0, 0)


def test_a_model_goes_to_an_accelerator_that_can_run_it() -> None:
    large = replace(DUAL.accelerators[1], config="nv_large")
    board = replace(DUAL, accelerators=(DUAL.accelerators[0], large))
    models = [("a", "nvdla"), ("b", "nvdla"), ("c", "nvdla")]
    can_run = {(0, "nv_small"): False, (0, "nv_large"): True, (1, "nv_large"): False}
    assert assign_accelerators(models, board, BuildOptions(), can_run) == (1, 0, 0)
    # where none can, lowering says why
    nowhere = {(0, "nv_small"): False, (0, "nv_large"): False}
    assert assign_accelerators(models[:1], board, BuildOptions(), nowhere) == (0,)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ([("x", "dla0")], "no model 'x'"),
        ([("a", "dla2")], "no accelerator 'dla2'"),
        ([("a", "dla0"), ("a", "dla1")], "two accelerators"),
    ],
)
def test_wrong_assignments(wanted: list[tuple[str, str]], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        assign("a b", *wanted)


def test_no_accelerator_of_the_family() -> None:
    with pytest.raises(ModelError, match="family 'vip'"):
        assign_accelerators([("a", "vip")], DUAL, BuildOptions(), {})
    with pytest.raises(UsageError, match="family 'vip'"):
        assign_accelerators([("a", "vip")], DUAL, BuildOptions(accelerators=(("a", "dla1"),)), {})


def test_exclusive_groups() -> None:
    def groups(*wanted: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        return exclusive_groups(["a", "b", "c", "d"], BuildOptions(exclusive=wanted))

    assert groups() == ()
    assert groups(("all",)) == ((0, 1, 2, 3),)
    assert groups(("c", "a"), ("b", "d")) == ((2, 0), (1, 3))
    assert groups(("a",)) == ()
    for wrong in ((("a", "x"),), (("a", "a"),), (("a", "b"), ("b", "c")), (("all",), ("a",))):
        with pytest.raises(UsageError):
            groups(*wrong)


def spans(program: Program, layout: Layout) -> list[tuple[int, int, Buffer]]:
    return [(p.address, p.address + p.size, program.buffers[p.buffer]) for p in layout.placements]


def overlap(a: tuple[int, int, Buffer], b: tuple[int, int, Buffer]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def test_models_share_nothing_unless_they_are_exclusive(tiny: ModuleType) -> None:
    programs = [tiny.tiny_program(name) for name in ("a", "b", "c")]
    layouts = plan_all(programs, BOARD, PlanOptions(guard=64))
    for (p, x), (q, y) in combinations(zip(programs, layouts, strict=True), 2):
        assert not any(overlap(a, b) for a in spans(p, x) for b in spans(q, y))


def test_exclusive_models_share_what_they_may(tiny: ModuleType) -> None:
    first, second, third = (tiny.tiny_program(name) for name in ("a", "b", "c"))
    # an internal buffer of the second must stay zero
    buffers = list(second.buffers)
    buffers[2] = replace(buffers[2], zeroed=True)
    second = replace(second, buffers=tuple(buffers))
    programs = [first, second, third]
    layouts = plan_all(programs, BOARD, PlanOptions(guard=64), [(0, 1)])
    places = [spans(p, x) for p, x in zip(programs, layouts, strict=True)]
    pairs = [(a, b) for a in places[0] for b in places[1] if overlap(a, b)]
    assert pairs, "nothing is shared"
    for a, b in pairs:
        assert Role.CONSTANT not in (a[2].role, b[2].role)
        assert not b[2].zeroed
    for other in places[:2]:
        assert not any(overlap(a, b) for a in places[2] for b in other)
    # a guard is where no model's buffer ever lies
    for layout in layouts:
        assert not any(g < b and a < g + 64 for g in layout.guards for p in places for a, b, _ in p)
    separate = plan_all(programs, BOARD, PlanOptions(guard=64))
    assert lowest(layouts) > lowest(separate)
    regions = link_map(BOARD, list(zip(programs, layouts, strict=True)), (), 2048).regions
    for a, b in combinations(regions, 2):
        assert a.origin + a.length <= b.origin or b.origin + b.length <= a.origin


def lowest(layouts: tuple[Layout, ...]) -> int:
    """Start of the tensors, which lie at the top of their region."""
    return min(a.base for x in layouts for a in x.arenas if a.kind == "tensors")


def test_one_model_is_planned_as_before(tiny: ModuleType) -> None:
    program = tiny.tiny_program()
    assert plan_all([program], BOARD) == (plan(program, BOARD),)
    assert plan_all([program], BOARD, exclusive=[(0,)])[0].placements
