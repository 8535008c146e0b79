"""Integer NumPy reference of the digits network: every output byte.

Written from the arithmetic of the hardware manual's convolution, SDP and PDP
units alone; it shares no code with fwgen. Run as a program it prints the
accuracy over the stored test images, or writes one image and its scores:

    python examples/digits/reference.py --image 0    # image.npy, scores.npy
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from network import CLASSES, Layer, load_layers, load_tests
from numpy.typing import NDArray


def shift_right(values: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """Divide by 2**shift, round to nearest, ties away from zero."""
    if shift == 0:
        return values
    half = np.int64(1) << (shift - 1)
    magnitude = (np.abs(values) + half) >> shift
    return np.where(values < 0, -magnitude, magnitude)


def convolve(image: NDArray[np.int8], layer: Layer) -> NDArray[np.int8]:
    """One convolution layer: int8 (C, H, W) to int8 (K, H', W')."""
    padded = np.pad(image.astype(np.int64), ((0, 0), (layer.pad,) * 2, (layer.pad,) * 2))
    weights = layer.weights.astype(np.int64)
    kernels, _, taps_y, taps_x = weights.shape
    height = padded.shape[1] - taps_y + 1
    width = padded.shape[2] - taps_x + 1
    sums = np.zeros((kernels, height, width), np.int64)
    for y in range(height):
        for x in range(width):
            window = padded[:, y : y + taps_y, x : x + taps_x]
            sums[:, y, x] = (weights * window).sum(axis=(1, 2, 3))
    sums += (layer.bias.astype(np.int64) << layer.bias_shift)[:, None, None]
    sums = np.clip(sums, -(2**31), 2**31 - 1)
    if layer.relu:
        sums = np.maximum(sums, 0)
    return np.clip(shift_right(sums * layer.scale, layer.shift), -128, 127).astype(np.int8)


def max_pool(image: NDArray[np.int8]) -> NDArray[np.int8]:
    """2x2 maximum with stride 2."""
    channels, height, width = image.shape
    return image.reshape(channels, height // 2, 2, width // 2, 2).max(axis=(2, 4))


def infer(image: NDArray[np.int8], layers: tuple[Layer, ...]) -> NDArray[np.int8]:
    """Scores of the ten digits, int8 (10,), for one image, int8 (1, 8, 8)."""
    conv1, conv2, full = layers
    hidden = max_pool(convolve(image, conv1))
    hidden = max_pool(convolve(hidden, conv2))
    return convolve(hidden, full).reshape(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--image", type=int, help="number of one test image")
    parser.add_argument("--save", type=Path, default=Path(), help="folder for its two files")
    arguments = parser.parse_args()
    layers = load_layers()
    images, labels = load_tests()
    if arguments.image is not None:
        image, scores = images[arguments.image], infer(images[arguments.image], layers)
        np.save(arguments.save / "image.npy", image)
        np.save(arguments.save / "scores.npy", scores.reshape(1, CLASSES, 1, 1))
        print(f"image {arguments.image} shows a {labels[arguments.image]}; scores {scores}")
        return
    hits = sum(
        int(infer(i, layers).argmax()) == int(n) for i, n in zip(images, labels, strict=True)
    )
    print(f"{hits} of {len(labels)} test images right ({100 * hits / len(labels):.1f} %)")


if __name__ == "__main__":
    main()
