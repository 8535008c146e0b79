"""Train the digits network, quantise it to int8, and write the example's files.

    python examples/digits/train.py

writes digits.npz (the quantised layers), tests.npz (test images and labels) and
digits.nvdla (the loadable). It needs scikit-learn for the images and takes less
than a minute.

The files come out byte for byte the same on every machine. Floating-point sums
usually depend on the order in which a linear algebra library adds; here every
operand of a matrix product is first rounded to a fixed grid that is coarse
enough for float64 to hold each sum exactly, so the order cannot matter.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from network import CLASSES, HERE, PIXEL_STEP, SHAPES, Layer, load_layers, save_arrays
from numpy.typing import NDArray

Array = NDArray[np.float64]

TEST_IMAGES = 360
EPOCHS = 30
BATCH = 32
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4

# Grids of the operands of matrix products. A sum over at most 2**16 products of
# values below 2**6 on grids of 2**-14 and 2**-16 needs 16 + 12 + 30 bits in the
# worst case; the values that occur stay far below 2**6, and exact() checks it.
FORWARD_GRID = 2.0**14
BACKWARD_GRID = 2.0**16


def on_grid(values: Array, grid: float) -> Array:
    return np.rint(values * grid) / grid


def product(left: Array, right: Array, left_grid: float, right_grid: float) -> Array:
    """Matrix product whose result does not depend on the order of additions."""
    left = on_grid(left, left_grid)
    right = on_grid(right, right_grid)
    bound = np.abs(left).max() * np.abs(right).max() * left.shape[1] * left_grid * right_grid
    if bound >= 2.0**53:
        raise ArithmeticError("a sum may not be exact: make the grid coarser")
    return left @ right


def windows(images: Array, size: int, pad: int) -> Array:
    """All size x size windows of (N, C, H, W) as rows: (N * H' * W', C * size * size)."""
    images = np.pad(images, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    view = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(2, 3))
    n, c, h, w = view.shape[:4]
    return view.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * size * size)


def unwindows(rows: Array, shape: tuple[int, ...], size: int, pad: int) -> Array:
    """Transpose of windows(): add every window's gradient back to its pixels."""
    n, c, h, w = shape
    out_h, out_w = h + 2 * pad - size + 1, w + 2 * pad - size + 1
    taps = rows.reshape(n, out_h, out_w, c, size, size).transpose(0, 3, 4, 5, 1, 2)
    images = np.zeros((n, c, h + 2 * pad, w + 2 * pad))
    for y in range(size):
        for x in range(size):
            images[:, :, y : y + out_h, x : x + out_w] += taps[:, :, y, x]
    return images[:, :, pad : pad + h, pad : pad + w]


class Network:
    """Floating-point twin of the network, with its gradient."""

    def __init__(self, rng: np.random.Generator) -> None:
        shapes = {"conv1": (16, 1, 3, 3), "conv2": (32, 16, 3, 3), "fc": (CLASSES, 32, 2, 2)}
        self.weights: dict[str, Array] = {}
        self.bias: dict[str, Array] = {}
        for name, shape in shapes.items():
            fan_in = shape[1] * shape[2] * shape[3]
            # Uniform numbers: unlike normal ones they need no libm function.
            limit = (6.0 / fan_in) ** 0.5
            self.weights[name] = rng.uniform(-limit, limit, shape)
            self.bias[name] = np.zeros(shape[0])
        self.velocity = {k: np.zeros_like(v) for k, v in self.parameters().items()}

    def parameters(self) -> dict[str, Array]:
        weights = {f"{name}_weights": value for name, value in self.weights.items()}
        return weights | {f"{name}_bias": value for name, value in self.bias.items()}

    def convolve(self, images: Array, name: str, pad: int) -> tuple[Array, Array]:
        kernel = self.weights[name]
        rows = windows(images, kernel.shape[2], pad)
        flat = kernel.reshape(kernel.shape[0], -1).T
        sums = product(rows, flat, FORWARD_GRID, FORWARD_GRID) + self.bias[name]
        height = images.shape[2] + 2 * pad - kernel.shape[2] + 1
        shape = (len(images), height, height, kernel.shape[0])
        return sums.reshape(shape).transpose(0, 3, 1, 2), rows

    def forward(self, images: Array) -> tuple[Array, dict[str, Array]]:
        """Scores (N, 10) and every intermediate tensor by name."""
        kept: dict[str, Array] = {"input": images}
        values = images
        for name, pad, relu in SHAPES:
            kept[f"{name}_in"] = values
            sums, kept[f"{name}_rows"] = self.convolve(values, name, pad)
            if relu:
                values = np.maximum(sums, 0.0)
                kept[f"{name}_out"] = values
                n, c, h, w = values.shape
                blocks = values.reshape(n, c, h // 2, 2, w // 2, 2)
                values = blocks.max(axis=(3, 5))
                kept[f"{name}_pool"] = values
            else:
                values = sums
                kept[f"{name}_out"] = values
        return values.reshape(len(images), CLASSES), kept

    def gradient(self, images: Array, labels: NDArray[np.int64]) -> dict[str, Array]:
        """Gradient of the mean cross entropy for each parameter."""
        scores, kept = self.forward(images)
        exponent = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = on_grid(exponent / exponent.sum(axis=1, keepdims=True), BACKWARD_GRID)
        error[np.arange(len(labels)), labels] -= 1.0
        back = error.reshape(len(labels), CLASSES, 1, 1)
        result: dict[str, Array] = {}
        for name, pad, relu in reversed(SHAPES):
            if relu:
                values = kept[f"{name}_out"]
                pooled = kept[f"{name}_pool"].repeat(2, axis=2).repeat(2, axis=3)
                hit = (values == pooled) & (values > 0.0)
                back = back.repeat(2, axis=2).repeat(2, axis=3) * hit
            kernel = self.weights[name]
            flat = back.transpose(0, 2, 3, 1).reshape(-1, kernel.shape[0])
            rows = kept[f"{name}_rows"]
            slope = product(rows.T, flat, FORWARD_GRID, BACKWARD_GRID)
            result[f"{name}_weights"] = slope.T.reshape(kernel.shape) / len(labels)
            result[f"{name}_bias"] = on_grid(flat, BACKWARD_GRID).sum(axis=0) / len(labels)
            if name != "conv1":
                spread = product(
                    flat, kernel.reshape(kernel.shape[0], -1), BACKWARD_GRID, FORWARD_GRID
                )
                back = unwindows(spread, kept[f"{name}_in"].shape, kernel.shape[2], pad)
        return result

    def step(self, images: Array, labels: NDArray[np.int64], rate: float) -> None:
        """One step of gradient descent with momentum."""
        slopes = self.gradient(images, labels)
        for name, value in self.parameters().items():
            self.velocity[name] *= MOMENTUM
            self.velocity[name] -= rate * (slopes[name] + WEIGHT_DECAY * value)
            value += self.velocity[name]


def train(images: Array, labels: NDArray[np.int64]) -> Network:
    """Train on (N, 1, 8, 8) images in 0..1."""
    rng = np.random.default_rng(1)
    network = Network(rng)
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        rate = 0.05 * (1.0 - epoch / EPOCHS)
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            network.step(images[chosen], labels[chosen], rate)
    return network


def quantise(network: Network, images: Array) -> tuple[Layer, ...]:
    """Post-training quantisation, calibrated by the largest activations of `images`."""
    kept = network.forward(images)[1]
    layers = []
    unit_in = 1.0 / (16 * PIXEL_STEP)  # one step of the int8 input
    for name, pad, relu in SHAPES:
        weights = network.weights[name]
        unit_weight = float(np.abs(weights).max()) / 127
        unit_out = float(np.abs(kept[f"{name}_out"]).max()) / 127
        unit_sum = unit_in * unit_weight
        bias = network.bias[name] / unit_sum
        bias_shift = 0
        while np.abs(np.rint(bias / 2**bias_shift)).max() > 32767:
            bias_shift += 1
        # The largest 16-bit scale gives the best precision.
        ratio = unit_sum / unit_out
        shift = 0
        while ratio * 2 ** (shift + 1) < 32767:
            shift += 1
        layers.append(
            Layer(
                name,
                np.rint(weights / unit_weight).astype(np.int8),
                np.rint(bias / 2**bias_shift).astype(np.int16),
                bias_shift,
                int(np.rint(ratio * 2**shift)),
                shift,
                pad,
                relu,
            )
        )
        unit_in = unit_out
    return tuple(layers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=HERE, help="folder to write to")
    output: Path = parser.parse_args().output
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    levels = digits.images[order].astype(np.float64)[:, None]
    labels = digits.target[order].astype(np.int64)
    network = train(levels[TEST_IMAGES:] / 16.0, labels[TEST_IMAGES:])
    layers = quantise(network, levels[TEST_IMAGES:] / 16.0)

    scores = network.forward(levels[:TEST_IMAGES] / 16.0)[0]
    hits = int((scores.argmax(axis=1) == labels[:TEST_IMAGES]).sum())
    print(f"float: {hits} of {TEST_IMAGES} test images right")

    arrays: dict[str, NDArray[np.generic]] = {}
    for layer in layers:
        arrays[f"{layer.name}_weights"] = layer.weights
        arrays[f"{layer.name}_bias"] = layer.bias
        arrays[f"{layer.name}_converter"] = np.array(
            [layer.bias_shift, layer.scale, layer.shift], np.int32
        )
    save_arrays(output / "digits.npz", arrays)
    pixels = (levels[:TEST_IMAGES] * PIXEL_STEP).astype(np.int8)
    save_arrays(
        output / "tests.npz",
        {"images": pixels, "labels": labels[:TEST_IMAGES].astype(np.uint8)},
    )

    import reference
    from loadable import digits_loadable

    layers = load_layers(output / "digits.npz")
    temporary = output / "digits.nvdla.tmp"
    temporary.write_bytes(digits_loadable(layers))
    os.replace(temporary, output / "digits.nvdla")
    hits = sum(
        int(reference.infer(image, layers).argmax()) == int(label)
        for image, label in zip(pixels, labels[:TEST_IMAGES], strict=True)
    )
    print(f"int8:  {hits} of {TEST_IMAGES} test images right")


if __name__ == "__main__":
    main()
