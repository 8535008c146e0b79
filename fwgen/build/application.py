"""The user's own sources in a build: which files, which include folders.

They are copied into the generated project's `app/` folder, so that the project stays
complete by itself. Paths keep their place relative to one root, and no path of
this machine gets into the image.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fwgen.errors import UsageError

FOLDER = "app"
"""Where the files lie in a generated project."""

SOURCE_SUFFIXES = (".c", ".S")
_DEFINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_.+-]*)?")
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_+.-]+(/[A-Za-z0-9_+.-]+)*")


@dataclass(frozen=True, slots=True)
class Application:
    """Sources that join the runtime and the models in one image.

    Attributes:
        root: folder that all names are relative to.
        sources: .c and .S files, with "/" between folders, in link order.
        headers: further files that the sources include.
        includes: folders for the compiler's include path; "." is the root.
        defines: "NAME" or "NAME=VALUE", for these sources only.
        tasks: functions that tasks start with: their stack is bounded like the runtime's.
    """

    root: Path
    sources: tuple[str, ...]
    headers: tuple[str, ...] = ()
    includes: tuple[str, ...] = (".",)
    defines: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    @classmethod
    def of(cls, *files: Path, defines: Sequence[str] = ()) -> Application:
        """An application of these sources and of the headers that lie beside them.

        Raises:
            UsageError: no file is given, or one does not exist.
        """
        if not files:
            raise UsageError("an application needs a source file", where="application")
        paths = [Path(os.path.abspath(file)) for file in files]
        root = Path(os.path.commonpath([path.parent for path in paths]))
        folders = dict.fromkeys(path.parent for path in paths)
        headers = sorted(header for folder in folders for header in folder.glob("*.h"))
        return cls(
            root,
            tuple(path.relative_to(root).as_posix() for path in paths),
            tuple(path.relative_to(root).as_posix() for path in headers),
            tuple(folder.relative_to(root).as_posix() for folder in folders),
            tuple(defines),
        )

    @property
    def files(self) -> tuple[str, ...]:
        """Sources and headers."""
        return (*self.sources, *self.headers)

    def contents(self) -> dict[str, bytes]:
        """Path in the generated project -> bytes of every file.

        Raises:
            UsageError: a file is missing, has a strange name or suffix, or is given twice.
        """
        self._check()
        found = {}
        for name in self.files:
            try:
                found[f"{FOLDER}/{name}"] = (self.root / name).read_bytes()
            except OSError as error:
                raise UsageError(
                    f"cannot read the application's file {name}: {error.strerror or error}",
                    where=str(self.root / name),
                ) from None
        return found

    def digest(self) -> str:
        """SHA-256 over names and contents of all files and all settings."""
        digest = hashlib.sha256(repr((self.sources, self.includes, self.defines)).encode())
        for name, data in self.contents().items():
            digest.update(name.encode())
            digest.update(hashlib.sha256(data).digest())
        return digest.hexdigest()

    def facts(self) -> list[str]:
        """Name, size and time of every file, to see quickly whether one changed."""
        facts = []
        for name in self.files:
            status = (self.root / name).stat()
            facts.append(f"{name} {status.st_size} {status.st_mtime_ns}")
        return facts

    def _check(self) -> None:
        for name in self.files:
            if not _NAME.fullmatch(name) or ".." in name.split("/"):
                raise UsageError(
                    f"'{name}' cannot be the name of an application's file",
                    where=str(self.root),
                    expected="letters, digits and _ + . - below the application's folder",
                )
        for name in self.sources:
            if not name.endswith(SOURCE_SUFFIXES):
                raise UsageError(
                    f"'{name}' is no source file",
                    where=str(self.root),
                    expected="a name that ends in " + " or ".join(SOURCE_SUFFIXES),
                )
        objects: dict[str, str] = {}
        for name in self.sources:
            other = objects.setdefault(name.rpartition(".")[0], name)
            if other is not name:
                raise UsageError(
                    f"'{other}' and '{name}' would become the same object file",
                    where=str(self.root),
                    expected="each source once",
                )
        for task in self.tasks:
            if not _FUNCTION.fullmatch(task):
                raise UsageError(
                    f"'{task}' is no name of a function",
                    where=str(self.root),
                    expected="a function of the application",
                )
        for define in self.defines:
            if not _DEFINE.fullmatch(define):
                raise UsageError(
                    f"'{define}' is no definition for the compiler",
                    where=str(self.root),
                    expected="NAME or NAME=VALUE",
                )
