"""What is computed for the templates: options, regions, guards, identities."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.build.firmware import plan_options
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.codegen.context import ModelPlan, project_context
from fwgen.codegen.linker import vector_alignment
from fwgen.codegen.model import c_comment, c_identifier, c_string
from fwgen.errors import FitError, ModelError, UsageError
from fwgen.plan.layout import Arena
from fwgen.plan.planner import PlanOptions, plan

from .conftest import tiny_plan, tiny_program


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (BuildOptions(task_priority=0), "task_priority = 0"),
        (BuildOptions(task_priority=8), "task_priority = 8"),
        (BuildOptions(max_priorities=33), "max_priorities"),
        (BuildOptions(stack_words=64), "stack_words"),
        (BuildOptions(stack_words=70_000), "stack_words"),
        (BuildOptions(main_stack_bytes=1001), "main_stack_bytes"),
        (BuildOptions(irq=32), "irq = 32"),
        (BuildOptions(irq=0), "interrupt 0"),
        (BuildOptions(tick_hz=0), "tick_hz"),
        (BuildOptions(timeout_ms=1 << 20), "timeout_ms"),
        (BuildOptions(idle="sleep"), "idle mode"),
    ],
)
def test_options_out_of_range(board: Board, options: BuildOptions, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        project_context((tiny_plan(board),), board, options)


@pytest.mark.parametrize("priority", [0, 1, 8])
def test_priorities_that_may_not_call_the_kernel(board: Board, priority: int) -> None:
    accelerator = replace(board.accelerators[0], irq_priority=priority)
    wrong = replace(board, accelerators=(accelerator,))
    with pytest.raises(UsageError, match=f"priority {priority}"):
        project_context((tiny_plan(board),), wrong, BuildOptions())


def test_a_core_without_port(board: Board) -> None:
    other = replace(board, cpu=replace(board.cpu, core="cortex-a9"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cortex-a9"):
        project_context((tiny_plan(board),), other, BuildOptions())


def test_a_uart_without_driver(board: Board) -> None:
    other = replace(board, console=replace(board.console, driver="ns8250"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="ns8250"):
        project_context((tiny_plan(board),), other, BuildOptions())


def test_a_model_for_another_accelerator(board: Board) -> None:
    large = tiny_program(config="nv_large")
    with pytest.raises(UsageError, match="nv_large"):
        project_context((ModelPlan(large, plan(large, board)),), board, BuildOptions())


def test_regions_share_nothing_and_stay_on_the_board(board: Board) -> None:
    for name in ("mps2-an385", "mps2-an500", "mps3-an547"):
        board = load_board(name)
        link = project_context((tiny_plan(board),), board, BuildOptions()).link
        spans = [(r.origin, r.origin + r.length, r.board_region) for r in link.regions]
        for (_, end, _), (start, _, _) in zip(spans, spans[1:], strict=False):
            assert end <= start
        for start, end, region in spans:
            memory = board.memory(region)
            assert memory.base <= start < end <= memory.end


def test_no_room_for_code(board: Board) -> None:
    made = tiny_plan(board)
    code = board.code
    full = replace(
        made.layout,
        arenas=(*made.layout.arenas, Arena(code.name, "tensors", code.base, code.size, 0)),
    )
    with pytest.raises(FitError):
        project_context((ModelPlan(made.program, full),), board, BuildOptions())


def test_guard_words_lie_in_no_buffer(board: Board) -> None:
    options = BuildOptions(kind=BuildKind.TEST)
    made = tiny_plan(board, plan_options(options))
    context = project_context((made,), board, options)
    assert context.canaries.count >= 3
    words = [int(row.split(")")[1].rstrip("u"), 16) for row in context.canaries.rows]
    for word in words:
        assert word % 4 == 0
        for placement in made.layout.placements:
            assert not placement.address <= word < placement.address + placement.size
        assert any(a.base <= word < a.base + a.size for a in made.layout.arenas)


def test_release_builds_have_no_guards(board: Board) -> None:
    context = project_context((tiny_plan(board, PlanOptions(guard=64)),), board, BuildOptions())
    assert context.canaries.count == 0
    assert context.canaries.rows == ("NULL",)


def test_identity_changes_with_weights_and_options(board: Board) -> None:
    def identity(options: BuildOptions, **changes: object) -> tuple[str, ...]:
        return project_context((tiny_plan(board, **changes),), board, options).build_id

    first = identity(BuildOptions())
    assert first == identity(BuildOptions())
    assert first != identity(BuildOptions(shell=False))
    assert first != identity(BuildOptions(), weights=bytes(100))


def test_two_models_get_two_names(board: Board) -> None:
    plans = (tiny_plan(board), tiny_plan(board))
    context = project_context(plans, board, BuildOptions())
    assert [model.identifier for model in context.models] == ["tiny", "tiny_2"]


def test_cache_maintenance_only_where_there_is_a_cache(board: Board) -> None:
    from fwgen.program.commands import Cache, CacheAction

    made = tiny_plan(board)
    program = replace(made.program, commands=(Cache(CacheAction.CLEAN, 1), *made.program.commands))
    with_cache = replace(
        board,
        cpu=replace(board.cpu, core="cortex-m7"),
        memories=tuple(replace(memory, cached=True) for memory in board.memories),
    )
    plans = (ModelPlan(program, made.layout),)
    lean = project_context(plans, board, BuildOptions()).models[0].word_count
    full = project_context(plans, with_cache, BuildOptions()).models[0].word_count
    assert full == lean + 3


@pytest.mark.parametrize(
    ("name", "identifier"),
    [("LeNet-5 v2.nvdla", "lenet_5_v2_nvdla"), ("___", "model"), ("9net", "9net"), ("é", "model")],
)
def test_identifiers(name: str, identifier: str) -> None:
    assert c_identifier(name) == identifier
    assert c_identifier(name, [identifier]) == f"{identifier}_2"


def test_text_in_c() -> None:
    assert c_string('a"b\\c\n?é') == '"a\\"b\\\\c\\012\\?\\303\\251"'
    assert "*/" not in c_comment("a */ b")
    assert "/*" not in c_comment("a /* b")
    assert "\n" not in c_comment("a\nb")
    assert not c_comment("a\\").endswith("\\")


@pytest.mark.parametrize(("entries", "alignment"), [(16, 128), (48, 256), (64, 256), (144, 1024)])
def test_vector_alignment(entries: int, alignment: int) -> None:
    assert vector_alignment(entries) == alignment


@pytest.mark.parametrize("change", [{"dtype": "int4"}, {"layout": "CHWN"}])
def test_tensors_the_runtime_does_not_know(board: Board, change: dict[str, str]) -> None:
    made = tiny_plan(board)
    tensors = (replace(made.program.tensors[0], **change), *made.program.tensors[1:])
    strange = replace(made.program, tensors=tensors)
    with pytest.raises(ModelError, match="does not know"):
        project_context((ModelPlan(strange, made.layout),), board, BuildOptions())


def test_scales_are_floats_in_c(board: Board) -> None:
    made = tiny_plan(board)
    for scale, text in ((None, "0.0f"), (1e-5, "1e-05f"), (2.0, "2.0f"), (float("nan"), "0.0f")):
        tensors = tuple(replace(t, scale=scale) for t in made.program.tensors)
        program = replace(made.program, tensors=tensors)
        plans = (ModelPlan(program, made.layout),)
        context = project_context(plans, board, BuildOptions())
        assert context.models[0].inputs[0].scale == text
