"""Projects to export, and a PATH with nothing but compilers and build systems."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from fwgen.build.freertos import find_kernel
from fwgen.build.toolchain import find_toolchain
from fwgen.errors import FwgenError
from fwgen.pipeline import build_model
from fwgen.project.build import build_project
from fwgen.project.new import new_application

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits.nvdla"

SYSTEM_TOOLS = ("sh", "mkdir", "rm", "env", "make", "cmake", "gmake")


@pytest.fixture(scope="session")
def kernel() -> Path:
    try:
        return find_kernel().root
    except FwgenError as error:
        pytest.skip(f"no FreeRTOS kernel: {error}")


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH: the cross tools, make, cmake and what they call."""
    folder = tmp_path_factory.mktemp("tools")
    prefix = Path(find_toolchain().prefix)
    for tool in prefix.parent.glob(f"{prefix.name}*"):
        (folder / tool.name).symlink_to(tool)
    for name in SYSTEM_TOOLS:
        found = shutil.which(name)
        if found is not None:
            (folder / name).symlink_to(found)
    return folder


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, kernel: Path) -> Path:
    """A built project with an application; the model is digits."""
    folder = tmp_path_factory.mktemp("project") / "app"
    new_application(folder, "mps2-an385", MODEL)
    build_project(folder)
    return folder


@pytest.fixture(scope="session")
def cortex_a(tmp_path_factory: pytest.TempPathFactory, kernel: Path) -> Path:
    """The folder of such a project for a Cortex-A, which has its own port of the kernel."""
    folder = tmp_path_factory.mktemp("cortex_a") / "app"
    new_application(folder, "rv1126-nvdla", MODEL)
    build_project(folder)
    return folder / "build" / "rv1126-nvdla"


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory, kernel: Path) -> Path:
    """A built folder without application, with link and shell, for another board."""
    folder = tmp_path_factory.mktemp("plain") / "build"
    build_model(MODEL, "mps3-an547", folder)
    return folder


@pytest.fixture(scope="session")
def infer() -> Callable[[NDArray[np.int8]], NDArray[np.int8]]:
    """The digits network in plain integer NumPy: int8 (1, 8, 8) to int8 (10,)."""
    sys.path.insert(0, str(DIGITS))
    network: ModuleType = importlib.import_module("network")
    reference: ModuleType = importlib.import_module("reference")
    sys.path.remove(str(DIGITS))
    layers = network.load_layers()
    return lambda image: np.asarray(reference.infer(image, layers))
