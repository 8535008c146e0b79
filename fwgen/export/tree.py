"""Writes an exported tree: sources, one build system's files, a README, a linker fragment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from fwgen import __version__
from fwgen.codegen.tree import write_tree
from fwgen.export.parts import (
    FIRMWARE,
    KERNEL_PORT,
    LIBRARY,
    PORT,
    Parts,
    linker_values,
    take_apart,
)
from fwgen.resources import template_environment


class Format(StrEnum):
    """The build systems."""

    SCONS = "scons"
    CMAKE = "cmake"
    MAKE = "make"


_COMMON = {
    "README.md": "README.md.j2",
    f"{LIBRARY}/fwgen.ld": "fwgen.ld.j2",
    f"{LIBRARY}/fwgen_port.c": "fwgen_port.c.j2",
}
_BUILD_FILES = {
    Format.SCONS: {"SConstruct": "SConstruct.j2", f"{LIBRARY}/SConscript": "SConscript.j2"},
    Format.CMAKE: {
        "CMakeLists.txt": "CMakeLists.txt.j2",
        "toolchain.cmake": "toolchain.cmake.j2",
        f"{LIBRARY}/CMakeLists.txt": "fwgen.cmake.j2",
    },
    Format.MAKE: {"Makefile": "Makefile.j2", f"{LIBRARY}/fwgen.mk": "fwgen.mk.j2"},
}

COMPILE_FLAGS = ("-Os", "-g", "-ffunction-sections", "-fdata-sections", "-fno-common")
"""As in the project's own SConstruct, but what serves fwgen's reports only."""

LINK_FLAGS = ("-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections", "-Wl,--build-id=none")


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        changed: paths relative to the directory that were written or removed.
    """

    directory: Path
    format: Format
    changed: tuple[str, ...]


def export(
    project: Path, directory: Path, kind: Format | str, *, with_kernel: bool = False
) -> Exported:
    """Export a built project.

    Args:
        project: folder that a build has written.
        directory: new, empty, or of an earlier export.
        kind: the build system.
        with_kernel: take the FreeRTOS kernel of the build along.

    Raises:
        UsageError: no built project, or the directory holds something else or
            cannot be written.
    """
    kind = Format(kind)
    parts = take_apart(project)
    files = dict(parts.files)
    if with_kernel:
        files |= {f"kernel/{name}": data for name, data in parts.kernel.items()}
    files |= _render(parts, kind, with_kernel)
    return Exported(directory, kind, tuple(write_tree(directory, files)))


def _render(parts: Parts, kind: Format, with_kernel: bool) -> dict[str, bytes]:
    environment = template_environment("export")
    values = _values(parts, kind, with_kernel)
    templates = _COMMON | _BUILD_FILES[kind]
    return {
        name: environment.get_template(template).render(values).encode()
        for name, template in templates.items()
    }


def _values(parts: Parts, kind: Format, with_kernel: bool) -> dict[str, Any]:
    facts = parts.facts
    inside = len(LIBRARY) + 1
    application = facts["application"]
    has_own_port = any(name.startswith(f"{PORT}/") for name in parts.firmware)
    kernel = [str(name) for name in facts["kernel"]]
    return {
        **linker_values(facts),
        "version": __version__,
        "format": kind.value,
        "build_id": parts.build_id,
        "board": facts["board"],
        "description": facts["description"],
        "core": facts["core"],
        "core_flags": facts["core_flags"],
        "integer_flags": facts["integer_flags"],
        "integer_sources": tuple(name for name in parts.firmware if _is_integer(name)),
        "has_own_port": has_own_port,
        "kernel_sources": tuple(name.replace("port/", f"{KERNEL_PORT}/") for name in kernel),
        "kernel_includes": ("include",) if has_own_port else ("include", KERNEL_PORT),
        "compile_flags": COMPILE_FLAGS,
        "link_flags": LINK_FLAGS,
        "models": facts["models"],
        "accelerators": facts["accelerators"],
        "prio_bits": facts["prio_bits"],
        "with_kernel": with_kernel,
        "firmware": parts.firmware,
        "application": application["sources"],
        "application_includes": application["includes"],
        "application_defines": application["defines"],
        "includes": (
            *(f"{LIBRARY}/src", f"{LIBRARY}/rtos/include", FIRMWARE),
            *((PORT,) if has_own_port else ()),
        ),
        "library": tuple(name[inside:] for name in parts.library),
        "weights": tuple(str(name) for name in facts["weights"]),
        "needs_load_region": any(section["load_region"] for section in facts["constants"]),
    }


def _is_integer(name: str) -> bool:
    """Whether a source is compiled without the FPU: ours, but for the numeric kernels."""
    numeric = name.startswith((f"{LIBRARY}/rtos/kernels/", "app/"))
    return name.endswith(".c") and not numeric
