"""docs/applications.md names every key that a project file can have."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from fwgen.project.schema import AppTable, BuildTable, ModelTable

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "applications.md").read_text()


@pytest.mark.parametrize("table", [AppTable, BuildTable, ModelTable])
def test_every_key_is_explained(table: type) -> None:
    rows = "\n".join(line for line in TEXT.splitlines() if line.startswith("|"))
    keys = set(re.findall(r"`([a-z_]+)`", rows))
    assert {field.name for field in fields(table)} <= keys


def test_links_lead_somewhere() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (docs / target).exists(), target
