"""fwgen boards: list, show, schema, and the error for an unknown name."""

from __future__ import annotations

import json

import pytest

from fwgen.cli.main import run

BOARDS = {"mps2-an385", "mps2-an386", "mps2-an500", "mps3-an547", "mps3-an547-nv-large"}


@pytest.mark.parametrize("arguments", [["boards"], ["boards", "list"]])
def test_list_names_every_board(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert BOARDS <= {line.split()[0] for line in lines[1:]}


@pytest.mark.parametrize("arguments", [["boards", "--json"], ["boards", "list", "--json"]])
def test_list_as_json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    listed = {board["name"]: board for board in json.loads(capsys.readouterr().out)}
    assert set(listed) >= BOARDS
    assert listed["mps3-an547-nv-large"]["accelerators"] == ["nvdla/nv_large"]


def test_show_gives_address_and_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["boards", "show", "mps2-an385", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    accelerator = shown["accelerators"][0]
    assert run(["boards", "show", "mps2-an385"]) == 0
    text = capsys.readouterr().out
    assert f"{accelerator['base']:#010x}, interrupt {accelerator['irq']}" in text
    assert all(memory["name"] in text for memory in shown["memories"])


def test_unknown_board(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["boards", "show", "mps2-an358"]) == 2
    text = capsys.readouterr().err
    assert "unknown board 'mps2-an358'" in text
    assert "Did you mean" in text


def test_schema_is_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["boards", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert "cpu" in json.dumps(schema)
    assert "$schema" in schema
    assert run(["boards", "schema", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == schema
