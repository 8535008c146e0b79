"""What fwgen needs from the system, and what to do about each missing piece."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from fwgen.errors import FwgenError


class State(StrEnum):
    """How one piece stands."""

    OK = "ok"
    LATER = "later"  # absent, but fwgen makes or fetches it when it is needed
    OPTIONAL = "optional"  # absent, and fwgen works without
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece that was looked for.

    Attributes:
        name: what it is.
        purpose: what fwgen needs it for.
        state: see State.
        detail: version and place, or why it does not count.
        advice: what to do when it is not ok, else "".
    """

    name: str
    purpose: str
    state: State
    detail: str
    advice: str = ""


def examine() -> tuple[Finding, ...]:
    """Look for every piece. Nothing is changed, fetched or built."""
    from fwgen.machine.emulator_build import compiler_names

    return (
        _python(),
        _toolchain(),
        _newlib(),
        _kernel(),
        _program(
            "host C compiler",
            "builds the emulator",
            compiler_names(),
            "apt-get install gcc",
        ),
        _program("cmake", "builds the emulator", ("cmake",), "apt-get install cmake make"),
        _program("make", "builds the emulator", ("make", "ninja"), "apt-get install make"),
        _qemu(),
        _emulator(),
        _program(
            "clang-format",
            "tests of the C style",
            ("clang-format",),
            "apt-get install clang-format",
            State.OPTIONAL,
        ),
        _program(
            "gdb-multiarch",
            "fwgen run --gdb",
            ("gdb-multiarch", "arm-none-eabi-gdb"),
            "apt-get install gdb-multiarch",
            State.OPTIONAL,
        ),
    )


def prepare(progress: Callable[[str], None]) -> None:
    """Fetch the FreeRTOS kernel and build the emulator now, not at the first use.

    Raises:
        UsageError: a tool is missing or the kernel cannot be had.
        TaskError: the emulator does not compile.
    """
    from fwgen.build.freertos import find_kernel
    from fwgen.machine.emulator_build import build_emulator

    kernel = find_kernel(progress=progress)
    progress(f"FreeRTOS {kernel.version} ({kernel.origin})")
    built = build_emulator(progress=progress)
    progress(f"emulator {built}")


def _python() -> Finding:
    version = platform.python_version()
    return Finding("Python", "fwgen itself", State.OK, f"{version} ({sys.executable})")


def _first_line(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else None


def _program(
    name: str,
    purpose: str,
    candidates: tuple[str, ...],
    advice: str,
    absent: State = State.MISSING,
) -> Finding:
    for candidate in candidates:
        path = shutil.which(candidate)
        if path is None:
            continue
        version = _first_line([path, "--version"])
        if version is not None:
            return Finding(name, purpose, State.OK, f"{version} ({path})")
        return Finding(name, purpose, absent, f"{path} does not run", advice)
    return Finding(name, purpose, absent, "not found", advice)


def _advice(error: FwgenError) -> str:
    return error.hints[0] if error.hints else (error.expected or "")


def _toolchain() -> Finding:
    from fwgen.build.toolchain import find_toolchain

    try:
        found = find_toolchain()
    except FwgenError as error:
        return Finding(
            "Arm toolchain", "compiles firmware", State.MISSING, error.message, _advice(error)
        )
    return Finding(
        "Arm toolchain", "compiles firmware", State.OK, f"{found.description} ({found.prefix}gcc)"
    )


def _newlib() -> Finding:
    from fwgen.build.toolchain import check_core, find_toolchain

    name, purpose = "newlib", "C library of the firmware"
    try:
        check_core(find_toolchain(), "cortex-m3")
    except FwgenError as error:
        return Finding(name, purpose, State.MISSING, error.message, _advice(error))
    return Finding(name, purpose, State.OK, "newlib-nano for Cortex-M")


def _kernel() -> Finding:
    from fwgen.build import freertos
    from fwgen.cache import cache_directory

    name, purpose = "FreeRTOS", "kernel of the firmware"
    given = os.environ.get(freertos.ENVIRONMENT)
    cached = cache_directory() / freertos.CACHED_NAME
    if not given and not (cached / "tasks.c").is_file():
        advice = f"The first build fetches it; or set {freertos.ENVIRONMENT}."
        return Finding(name, purpose, State.LATER, "not in the cache", advice)
    try:
        kernel = freertos.find_kernel()
    except FwgenError as error:
        return Finding(name, purpose, State.MISSING, str(error), _advice(error))
    return Finding(name, purpose, State.OK, f"{kernel.version} ({kernel.origin}: {kernel.root})")


def _qemu() -> Finding:
    from fwgen.machine.qemu import find_qemu

    name, purpose = "qemu-system-arm", "runs firmware"
    try:
        found = find_qemu()
    except FwgenError as error:
        return Finding(name, purpose, State.MISSING, error.message, _advice(error))
    return Finding(name, purpose, State.OK, f"{found.description} ({found.path})")


def _emulator() -> Finding:
    from fwgen.machine.emulator_build import built_emulator

    name, purpose = "emulator", "plays the accelerator"
    try:
        built = built_emulator()
    except FwgenError as error:
        return Finding(name, purpose, State.MISSING, str(error), _advice(error))
    if built is None:
        return Finding(name, purpose, State.LATER, "not built yet", "The first run builds it.")
    return Finding(name, purpose, State.OK, str(built))
