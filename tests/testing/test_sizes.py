"""Budgets to the byte, what grew, and files that remember sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fwgen.errors import UsageError
from fwgen.project.suite_schema import BudgetTable
from fwgen.testing.sizes import Sizes, exceeded, read_baseline, sizes_of, write_baseline


def sizes(kernel: tuple[int, int], driver: tuple[int, int], tensors: int) -> Sizes:
    parts = {"kernel": kernel, "driver": driver, "tensors": (0, tensors)}
    return Sizes(kernel[0] + driver[0], kernel[1] + driver[1] + tensors, tensors, parts)


NOW = sizes((100, 10), (50, 20), 64)


@pytest.mark.parametrize(("kind", "used"), [("flash", 150), ("ram", 94), ("tensors", 64)])
def test_one_byte_is_too_much(kind: str, used: int) -> None:
    assert exceeded(NOW, [BudgetTable(**{kind: used})], None) == ()
    (growth,) = exceeded(NOW, [BudgetTable(**{kind: used - 1})], None)
    assert (growth.kind, growth.used, growth.budget, growth.since) == (kind, used, used - 1, None)
    assert f"{used} bytes are 1 more than the budget of {used - 1}" in growth.lines()[0]


def test_the_smallest_budget_counts() -> None:
    budgets = [BudgetTable(flash=200), BudgetTable(flash=120), BudgetTable(flash=140)]
    (growth,) = exceeded(NOW, budgets, None)
    assert growth.budget == 120


def test_what_grew() -> None:
    before = sizes((90, 10), (55, 20), 64)
    (growth,) = exceeded(NOW, [BudgetTable(flash=149)], before)
    assert growth.since == 145
    assert growth.changes == (("kernel", 10), ("driver", -5))
    assert growth.lines()[1:] == (
        "  since the run before, 145 bytes: +5",
        "    kernel: +10",
        "    driver: -5",
    )
    (growth,) = exceeded(NOW, [BudgetTable(ram=90)], sizes((90, 10), (55, 20), 60))
    assert growth.changes == (("tensors", 4),)


def test_a_component_that_came_or_went() -> None:
    before = Sizes(150, 30, 0, {"shell": (150, 30)})
    (growth,) = exceeded(NOW, [BudgetTable(flash=149)], before)
    assert growth.changes == (("kernel", 100), ("driver", 50), ("shell", -150))


def test_what_is_counted(tmp_path: Path) -> None:
    """Initial values are stored in flash and used in RAM; tensors are neither code nor data."""
    rows = [("kernel", 1000, 8, 300), ("weights", 64, 0, 0), ("tensors", 0, 0, 256)]
    components = [
        {"name": n, "text": t, "data": d, "bss": b, "total": t + d + b} for n, t, d, b in rows
    ]
    (tmp_path / "size.json").write_text(json.dumps({"components": components}))
    found = sizes_of(tmp_path)
    assert (found.flash, found.ram, found.tensors) == (1072, 564, 256)
    (tmp_path / "size.json").write_text("{}")
    with pytest.raises(UsageError, match="damaged"):
        sizes_of(tmp_path)


def test_remembered(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "last.json"
    assert read_baseline(file) == {}
    write_baseline(file, {"b": NOW, "a": sizes((1, 2), (3, 4), 5)})
    assert read_baseline(file) == {"b": NOW, "a": sizes((1, 2), (3, 4), 5)}
    assert list(json.loads(file.read_text())["images"]) == ["a", "b"]
    assert [path.name for path in file.parent.iterdir()] == ["last.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "images": {}}', '{"version": 1}'])
def test_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / "last.json").write_text(text)
    with pytest.raises(UsageError, match="cannot be read"):
        read_baseline(tmp_path / "last.json")
