"""Model files are recognised by what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from nvdla_cases import all_cases

from fwgen.errors import ExitCode, ModelError, UsageError
from fwgen.model import load_model, open_model

TFLITE = b"\x1c\x00\x00\x00TFL3" + bytes(40)
ONNX = b"\x08\x07\x12\x07pytorch\x1a\x03" + bytes(40)
PADDLE = b"\x01\x00v2.10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + bytes(60)
PADDLE_BRANCH = b"\x02\x00develop:1a2b3c4d" + (40).to_bytes(8, "little") + bytes(60)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (TFLITE, "TensorFlow Lite"),
        (ONNX, "ONNX"),
        (PADDLE, "Paddle-Lite"),
        (PADDLE_BRANCH, "Paddle-Lite"),
    ],
    ids=["tflite", "onnx", "paddle", "paddle-branch"],
)
def test_other_kinds_are_named(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=kind) as caught:
        load_model(path)
    assert "cannot compile it yet" in caught.value.message
    assert caught.value.where == str(path)


@pytest.mark.parametrize("data", [b"x", b"\0" * 64, b"\xff" * 64, bytes(range(256))])
def test_anything_else_is_no_model(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(data)
    with pytest.raises(ModelError, match="no model file"):
        load_model(path)


def test_an_empty_file_is_a_model_error(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.touch()
    with pytest.raises(ModelError, match="empty"):
        load_model(path)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none.nvdla", tmp_path):
        with pytest.raises(UsageError) as caught:
            load_model(path)
        assert caught.value.exit_code is ExitCode.USAGE


def test_loadables_are_known_without_their_suffix(testdata: Path, tmp_path: Path) -> None:
    for case in all_cases(testdata):
        path = tmp_path / "model.dat"
        path.write_bytes(case.data)
        model = load_model(path)
        assert (model.family, model.name) == ("nvdla", "model")
        assert model.sha256 == case.facts["sha256"]


def test_a_file_has_the_models_identity_before_it_is_read() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
    file = open_model(path)
    model = file.read()
    assert (file.name, file.sha256) == (model.name, model.sha256)
    assert file.name == "digits"
