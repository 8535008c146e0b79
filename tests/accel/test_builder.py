"""Built networks run on the reference accelerator and equal plain integer arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from nvdla_execution import Target

from fwgen.accel import family
from fwgen.accel.nvdla.builder import BuiltTensor, LoadableBuilder
from fwgen.accel.nvdla.configurations import CONFIGURATIONS
from fwgen.model.nvdla.loadable import read_loadable, write_loadable
from fwgen.model.nvdla.model import read_model
from fwgen.model.nvdla.packing import pack_feature, pack_pixels, unpack_feature
from fwgen.program.commands import Poll, Wait

NVDLA = family("nvdla")
Ints = NDArray[np.int64]


def round_shift(x: Ints, shift: int) -> Ints:
    """Arithmetic shift right, to nearest, ties away from zero."""
    half = (1 << shift) >> 1
    return np.sign(x) * ((np.abs(x) + half) >> shift)


def sat8(x: Ints) -> Ints:
    return np.clip(x, -128, 127)


def conv2d(x: Ints, weights: Ints, stride: int = 1, pad: int = 0, value: int = 0) -> Ints:
    """(C, H, W) with (K, C, R, S) to (K, OH, OW), exact."""
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad)), constant_values=value)
    _, _, rows, columns = weights.shape
    windows = np.lib.stride_tricks.sliding_window_view(padded, (rows, columns), (1, 2))
    return np.einsum("chwrs,kcrs->khw", windows[:, ::stride, ::stride], weights)


def max_pool(x: Ints, size: int) -> Ints:
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (1, 2))
    return windows[:, ::size, ::size].max((-1, -2))


def after(acc: Ints, bias: Ints, shift: int, scale: int, down: int, relu: bool) -> Ints:
    x = acc + (bias[:, None, None] << shift)
    x = np.maximum(x, 0) if relu else x
    return sat8(round_shift(x * scale, down))


class Random:
    """Reproducible random parameters."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def int8(self, *shape: int) -> NDArray[np.int8]:
        return self.rng.integers(-128, 128, shape, np.int8)

    def int16(self, *shape: int, limit: int = 2000) -> NDArray[np.int16]:
        return self.rng.integers(-limit, limit, shape, np.int16)


def run(builder: LoadableBuilder, inputs: list[bytes], runs: int = 2) -> list[bytes]:
    """Write the file, read it, lower it, play it; the outputs of the last run."""
    data = write_loadable(builder.build())
    assert read_loadable(data, "built") == builder.build()
    model = read_model(data, "built", "built.nvdla")
    report = NVDLA.check(model, builder.config.name)
    assert report.ok, report
    target = Target(NVDLA.lower(model, builder.config.name))
    for _ in range(runs):
        outputs = target.run(inputs)
    return outputs


@pytest.mark.parametrize("config", CONFIGURATIONS)
@pytest.mark.parametrize("channels", [1, 4])
def test_a_classifier_of_pixels(config: str, channels: int) -> None:
    random = Random(channels)
    builder = LoadableBuilder(CONFIGURATIONS[config])
    image = random.int8(channels, 8, 8)
    w1, b1 = random.int8(16, channels, 3, 3), random.int16(16)
    w2, b2 = random.int8(32, 16, 3, 3), random.int16(32)
    w3, b3 = random.int8(10, 32, 2, 2), random.int16(10)
    x = builder.input_pixels("image", width=8, height=8, channels=channels)
    line = x.cube.line_stride
    x = builder.conv(x, w1, b1, bias_shift=3, relu=True, scale=45, shift=14, pad=1)
    x = builder.pool(x, kernel=2)
    x = builder.conv(x, w2, b2, bias_shift=4, relu=True, scale=60, shift=16, pad=1)
    x = builder.pool(x, kernel=2)
    x = builder.conv(x, w3, b3, scale=40, shift=15)
    builder.output("scores", x)
    y = image.astype(np.int64)
    y = max_pool(
        after(conv2d(y, w1.astype(np.int64), pad=1), b1.astype(np.int64), 3, 45, 14, True), 2
    )
    y = max_pool(
        after(conv2d(y, w2.astype(np.int64), pad=1), b2.astype(np.int64), 4, 60, 16, True), 2
    )
    y = after(conv2d(y, w3.astype(np.int64)), b3.astype(np.int64), 0, 40, 15, False)
    (out,) = run(builder, [pack_pixels(image, line)])
    scores = unpack_feature(out, (10, 1, 1), CONFIGURATIONS[config].atom)
    assert scores.tolist() == y.tolist()
    assert len(np.unique(scores)) > 3


@pytest.mark.parametrize("config", ["nv_small", "nv_small_256", "nv_large"])
def test_a_residual_block(config: str) -> None:
    random = Random(7)
    atom = CONFIGURATIONS[config].atom
    builder = LoadableBuilder(CONFIGURATIONS[config])
    data = random.int8(12, 6, 5)
    w1, w2 = random.int8(12, 12, 3, 3), random.int8(12, 12, 1, 1)
    bias = random.int16(12)
    x = builder.input_feature("x", width=5, height=6, channels=12)
    a = builder.conv(x, w1, bias, relu=True, scale=30, shift=15, pad=1, pad_value=3)
    b = builder.conv(a, w2, scale=9, shift=9, residual=a, residual_shift=4, relu=True)
    c = builder.pool(b, mode="average", kernel=(3, 2), stride=1, pad=(1, 0))
    builder.output("sum", b)
    builder.output("mean", c)
    ya = after(
        conv2d(data.astype(np.int64), w1.astype(np.int64), pad=1, value=3),
        bias.astype(np.int64),
        0,
        30,
        15,
        True,
    )
    yb = np.maximum(conv2d(ya, w2.astype(np.int64)) + (ya << 4), 0)
    yb = sat8(round_shift(yb * 9, 9))
    out_b, out_c = run(builder, [pack_feature(data, atom)], runs=3)
    assert unpack_feature(out_b, (12, 6, 5), atom).tolist() == yb.tolist()
    padded = np.pad(yb, ((0, 0), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (1, 2)).sum((-1, -2))
    yc = round_shift(round_shift(windows * 0x8000, 16) * 0x5555, 16)
    assert unpack_feature(out_c, (12, 6, 4), atom).tolist() == yc.tolist()


def test_scales_by_channel_and_the_sdp_alone() -> None:
    random = Random(9)
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    data = random.int8(10, 3, 4)
    bias, factor = random.int16(10, limit=100), random.int16(10, limit=900)
    x = builder.input_feature("x", width=4, height=3, channels=10)
    y = builder.scale(x, bias, multipliers=factor, multiplier_shift=2, scale=3, shift=6)
    builder.output("y", y)
    (out,) = run(builder, [pack_feature(data, 8)], runs=3)
    sums = data.astype(np.int64) + bias[:, None, None]
    expected = sat8(round_shift(round_shift(sums * factor[:, None, None], 2) * 3, 6))
    assert unpack_feature(out, (10, 3, 4), 8).tolist() == expected.tolist()


def test_strides_and_dilation() -> None:
    random = Random(11)
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    data, weights = random.int8(5, 9, 11), random.int8(9, 5, 3, 3)
    x = builder.input_feature("x", width=11, height=9, channels=5)
    y = builder.conv(x, weights, scale=1, shift=8, stride=2, pad=(2, 2), dilation=(2, 2))
    builder.output("y", y)
    (out,) = run(builder, [pack_feature(data, 8)])
    spread = np.zeros((9, 5, 5, 5), np.int64)
    spread[:, :, ::2, ::2] = weights
    expected = sat8(round_shift(conv2d(data.astype(np.int64), spread, 2, 2), 8))
    assert unpack_feature(out, y.shape, 8).tolist() == expected.tolist()


def test_pixels_with_row_extension() -> None:
    random = Random(13)
    builder = LoadableBuilder(CONFIGURATIONS["nv_large"])
    data, weights = random.int8(4, 7, 9), random.int8(6, 4, 5, 4)
    x = builder.input_pixels("x", width=9, height=7, channels=4)
    line = x.cube.line_stride
    y = builder.conv(x, weights, scale=1, shift=9, extension=1)
    builder.output("y", y)
    (out,) = run(builder, [pack_pixels(data, line)])
    expected = sat8(round_shift(conv2d(data.astype(np.int64), weights.astype(np.int64)), 9))
    assert unpack_feature(out, y.shape, 32).tolist() == expected.tolist()


def test_every_convolution_waits_for_its_sdp() -> None:
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    x = builder.input_feature("x", width=4, height=4, channels=8)
    for _ in range(3):
        x = builder.conv(x, Random(1).int8(8, 8, 1, 1), shift=7)
    builder.output("y", x)
    model = read_model(write_loadable(builder.build()), "m", "m")
    program = NVDLA.lower(model, "nv_small")
    waits = [c for c in program.commands if isinstance(c, Wait)]
    assert [w.mask for w in waits] == [0x100001, 0x200002, 0x100001]
    assert [w.operations for w in waits] == [(0, 1), (2, 3), (4, 5)]
    assert sum(isinstance(c, Poll) for c in program.commands) == 3


def _builder() -> tuple[LoadableBuilder, BuiltTensor]:
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    return builder, builder.input_feature("x", width=4, height=4, channels=8)


def test_wrong_shapes_are_value_errors() -> None:
    builder, x = _builder()
    random = Random(1)
    with pytest.raises(ValueError, match="weights have 7 channels"):
        builder.conv(x, random.int8(8, 7, 1, 1))
    with pytest.raises(ValueError, match="larger than the padded input"):
        builder.conv(x, random.int8(8, 8, 5, 5))
    with pytest.raises(ValueError, match="bias has shape"):
        builder.conv(x, random.int8(8, 8, 1, 1), random.int16(7))
    with pytest.raises(ValueError, match="larger than the padded input"):
        builder.pool(x, kernel=5)
    with pytest.raises(ValueError, match="1 or 4 channels"):
        builder.input_pixels("p", width=4, height=4, channels=3)
    with pytest.raises(ValueError, match="an input cannot be an output"):
        builder.output("y", x)
    with pytest.raises(ValueError, match="no output"):
        builder.build()
