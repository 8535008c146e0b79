"""Fixtures for the tests of sessions and of the QEMU device module."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from fwgen.resources import resource_dir

FIXTURES = Path(__file__).parent / "fixtures"


def _need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} not found")


@pytest.fixture(scope="session")
def fake_target_module() -> Iterator[ModuleType]:
    """tests/machine/fake_target.py, importable whatever the import mode."""
    spec = importlib.util.spec_from_file_location(
        "fwgen_fake_target", Path(__file__).with_name("fake_target.py")
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="session")
def toy_module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The device module with the toy accelerator instead of the real models."""
    _need("gcc", "qemu-system-arm")
    emulator = resource_dir("emulator")
    out = tmp_path_factory.mktemp("toy") / "toy,module.so"  # a comma must survive
    folders = ("qemu", "board")
    sources = [str(file) for name in folders for file in sorted((emulator / name).glob("*.c"))]
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wmissing-prototypes", "-Werror"]
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-std=c11", "-fvisibility=hidden", *warnings]
        + [f"-I{emulator / name}" for name in ("include", *folders)]
        + sources
        + [str(FIXTURES / "toy_family.c"), "-o", str(out), "-lpthread", "-ldl"],
        check=True,
    )
    return out


@pytest.fixture(scope="session")
def bare_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles a scenario of fixtures/bare.c; keyword arguments become macros."""
    _need("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("bare")
    built: dict[str, Path] = {}

    def build(scenario: int, *, cpu: str = "cortex-m3", data: int = 0x20000000, **macros: int):
        name = f"{scenario}-{cpu}-{data:x}-{sorted(macros.items())}"
        if name not in built:
            elf = folder / f"{len(built)}.elf"
            subprocess.run(
                ["arm-none-eabi-gcc", f"-mcpu={cpu}", "-mthumb", "-mfloat-abi=soft", "-Os"]
                + ["-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror"]
                + [f"-DSCENARIO={scenario}", *(f"-D{k}={v:#x}u" for k, v in macros.items())]
                + ["-Wl,--defsym=CODE=0", f"-Wl,--defsym=DATA={data:#x}"]
                + ["-T", str(FIXTURES / "bare.ld"), str(FIXTURES / "bare.c"), "-o", str(elf)],
                check=True,
            )
            built[name] = elf
        return built[name]

    return build


@pytest.fixture(scope="session")
def board_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles fixtures/board_a.c for a Cortex-A board; keyword arguments become macros."""
    _need("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("board")

    def _literal(value: int) -> str:
        return f"{value:#x}u" if value > 9 else str(value)  # digits serve the assembler, too

    def build(name: str, *, code: int, data: int, **macros: int) -> Path:
        elf = folder / f"{name}.elf"
        subprocess.run(
            ["arm-none-eabi-gcc", "-mcpu=cortex-a7", "-marm", "-mfloat-abi=soft", "-Os"]
            + ["-mno-unaligned-access", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra"]
            + ["-Werror", *(f"-D{key}={_literal(value)}" for key, value in macros.items())]
            + [f"-Wl,--defsym=CODE={code:#x}", f"-Wl,--defsym=DATA={data:#x}", "-Wl,-e,_start"]
            + ["-T", str(FIXTURES / "bare.ld"), str(FIXTURES / "board_a.c"), "-o", str(elf)],
            check=True,
        )
        return elf

    return build
