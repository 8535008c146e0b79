"""Builds a project: fwgen.toml to firmware."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fwgen.board.profile import load_board
from fwgen.build.firmware import BuildResult
from fwgen.project.file import Project, read_project


def build_project(
    project: Project | Path,
    *,
    board: str | None = None,
    directory: Path | None = None,
    changes: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> BuildResult:
    """Build the firmware of a project.

    Args:
        project: the project, or its folder.
        board: another board than the file's.
        directory: of the firmware; default PROJECT/build/BOARD.
        changes: fields of BuildOptions that replace the file's.
        progress: gets one line per stage.

    Raises:
        UsageError: the project file is wrong, or as `pipeline.build_model`.
        ModelError, FitError, TaskError: as `pipeline.build_model`.
    """
    from fwgen import pipeline

    project = project if isinstance(project, Project) else read_project(project)
    profile = load_board(board if board is not None else project.board)
    directory = directory if directory is not None else project.directory(profile.name)
    options = replace(project.options, **(changes or {}))
    return pipeline.build_models(project.models, profile, directory, options, progress)
