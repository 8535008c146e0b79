"""Fixtures: the emulator's library."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model_library() -> Path:
    """libfwgen_model.so; FWGEN_MODEL_LIBRARY names one built elsewhere (sanitizers)."""
    given = os.environ.get("FWGEN_MODEL_LIBRARY")
    if given:
        return Path(given)
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    from fwgen.machine.emulator_build import model_library_path

    return model_library_path()
