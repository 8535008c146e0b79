"""Recognising a model file by its content and reading it with the right reader.

Facts: the identifier words of the FlatBuffers ("NVDA", "TFL3"), of VeriSilicon
network binary graphs ("VPMN"), the protocol buffer layout of ONNX, and the
string table at the head of Paddle-Lite's naive buffers.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

from fwgen import __version__
from fwgen.errors import ModelError, UsageError
from fwgen.model.model import Model

MAX_FILE = 1 << 31

_EXPECTED = "an NVDLA loadable or a VeriSilicon network binary graph"


def _is_onnx(data: bytes) -> bool:
    """ModelProto: field 1 (ir_version, a small varint), then another known field."""
    if len(data) < 4 or data[0] != 0x08 or not 1 <= data[1] <= 0x20:
        return False
    # producer_name, producer_version, domain, model_version, doc_string, graph, opset_import
    return data[2] in (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42)


def _is_paddle_lite(data: bytes) -> bool:
    """u16 meta version, 16 bytes of the converter's version, u64 size of the topology.

    The version is a tag ("v2.10") or a branch with a commit.
    """
    if len(data) < 32 or data[0] > 2 or data[1]:
        return False
    text = data[2:18].rstrip(b"\0")
    if text[:1] == b"v" and text[1:2].isdigit() and b"." in text:
        return True
    topology = struct.unpack_from("<Q", data, 18)[0]
    printable = len(text) >= 4 and all(0x20 < c < 0x7F for c in text)
    return printable and 0 < topology <= len(data) - 26


def _is_loadable(data: bytes) -> bool:
    """A FlatBuffer whose root table starts with a 3-byte struct and at most nine fields."""
    if data[4:8] == b"NVDA":
        return True
    if len(data) < 16:
        return False
    root = struct.unpack_from("<I", data)[0]
    if not 4 <= root <= len(data) - 4:
        return False
    vtable = root - struct.unpack_from("<i", data, root)[0]
    if not 4 <= vtable <= len(data) - 6:
        return False
    length, _, version = struct.unpack_from("<HHH", data, vtable)
    if length % 2 or not 6 <= length <= 4 + 2 * 9 or version < 4:
        return False
    at = root + version
    return data[at : at + 2] == bytes((0, 7))


_OTHERS = (
    (lambda d: d[4:8] == b"TFL3", "a TensorFlow Lite model"),
    (
        _is_paddle_lite,
        "a Paddle-Lite naive buffer (its files end in .nb as those of VeriSilicon do)",
    ),
    (_is_onnx, "an ONNX model"),
)


def read_file(path: Path) -> bytes:
    """A file's bytes. Raises UsageError if it cannot be read, ModelError if it is empty."""
    try:
        if path.is_dir():
            raise UsageError("this is a directory, not a model file", where=str(path))
        if path.stat().st_size > MAX_FILE:
            raise ModelError("the file is too large to be a model", where=str(path))
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read the model: {error.strerror or error}", where=str(path)
        ) from error
    if not data:
        raise ModelError("the file is empty", where=str(path), expected="a compiled model")
    return data


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file whose bytes have been read and not looked at yet.

    Name and hash are those of the Model that `read` gives. They identify a build,
    so that one with nothing to do needs no reader.
    """

    path: Path
    data: bytes

    @property
    def name(self) -> str:
        """File name without its last suffix."""
        return self.path.stem

    @property
    def sha256(self) -> str:
        """SHA-256 of the file, 64 hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()

    def read(self) -> Model:
        """Recognise the kind and read it; errors as `load_model`."""
        return _read_model(self.data, self.name, str(self.path))


def open_model(path: Path) -> ModelFile:
    """A model file's bytes. Errors as `read_file`."""
    return ModelFile(path, read_file(path))


def load_model(path: Path) -> Model:
    """Read a compiled model of any supported kind, recognised by its content.

    Raises UsageError if the file cannot be read, ModelError if it is damaged or
    of a kind that this version cannot compile.
    """
    return open_model(path).read()


def _read_model(data: bytes, name: str, source: str) -> Model:
    if _is_loadable(data):
        # Imported on use: the readers are most of the time that an import takes.
        from fwgen.model.nvdla.model import read_model

        return read_model(data, name, source)
    if data[:4] == b"VPMN":
        from fwgen.model.nbg.model import read_model as read_nbg

        return read_nbg(data, name, source)
    for matches, kind in _OTHERS:
        if matches(data):
            raise ModelError(
                f"this is {kind}; fwgen {__version__} cannot compile it yet",
                where=source,
                expected=_EXPECTED,
                hints=(
                    "Compile the network for the board's accelerator with its vendor's compiler "
                    "and pass the result.",
                ),
            )
    raise ModelError(
        "this is no model file that fwgen knows",
        where=source,
        expected=_EXPECTED,
        hints=("The file may be truncated or damaged: copy or compile it again.",),
    )
