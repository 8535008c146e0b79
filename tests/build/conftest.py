"""Tools that building needs, found once; the small program of the codegen tests."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.build.freertos import Kernel, find_kernel
from fwgen.build.toolchain import Toolchain, find_toolchain
from fwgen.errors import FwgenError


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """Functions tiny_program and tiny_plan."""
    path = Path(__file__).parent.parent / "codegen" / "conftest.py"
    spec = spec_from_file_location("fwgen_tests_tiny", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def board() -> Board:
    return load_board("mps2-an385")


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except FwgenError as error:
        pytest.skip(f"no cross compiler: {error}")


@pytest.fixture(scope="session")
def kernel(toolchain: Toolchain) -> Kernel:
    try:
        return find_kernel()
    except FwgenError as error:
        pytest.skip(f"no FreeRTOS kernel: {error}")
