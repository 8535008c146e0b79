"""Several models in one image: their names, their accelerators, who shares memory.

Models are named by their files. Options refer to these names: which accelerator
runs a model (`BuildOptions.accelerators`), which models are never in use together
(`BuildOptions.exclusive`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from fwgen.accel.registry import runs_models_of
from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.errors import ModelError, UsageError

EVERY_MODEL = "all"
"""In an exclusive group: every model of the image."""


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The same names, with -2, -3, ... behind those that were there before.

    Raises:
        UsageError: there is no name.
    """
    if not names:
        raise UsageError("an image needs a model", where="build")
    result: list[str] = []
    for name in names:
        candidate, number = name, 2
        while candidate in result:
            candidate = f"{name}-{number}"
            number += 1
        result.append(candidate)
    return tuple(result)


def assign_accelerators(
    models: Sequence[tuple[str, str]],
    board: Board,
    options: BuildOptions,
    can_run: Mapping[tuple[int, str], bool],
) -> tuple[int, ...]:
    """The accelerator of each model, as an index into the board's.

    A model goes where the options say; the others take turns among the accelerators that
    run models of their family and can run them.

    Args:
        models: (name, family) of each.
        can_run: (index of the model, configuration) -> whether it is supported there;
            what is absent counts as supported.

    Raises:
        UsageError: an option names no model or accelerator.
        ModelError: the board has no accelerator of the family.
    """
    wanted = _wanted([name for name, _ in models], board, options)
    result = []
    turns: dict[tuple[int, ...], int] = {}
    for number, (name, family) in enumerate(models):
        if name in wanted:
            accelerator = board.accelerators[wanted[name]]
            if not runs_models_of(accelerator.family, family):
                raise UsageError(
                    f"model '{name}' is for the accelerator family '{family}'",
                    where=f"--accel {name}={accelerator.name}, board {board.name}",
                    expected=f"an accelerator that runs it, not one of '{accelerator.family}'",
                )
            result.append(wanted[name])
            continue
        family_members = [
            i for i, a in enumerate(board.accelerators) if runs_models_of(a.family, family)
        ]
        if not family_members:
            has = ", ".join(f"{a.family}/{a.config}" for a in board.accelerators) or "none"
            raise ModelError(
                f"the model is for the accelerator family '{family}'",
                where=f"model {name}, board {board.name}",
                expected=f"a model for an accelerator of the board: {has}",
                hints=("See `fwgen boards list` for boards with other accelerators.",),
            )
        able = [
            i for i in family_members if can_run.get((number, board.accelerators[i].config), True)
        ]
        # Where none is able, lowering for the first one says why.
        candidates = tuple(able or family_members[:1])
        turn = turns.get(candidates, 0)
        turns[candidates] = turn + 1
        result.append(candidates[turn % len(candidates)])
    return tuple(result)


def _wanted(names: Sequence[str], board: Board, options: BuildOptions) -> dict[str, int]:
    accelerators = [accelerator.name for accelerator in board.accelerators]
    wanted: dict[str, int] = {}
    for model, accelerator in options.accelerators:
        _check_name(model, names, "model", "--accel")
        _check_name(accelerator, accelerators, "accelerator", f"--accel, board {board.name}")
        if wanted.setdefault(model, accelerators.index(accelerator)) != accelerators.index(
            accelerator
        ):
            raise UsageError(f"model '{model}' is given two accelerators", where="--accel")
    return wanted


def exclusive_groups(names: Sequence[str], options: BuildOptions) -> tuple[tuple[int, ...], ...]:
    """The groups of models that share memory, as indices.

    Raises:
        UsageError: a group names no model, or a model is in two groups.
    """
    groups = []
    seen: set[str] = set()
    for group in options.exclusive:
        members = tuple(names) if group == (EVERY_MODEL,) else group
        for name in members:
            _check_name(name, names, "model", "--exclusive")
            if name in seen:
                raise UsageError(
                    f"model '{name}' is named twice",
                    where="--exclusive",
                    expected="each model in one group at most",
                )
            seen.add(name)
        if len(members) > 1:
            groups.append(tuple(names.index(name) for name in members))
    return tuple(groups)


def _check_name(name: str, known: Sequence[str], word: str, where: str) -> None:
    if name not in known:
        near = get_close_matches(name, known, 1)
        raise UsageError(
            f"there is no {word} '{name}'",
            where=where,
            expected="one of " + ", ".join(known),
            hints=(f"Did you mean '{near[0]}'?",) if near else (),
        )
