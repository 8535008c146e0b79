"""No test file is left out without anybody noticing."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent


def test_every_folder_with_tests_is_visited(pytestconfig: pytest.Config) -> None:
    patterns = pytestconfig.getini("norecursedirs")
    folders = {p for file in TESTS.rglob("test_*.py") for p in file.relative_to(TESTS).parents}
    names = {folder.name for folder in folders if folder.name}
    assert "build" in names
    assert [n for n in names if any(fnmatch(n, pattern) for pattern in patterns)] == []
