"""Memory layouts against their definition, and both ways."""

from __future__ import annotations

import numpy as np
import pytest

from fwgen.model.nvdla.packing import (
    pack_feature,
    pack_image_weights,
    pack_operands,
    pack_pixels,
    pack_weights,
    unpack_feature,
    unpack_image_weights,
    unpack_weights,
)

RANDOM = np.random.default_rng(5)


def random_int8(*shape: int) -> np.ndarray:
    return RANDOM.integers(-128, 128, shape, np.int8)


@pytest.mark.parametrize("shape", [(8, 8, 3, 3), (20, 13, 5, 2), (3, 1, 1, 1), (33, 70, 1, 3)])
@pytest.mark.parametrize("atoms", [(8, 8), (64, 32), (32, 16)])
def test_weights_follow_the_written_order(
    shape: tuple[int, int, int, int], atoms: tuple[int, int]
) -> None:
    atom_c, atom_k = atoms
    weights = random_int8(*shape)
    kernels, channels, rows, columns = shape
    expected = [
        weights[k, c, r, s]
        for k0 in range(0, kernels, atom_k)
        for c0 in range(0, channels, atom_c)
        for r in range(rows)
        for s in range(columns)
        for k in range(k0, min(k0 + atom_k, kernels))
        for c in range(c0, min(c0 + atom_c, channels))
    ]
    packed = pack_weights(weights, atom_c, atom_k)
    assert packed == np.array(expected, np.int8).tobytes()
    assert (unpack_weights(packed + b"\0" * 7, shape, atom_c, atom_k) == weights).all()


@pytest.mark.parametrize("extension", [0, 1, 2])
def test_pixel_weights_follow_the_written_order(extension: int) -> None:
    atom_c, atom_k = 64, 32
    shape = (35, 4, 5, 3)
    weights = random_int8(*shape)
    kernels, channels, rows, columns = shape
    step = 1 << extension
    expected = [
        weights[k, j % channels, r, j // channels]
        for k0 in range(0, kernels, atom_k)
        for r0 in range(0, rows, step)
        for k in range(k0, min(k0 + atom_k, kernels))
        for r in range(r0, min(r0 + step, rows))
        for j in range(columns * channels)
    ]
    packed = pack_image_weights(weights, atom_c, atom_k, extension)
    assert packed == np.array(expected, np.int8).tobytes()
    assert (unpack_image_weights(packed, shape, atom_c, atom_k, extension) == weights).all()


def test_pixel_weights_in_several_blocks() -> None:
    weights = random_int8(11, 4, 3, 5)
    packed = pack_image_weights(weights, 8, 8)
    # Kernels 0..7, elements 0..7 of row 0: two columns of four channels.
    first = weights[:8, :, 0, :2].transpose(0, 2, 1).reshape(8, 8)
    assert packed[:64] == first.tobytes()
    assert (unpack_image_weights(packed, (11, 4, 3, 5), 8, 8) == weights).all()


def test_row_extension_needs_room() -> None:
    with pytest.raises(ValueError, match="12 elements"):
        pack_image_weights(random_int8(1, 4, 3, 3), 16, 8, 1)


@pytest.mark.parametrize("atom", [8, 32])
@pytest.mark.parametrize("shape", [(1, 1, 1), (8, 3, 4), (10, 5, 7), (70, 2, 3)])
def test_features_follow_the_address_rule(shape: tuple[int, int, int], atom: int) -> None:
    data = random_int8(*shape)
    packed = np.frombuffer(pack_feature(data, atom), np.int8)
    channels, height, width = shape
    line, surface = width * atom, width * height * atom
    for c in range(channels):
        for y in range(height):
            for x in range(width):
                at = c // atom * surface + y * line + x * atom + c % atom
                assert packed[at] == data[c, y, x]
    assert packed.size == -(-channels // atom) * surface
    assert (unpack_feature(packed.tobytes(), shape, atom) == data).all()


def test_pixels_lie_in_padded_lines() -> None:
    data = random_int8(4, 2, 3)
    packed = np.frombuffer(pack_pixels(data, 32), np.int8).reshape(2, 32)
    assert packed[1, 2 * 4 + 3] == data[3, 1, 2]
    assert not packed[:, 12:].any()


def test_operands_are_padded_to_the_atom() -> None:
    values = np.array([1, -2, 3], np.int16)
    assert np.frombuffer(pack_operands(values, None, 8), "<i2").tolist() == [1, -2, 3] + [0] * 5
    pairs = np.frombuffer(pack_operands(values, values * 10, 8), "<i2")
    assert pairs.tolist() == [1, 10, -2, -20, 3, 30] + [0] * 10
