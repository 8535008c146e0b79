"""Which files of the runtime (rtos/) go into a project.

The folders decide: headers always; `drivers/` only what the board names,
`startup/`, `ports/` and the architecture's part of `fault/` only for the board's
architecture, `kernels/` only what the models use, `shell/`, `nvmem/` and `watchdog/`
only when asked for; everything else always.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from fwgen.resources import resource_dir

SOURCE_SUFFIXES = (".c", ".S")


def runtime_files(
    architecture: str,
    controller: str,
    drivers: frozenset[str],
    kernels: frozenset[str],
    *,
    shell: bool,
    nvmem: frozenset[str] | None = None,
    watchdog: str | None = None,
) -> tuple[str, ...]:
    """Paths relative to rtos/, sorted.

    Args:
        architecture: folder below startup/ and ports/.
        controller: interrupt controller ("nvic", "gicv2", "gicv3").
        drivers: file names below drivers/.
        kernels: functions of CPU kernels that models use ("fwgen_kernel_softmax").
        shell: whether the text shell is part of the build.
        nvmem: files of nvmem/ that are left out; None: all of them.
        watchdog: driver below watchdog/; None: no watchdog.
    """
    root = resource_dir("rtos")
    chosen = []
    for path in sorted(root.rglob("*")):
        name = PurePosixPath(path.relative_to(root).as_posix())
        if path.suffix == ".h" and name.parts[0] != "ports":
            chosen.append(str(name))
        elif name.parts[0] == "ports":
            if _is_of_port(name, architecture, controller):
                chosen.append(str(name))
        elif path.suffix in SOURCE_SUFFIXES and _is_used(
            name, architecture, drivers, kernels, shell, nvmem, watchdog
        ):
            chosen.append(str(name))
    return tuple(chosen)


def _is_of_port(name: PurePosixPath, architecture: str, controller: str) -> bool:
    if name.suffix not in (*SOURCE_SUFFIXES, ".h") or name.parts[1] != architecture:
        return False
    # gic_v2.c is for gicv2 alone, as the name says.
    return name.name in ("gic_common.c", controller.replace("gic", "gic_") + ".c") or (
        not name.name.startswith("gic_")
    )


def _is_used(
    name: PurePosixPath,
    architecture: str,
    drivers: frozenset[str],
    kernels: frozenset[str],
    shell: bool,
    nvmem: frozenset[str] | None,
    watchdog: str | None,
) -> bool:
    match name.parts[0]:
        case "drivers":
            # uart.c is what all UART drivers share, power.c what accelerators do; nvdla_api.c
            # goes with nvdla.c.
            return (
                name.name in ("uart.c", "power.c")
                or name.name in drivers
                or (not name.name.startswith("uart_") and f"{name.stem.split('_')[0]}.c" in drivers)
            )
        case "startup":
            return name.parts[1] in (architecture, "common")
        case "fault":
            return name.name in ("report.c", f"fault_{architecture}.c")
        case "kernels":
            # A kernel's file is named after it; other files there serve all kernels.
            return bool(kernels)
        case "shell":
            return shell
        case "nvmem":
            return nvmem is not None and name.name not in nvmem
        case "watchdog":
            return watchdog is not None and name.name in ("watchdog.c", watchdog)
        case "tests":
            return False
        case _:
            return True
