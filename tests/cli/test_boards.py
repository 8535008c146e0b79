"""fwgen boards: list, show, schema, and the error for an unknown name."""

from __future__ import annotations

import json

import pytest

from fwgen.cli.main import run

BOARDS = {"mps2-an385", "mps2-an386", "mps2-an500", "mps3-an547", "mps3-an547-nv-large"}


@pytest.mark.parametrize("arguments", [["boards"], ["boards", "list"]])
def test_list_names_every_board(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    assert {words[0] for words in lines} >= BOARDS
    # Boards stand below the name of their vendor.
    first = [words[0] for words in lines]
    assert first.index("Rockchip") < first.index("rv1126") < len(first)
    assert first.index("Arm") < first.index("mps2-an385") < first.index("Rockchip")
    rows = {words[0]: words for words in lines}
    assert rows["mps2-an385"][3:5] == ["yes", "verified"]
    assert rows["rv1126"][3] == "overlays" and rows["imx8mp"][3] == "stand-in"
    assert rows["vim3l"][3] == "no"


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


def test_show_names_what_is_not_verified(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["boards", "show", "rv1126"]) == 0
    text = capsys.readouterr().out
    assert "cpu.external_irqs" in text.partition("not checked:")[2].partition("Notes:")[0]
    assert "with overlays" in text
    # Identity of the NPU as in public hardware lists, and the vendor's driver.
    for fact in ("target 0xb5", "model 0x8000", "revision 0x8003", "driver 6.4.6.5"):
        assert fact in text
    assert run(["boards", "show", "vim3l"]) == 0
    assert "emulated  no" in capsys.readouterr().out


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
