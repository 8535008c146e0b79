"""docs/testing.md names every key of the [test] tables and every word of `expect`."""

from __future__ import annotations

import re
import typing
from dataclasses import fields
from pathlib import Path

import pytest

from fwgen.project.suite_schema import (
    BudgetTable,
    CaseTable,
    Expectation,
    FaultTable,
    SuiteTable,
)

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "testing.md").read_text()
ROWS = "\n".join(line for line in TEXT.splitlines() if line.startswith("|"))


@pytest.mark.parametrize("table", [SuiteTable, CaseTable, BudgetTable, FaultTable])
def test_every_key_is_explained(table: type) -> None:
    keys = set(re.findall(r"`([a-z_]+)`", ROWS))
    assert {field.name for field in fields(table)} - {"case", "budget", "fault"} <= keys


def test_every_expectation_is_explained() -> None:
    assert set(typing.get_args(Expectation)) <= set(re.findall(r'`"([a-z]+)"`', ROWS))


def test_links_lead_somewhere() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (docs / target).exists(), target
