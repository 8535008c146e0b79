"""The page of supported operators is the rules' text."""

from __future__ import annotations

from pathlib import Path

from fwgen.accel.report import supported_operators_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "supported-operators.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == supported_operators_page(), "run python -m fwgen.accel.report"
