"""Tensor bytes and arrays: packing into an accelerator's memory order and back.

Independent of accelerator families: name, shape, strides, type and layout of a
tensor say all. Arrays are in NCHW order with the tensor's shape and type.

Layouts (item = bytes per element; line and surface strides are the tensor's):
    NCHW    (c, h, w) at c * surface + h * line + w * item
    NHWC    (c, h, w) at h * line + (w * C + c) * item
    NCxHWx  (c, h, w) at c // x * surface + h * line + (w * x + c % x) * item
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fwgen.errors import UsageError

Array = npt.NDArray[Any]
T = TypeVar("T")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".gif", ".tif", ".tiff")


class TensorLike(Protocol):
    """What packing needs to know; program.Tensor and link.TensorInfo have it."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, int, int, int]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def layout(self) -> str: ...
    @property
    def atom(self) -> int: ...
    @property
    def strides(self) -> tuple[int, int, int]: ...
    @property
    def size(self) -> int: ...


def _element_offsets(tensor: TensorLike) -> npt.NDArray[np.int64]:
    """Byte offset of every element, shape (C, H, W)."""
    _, channels, height, width = tensor.shape
    item = np.dtype(tensor.dtype).itemsize
    _, line, surface = tensor.strides
    c = np.arange(channels, dtype=np.int64)[:, None, None]
    h = np.arange(height, dtype=np.int64)[None, :, None]
    w = np.arange(width, dtype=np.int64)[None, None, :]
    if tensor.layout == "NCHW":
        return c * surface + h * line + w * item
    if tensor.layout == "NHWC":
        return h * line + (w * channels + c) * item
    if tensor.layout == "NCxHWx":
        x = max(tensor.atom, 1)
        return c // x * surface + h * line + (w * x + c % x) * item
    raise UsageError(f"tensor '{tensor.name}' has an unknown layout '{tensor.layout}'")


def _checked_offsets(tensor: TensorLike) -> npt.NDArray[np.int64]:
    if tensor.shape[0] != 1:
        raise UsageError(
            f"tensor '{tensor.name}' has a batch of {tensor.shape[0]}",
            expected="a batch of 1",
            hints=("Give the bytes as they lie in memory (.bin).",),
        )
    offsets = _element_offsets(tensor)
    item = np.dtype(tensor.dtype).itemsize
    if offsets.size == 0 or int(offsets.max()) + item > tensor.size:
        raise UsageError(
            f"tensor '{tensor.name}' of shape {_words(tensor.shape)} does not fit its "
            f"{tensor.size} bytes with strides {tensor.strides}"
        )
    return offsets


def pack(array: Array, tensor: TensorLike) -> bytes:
    """The tensor's bytes in memory; what no element occupies is zero.

    Args:
        array: shape (N, C, H, W) of the tensor, or without the leading 1; its type.

    Raises:
        UsageError: another shape or type.
    """
    wanted = np.dtype(tensor.dtype)
    if array.dtype != wanted:
        raise UsageError(
            f"the data for tensor '{tensor.name}' has elements of type {array.dtype}",
            expected=wanted.name,
            hints=("Quantise the data first; fwgen does not guess scale and zero point.",),
        )
    if array.shape not in (tensor.shape, tensor.shape[1:]):
        raise UsageError(
            f"the data for tensor '{tensor.name}' has shape {_words(array.shape)}",
            expected=f"{_words(tensor.shape)} (N, C, H, W)",
        )
    offsets = _checked_offsets(tensor)
    elements = np.ascontiguousarray(array.reshape(tensor.shape[1:]), wanted.newbyteorder("<"))
    item = wanted.itemsize
    out = np.zeros(tensor.size, np.uint8)
    planes = elements.view(np.uint8).reshape(*elements.shape, item)
    for byte in range(item):
        out[offsets + byte] = planes[..., byte]
    return out.tobytes()


def unpack(data: bytes, tensor: TensorLike) -> Array:
    """The elements as an array of the tensor's shape and type.

    Raises:
        UsageError: `data` has another size.
    """
    if len(data) != tensor.size:
        raise UsageError(
            f"tensor '{tensor.name}' got {len(data)} bytes", expected=f"{tensor.size} bytes"
        )
    offsets = _checked_offsets(tensor)
    wanted = np.dtype(tensor.dtype)
    raw = np.frombuffer(data, np.uint8)
    planes = np.stack([raw[offsets + byte] for byte in range(wanted.itemsize)], axis=-1)
    flat = np.ascontiguousarray(planes).view(wanted.newbyteorder("<"))
    return flat.reshape(tensor.shape).astype(wanted)


def load(path: Path, tensor: TensorLike) -> bytes:
    """The tensor's bytes from a file: .npy, an image, or raw bytes of exactly its size.

    Raises:
        UsageError: no such file, or a wrong type, shape or size.
    """
    if not path.is_file():
        problem = "a directory is no file" if path.is_dir() else "no such file"
        raise UsageError(
            f"{problem} for tensor '{tensor.name}'",
            where=str(path),
            expected=_wanted_files(tensor),
        )
    suffix = path.suffix.lower()
    try:
        if suffix == ".npy":
            return pack(_load_npy(path, tensor), tensor)
        if suffix in IMAGE_SUFFIXES:
            return pack(_load_image(path, tensor), tensor)
    except UsageError as error:
        raise UsageError(
            error.message, where=str(path), expected=error.expected, hints=error.hints
        ) from None
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size == tensor.size else b""
    except OSError as error:
        raise UsageError(
            f"cannot read the data for tensor '{tensor.name}': {error.strerror}", where=str(path)
        ) from None
    if size != tensor.size:
        raise UsageError(
            f"{size} bytes for tensor '{tensor.name}'",
            where=str(path),
            expected=_wanted_files(tensor),
        )
    return data


def _wanted_files(tensor: TensorLike) -> str:
    return (
        f"{tensor.size} bytes, {tensor.layout} in memory order, or a .npy file of "
        f"shape {_words(tensor.shape)} and type {tensor.dtype}"
    )


def _load_npy(path: Path, tensor: TensorLike) -> Array:
    try:
        with path.open("rb") as file:
            start = file.read(6)
            if start[:2] == b"PK":
                raise ValueError("it is an archive of arrays")
            if start != b"\x93NUMPY":
                raise ValueError("it does not begin like one")
            file.seek(0)
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
            return array
    except (OSError, ValueError, EOFError, OverflowError, MemoryError) as error:
        # NumPy's text on pickled objects speaks of its own argument.
        reason = "it holds Python objects" if "allow_pickle" in str(error) else str(error)
        raise UsageError(
            f"the data for tensor '{tensor.name}' is no usable .npy file: {reason}",
            expected=f"a .npy file of shape {_words(tensor.shape)} and type {tensor.dtype}",
        ) from None


def _load_image(path: Path, tensor: TensorLike) -> Array:
    """An 8-bit image in the tensor's shape; L (grey) for one channel, RGB for 3, RGBA for 4.

    The file must have that format: which weights make grey of colours, or what an alpha
    channel would be, is not for us to choose. Colours in a palette are expanded.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise UsageError(
            "image files need Pillow", hints=("Install it: pip install pillow.",)
        ) from None
    _, channels, height, width = tensor.shape
    mode = {1: "L", 3: "RGB", 4: "RGBA"}.get(channels)
    if mode is None or tensor.dtype not in ("uint8", "int8"):
        raise UsageError(
            f"tensor '{tensor.name}' with {channels} channels of {tensor.dtype} cannot take "
            "an image file",
            expected="1, 3 or 4 channels of 8 bits",
        )
    try:
        with Image.open(path) as image:
            if image.size != (width, height):
                raise UsageError(
                    f"the image for tensor '{tensor.name}' has {image.width}x{image.height} pixels",
                    expected=f"{width}x{height}",
                    hints=("Scale it first; fwgen does not choose a filter for you.",),
                )
            palette = image.mode == "P" and "transparency" not in image.info
            if image.mode != mode and not (palette and mode == "RGB"):
                raise UsageError(
                    f"the image for tensor '{tensor.name}' has the pixel format {image.mode}",
                    expected=f"{mode}, for {channels} channel{'s'[: channels > 1]} of 8 bits",
                    hints=("Convert it first; fwgen neither mixes nor invents channels.",),
                )
            pixels = np.asarray(image.convert(mode), np.uint8)
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise UsageError(
            f"the data for tensor '{tensor.name}' is no readable image: {error}",
            expected=f"{width}x{height} pixels of format {mode}",
        ) from None
    pixels = pixels.reshape(height, width, channels).transpose(2, 0, 1)
    # Image pixels are unsigned in hardware; "int8" only names their width.
    return np.ascontiguousarray(pixels).view(np.dtype(tensor.dtype))


def resolve(tensors: Sequence[TensorLike], keys: Mapping[str, T]) -> dict[int, T]:
    """Values (files, arrays) by bind index; a key is a tensor's name or its bind index.

    Raises:
        UsageError: unknown tensor, or one named twice.
    """
    chosen: dict[int, T] = {}
    names = [tensor.name for tensor in tensors]
    for key, value in keys.items():
        matches = [i for i, name in enumerate(names) if name == key]
        if not matches and key.isdecimal() and int(key) < len(names):
            matches = [int(key)]
        if len(matches) != 1:
            reason = "is the name of several tensors" if matches else "is no tensor of the model"
            known = ", ".join(f"{name} ({i})" for i, name in enumerate(names))
            raise UsageError(f"'{key}' {reason}", expected=f"one of {known} or the number")
        if matches[0] in chosen:
            raise UsageError(f"tensor '{names[matches[0]]}' is given twice")
        chosen[matches[0]] = value
    return chosen


def _words(shape: Sequence[int]) -> str:
    return "x".join(str(n) for n in shape) or "()"
