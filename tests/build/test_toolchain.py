"""Finding the compiler; what is said when there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fwgen.build.toolchain import (
    CORE_FLAGS,
    Toolchain,
    check_core,
    core_flags,
    find_toolchain,
)
from fwgen.errors import ExitCode, UsageError


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def tools(directory: Path, version: str) -> str:
    for name in ("gcc", "objcopy", "objdump", "nm"):
        script(directory / f"x-{name}", f"echo 'x-gcc (Vendor) {version}'")
    return str(directory / "x-")


def test_missing_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("FWGEN_TOOLCHAIN", raising=False)
    with pytest.raises(UsageError, match="arm-none-eabi-gcc not found") as caught:
        find_toolchain()
    assert caught.value.exit_code == ExitCode.USAGE
    assert any("apt-get install gcc-arm-none-eabi" in hint for hint in caught.value.hints)


def test_wrong_prefix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FWGEN_TOOLCHAIN", "/nowhere/arm-")
    with pytest.raises(UsageError, match="/nowhere/arm-gcc not found") as caught:
        find_toolchain()
    assert caught.value.where == "FWGEN_TOOLCHAIN=/nowhere/arm-"


def test_own_prefix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prefix = tools(tmp_path, "13.2.1 20231009")
    monkeypatch.setenv("FWGEN_TOOLCHAIN", prefix)
    assert find_toolchain() == Toolchain(prefix, "13.2.1", "x-gcc (Vendor) 13.2.1 20231009")


def test_old_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FWGEN_TOOLCHAIN", tools(tmp_path, "9.3.1"))
    with pytest.raises(UsageError, match="too old"):
        find_toolchain()


def test_compiler_without_library(tmp_path: Path) -> None:
    toolchain = Toolchain(tools(tmp_path, "12.2"), "12.2", "x")
    script(tmp_path / "x-gcc", "echo libc_nano.a")
    with pytest.raises(UsageError, match=r"no libc_nano\.a for cortex-m3") as caught:
        check_core(toolchain, "cortex-m3")
    assert any("libnewlib" in hint for hint in caught.value.hints)


def test_compiler_that_does_not_know_the_core(tmp_path: Path) -> None:
    toolchain = Toolchain(tools(tmp_path, "12.2"), "12.2", "x")
    script(tmp_path / "x-gcc", "echo 'error: unrecognized -mcpu' >&2; exit 1")
    with pytest.raises(UsageError, match="refuses -mcpu=cortex-m85"):
        check_core(toolchain, "cortex-m85")


def test_unknown_core() -> None:
    with pytest.raises(UsageError, match="cortex-a9"):
        core_flags("cortex-a9")


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m7", "cortex-a7", "cortex-a53"])
def test_installed_compiler(toolchain: Toolchain, core: str) -> None:
    assert os.path.isabs(toolchain.prefix)
    assert core in CORE_FLAGS
    check_core(toolchain, core)
