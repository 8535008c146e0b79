"""Packing tensors: against loops written from the layout rules, and bad input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fwgen.errors import UsageError
from fwgen.machine import tensors


@dataclass(frozen=True)
class Tensor:
    name: str = "data"
    shape: tuple[int, int, int, int] = (1, 3, 2, 4)
    dtype: str = "int8"
    layout: str = "NCHW"
    atom: int = 1
    strides: tuple[int, int, int] = (1, 4, 8)
    size: int = 24


def slow_pack(array: np.ndarray, t: Tensor) -> bytes:
    item = np.dtype(t.dtype).itemsize
    out = bytearray(t.size)
    _, channels, height, width = t.shape
    for c in range(channels):
        for h in range(height):
            for w in range(width):
                if t.layout == "NCHW":
                    at = c * t.strides[2] + h * t.strides[1] + w * item
                elif t.layout == "NHWC":
                    at = h * t.strides[1] + (w * channels + c) * item
                else:
                    at = (c // t.atom) * t.strides[2] + h * t.strides[1]
                    at += (w * t.atom + c % t.atom) * item
                out[at : at + item] = array[0, c, h, w].tobytes()
    return bytes(out)


@st.composite
def any_tensor(draw: st.DrawFn) -> Tensor:
    c, h, w = (draw(st.integers(1, n)) for n in (11, 5, 6))
    dtype = draw(st.sampled_from(["int8", "uint8", "int16", "float16", "float32"]))
    item = np.dtype(dtype).itemsize
    layout = draw(st.sampled_from(["NCHW", "NHWC", "NCxHWx"]))
    atom = {"NCHW": 1, "NHWC": c}.get(layout) or draw(st.sampled_from([2, 8, 32]))
    line = w * atom * item + draw(st.sampled_from([0, 8, 32]))
    surface = 0 if layout == "NHWC" else line * h + draw(st.sampled_from([0, 64]))
    blocks = 1 if layout == "NHWC" else -(-c // atom)
    size = (blocks - 1) * surface + line * h + draw(st.sampled_from([0, 5]))
    return Tensor("t", (1, c, h, w), dtype, layout, atom, (item, line, surface), size)


@given(any_tensor(), st.integers(0, 2**32))
def test_pack_and_unpack(tensor: Tensor, seed: int) -> None:
    wanted = np.dtype(tensor.dtype)
    raw = np.random.default_rng(seed).bytes(int(np.prod(tensor.shape)) * wanted.itemsize)
    array = np.frombuffer(raw, wanted).reshape(tensor.shape)
    packed = tensors.pack(array, tensor)
    assert packed == slow_pack(array, tensor)
    assert tensors.unpack(packed, tensor).tobytes() == array.tobytes()
    assert tensors.pack(array[0], tensor) == packed
    assert tensors.pack(np.asfortranarray(array), tensor) == packed


def test_other_byte_order_is_another_type() -> None:
    tensor = Tensor(dtype="int16", strides=(2, 8, 16), size=48)
    with pytest.raises(UsageError, match="elements of type >i2"):
        tensors.pack(np.zeros((3, 2, 4), ">i2"), tensor)


@pytest.mark.parametrize(
    ("array", "message", "expected"),
    [
        (np.zeros((1, 3, 2, 4), np.float32), "type float32", "int8"),
        (np.zeros((1, 3, 2, 4), np.uint8), "type uint8", "int8"),
        (np.zeros((1, 2, 4, 3), np.int8), "shape 1x2x4x3", "1x3x2x4 (N, C, H, W)"),
        (np.zeros((24,), np.int8), "shape 24", "1x3x2x4 (N, C, H, W)"),
        (np.zeros((), np.int8), "shape ()", "1x3x2x4 (N, C, H, W)"),
    ],
)
def test_wrong_arrays(array: np.ndarray, message: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        tensors.pack(array, Tensor())
    assert "'data'" in caught.value.message and message in caught.value.message
    assert caught.value.expected == expected


def test_impossible_tensors() -> None:
    array = np.zeros((1, 3, 2, 4), np.int8)
    with pytest.raises(UsageError, match="does not fit its 23 bytes"):
        tensors.pack(array, Tensor(size=23))
    with pytest.raises(UsageError, match="unknown layout"):
        tensors.pack(array, Tensor(layout="CHWN"))
    with pytest.raises(UsageError, match="batch of 2"):
        tensors.pack(np.zeros((2, 3, 2, 4), np.int8), Tensor(shape=(2, 3, 2, 4)))
    with pytest.raises(UsageError, match="got 3 bytes"):
        tensors.unpack(b"abc", Tensor())


def test_load_npy_and_raw(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.int8).reshape(1, 3, 2, 4)
    np.save(tmp_path / "a.npy", array)
    assert tensors.load(tmp_path / "a.npy", Tensor()) == array.tobytes()
    (tmp_path / "a.bin").write_bytes(array.tobytes())
    assert tensors.load(tmp_path / "a.bin", Tensor()) == array.tobytes()


def test_load_refuses(tmp_path: Path) -> None:
    (tmp_path / "short.bin").write_bytes(b"abc")
    with pytest.raises(UsageError, match="3 bytes for tensor 'data'") as caught:
        tensors.load(tmp_path / "short.bin", Tensor())
    assert "24 bytes" in (caught.value.expected or "")
    for name, content in (("bad.npy", b"\x93NUMPY"), ("bad.png", b"\x89PNG"), ("none.npy", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError) as caught:
            tensors.load(tmp_path / name, Tensor())
        assert caught.value.where == str(tmp_path / name)
    np.save(tmp_path / "pickle.npy", np.array([{}], dtype=object))
    with pytest.raises(UsageError, match=r"'data' is no usable \.npy file: it holds Python"):
        tensors.load(tmp_path / "pickle.npy", Tensor())
    huge = b"{'descr': '|i1', 'fortran_order': False, 'shape': (1 << 60,), }\n".replace(
        b"1 << 60", b"%d" % (1 << 60)
    )
    (tmp_path / "huge.npy").write_bytes(b"\x93NUMPY\1\0" + bytes((len(huge), 0)) + huge)
    with pytest.raises(UsageError, match="'data' is no usable"):
        tensors.load(tmp_path / "huge.npy", Tensor())
    with pytest.raises(UsageError, match="a directory is no file for tensor 'data'"):
        tensors.load(tmp_path, Tensor())
    with pytest.raises(UsageError, match="no such file"):
        tensors.load(tmp_path / "missing.bin", Tensor())


def test_load_image(tmp_path: Path) -> None:
    from PIL import Image

    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    tensor = Tensor(dtype="uint8", layout="NHWC", atom=3, strides=(1, 12, 0))
    assert tensors.load(tmp_path / "a.png", tensor) == pixels.tobytes()
    signed = replace(tensor, dtype="int8")
    assert tensors.load(tmp_path / "a.png", signed) == pixels.tobytes()
    Image.fromarray(pixels[:, :2]).save(tmp_path / "small.png")
    with pytest.raises(UsageError, match="2x2 pixels") as caught:
        tensors.load(tmp_path / "small.png", tensor)
    assert "4x2" in (caught.value.expected or "")
    wide = replace(tensor, shape=(1, 2, 2, 6))
    with pytest.raises(UsageError, match="cannot take"):
        tensors.load(tmp_path / "a.png", wide)


@pytest.mark.parametrize(
    ("mode", "channels", "good"),
    [("L", 1, True), ("RGB", 3, True), ("RGBA", 4, True), ("P", 3, True)]
    + [("RGB", 1, False), ("RGBA", 3, False), ("RGB", 4, False), ("L", 3, False)]
    + [("P", 1, False), ("LA", 1, False), ("CMYK", 4, False), ("1", 1, False), ("I;16", 1, False)],
)
def test_channels_are_not_coerced(mode: str, channels: int, good: bool, tmp_path: Path) -> None:
    from PIL import Image

    line = 4 * channels
    tensor = Tensor(
        "picture", (1, channels, 2, 4), "uint8", "NHWC", channels, (1, line, 0), 2 * line
    )
    path = tmp_path / "a.tif"
    Image.new(mode, (4, 2)).save(path)
    if good:
        assert tensors.load(path, tensor) == bytes(2 * line)
        return
    with pytest.raises(UsageError, match=f"'picture' has the pixel format {mode}") as caught:
        tensors.load(path, tensor)
    assert "of 8 bits" in (caught.value.expected or "")
    assert caught.value.where == str(path)


def test_resolve() -> None:
    known = (Tensor(name="a"), Tensor(name="b"), Tensor(name="0"), Tensor(name="b"))
    path = Path("x")
    assert tensors.resolve(known, {"a": path, "1": path}) == {0: path, 1: path}
    assert tensors.resolve(known, {"0": path}) == {2: path}  # a name wins over a number
    for keys, message in (
        ({"b": path}, "several"),
        ({"c": path}, "no tensor"),
        ({"7": path}, "no tensor"),
        ({"a": path, "00": path}, "twice"),
    ):
        with pytest.raises(UsageError, match=message):
            tensors.resolve(known, keys)
