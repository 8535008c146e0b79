"""Builds the emulated accelerators and the QEMU module on first use.

The result lies in the per-user cache under a key made of the emulator's
sources and the host compiler, so a changed source or compiler leads to a new
build and several versions of fwgen do not disturb each other. A build happens in
a temporary folder under a lock and is moved into place when it is complete.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from fwgen.cache import cache_directory
from fwgen.errors import TaskError, UsageError
from fwgen.resources import resource_dir

MODEL_LIBRARY = "libfwgen_model.so"
QEMU_MODULE = "fwgen-qemu.so"
_TARGETS = ("fwgen_model", "fwgen-qemu")
_SOURCES = (".c", ".h", ".inc", ".txt", ".cmake")
_BUILD_SECONDS = 900
_INSTALL = (
    "On Debian or Ubuntu: apt-get install gcc libc6-dev make cmake",
    "CC names another C compiler; it must know C11.",
)


def model_library_path() -> Path:
    """The accelerator models as a shared library, built if need be.

    Raises:
        UsageError: compiler or cmake missing.
        TaskError: the build failed.
    """
    return build_emulator() / MODEL_LIBRARY


def qemu_module_path() -> Path:
    """The device module for QEMU, built if need be; raises as model_library_path()."""
    return build_emulator() / QEMU_MODULE


def build_emulator(progress: Callable[[str], None] | None = None) -> Path:
    """The folder with both files, built if need be.

    Args:
        progress: gets one line when a build starts.

    Raises:
        UsageError: compiler or cmake missing, or the cache cannot be written.
        TaskError: the build failed; the message carries the compiler's last lines.
    """
    sources = resource_dir("emulator")
    compiler = _compiler()
    folder = cache_directory() / "emulator" / _key(sources, compiler)
    if _complete(folder):
        return folder
    cmake = shutil.which("cmake")
    if cmake is None:
        raise UsageError("cmake not found", where="PATH", hints=_INSTALL)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.with_suffix(".lock")):
            if not _complete(folder):
                if progress is not None:
                    progress("building the emulator (once per version)")
                _build(cmake, compiler, sources, folder)
    except OSError as error:
        raise UsageError(
            f"cannot write the cache: {error}",
            where=str(folder.parent),
            hints=("Set FWGEN_CACHE to a folder that can be written.",),
        ) from None
    return folder


def built_emulator() -> Path | None:
    """The folder with both files if it exists already; nothing is built.

    Raises:
        UsageError: compiler missing.
    """
    sources = resource_dir("emulator")
    folder = cache_directory() / "emulator" / _key(sources, _compiler())
    return folder if _complete(folder) else None


def _complete(folder: Path) -> bool:
    return (folder / MODEL_LIBRARY).is_file() and (folder / QEMU_MODULE).is_file()


def compiler_names() -> tuple[str, ...]:
    """Names of the C compiler for this computer, in the order in which they are tried."""
    return (os.environ.get("CC") or "gcc", "cc", "clang")


def _compiler() -> str:
    for name in compiler_names():
        found = shutil.which(name)
        if found is not None:
            return found
    raise UsageError("no C compiler for this computer found", where="PATH", hints=_INSTALL)


def source_files(sources: Path) -> list[Path]:
    """What the build depends on, sorted; tests and fuzzing aside."""
    return sorted(
        path
        for path in sources.rglob("*")
        if path.suffix in _SOURCES and "fuzz" not in path.relative_to(sources).parts
    )


def _key(sources: Path, compiler: str) -> str:
    digest = hashlib.sha256()
    for part in (_compiler_version(compiler), platform.machine(), platform.system()):
        digest.update(part.encode() + b"\0")
    for path in source_files(sources):
        content = path.read_bytes()
        name = path.relative_to(sources).as_posix()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:20]


@lru_cache(maxsize=4)
def _compiler_version(compiler: str) -> str:
    try:
        return subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(
            f"the C compiler does not run: {error}", where=compiler, hints=_INSTALL
        ) from None


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One builder at a time; the lock ends with the process that holds it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(cmake: str, compiler: str, sources: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder.parent) as temporary:
        tree = Path(temporary) / "tree"
        result = Path(temporary) / "result"
        configure = [cmake, "-S", str(sources), "-B", str(tree), "-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-DCMAKE_C_COMPILER={compiler}", "-G", "Unix Makefiles"]
        _run(configure)
        _run([cmake, "--build", str(tree), "-j2", "--target", *_TARGETS])
        result.mkdir()
        for name in (MODEL_LIBRARY, QEMU_MODULE):
            built = next(tree.rglob(name), None)
            if built is None:
                raise TaskError(f"the emulator's build left no {name}", where=str(sources))
            shutil.copyfile(built, result / name)
        if folder.exists():
            shutil.rmtree(folder)
        result.rename(folder)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_BUILD_SECONDS,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"cannot run {command[0]}: {error}", hints=_INSTALL) from None
    except subprocess.TimeoutExpired:
        raise TaskError(
            f"building the emulator took more than {_BUILD_SECONDS} s", where=" ".join(command)
        ) from None
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()
        wrong = [line for line in lines if "error" in line.lower()][:5]
        shown = "\n".join(dict.fromkeys(wrong + lines[-10:]))
        raise TaskError(
            f"building the emulator failed:\n{shown}", where=" ".join(command), hints=_INSTALL
        )
