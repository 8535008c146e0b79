"""Finds the cross compiler, and knows its flags for each processor core.

The GNU toolchain for bare-metal Arm is expected as Debian, Arm and xPack package
it: `arm-none-eabi-gcc` with newlib. `FWGEN_TOOLCHAIN` names another one by its
prefix ("/opt/gcc-arm/bin/arm-none-eabi-").
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fwgen.errors import UsageError

DEFAULT_PREFIX = "arm-none-eabi-"
ENVIRONMENT = "FWGEN_TOOLCHAIN"
OLDEST_GCC = (10,)
TOOLS = ("gcc", "objcopy", "objdump", "nm")

_INSTALL_HINTS = (
    "On Debian or Ubuntu: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi",
    f"Or set {ENVIRONMENT} to the prefix of another toolchain, "
    '"/opt/gcc-arm/bin/arm-none-eabi-" for example.',
)

# FreeRTOS's ARM_CM3 port saves no floating-point registers, so everything is compiled
# for software floating point; MVE would need them too.
CORE_FLAGS: dict[str, tuple[str, ...]] = {
    "cortex-m3": ("-mcpu=cortex-m3", "-mthumb"),
    "cortex-m4": ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft"),
    "cortex-m7": ("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=soft"),
    "cortex-m33": ("-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=soft"),
    "cortex-m55": ("-mcpu=cortex-m55+nomve", "-mthumb", "-mfloat-abi=soft"),
    "cortex-m85": ("-mcpu=cortex-m85+nomve", "-mthumb", "-mfloat-abi=soft"),
    # The port of rtos/ports/cortex_a/ saves the registers of those who use them.
    "cortex-a7": ("-mcpu=cortex-a7", "-marm", "-mfpu=neon-vfpv4", "-mfloat-abi=hard"),
    "cortex-a35": ("-mcpu=cortex-a35", "-marm", "-mfpu=neon-fp-armv8", "-mfloat-abi=hard"),
    "cortex-a53": ("-mcpu=cortex-a53", "-marm", "-mfpu=neon-fp-armv8", "-mfloat-abi=hard"),
    "cortex-a55": ("-mcpu=cortex-a55", "-marm", "-mfpu=neon-fp-armv8", "-mfloat-abi=hard"),
    "cortex-a73": ("-mcpu=cortex-a73", "-marm", "-mfpu=neon-fp-armv8", "-mfloat-abi=hard"),
}

INTEGER_FLAGS: dict[str, tuple[str, ...]] = {
    "cortex_m": (),
    # The kernel, drivers and handlers leave the FPU to those who calculate with it.
    "cortex_a": ("-mgeneral-regs-only",),
}
"""By architecture: how sources without floating point are compiled."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A usable cross toolchain.

    Attributes:
        prefix: what precedes "gcc" in the path of the compiler.
        version: as the compiler prints it ("12.2.1").
        description: first line of `gcc --version`.
    """

    prefix: str
    version: str
    description: str

    def tool(self, name: str) -> str:
        """Path of a program of the toolchain ("objcopy")."""
        return self.prefix + name

    @property
    def identity(self) -> str:
        """Changes when another compiler is installed in the same place."""
        return f"{self.prefix} {self.description}"


def architecture(core: str) -> str:
    """Name of the runtime's folders for a core: "cortex_m" or "cortex_a"."""
    return "cortex_a" if core.startswith("cortex-a") else "cortex_m"


def core_flags(core: str) -> tuple[str, ...]:
    """Compiler flags that select a core.

    Raises:
        UsageError: firmware cannot be generated for this core.
    """
    flags = CORE_FLAGS.get(core)
    if flags is None:
        raise UsageError(
            f"firmware cannot be built for the core {core} yet",
            where="cpu.core",
            expected="one of " + ", ".join(sorted(CORE_FLAGS)),
        )
    return flags


def toolchain_prefix() -> str:
    """The prefix to use: absolute, found through the environment or PATH.

    Raises:
        UsageError: no compiler there.
    """
    wanted = os.environ.get(ENVIRONMENT) or DEFAULT_PREFIX
    missing = [name for name in TOOLS if shutil.which(wanted + name) is None]
    if missing:
        raise UsageError(
            f"{wanted}{missing[0]} not found",
            where=f"{ENVIRONMENT}={wanted}" if os.environ.get(ENVIRONMENT) else "PATH",
            expected="the GNU toolchain for bare-metal Arm",
            hints=_INSTALL_HINTS,
        )
    found = shutil.which(wanted + "gcc")
    assert found is not None
    return found.removesuffix("gcc")


def find_toolchain() -> Toolchain:
    """Find the cross toolchain and ask it for its version.

    Raises:
        UsageError: none found, it does not run, or it is too old.
    """
    prefix = toolchain_prefix()
    text = _ask(prefix + "gcc", "--version")
    description = text.splitlines()[0] if text else ""
    version = re.search(r"\) (\d+(?:\.\d+)+)", description)
    number = version.group(1) if version else _ask(prefix + "gcc", "-dumpversion")
    parts = tuple(int(part) for part in re.findall(r"\d+", number))
    if parts < OLDEST_GCC:
        raise UsageError(
            f"compiler too old: {description or 'unknown version'}",
            where=prefix + "gcc",
            expected=f"GCC {OLDEST_GCC[0]} or later",
            hints=_INSTALL_HINTS,
        )
    return Toolchain(prefix, number, description)


def check_core(toolchain: Toolchain, core: str) -> None:
    """Check that the toolchain has a C library for the core.

    Raises:
        UsageError: unknown core, or no newlib for it.
    """
    flags = core_flags(core)
    for library in ("libc_nano.a", "libgcc.a"):
        path = _ask(toolchain.tool("gcc"), *flags, f"-print-file-name={library}")
        if not Path(path).is_absolute():
            raise UsageError(
                f"the toolchain has no {library} for {core}",
                where=toolchain.tool("gcc"),
                expected="newlib-nano for this core",
                hints=_INSTALL_HINTS,
            )


def newlib_version(toolchain: Toolchain) -> str:
    """Version of the toolchain's C library ("3.3.0"), as its own header says it."""
    text = _ask(
        toolchain.tool("gcc"), "-E", "-dM", "-include", "_newlib_version.h", "-xc", os.devnull
    )
    version = re.search(r'#define _NEWLIB_VERSION "([^"]+)"', text)
    return version.group(1) if version else "unknown"


def _ask(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            f"cannot run the compiler: {error}", where=command[0], hints=_INSTALL_HINTS
        ) from error
    if done.returncode:
        raise UsageError(
            "the compiler refuses " + " ".join(command[1:]),
            where=command[0],
            expected=done.stderr.strip().splitlines()[-1] if done.stderr.strip() else None,
            hints=_INSTALL_HINTS,
        )
    return done.stdout.strip()
