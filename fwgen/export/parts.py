"""Takes a built project apart: what is library, what only the complete firmware needs.

The library is everything that another firmware lacks: models, runtime, drivers. What
every firmware has already (start-up code, vectors, the kernel's configuration, fault
handlers, main) lies apart, so that it can be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fwgen.build.result import BUILD_INFO, ELF, read_json
from fwgen.codegen.manifest import FORMAT, NAME
from fwgen.errors import UsageError

LIBRARY = "fwgen"
"""Folder of the library in an exported tree."""

FIRMWARE = "firmware"
"""Folder of what only the complete firmware needs."""

_FIRMWARE_ONLY = (
    "src/vectors.c",
    "src/FreeRTOSConfig.h",
    "memory.ld",
    "rtos/app/",
    "rtos/fault/",
    "rtos/ports/",
    "startup.c",
    "memory.c",
)
"""Paths, folders (with "/" at the end) and names below startup/ that a host firmware has."""

_LIBRARY_TOO = ("rtos/ports/cortex_a/cache.S",)
"""Files of those folders that it lacks."""

PORT = f"{FIRMWARE}/port"
"""Folder of our own port of the kernel, where the firmware has one."""

KERNEL_PORT = "portable/GCC/ARM_CM3"
"""Folder of the kernel's port, where the firmware uses that."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A project's files, with their places in the exported tree.

    Attributes:
        facts: contents of sources.json.
        build_id: identity of the build, hex.
        files: path in the exported tree -> contents; without the kernel.
        firmware: all sources of the complete firmware in link order, but the kernel's.
        library: those that belong to the library.
        application: those of the application.
        kernel: path below a kernel tree -> contents.
    """

    facts: Mapping[str, Any]
    build_id: str
    files: Mapping[str, bytes]
    firmware: tuple[str, ...]
    library: tuple[str, ...]
    application: tuple[str, ...]
    kernel: Mapping[str, bytes]


def take_apart(project: Path) -> Parts:
    """Read a built project.

    Args:
        project: folder that a build has written.

    Raises:
        UsageError: it is none, was made by another version, or is damaged.
    """
    info = read_json(project / BUILD_INFO)
    if not (project / ELF).is_file():
        raise _damaged(project / ELF, "the project holds no image")
    facts = read_json(project / NAME)
    if facts.get("format") != FORMAT:
        raise UsageError(
            "the project was built by another version of fwgen",
            where=str(project / NAME),
            expected=f"format {FORMAT}",
            hints=("Build it again.",),
        )
    try:
        return _parts(project, facts, str(info["build_id"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(project / NAME, f"the list of sources is damaged: {error}") from None
    except OSError as error:
        raise _damaged(
            Path(error.filename or project), f"a file is missing: {error.strerror}"
        ) from None


def _damaged(path: Path, message: str) -> UsageError:
    return UsageError(
        message,
        where=str(path),
        expected="a folder written by `fwgen build`",
        hints=("Build it again.",),
    )


def _parts(project: Path, facts: Mapping[str, Any], build_id: str) -> Parts:
    application = [str(name) for name in facts["application"]["sources"]]
    ordered = _names(facts, "generated") + _names(facts, "runtime") + _names(facts, "weights")
    names = ordered + _names(facts, "headers") + ["src/FreeRTOSConfig.h", "memory.ld"]
    names += ["src/fwgen_config.h"]
    names += [f"src/model_{model['identifier']}.h" for model in facts["models"]]
    names += [name[: -len(".S")] + ".bin" for name in facts["weights"]]
    names += _tree(project, "app")
    files = {exported(name): (project / name).read_bytes() for name in names}
    kernel = {}
    for name in _tree(project, "kernel"):
        inside = name.removeprefix("kernel/")
        if inside.startswith("port/"):
            inside = f"{KERNEL_PORT}/" + inside.removeprefix("port/")
        kernel[inside] = (project / name).read_bytes()
    firmware = [exported(name) for name in ordered + application]
    return Parts(
        facts,
        build_id,
        files,
        tuple(firmware),
        tuple(name for name in firmware if name.startswith(f"{LIBRARY}/")),
        tuple(application),
        kernel,
    )


def _names(facts: Mapping[str, Any], key: str) -> list[str]:
    names = [str(name) for name in facts[key]]
    for name in names:
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"{name} leaves the project")
    return names


def _tree(project: Path, folder: str) -> list[str]:
    files = (path for path in (project / folder).rglob("*") if path.is_file())
    return sorted(path.relative_to(project).as_posix() for path in files)


def exported(name: str) -> str:
    """Where a file of a project lies in the exported tree."""
    if name.startswith("app/"):
        return name
    if not _is_firmware_only(name):
        return f"{LIBRARY}/{name}"
    folder, _, base = name.rpartition("/")
    if folder.startswith("rtos/ports/"):
        return f"{PORT}/{base}"
    # The private header of the fault report stays beside its sources.
    return f"{FIRMWARE}/{base}" if folder != "rtos/fault" else f"{FIRMWARE}/fault/{base}"


def _is_firmware_only(name: str) -> bool:
    if name in _LIBRARY_TOO:
        return False
    for pattern in _FIRMWARE_ONLY:
        if name == pattern or (pattern.endswith("/") and name.startswith(pattern)):
            return True
        if "/" not in pattern and name.startswith("rtos/startup/"):
            if name.rpartition("/")[2] == pattern:
                return True
    return False


def linker_values(facts: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """What the linker fragment prints: planned regions, constants and arenas."""
    return {
        "regions": facts["regions"],
        "constants": facts["constants"],
        "arenas": facts["arenas"],
        "weight_symbols": facts["weight_symbols"],
    }
