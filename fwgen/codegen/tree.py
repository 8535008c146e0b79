"""Writes a project's files: only what changed, and never half a tree.

Everything is first written beside the target. Only when all files are complete are
they renamed into place, one atomic rename a file; files of an earlier build that
are no longer part of the project are removed last. Contents that did not change
keep their time stamp, so that a build tool sees no change.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp

from fwgen.errors import UsageError

MANIFEST = ".fwgen-files.json"
"""Lists the files of the last write, relative to the project."""


def write_tree(root: Path, files: Mapping[str, bytes]) -> list[str]:
    """Make `root` hold exactly these files (and whatever fwgen did not write).

    Args:
        root: the project's directory; created if missing.
        files: relative path with "/" -> contents.

    Returns:
        The paths that were written or removed, sorted.

    Raises:
        UsageError: the directory cannot be written, or holds something else.
    """
    try:
        return _write_tree(root, files)
    except OSError as error:
        raise UsageError(
            f"cannot write the project: {error.strerror or error}",
            where=str(error.filename or root),
            expected="a directory that can be written, with room for the project",
        ) from error


def written_files(root: Path) -> list[str]:
    """Files of the last complete write, or an empty list."""
    try:
        names = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, str)]


def _write_tree(root: Path, files: Mapping[str, bytes]) -> list[str]:
    old = written_files(root)
    if root.is_dir() and not old and any(root.iterdir()):
        raise UsageError(
            "the output directory is not empty and was not written by fwgen",
            where=str(root),
            expected="a new or empty directory, or one of an earlier build",
        )
    root.mkdir(parents=True, exist_ok=True)
    changed = [name for name, data in files.items() if not _is_same(root / name, data)]
    removed = [name for name in old if name not in files and _is_inside(name)]
    if not changed and not removed and old == sorted(files):
        return []
    temporary = Path(mkdtemp(prefix=".fwgen-", dir=root))
    try:
        for name in changed:
            target = temporary / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(files[name])
        (temporary / MANIFEST).write_text(json.dumps(sorted(files), indent=0), encoding="utf-8")
        for name in changed:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(temporary / name, root / name)
        for name in removed:
            (root / name).unlink(missing_ok=True)
        os.replace(temporary / MANIFEST, root / MANIFEST)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sorted([*changed, *removed])


def _is_same(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def _is_inside(name: str) -> bool:
    """Whether a name of the manifest may be removed: relative, without `..`."""
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts
