"""The stages in a row: model file -> Model -> Program -> Layout.

`build`, `inspect` and `check` share this module, so that what one says of a
model is true for the others. A stage is imported when it is run: a build that has
nothing to do asks the stamp and imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fwgen.accel.registry import family, runs_models_of
from fwgen.board.profile import load_board
from fwgen.board.types import Accelerator, Board
from fwgen.build.firmware import BuildResult, plan_options, up_to_date
from fwgen.build.options import BuildOptions
from fwgen.errors import FitError, ModelError, UsageError
from fwgen.images import assign_accelerators, exclusive_groups, unique_names
from fwgen.model import Model, load_model, open_model

if TYPE_CHECKING:
    from fwgen.accel.protocol import AcceleratorFamily, CheckReport
    from fwgen.plan.layout import Layout
    from fwgen.program.program import Program


@dataclass(frozen=True, slots=True)
class CompiledModel:
    """A model on a board, with what every stage made of it."""

    model: Model
    board: Board
    accelerator: Accelerator
    program: Program
    layout: Layout


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """Answer to "can this board run this model?".

    Attributes:
        fit_error: why the memory does not suffice; None if it does, or if the
            model is not supported anyway.
        other_boards: installed boards that can run the model, where this one cannot.
    """

    report: CheckReport
    board: Board
    fit_error: FitError | None
    other_boards: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether `fwgen build` would accept the model."""
        return self.report.ok and self.fit_error is None


def accelerator_for(model: Model, board: Board) -> Accelerator:
    """The first accelerator of the board that runs models of this family.

    Raises:
        ModelError: the board has none.
    """
    for accelerator in board.accelerators:
        if runs_models_of(accelerator.family, model.family):
            return accelerator
    has = ", ".join(f"{a.family}/{a.config}" for a in board.accelerators) or "none"
    raise ModelError(
        f"the model is for the accelerator family '{model.family}'",
        where=f"model {model.name}, board {board.name}",
        expected=f"a model for an accelerator of the board: {has}",
        hints=(
            f"Boards that can run this model: {', '.join(fitting)}."
            if (fitting := fitting_boards(model))
            else "See `fwgen boards list` for boards with other accelerators.",
        ),
    )


def lower_model(
    model: Model,
    board: Board,
    options: BuildOptions = BuildOptions(),  # noqa: B008
) -> tuple[Accelerator, Program]:
    """The program that runs a model on a board.

    Args:
        options: pipeline_depth above 1 gives the program a pipelined run too.

    Raises:
        UsageError: no such depth.
        ModelError: the board's accelerator cannot run the model.
    """
    accelerator = accelerator_for(model, board)
    return accelerator, lower_for(model, accelerator, options)


def lower_for(
    model: Model,
    accelerator: Accelerator,
    options: BuildOptions = BuildOptions(),  # noqa: B008
) -> Program:
    """The program that runs a model on an accelerator; arguments and errors as `lower_model`."""
    from fwgen.program.pipeline import DEPTHS

    depth = options.pipeline_depth
    if depth not in DEPTHS:
        raise UsageError(
            f"a pipeline depth of {depth} does not exist",
            where="build options",
            expected="one of " + ", ".join(map(str, DEPTHS)),
        )
    kind = family(accelerator.family)
    try:
        return kind.lower(model, accelerator.config, depth, per_operation=options.each_operation)
    except ModelError as error:
        if kind.check(model, accelerator.config).ok:
            raise  # it contradicts itself, whatever the board
        fitting = fitting_boards(model)
        if not fitting:
            raise
        raise ModelError(
            error.message,
            where=error.where,
            expected=error.expected,
            hints=(f"Boards that can run this model: {', '.join(fitting)}.", *error.hints),
        ) from None


def fitting_boards(model: Model) -> tuple[str, ...]:
    """Names of the installed boards with an accelerator that can run the model."""
    from fwgen.board.profile import list_boards

    answers: dict[tuple[str, str], bool] = {}
    found = []
    for name in list_boards():
        for accelerator in load_board(name).accelerators:
            if not runs_models_of(accelerator.family, model.family):
                continue
            kind = (accelerator.family, accelerator.config)
            if kind not in answers:
                answers[kind] = family(kind[0]).check(model, kind[1]).ok
            if answers[kind]:
                found.append(name)
                break
    return tuple(found)


def compile_model(
    path: Path,
    board: str | Board,
    options: BuildOptions = BuildOptions(),  # noqa: B008
) -> CompiledModel:
    """Read, lower and plan a model.

    Args:
        path: the model file.
        board: a board, or its name or profile file.

    Raises:
        UsageError: no such file or board.
        ModelError: damaged, or not supported by the board's accelerator.
        FitError: it does not fit the board's memory.
    """
    from fwgen.plan.planner import plan

    board = board if isinstance(board, Board) else load_board(board)
    model = load_model(path)
    accelerator, program = lower_model(model, board, options)
    layout = plan(program, board, plan_options(options))
    return CompiledModel(model, board, accelerator, program, layout)


def build_model(
    path: Path,
    board: str | Board,
    directory: Path | None = None,
    options: BuildOptions = BuildOptions(),  # noqa: B008
    progress: Callable[[str], None] = lambda _line: None,
) -> BuildResult:
    """From a model file to firmware.

    Args:
        path: the model file.
        board: a board, or its name or profile file.
        directory: of the project; default build/BOARD-MODEL.
        options: of the build.
        progress: gets one line per stage.

    Raises:
        UsageError: no such file or board, a bad option, a missing tool.
        ModelError: damaged, or not supported by the board's accelerator.
        FitError: model or image does not fit the board.
        TaskError: a source does not compile.
    """
    return build_models([path], board, directory, options, progress)


def build_models(
    paths: Sequence[Path],
    board: str | Board,
    directory: Path | None = None,
    options: BuildOptions = BuildOptions(),  # noqa: B008
    progress: Callable[[str], None] = lambda _line: None,
) -> BuildResult:
    """From several model files to one firmware; arguments and errors as `build_model`.

    The models are numbered in the order of their files and named by them; a name that
    comes again gets -2, -3, ... The default folder is named after the first.
    """
    board = board if isinstance(board, Board) else load_board(board)
    files = [open_model(path) for path in paths]
    names = unique_names([file.name for file in files])
    groups = exclusive_groups(names, options)
    directory = directory if directory is not None else default_directory(names[0], board)
    request = "\n".join(names)
    finished = up_to_date(directory, [file.sha256 for file in files], board, options, request)
    if finished is not None:
        return finished
    from fwgen.build.project import build_image
    from fwgen.codegen.context import ModelPlan
    from fwgen.fusion import check_fusion
    from fwgen.plan.planner import plan_all

    progress("lowering the models" if len(files) > 1 else "lowering the model")
    models = [file.read() for file in files]
    where = assign_accelerators(
        [(name, model.family) for name, model in zip(names, models, strict=True)],
        board,
        options,
        _support(models, board) if len({a.config for a in board.accelerators}) > 1 else {},
    )
    programs = []
    for name, model, index in zip(names, models, where, strict=True):
        program = lower_for(model, board.accelerators[index], options)
        programs.append(replace(program, model_name=name))
    for program in programs:
        check_fusion(program, options.fusion)
    progress("planning memory")
    layouts = plan_all(programs, board, plan_options(options), groups)
    return build_image(
        [ModelPlan(*plan) for plan in zip(programs, layouts, where, strict=True)],
        board,
        directory,
        options,
        request=request,
        progress=progress,
    )


def _support(models: Sequence[Model], board: Board) -> dict[tuple[int, str], bool]:
    """(model, configuration) -> whether an accelerator of its family supports it."""
    return {
        (number, accelerator.config): family(accelerator.family).check(model, accelerator.config).ok
        for number, model in enumerate(models)
        for accelerator in board.accelerators
        if runs_models_of(accelerator.family, model.family)
    }


def default_directory(model_name: str, board: Board) -> Path:
    """Where a build goes when the user names no folder."""
    return Path("build") / f"{board.name}-{model_name}"


def check_model(path: Path, board: str | Board) -> ModelCheck:
    """Check a model against a board's accelerator and memory.

    Raises:
        UsageError: no such file or board.
        ModelError: the file is damaged, or made for another family.
    """
    from fwgen.plan.planner import plan

    board = board if isinstance(board, Board) else load_board(board)
    model = load_model(path)
    accelerator = accelerator_for(model, board)
    kind = family(accelerator.family)
    report = kind.check(model, accelerator.config)
    if not report.ok:
        return ModelCheck(report, board, None, fitting_boards(model))
    try:
        plan(kind.lower(model, accelerator.config), board, plan_options(BuildOptions()))
    except FitError as error:
        return ModelCheck(report, board, error)
    return ModelCheck(report, board, None)


def program_listing(compiled: CompiledModel, *, optimised: bool = True) -> list[str]:
    """The program as it will lie in flash, one line a command, with register names.

    Args:
        optimised: False shows every register write of the lowering.
    """
    from fwgen.program.disassemble import disassemble
    from fwgen.program.encode import all_words, encode
    from fwgen.program.optimise import optimise
    from fwgen.program.relocation import contents

    kind: AcceleratorFamily = family(compiled.program.family)
    traits = kind.register_traits(compiled.program.config)
    program = compiled.program
    if optimised:
        program = optimise(program, traits, compiled.layout)
    pipelined = bool(program.pipelined)
    words = all_words(encode(program, compiled.layout, traits, pipelined=pipelined))
    lines = disassemble(words, traits, program.operations)
    for buffer in program.buffers:
        if buffer.relocations:
            data = contents(buffer, compiled.layout)
            address = compiled.layout.address(buffer.id)
            executed = kind.describe_constant(buffer.name, data, address)
            lines += ["", *executed] if executed else []
    return lines


def default_board(model: Model) -> Board:
    """A board to show a program for when the user names none: the first that can run it.

    Raises:
        ModelError: no installed board can.
    """
    for name in fitting_boards(model):
        return load_board(name)
    raise ModelError(
        "no installed board can run this model",
        where=f"model {model.name}",
        hints=("Name a board with --board; `fwgen check MODEL --board B` says what is missing.",),
    )
