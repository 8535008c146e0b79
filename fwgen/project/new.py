"""Makes a new project: a small application around a model, ready to build and run."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import mkdtemp

from fwgen.board.profile import list_boards, load_board
from fwgen.errors import ModelError, UsageError
from fwgen.resources import template_environment

MODEL_FOLDER = "models"
_TEMPLATES = {
    "src/app.c": "app.c.j2",
    "fwgen.toml": "fwgen.toml.j2",
    "README.md": "README.md.j2",
    ".gitignore": "gitignore.j2",
}


def new_application(directory: Path, board: str, model: Path) -> tuple[str, ...]:
    """Write a project.

    Args:
        directory: must not exist, or be empty.
        board: name of a board, or a profile file, which is copied into the project.
        model: a compiled model, which is copied into the project.

    Returns:
        The paths written, relative to the directory, sorted.

    Raises:
        UsageError: the directory is in use, or no such board or model.
        ModelError: the board cannot run the model.
        FitError: the model does not fit the board's memory.
    """
    check_free(directory)
    files, _ = project_files(directory, board, model)
    write_project(directory, files)
    return tuple(sorted(files))


def project_files(
    directory: Path, board: str, model: Path
) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files of a new project by path, and what their templates were given.

    Raises:
        UsageError, ModelError, FitError: as new_application.
    """
    profile = load_board(board)
    _check_model(model, board)
    stem = _plain(model.stem) or "model"
    model_name = f"{MODEL_FOLDER}/{stem}{_plain(model.suffix, keep_dot=True)}"
    files = {model_name: model.read_bytes()}
    board_text = profile.name
    if profile.name not in list_boards():
        if not _is_complete(Path(board)):
            raise UsageError(
                "a profile that extends another cannot be copied into a project",
                where=board,
                expected="the name of an installed board, or a profile without `extends`",
                hints=("Put its folder into FWGEN_BOARDS, and give the board's name.",),
            )
        board_text = f"{profile.name}.toml"
        files[board_text] = Path(board).read_bytes()
    name = _plain(Path(os.path.abspath(directory)).name) or "app"
    values = {"name": name, "board": board_text, "model": model_name}
    files |= _render(values)
    return files, values


def check_free(directory: Path, allowed: Collection[str] = ()) -> None:
    """Refuse a folder that holds anything but entries of these names.

    Raises:
        UsageError: it does, or it cannot be looked into.
    """
    try:
        taken = directory.exists() and (
            not directory.is_dir() or any(e.name not in allowed for e in directory.iterdir())
        )
    except OSError as error:
        raise UsageError(
            f"cannot look into the folder: {error.strerror or error}", where=str(directory)
        ) from None
    if taken or directory.is_symlink():
        raise UsageError(
            "there is something already",
            where=str(directory),
            expected="a new or empty folder",
            hints=("Choose another folder; nothing was changed.",),
        )


def _check_model(model: Path, board: str) -> None:
    from fwgen.pipeline import check_model

    check = check_model(model, board)
    if check.fit_error is not None:
        raise check.fit_error
    if not check.ok:
        raise ModelError(
            "the board cannot run the model",
            where=str(model),
            expected=f"a model that {check.board.name} supports",
            hints=(f"fwgen check --board {board} {model} lists what is missing.",),
        )


def _plain(text: str, *, keep_dot: bool = False) -> str:
    """Text that is safe in file names, TOML and C comments."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:64].strip("-")
    return plain if keep_dot else plain.lstrip("._-")


def _is_complete(profile: Path) -> bool:
    from fwgen.toml.document import read

    return "extends" not in read(profile, "board profile").value


def _render(values: Mapping[str, str]) -> dict[str, bytes]:
    environment = template_environment("app")
    return {
        name: environment.get_template(template).render(values).encode()
        for name, template in _TEMPLATES.items()
    }


def write_project(directory: Path, files: Mapping[str, bytes]) -> None:
    """All files or none: made beside the place, moved there when complete.

    Raises:
        UsageError: they cannot be written.
    """
    parent = Path(os.path.abspath(directory)).parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(mkdtemp(prefix=".fwgen-", dir=parent))
        try:
            made = temporary / "project"
            for name, data in files.items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            if directory.is_dir() and (
                os.path.samefile(directory, os.getcwd()) or any(directory.iterdir())
            ):
                # Replacing it would leave the shell in a folder that is gone, or lose
                # the repository that is in it.
                for entry in sorted(made.iterdir(), key=lambda path: path.name == "fwgen.toml"):
                    os.replace(entry, directory / entry.name)
            else:
                # Works on an empty folder, fails on one that was filled meanwhile.
                os.rename(made, directory)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise UsageError(
            f"cannot write the project: {error.strerror or error}",
            where=str(error.filename2 or error.filename or directory),
            expected="a place where a new folder can be made",
        ) from error
