"""Memory layouts of weights, operands and feature cubes, both ways (NVDLA memory layout rules).

Arrays are int8 or int16 NumPy arrays: weights (K, C, R, S) with R the height,
features (C, H, W), operands (K,).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Int8 = NDArray[np.int8]
Int16 = NDArray[np.int16]
Index = tuple[slice, slice, int | slice, int | slice]


def _blocks(count: int, size: int) -> Iterator[slice]:
    return (slice(at, min(at + size, count)) for at in range(0, count, size))


def pack_weights(weights: Int8, atom_c: int, atom_k: int) -> bytes:
    """Weights of a direct convolution on feature data.

    For each group of atom_k kernels, for each block of atom_c channels, for each
    row and column of the kernel: the kernels of the group, each with its channels
    of the block. Nothing is padded.
    """
    kernels, channels, rows, columns = weights.shape
    return b"".join(
        weights[group, block, r, s].tobytes()
        for group in _blocks(kernels, atom_k)
        for block in _blocks(channels, atom_c)
        for r in range(rows)
        for s in range(columns)
    )


def unpack_weights(data: bytes, shape: tuple[int, int, int, int], atom_c: int, atom_k: int) -> Int8:
    """The inverse of `pack_weights`; bytes beyond the weights are ignored."""
    kernels, channels, rows, columns = shape
    weights = np.zeros(shape, np.int8)
    at = 0
    for group in _blocks(kernels, atom_k):
        for block in _blocks(channels, atom_c):
            part = (group.stop - group.start, block.stop - block.start)
            size = part[0] * part[1]
            for r in range(rows):
                for s in range(columns):
                    piece = np.frombuffer(data, np.int8, size, at)
                    weights[group, block, r, s] = piece.reshape(part)
                    at += size
    return weights


def _rows_of_elements(weights: Int8) -> Int8:
    """(K, C, R, S) as (K, R, S * C): columns and channels are one axis for pixels."""
    kernels, channels, rows, columns = weights.shape
    return weights.transpose(0, 2, 3, 1).reshape(kernels, rows, columns * channels)


def pack_image_weights(weights: Int8, atom_c: int, atom_k: int, extension: int = 0) -> bytes:
    """Weights of a convolution on pixels.

    Without row extension like `pack_weights` with one column of S * C channels.
    With extension e, 2**e kernel rows follow each other in one block (needs
    S * C <= atom_c >> e).
    """
    flat = _rows_of_elements(weights)
    kernels, rows, elements = flat.shape
    if extension == 0:
        return pack_weights(flat.transpose(0, 2, 1)[..., np.newaxis], atom_c, atom_k)
    if elements > atom_c >> extension:
        raise ValueError(f"{elements} elements do not fit row extension {extension}")
    return b"".join(
        flat[group, block].tobytes()
        for group in _blocks(kernels, atom_k)
        for block in _blocks(rows, 1 << extension)
    )


def unpack_image_weights(
    data: bytes, shape: tuple[int, int, int, int], atom_c: int, atom_k: int, extension: int = 0
) -> Int8:
    """The inverse of `pack_image_weights`; bytes beyond the weights are ignored."""
    kernels, channels, rows, columns = shape
    elements = channels * columns
    flat = np.zeros((kernels, rows, elements), np.int8)
    if extension == 0:
        one = unpack_weights(data, (kernels, elements, rows, 1), atom_c, atom_k)
        flat = one[..., 0].transpose(0, 2, 1)
    else:
        at = 0
        for group in _blocks(kernels, atom_k):
            for block in _blocks(rows, 1 << extension):
                part = (group.stop - group.start, block.stop - block.start, elements)
                size = part[0] * part[1] * part[2]
                flat[group, block] = np.frombuffer(data, np.int8, size, at).reshape(part)
                at += size
    return flat.reshape(kernels, rows, columns, channels).transpose(0, 3, 1, 2)


def pack_feature(data: Int8, atom: int) -> bytes:
    """A packed feature cube (C, H, W): blocks of `atom` channels, unused ones 0."""
    channels, height, width = data.shape
    surfaces = -(-channels // atom)
    padded = np.zeros((surfaces * atom, height, width), np.int8)
    padded[:channels] = data
    return padded.reshape(surfaces, atom, height, width).transpose(0, 2, 3, 1).tobytes()


def unpack_feature(data: bytes, shape: tuple[int, int, int], atom: int) -> Int8:
    """The inverse of `pack_feature`."""
    channels, height, width = shape
    surfaces = -(-channels // atom)
    size = surfaces * atom * height * width
    cube = np.frombuffer(data, np.int8, size).reshape(surfaces, height, width, atom)
    return cube.transpose(0, 3, 1, 2).reshape(surfaces * atom, height, width)[:channels].copy()


def pack_pixels(data: Int8, line_stride: int) -> bytes:
    """Pixels (C, H, W) pitch linear: the channels of a pixel together, lines padded with 0."""
    channels, height, width = data.shape
    lines = np.zeros((height, line_stride), np.int8)
    lines[:, : width * channels] = data.transpose(1, 2, 0).reshape(height, width * channels)
    return lines.tobytes()


def pack_operands(values: Int16, multipliers: Int16 | None, atom: int) -> bytes:
    """16-bit operands by channel, padded to whole blocks of `atom` channels.

    With multipliers the pairs (ALU operand, multiplier) follow each other.
    """
    count = -(-values.size // atom) * atom
    columns = [values] if multipliers is None else [values, multipliers]
    padded = np.zeros((count, len(columns)), "<i2")
    for column, operand in enumerate(columns):
        padded[: values.size, column] = operand
    return padded.tobytes()
