"""Decides without any work whether a project is up to date.

A build notes two things: a hash of everything it depends on (model, board, options,
fwgen's own files, kernel, compiler), and size and time of every file it left.
When both still agree, there is nothing to do. Imports nothing heavy: this is the
whole run time of a build that changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from fwgen import __version__
from fwgen.board.types import Board
from fwgen.build.freertos import CACHED_NAME
from fwgen.build.freertos import ENVIRONMENT as KERNEL_ENVIRONMENT
from fwgen.build.options import BuildOptions
from fwgen.build.result import BuildResult
from fwgen.build.toolchain import toolchain_prefix
from fwgen.cache import cache_directory
from fwgen.errors import FwgenError
from fwgen.resources import resource_dir

STAMP = ".fwgen-build.json"


def up_to_date(
    directory: Path,
    model_sha256: Iterable[str],
    board: Board,
    options: BuildOptions,
    request: str = "",
    *,
    content: str | None = None,
) -> BuildResult | None:
    """The finished build in `directory` if it is what these inputs would give, else None.

    Args:
        directory: of the project.
        model_sha256: hash of each model file.
        board, options: of the build.
        request: whatever else decides (the planner's options, names), as text.
        content: hash of programs and layouts where they are known already.
    """
    try:
        stamp = json.loads((directory / STAMP).read_text(encoding="utf-8"))
        if stamp["request"] != request_hash(model_sha256, board, options, request):
            return None
        if content is not None and stamp["content"] != content:
            return None
        for name, facts in stamp["files"].items():
            status = os.stat(directory / name)
            if [status.st_size, status.st_mtime_ns] != facts:
                return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, FwgenError):
        return None
    return BuildResult(directory, changed=False)


def write_stamp(directory: Path, names: Iterable[str], request: str, content: str) -> None:
    """Note that the project is finished.

    Args:
        directory: of the project.
        names: every file that a rebuild would write.
        request: from `request_hash`.
        content: hash of programs and layouts.
    """
    files = {}
    for name in sorted(names):
        status = os.stat(directory / name)
        files[name] = [status.st_size, status.st_mtime_ns]
    temporary = directory / f"{STAMP}.{os.getpid()}"
    temporary.write_text(
        json.dumps({"request": request, "content": content, "files": files}), encoding="utf-8"
    )
    os.replace(temporary, directory / STAMP)


def remove_stamp(directory: Path) -> None:
    """Forget that the project was finished; before anything in it changes."""
    (directory / STAMP).unlink(missing_ok=True)


def request_hash(
    model_sha256: Iterable[str], board: Board, options: BuildOptions, request: str
) -> str:
    """Hash of all inputs of a build, by content or by size and time.

    Raises:
        UsageError: there is no compiler.
    """
    prefix = toolchain_prefix()
    kernel = options.freertos or Path(
        os.environ.get(KERNEL_ENVIRONMENT) or cache_directory() / CACHED_NAME
    )
    facts = [
        __version__,
        repr(tuple(model_sha256)),
        repr(board),
        repr(options),
        request,
        prefix,
        _facts(Path(prefix + "gcc")),
        str(kernel),
        *_tree_facts(kernel, (".c", ".h")),
        *(options.app.facts() if options.app is not None else ()),
    ]
    package = Path(__file__).resolve().parent.parent
    facts += _tree_facts(package, (".py",))
    for folder in (resource_dir("templates"), resource_dir("rtos")):
        facts += _tree_facts(folder, (".j2", ".c", ".h", ".S"))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _tree_facts(root: Path, suffixes: tuple[str, ...]) -> list[str]:
    """Name, size and time of every file with one of the suffixes, sorted."""
    facts = []
    pending = [str(root)]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.name.endswith(suffixes):
                status = entry.stat()
                facts.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return sorted(facts)


def _facts(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"
