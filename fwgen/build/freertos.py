"""Finds the FreeRTOS kernel: the user's tree, the cache, or a Debian source package.

The kernel is not part of fwgen. Any tree from V9 to V11 will do that contains the
GCC/ARM_CM3 port, which serves all Cortex-M cores here because the firmware uses
software floating point. Debian's source package `micropython` carries an unchanged
V9.0.0 (GPLv2 with the FreeRTOS exception); V10 and later are MIT.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fwgen.cache import cache_directory
from fwgen.errors import TaskError, UsageError

ENVIRONMENT = "FREERTOS_KERNEL_PATH"
SUPPORTED_MAJORS = range(9, 12)
PORT = Path("portable/GCC/ARM_CM3")
KERNEL_SOURCES = ("tasks.c", "list.c", "queue.c")

DEBIAN_PACKAGE = "micropython"
DEBIAN_SUITE = "trixie"
DEBIAN_ARCHIVE = "micropython_1.25.0+ds.orig.tar.xz"
DEBIAN_SHA256 = "7b25be99a502f070b2de81dafc08da7051d992325d6e67daa9045a918fffdbea"
DEBIAN_DIRECTORY = "ports/cc3200/FreeRTOS/Source/"
CACHED_NAME = "freertos-V9.0.0"

_HINTS = (
    f"Set {ENVIRONMENT} or --freertos to a FreeRTOS kernel tree V9 to V11 "
    "(the directory with tasks.c, or the one above Source/).",
    "With access to a Debian mirror, fwgen fetches V9.0.0 by itself with apt-get.",
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A usable kernel tree.

    Attributes:
        root: directory of tasks.c.
        version: "V9.0.0".
        origin: how it was found, for reports.
    """

    root: Path
    version: str
    origin: str

    @property
    def port(self) -> Path:
        """Directory of port.c and portmacro.h."""
        return self.root / PORT

    def files(self, *, with_port: bool = True) -> dict[str, Path]:
        """Path in a generated project (below kernel/) -> file of the tree.

        `with_port`: the Cortex-M port too.
        """
        found = {name: self.root / name for name in KERNEL_SOURCES}
        for header in sorted((self.root / "include").glob("*.h")):
            found[f"include/{header.name}"] = header
        for name in ("port.c", "portmacro.h") if with_port else ():
            found[f"port/{name}"] = self.port / name
        for directory in (self.root, self.root.parent):
            for licence in sorted(directory.glob("LICEN[SC]E*")):
                if licence.is_file():
                    found.setdefault(licence.name, licence)
        return found


def find_kernel(
    given: Path | None = None, progress: Callable[[str], None] = lambda _line: None
) -> Kernel:
    """The kernel to build with.

    Args:
        given: `--freertos`; it goes before the environment and the cache.
        progress: gets one line per stage while something is fetched.

    Raises:
        UsageError: a given tree is not a supported kernel, or none can be had.
        TaskError: the fetched archive is not the expected one.
    """
    if given is not None:
        return inspect_kernel(given, "--freertos")
    from_environment = os.environ.get(ENVIRONMENT)
    if from_environment:
        return inspect_kernel(Path(from_environment), ENVIRONMENT)
    cached = cache_directory() / CACHED_NAME
    if (cached / "tasks.c").is_file():
        return inspect_kernel(cached, "cache")
    _fetch(cached, progress)
    return inspect_kernel(cached, "Debian source package")


def inspect_kernel(path: Path, origin: str) -> Kernel:
    """Check that a directory is a kernel tree that fwgen supports.

    Raises:
        UsageError: it is not; the message says what is missing.
    """
    candidates = (path, path / "Source", path / "FreeRTOS" / "Source")
    root = next((c for c in candidates if (c / "tasks.c").is_file()), None)
    if root is None:
        raise UsageError(
            f"no FreeRTOS kernel in {path}",
            where=origin,
            expected="a directory with tasks.c and include/",
            hints=_HINTS,
        )
    header = root / "include" / "task.h"
    text = header.read_text(encoding="latin-1") if header.is_file() else ""
    match = re.search(r'#define\s+tskKERNEL_VERSION_NUMBER\s+"(V?(\d+)[^"]*)"', text)
    if match is None or int(match.group(2)) not in SUPPORTED_MAJORS:
        found = match.group(1) if match else "of unknown version"
        raise UsageError(
            f"FreeRTOS kernel {found} is not supported",
            where=f"{origin}, {root}",
            expected="V9, V10 or V11",
            hints=_HINTS,
        )
    for needed in (*(Path(name) for name in KERNEL_SOURCES), PORT / "port.c"):
        if not (root / needed).is_file():
            raise UsageError(
                f"FreeRTOS kernel {match.group(1)} lacks {needed}",
                where=f"{origin}, {root}",
                expected="a complete tree with the GCC/ARM_CM3 port",
                hints=_HINTS,
            )
    return Kernel(root, match.group(1), origin)


def _fetch(destination: Path, progress: Callable[[str], None]) -> None:
    """Put the kernel of the Debian source package into the cache."""
    # Imported on use: every build reads this module's names, nearly none fetches.
    from tempfile import TemporaryDirectory

    from fwgen.build.apt_source import fetch_archive

    destination.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=destination.parent, prefix="freertos-") as name:
        archive = Path(name) / DEBIAN_ARCHIVE
        progress("no FreeRTOS kernel given: taking V9.0.0 from Debian's source package")
        try:
            fetch_archive(
                DEBIAN_PACKAGE, DEBIAN_SUITE, DEBIAN_ARCHIVE, DEBIAN_SHA256, archive, progress
            )
        except UsageError as error:
            raise UsageError(
                f"no FreeRTOS kernel, and it cannot be fetched: {error.message}",
                where=error.where,
                expected=error.expected,
                hints=_HINTS,
            ) from error
        progress("unpacking the kernel")
        tree = Path(name) / "Source"
        _unpack(archive, tree)
        try:
            os.rename(tree, destination)
        except OSError:
            # Another process was faster; its tree is as good.
            if not (destination / "tasks.c").is_file():
                raise
    progress(f"FreeRTOS kernel ready ({destination})")


def _unpack(archive: Path, destination: Path) -> None:
    import tarfile

    with tarfile.open(archive, "r:xz") as tar:
        for member in tar:
            _, marker, inside = member.name.partition(DEBIAN_DIRECTORY)
            if not marker or not member.isfile() or ".." in Path(inside).parts:
                continue
            content = tar.extractfile(member)
            assert content is not None  # a regular file
            target = destination / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                shutil.copyfileobj(content, out)
    if not (destination / "tasks.c").is_file():
        raise TaskError("the archive holds no FreeRTOS kernel", where=archive.name)


def kernel_digest(kernel: Kernel) -> str:
    """SHA-256 over the files that a project takes from the tree."""
    digest = hashlib.sha256()
    for name, path in kernel.files().items():
        digest.update(name.encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
