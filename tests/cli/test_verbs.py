"""Verbs that read a model: outputs, and one clear error with the right exit code for bad input."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path

import pytest
import serial

from fwgen.cli.main import run

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
MODEL_VERBS = [
    ["inspect"],
    ["inspect", "--stage", "program", "--board", "mps2-an385"],
    ["inspect", "--stage", "layout", "--board", "mps2-an385"],
    ["check", "--board", "mps2-an385"],
    ["build", "--board", "mps2-an385"],
]


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("verb", MODEL_VERBS, ids=" ".join)
def test_missing_model_is_a_usage_error(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*verb, "none.nvdla"]) == 2
    text = capsys.readouterr().err
    assert "cannot read the model" in text
    assert "none.nvdla" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", MODEL_VERBS, ids=" ".join)
@pytest.mark.parametrize(
    "content",
    [b"", b"hello, this is no model", DIGITS.read_bytes()[:5000], b"\0\0\0\0TFL3" + bytes(64)],
    ids=["empty", "text", "truncated", "other format"],
)
def test_damaged_or_foreign_model(
    verb: list[str], content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "model.nvdla"
    file.write_bytes(content)
    assert run([*verb, "--json", str(file)]) == 3
    error = json.loads(capsys.readouterr().out)
    assert error["error"] == "ModelError"
    assert str(file) in error["where"]
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "verb", [["build"], ["check"], ["inspect", "--stage", "layout"]], ids=" ".join
)
def test_unknown_board(verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*verb, "--board", "mps2-an38", str(DIGITS)]) == 2
    assert "unknown board 'mps2-an38'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_model_for_another_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The digits model is made for nv_small: no other board may take it."""
    assert run(["build", "--board", "mps3-an547-nv-large", str(DIGITS)]) == 3
    assert "nv_large" in capsys.readouterr().err
    assert run(["check", "--board", "mps3-an547-nv-large", str(DIGITS)]) == 3
    assert "not supported" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_model_that_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fwgen.resources import resource_dir

    board = tmp_path / "tiny.toml"
    text = (resource_dir("boards") / "mps2-an385.toml").read_text()
    text = text.replace('"mps2-an385"', '"tiny"', 1).replace("16MiB", "64B")
    base = (resource_dir("boards") / "soc" / "mps2.toml").read_text()
    (tmp_path / "soc").mkdir()
    (tmp_path / "soc" / "mps2.toml").write_text(base.replace('"4MiB"', '"4KiB"'))
    board.write_text(text)
    before = sorted(tmp_path.rglob("*"))
    assert run(["build", "--board", str(board), "--json", str(DIGITS)]) == 4
    error = json.loads(capsys.readouterr().out)
    assert error["error"] == "FitError"
    assert "bytes" in error["message"]
    assert run(["check", "--board", str(board), str(DIGITS)]) == 4
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "option",
    [["--task-priority", "0"], ["--stack-words", "1"], ["--irq", "99"], ["--timeout-ms", "0"]],
    ids=" ".join,
)
def test_build_option_out_of_range(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["build", "--board", "mps2-an385", *option, str(DIGITS)]) == 2
    assert "out of range" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_inspect_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(DIGITS)]) == 0
    text = capsys.readouterr().out
    assert "1x1x8x8" in text
    assert "scores" in text
    assert run(["inspect", "--json", str(DIGITS)]) == 0
    assert len(json.loads(capsys.readouterr().out)["tasks"][0]["operations"]) == 8


def test_inspect_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--stage", "program", str(DIGITS)]) == 0
    short = capsys.readouterr().out
    assert "CDMA.D_DATAIN_SIZE_0 = 0x00070007" in short
    assert run(["inspect", "--stage", "program", "--all-writes", str(DIGITS)]) == 0
    assert len(capsys.readouterr().out) > len(short)
    assert run(["inspect", "--stage", "program", "--json", str(DIGITS)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["program"]["config"] == "nv_small"
    assert data["program"]["commands"]


def test_inspect_layout(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["inspect", "--stage", "layout", "--board", "mps2-an500", str(DIGITS)]
    assert run(arguments) == 0
    assert "LOWER BOUND" in capsys.readouterr().out
    assert run([*arguments, "--json"]) == 0
    layout = json.loads(capsys.readouterr().out)
    assert layout["board"] == "mps2-an500"
    for region in layout["regions"]:
        for buffer in region["buffers"]:
            assert region["base"] <= buffer["address"]
            assert buffer["address"] + buffer["size"] <= region["base"] + region["size"]


def test_check_lists_every_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--board", "mps2-an385", str(DIGITS)]) == 0
    text = capsys.readouterr().out
    assert text.count("accelerator") == 8
    assert run(["check", "--board", "mps2-an385", "--json", str(DIGITS)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] and len(report["operations"]) == 8


@pytest.mark.parametrize("verb", ["run", "size", "monitor"])
def test_no_build_folder(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "nowhere"]) == 2
    (tmp_path / "empty").mkdir()
    assert run([verb, "empty"]) == 2
    assert "fwgen build" in capsys.readouterr().err


def test_damaged_build_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content in (b"{", b"[]", b'{"board": 3}', b"\xff\xfe"):
        (tmp_path / "build_info.json").write_bytes(content)
        assert run(["run", str(tmp_path)]) == 2
        assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [["--input", "x"], ["--input", "=f"], ["--input", "a=1", "--input", "a=2"], ["--icount", "11"]],
    ids=" ".join,
)
def test_wrong_run_options(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", ".", *option]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_monitor_wants_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["monitor"]) == 2
    assert run(["monitor", "a", "--port", "b"]) == 2


def test_monitor_of_a_port_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["monitor", "--port", "/dev/none"]) == 5
    assert "cannot open the serial port" in capsys.readouterr().err


def test_ports_that_are_none_or_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    """One plain sentence each, and no advice that does not apply."""
    ours, theirs = pty.openpty()
    holder = serial.Serial(os.ttyname(theirs), exclusive=True)
    try:
        for port, code, words in (
            (os.ttyname(theirs), 5, "another program uses the serial port"),
            ("/dev/null", 5, "this is no serial port"),
            (__file__, 5, "this is no serial port"),
            ("/dev/none", 5, "cannot open the serial port: No such file or directory"),
            ("", 2, "the port has no name"),
        ):
            assert run(["nvmem", "--port", port, "slots"]) == code
            said = capsys.readouterr().err
            assert words in said and "Errno" not in said
    finally:
        holder.close()
        os.close(ours)
        os.close(theirs)


def test_doctor_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("FWGEN_TOOLCHAIN", raising=False)
    monkeypatch.delenv("FWGEN_QEMU", raising=False)
    assert run(["doctor", "--json"]) == 2
    tools = {t["name"]: t for t in json.loads(capsys.readouterr().out)["tools"]}
    for name in ("Arm toolchain", "cmake", "qemu-system-arm", "emulator"):
        assert tools[name]["state"] == "missing"
        assert "apt-get install" in tools[name]["advice"]
    assert tools["Python"]["state"] == "ok"
    assert run(["doctor"]) == 2
    assert "apt-get install" in capsys.readouterr().out


def test_schema_into_a_file(tmp_path: Path) -> None:
    assert run(["boards", "schema", "--output", "schema.json"]) == 0
    assert "$schema" in json.loads((tmp_path / "schema.json").read_text())
    assert run(["boards", "schema", "--output", "no/where.json"]) == 2
