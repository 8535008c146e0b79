"""Fixtures that every test module may use."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent

# How long an example takes says more about what else the computer does.
settings.register_profile("fwgen", deadline=None)
settings.load_profile("fwgen")


@pytest.fixture(scope="session")
def testdata() -> Path:
    """Root of the published reference data (FWGEN_TESTDATA, default ../shared).

    Skips the test, with the reason, where the data is absent: the project's
    own tests do not need it.
    """
    root = Path(os.environ.get("FWGEN_TESTDATA", REPOSITORY.parent / "shared"))
    if not (root / "nvdla").is_dir():
        pytest.skip(f"reference data not found: {root} (set FWGEN_TESTDATA)")
    return root


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
