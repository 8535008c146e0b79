"""Runs SCons on a project, and says in one sentence what went wrong.

Errors of compiler and linker come back as text; the ones a user can act on are
recognised: memory regions that overflow, use of the heap, a missing symbol.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fwgen.build.toolchain import Toolchain
from fwgen.codegen.linker import LinkMap, LinkRegion
from fwgen.errors import FitError, FwgenError, TaskError

BUILD_TIMEOUT_S = 900
HEAP_SYMBOLS = frozenset(
    "malloc free calloc realloc _malloc_r _free_r _calloc_r _realloc_r sbrk _sbrk _sbrk_r "
    "pvPortMalloc vPortFree".split()
)
LARGEST_SHOWN = 5

_OVERFLOW = re.compile(r"region `([^']+)' overflowed by (\d+) bytes?")
_UNDEFINED = re.compile(r"undefined reference to `([^']+)'")
_ASSERTION = re.compile(r"(fwgen: [^\n]+)")
_COMPILER_ERROR = re.compile(
    r"^(\S+?:\d+(?::\d+)?): (?:fatal )?(?:error|Error): (.*)$", re.MULTILINE
)
_FAILED_TARGET = re.compile(r"scons: \*\*\* \[([^\]]+)\]")


def run_scons(directory: Path, toolchain: Toolchain, jobs: int, link: LinkMap) -> str:
    """Build the project; returns what SCons printed.

    Raises:
        FitError: a memory region overflows.
        TaskError: a source does not compile or the image does not link.
    """
    command = [
        sys.executable,
        "-m",
        "SCons",
        "-Q",
        f"-j{jobs or os.cpu_count() or 1}",
        f"CROSS={toolchain.prefix}",
    ]
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    # A library user's PYTHONWARNINGS or SCONSFLAGS must not change the build.
    environment.pop("SCONSFLAGS", None)
    environment.pop("PYTHONWARNINGS", None)
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TaskError(f"the build took longer than {BUILD_TIMEOUT_S} s") from error
    if done.returncode:
        raise explain(done.stdout + done.stderr, directory, toolchain, link)
    return done.stdout


def explain(output: str, directory: Path, toolchain: Toolchain, link: LinkMap) -> FwgenError:
    """The error that a failed build's output stands for."""
    overflows = {name: int(size) for name, size in _OVERFLOW.findall(output)}
    regions = {region.name: region for region in link.regions}
    for name, size in overflows.items():
        if name in regions:
            return _overflow(regions[name], size, directory, toolchain, link)
    undefined = sorted(set(_UNDEFINED.findall(output)))
    if HEAP_SYMBOLS.intersection(undefined):
        return heap_error(sorted(HEAP_SYMBOLS.intersection(undefined)))
    command = _failed_command(output)
    hints = (f"The command was: {command}",) if command else ()
    compiler = _COMPILER_ERROR.search(output)
    if compiler:
        return TaskError(f"does not compile: {compiler[2]}", where=compiler[1], hints=hints)
    if undefined:
        return TaskError(
            "the image does not link: undefined " + ", ".join(undefined[:LARGEST_SHOWN]),
            where="firmware.elf",
            hints=hints,
        )
    assertion = _ASSERTION.search(output)
    if assertion:
        return TaskError(assertion[1].removeprefix("fwgen: "), where="memory.ld")
    last = [line for line in output.splitlines() if line.strip()][-3:]
    return TaskError("SCons failed: " + " / ".join(last), where=str(directory), hints=hints)


def heap_error(symbols: Sequence[str]) -> TaskError:
    """The image would use the heap."""
    return TaskError(
        "the image uses the heap: " + ", ".join(symbols),
        where="firmware.elf",
        expected="static memory only",
        hints=("Look in firmware.map for the object that pulled it in.",),
    )


def _overflow(
    region: LinkRegion, size: int, directory: Path, toolchain: Toolchain, link: LinkMap
) -> FitError:
    kinds = "tTrRwW" if region.name != link.data_region else "dDbB"
    if region.name == link.code_region == link.data_region:
        kinds = "tTrRwWdDbB"
    largest = _largest_symbols(directory, toolchain, kinds)
    listed = ", ".join(f"{name} {bytes_} bytes" for bytes_, name in largest)
    return FitError(
        f"does not fit: {region.comment} need {size} bytes more than "
        f"{region.board_region} has left",
        where=f"region {region.board_region}, 0x{region.origin:08x}, {region.length} bytes",
        hints=(
            *((f"Largest symbols: {listed}.",) if listed else ()),
            "Choose a smaller model, another region for its buffers, or fewer options "
            "(shell, profile, operation names, stacks).",
        ),
    )


def _largest_symbols(directory: Path, toolchain: Toolchain, kinds: str) -> list[tuple[int, str]]:
    objects = sorted(str(p.relative_to(directory)) for p in (directory / "obj").rglob("*.o"))
    done = subprocess.run(
        [toolchain.tool("nm"), "-S", "-t", "d", *objects],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    found = []
    for line in done.stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in kinds:
            found.append((int(fields[1]), fields[3]))
    return sorted(found, key=lambda item: (-item[0], item[1]))[:LARGEST_SHOWN]


def _failed_command(output: str) -> str | None:
    target = _FAILED_TARGET.search(output)
    if target is None:
        return None
    for line in reversed(output.splitlines()):
        if f"-o {target[1]} " in line:
            return line
    return None
