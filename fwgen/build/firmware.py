"""From a planned program to firmware: the library's entry to building.

Importing this module is cheap, so that a build with nothing to do stays fast; the
work is in project.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.build.result import BuildResult
from fwgen.build.stamp import up_to_date

if TYPE_CHECKING:
    from fwgen.plan.layout import Layout
    from fwgen.plan.planner import PlanOptions
    from fwgen.program.program import Program

# Somewhat less than the runtime takes on a Cortex-M3. The plan keeps as much free on
# a small board; whether the image really fits, the linker says to the byte.
_LEAST_TEXT = 8 * 1024
_LINK_TEXT = 4 * 1024
_LEAST_VARIABLES = 1024
_LINK_VARIABLES = 6 * 1024


def plan_options(options: BuildOptions) -> PlanOptions:
    """What the planner must know of a build's options."""
    from fwgen.plan.planner import LINE, PlanOptions

    stacks = 4 * options.stack_words + options.main_stack("cortex_m")
    if options.link:
        stacks += 4 * options.link_stack_words
    return PlanOptions(
        guard=LINE if options.with_canaries else 0,
        places=options.places,
        nearest_first=options.sram_first,
        weights=options.weights,
        least_text=_LEAST_TEXT + (_LINK_TEXT if options.link else 0),
        least_reserve=stacks + _LEAST_VARIABLES + (_LINK_VARIABLES if options.link else 0),
    )


def build(
    program: Program,
    layout: Layout,
    board: Board,
    out_dir: Path,
    options: BuildOptions | None = None,
    *,
    request: str = "",
    progress: Callable[[str], None] = lambda _line: None,
) -> BuildResult:
    """Make the project of one model.

    Args:
        program: as the lowering made it.
        layout: where its buffers lie on the board.
        board: the board.
        out_dir: directory of the project: new, empty, or of an earlier build.
        options: of the build.
        request: further inputs that led to the layout; see `up_to_date`.
        progress: gets one line per stage.

    Raises:
        UsageError: an option, tool or kernel is missing or wrong.
        FitError: the image does not fit the board.
        TaskError: a source does not compile, or the image breaks a rule (heap,
            recursion, a misplaced buffer). No image is left then.
    """
    from fwgen.build.project import build_image
    from fwgen.codegen.context import ModelPlan

    return build_image(
        (ModelPlan(program, layout),),
        board,
        out_dir,
        options or BuildOptions(),
        request=request,
        progress=progress,
    )


__all__ = ["BuildResult", "build", "plan_options", "up_to_date"]
