"""Reads fwgen.toml: the file of a project.

    board = "mps2-an385"

    [[model]]
    file = "models/digits.nvdla"

    [app]
    sources = ["src/*.c"]

    [build]
    task_priority = 5

Everything is checked here, with the file's line in the message, before anything
is built. Paths are relative to the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path

from fwgen.build.application import SOURCE_SUFFIXES, Application
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.errors import UsageError
from fwgen.images import exclusive_groups, unique_names
from fwgen.project.schema import AppTable, BuildTable, ProjectTable
from fwgen.project.suite import check_suite
from fwgen.project.suite_schema import SuiteTable
from fwgen.toml.decode import Decoder
from fwgen.toml.document import Node, read
from fwgen.toml.lines import Path as KeyPath

FILE_NAME = "fwgen.toml"
BUILD_FOLDER = "build"
HEADER_SUFFIXES = (".h", ".inc")
LARGEST_APP = 2000
"""More source files than any application has; a pattern that finds them is a mistake."""

_DECODER = Decoder({"models": "model"}, ("docs/applications.md lists all keys.",))
_RENAMED = {"names": "operation_names", "pipeline": "pipeline_depth", "place": "places"}
"""Keys of [build] that are called otherwise in BuildOptions."""


@dataclass(frozen=True, slots=True)
class Project:
    """What a project file says.

    Attributes:
        root: folder of the file.
        name: of the project.
        board: name or profile file.
        models: files, in the order of their numbers in the firmware.
        options: of the build, application included.
        suite: what `fwgen test` runs; boards are names or paths of profiles.
    """

    root: Path
    name: str
    board: str
    models: tuple[Path, ...]
    options: BuildOptions
    suite: SuiteTable | None = None

    @property
    def model_names(self) -> tuple[str, ...]:
        """How the firmware names the models."""
        return unique_names([path.stem for path in self.models])

    def directory(self, board_name: str) -> Path:
        """Where the project's firmware for a board is built."""
        return self.root / BUILD_FOLDER / board_name


def is_project(path: Path) -> bool:
    """Whether a folder holds a project file."""
    return (path / FILE_NAME).is_file()


def read_project(folder: Path) -> Project:
    """Read and check a project.

    Args:
        folder: that holds fwgen.toml.

    Raises:
        UsageError: there is no such file, or something in it is wrong.
    """
    file = folder / FILE_NAME
    if not file.is_file():
        raise UsageError(
            "no project here",
            where=str(file),
            expected=f"a folder with {FILE_NAME}",
            hints=(
                "fwgen new app DIR --board BOARD --model MODEL makes a project.",
                "Without a project: fwgen build --board BOARD MODEL.",
            ),
        )
    root = read(file, "project file")
    table = _DECODER.decode(root, ProjectTable)
    if not table.models:
        raise UsageError(
            "the project has no model", where=root.where(("model",)), expected="[[model]]"
        )
    models = []
    for index, model in enumerate(table.models):
        path = folder / model.file
        if not path.is_file():
            raise UsageError(
                f"no such model: {model.file}",
                where=root.where(("model", index, "file")),
                expected="the path of a compiled model, from this file",
            )
        models.append(path)
    app = _application(table.app, folder, root) if table.app is not None else None
    names = unique_names([path.stem for path in models])
    options = replace(
        _options(table.build, app),
        accelerators=tuple(
            (name, model.accelerator)
            for name, model in zip(names, table.models, strict=True)
            if model.accelerator is not None
        ),
    )
    try:
        exclusive_groups(names, options)
    except UsageError as error:
        raise UsageError(
            error.message,
            where=root.where(("build", "exclusive")),
            expected=error.expected,
            hints=error.hints,
        ) from None
    for index, pair in enumerate(table.build.place):
        if len(pair) != 2:
            raise UsageError(
                f"{len(pair)} names are no place",
                where=root.where(("build", "place", index)),
                expected='two names: ["TENSOR", "REGION"]',
            )
    board = _board(table.board, folder, root, ("board",))
    suite = table.test
    if suite is not None:
        check_suite(suite, folder, names, app is not None, root)
        boards = suite.boards or (table.board,)
        suite = replace(
            suite,
            boards=tuple(
                _board(name, folder, root, ("test", "boards", index))
                for index, name in enumerate(boards)
            ),
        )
    name = table.name or folder.resolve().name
    return Project(folder, name, board, tuple(models), options, suite)


def _board(text: str, folder: Path, root: Node, at: KeyPath) -> str:
    """The name of a board, or the path of its profile from here."""
    if not (text.endswith(".toml") or "/" in text):
        return text
    path = folder / text
    if not path.is_file():
        raise UsageError(
            f"no such board profile: {text}",
            where=root.where(at),
            expected="the name of a board, or the path of a profile from this file",
        )
    return str(path)


def _options(build: BuildTable, app: Application | None) -> BuildOptions:
    values = {field.name: getattr(build, field.name) for field in fields(build)}
    kind = BuildKind.TEST if values.pop("test") else BuildKind.RELEASE
    optimise = not values.pop("all_writes")
    renamed = {_RENAMED.get(name, name): value for name, value in values.items()}
    return BuildOptions(kind=kind, optimise_program=optimise, app=app, **renamed)


def _application(table: AppTable, folder: Path, root: Node) -> Application:
    sources: dict[str, None] = {}
    for index, pattern in enumerate(table.sources):
        at = ("app", "sources", index)
        _check_inside(pattern, root, at)
        found = _matches(folder, pattern)
        if not found:
            raise UsageError(
                f"'{pattern}' matches no file",
                where=root.where(at),
                expected="source files below this file's folder",
            )
        for name in found:
            if not name.endswith(SOURCE_SUFFIXES):
                raise UsageError(
                    f"'{pattern}' matches {name}, which is no source",
                    where=root.where(at),
                    expected="files that end in " + " or ".join(SOURCE_SUFFIXES),
                    hints=("Headers beside the sources are found by themselves.",),
                )
        sources |= dict.fromkeys(found)
    includes = dict.fromkeys(os.path.dirname(name) or "." for name in sources)
    for index, include in enumerate(table.include):
        at = ("app", "include", index)
        _check_inside(include, root, at)
        if not (folder / include).is_dir():
            raise UsageError(f"no such folder: {include}", where=root.where(at))
        includes[os.path.normpath(include)] = None
    headers: dict[str, None] = {}
    for include in includes:
        for suffix in HEADER_SUFFIXES:
            headers |= dict.fromkeys(_matches(folder, f"{include}/**/*{suffix}"))
    if len(sources) + len(headers) > LARGEST_APP:
        raise UsageError(
            f"the application has {len(sources) + len(headers)} files",
            where=root.where(("app", "sources")),
            expected=f"at most {LARGEST_APP}",
        )
    app = Application(
        folder, tuple(sources), tuple(headers), tuple(includes), table.defines, table.tasks
    )
    try:
        app.contents()
    except UsageError as error:
        raise UsageError(
            error.message, where=root.where(("app",)), expected=error.expected
        ) from None
    return app


def _check_inside(path: str, root: Node, at: KeyPath) -> None:
    if os.path.isabs(path) or ".." in Path(path).parts or "\0" in path:
        raise UsageError(
            f"'{path}' leaves the project", where=root.where(at), expected="a path below this file"
        )


def _matches(folder: Path, pattern: str) -> list[str]:
    """Names of files, sorted, without what was built and hidden files."""
    try:
        found = [path.relative_to(folder) for path in folder.glob(pattern) if path.is_file()]
    except (ValueError, NotImplementedError, OSError, RecursionError):
        return []
    return sorted(
        path.as_posix()
        for path in found
        if path.parts[0] != BUILD_FOLDER and not any(part.startswith(".") for part in path.parts)
    )
