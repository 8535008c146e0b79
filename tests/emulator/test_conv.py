"""Convolution against arithmetic written out here, with every inner loop this host has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from .conftest import SOURCE, TARGET, WEIGHTS, Device
from .programs import (
    conv_registers,
    cube_size,
    enable_conv,
    pack,
    pack_weights,
    sdp_registers,
    unpack,
)
from .test_sdp import round_shift, saturate

# atom, atomic_c, atomic_k
ATOMS = {
    "nv_small": (8, 8, 8),
    "nv_small_256": (8, 32, 8),
    "nv_medium_512": (16, 32, 16),
    "nv_medium_1024_full": (32, 32, 32),
    "nv_large": (32, 64, 32),
}


@pytest.fixture(params=["amx", "avx512vnni", "avxvnni", "avx2", "plain"])
def kernels(request: pytest.FixtureRequest, device: Device) -> Iterator[str]:
    """Forces one inner loop for the test."""
    if not device.accelerator.force_conv_kernels(request.param):
        pytest.skip(f"this host has no {request.param}")
    yield request.param
    device.accelerator.force_conv_kernels(None)


def reference(
    cube: np.ndarray,
    weights: np.ndarray,
    out: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    pad: tuple[int, int, int, int],
    pad_value: int,
) -> np.ndarray:
    """Exact sums, (K, H, W) int64."""
    kernels, channels, rows, columns = weights.shape
    left, top, _, _ = pad
    height = (out[0] - 1) * stride[0] + (rows - 1) * dilation[0] + 1
    width = (out[1] - 1) * stride[1] + (columns - 1) * dilation[1] + 1
    padded = np.full((channels, height, width), pad_value, np.int64)
    used = cube[:, : height - top, : width - left]
    padded[:, top : top + used.shape[1], left : left + used.shape[2]] = used
    result = np.zeros((kernels, *out), np.int64)
    for r in range(rows):
        for s in range(columns):
            part = padded[
                :,
                r * dilation[0] : r * dilation[0] + (out[0] - 1) * stride[0] + 1 : stride[0],
                s * dilation[1] : s * dilation[1] + (out[1] - 1) * stride[1] + 1 : stride[1],
            ]
            result += np.einsum("kc,chw->khw", weights[:, :, r, s].astype(np.int64), part)
    return result


def entries_of(config: str, channels: int, width: int) -> int:
    """Buffer entries of a row, written out for the two shapes of the tests."""
    atom = ATOMS[config][0]
    per_entry = {"nv_small": 1, "nv_small_256": 4, "nv_large": 2}.get(config, 32 // atom)
    atoms = -(-channels // atom)
    whole, rest = divmod(atoms, per_entry)
    extra = {0: 0, 1: -(-width // per_entry), 2: -(-width // 2), 3: width}
    return whole * width + (0 if rest == 0 else extra[rest] if per_entry == 4 else -(-width // 2))


CASES = {
    "1x1": ((13, 5, 6), (20, 1, 1), (5, 6), (1, 1), (1, 1), (0, 0, 0, 0)),
    "3x3": ((13, 7, 9), (70, 3, 3), (7, 9), (1, 1), (1, 1), (1, 1, 1, 1)),
    "stride": ((8, 9, 11), (8, 3, 2), (4, 6), (2, 2), (1, 1), (1, 0, 1, 0)),
    "dilation": ((40, 8, 9), (5, 2, 3), (4, 5), (1, 1), (4, 2), (0, 0, 0, 0)),
    "one": ((64, 1, 1), (65, 1, 1), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
}


@pytest.mark.parametrize("config", list(ATOMS))
@pytest.mark.parametrize("case", list(CASES))
def test_direct_convolution(
    make_device: Callable[..., Device], kernels: str, config: str, case: str
) -> None:
    cube_shape, kernel, out, stride, dilation, pad = CASES[case]
    atom, atomic_c, atomic_k = ATOMS[config]
    rng = np.random.default_rng(len(case))
    cube = rng.integers(-128, 128, cube_shape, dtype=np.int8)
    shape = (kernel[0], cube_shape[0], kernel[1], kernel[2])
    weights = rng.integers(-128, 128, shape, dtype=np.int8)
    device = make_device(config)
    device.put(SOURCE, pack(cube, atom))
    device.put(WEIGHTS, pack_weights(weights, atomic_c, atomic_k))
    conv_registers(
        device, cube_shape, kernel, out,
        entries=entries_of(config, cube_shape[0], cube_shape[2]),
        stride=stride, dilation=dilation, pad=pad, pad_value=-7 & 0xFFFF, truncate=5, atom=atom,
    )  # fmt: skip
    sdp_registers(device, (kernel[0], *out), atom, flying=True, D_CVT_SCALE=3, D_CVT_SHIFT=7)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    assert device.errors() == []
    got = unpack(device.bytes_at(TARGET, cube_size(kernel[0], *out, atom)), kernel[0], *out, atom)
    sums = reference(cube, weights, out, stride, dilation, pad, -7)
    want = [saturate(round_shift(round_shift(int(s), 5) * 3, 7), 8) for s in sums.reshape(-1)]
    assert got.reshape(-1).tolist() == want


def test_sums_beyond_32_bits_saturate_and_are_counted(device: Device, kernels: str) -> None:
    # 8192 channels x 6 x 6 of -128 * -128 = 4.8e9: saturates; half of it does not.
    channels, rows = 8192, 6
    weights = np.full((2, channels, rows, rows), -128, np.int8)
    weights[1] //= 4
    cube = np.full((channels, rows, rows), -128, np.int8)
    device.put(SOURCE, pack(cube, 8))
    device.put(WEIGHTS, pack_weights(weights, 8, 8))
    conv_registers(
        device, cube.shape, (2, rows, rows), (1, 1), entries=channels // 8 * rows, D_BANK=23
    )
    device.write("CSC.D_BANK", 23)
    sdp_registers(device, (2, 1, 1), 8, flying=True, D_CVT_SHIFT=25)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    exact = [channels * rows * rows * 128 * w for w in (128, 32)]
    want = [saturate(round_shift(saturate(s, 32), 25), 8) for s in exact]
    assert [int(v) for v in device.bytes_at(TARGET, 2).view(np.int8)] == want
    assert device.read("CACC.D_OUT_SATURATION") == 1


def test_feature_converter(device: Device) -> None:
    cube = np.arange(-128, 128, dtype=np.int64).astype(np.int8).reshape(8, 4, 8)
    device.put(SOURCE, pack(cube, 8))
    device.put(WEIGHTS, np.eye(8, dtype=np.int8))
    conv_registers(
        device, cube.shape, (8, 1, 1), (4, 8), entries=8,
        D_CVT_CFG=1 | 3 << 4, D_CVT_OFFSET=-5 & 0xFFFF, D_CVT_SCALE=11, D_MEAN_FORMAT=1,
        D_MEAN_GLOBAL_0=0x12345678,
    )  # fmt: skip
    sdp_registers(device, cube.shape, 8, flying=True)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    got = unpack(device.bytes_at(TARGET, 256), *cube.shape, 8)
    want = [saturate(round_shift((int(x) + 5) * 11, 3), 8) for x in cube.reshape(-1)]
    assert got.reshape(-1).tolist() == want


# Pixel format code, bytes of a pixel that are R, G, B, A.
FORMATS = {
    "A8B8G8R8": (12, (0, 1, 2, 3)),
    "A8R8G8B8": (13, (2, 1, 0, 3)),
    "B8G8R8A8": (14, (1, 2, 3, 0)),
    "R8G8B8A8": (15, (3, 2, 1, 0)),
    "X8B8G8R8": (16, (0, 1, 2, 3)),
    "X8R8G8B8": (17, (2, 1, 0, 3)),
    "B8G8R8X8": (18, (1, 2, 3, 0)),
    "R8G8B8X8": (19, (3, 2, 1, 0)),
    "A8Y8U8V8": (26, (2, 1, 0, 3)),
    "V8U8Y8A8": (27, (1, 2, 3, 0)),
    "R8": (0, (0,)),
}


@pytest.mark.parametrize("merge", [0, 1, 2])
@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("name", list(FORMATS))
def test_image_input(make_device: Callable[..., Device], name: str, sign: int, merge: int) -> None:
    code, order = FORMATS[name]
    channels = len(order)
    config = "nv_large"
    device = make_device(config)
    atom, atomic_c, atomic_k = ATOMS[config]
    rng = np.random.default_rng(code)
    height, width, skip, line = 9, 10, 3, 96
    rows, columns, kernels, stride = 3, 3, 5, (2, 2)
    out = (5, 5)
    pad_left, pad_top, pad_right, pad_bottom = 1, 2, 1, 1
    image = rng.integers(0, 256, (height, line), dtype=np.uint8)
    device.put(SOURCE, image)
    weights = rng.integers(-128, 128, (kernels, channels, rows, columns), dtype=np.int8)
    # One axis of S * C; Y extension stores 1 << merge rows of a kernel together.
    flat = weights.transpose(0, 2, 3, 1).reshape(kernels, rows, columns * channels)
    step = 1 << merge
    if merge:
        packed = np.concatenate([flat[:, r : r + step].reshape(-1) for r in range(0, rows, step)])
    else:
        packed = flat.transpose(1, 0, 2).reshape(-1)
    device.put(WEIGHTS, np.ascontiguousarray(packed))
    entries = -(-(pad_left + width + pad_right) * channels // 64)
    conv_registers(
        device, (channels, height, width), (kernels, rows, columns), out, entries=entries,
        stride=stride, pad=(pad_left, pad_top, pad_right, pad_bottom), pad_value=9, atom=atom,
        D_DATAIN_FORMAT=1 | code << 8 | sign << 20,
        D_LINE_STRIDE=line, D_PIXEL_OFFSET=skip, D_DAIN_MAP=0,
        D_CVT_CFG=1 | 1 << 4, D_CVT_SCALE=1, D_CVT_OFFSET=99,
        D_MEAN_FORMAT=1, D_MEAN_GLOBAL_0=120 | 60 << 16,
        D_MEAN_GLOBAL_1=(-30 & 0xFFFF) | 10 << 16,
    )  # fmt: skip
    device.program(
        "CSC",
        {
            "D_DATAIN_FORMAT": 1,
            "D_WEIGHT_SIZE_EXT_0": (rows - 1) << 16,
            "D_WEIGHT_SIZE_EXT_1": (columns * channels - 1) | (kernels - 1) << 16,
            "D_POST_Y_EXTENSION": merge,
        },
    )
    sdp_registers(device, (kernels, *out), atom, flying=True, D_CVT_SHIFT=8)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    assert device.errors() == []
    means = (120, 60, -30, 10)
    cube = np.zeros((channels, height, width), np.int64)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                value = int(image[y, (x + skip) * channels + order[c]])
                value = value - 256 if sign and value > 127 else value
                cube[c, y, x] = saturate(round_shift(value - means[c], 1), 8)
    sums = reference(
        cube, weights, out, stride, (1, 1), (pad_left, pad_top, pad_right, pad_bottom), 9
    )
    got = unpack(device.bytes_at(TARGET, cube_size(kernels, *out, atom)), kernels, *out, atom)
    want = [saturate(round_shift(int(s), 8), 8) for s in sums.reshape(-1)]
    assert got.reshape(-1).tolist() == want


def test_image_needs_the_channels_of_its_format(device: Device) -> None:
    conv_registers(device, (3, 4, 4), (1, 1, 1), (4, 4), entries=2, D_DATAIN_FORMAT=1 | 12 << 8)
    device.write("CSC.D_DATAIN_FORMAT", 1)
    sdp_registers(device, (1, 4, 4), 8, flying=True)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    assert any("CDMA.D_DATAIN_SIZE_1.DATAIN_CHANNEL = 2" in text for text in device.errors())


@pytest.mark.parametrize("code", [1, 4, 20, 30, 35])
def test_wider_pixels_are_refused(device: Device, code: int) -> None:
    conv_registers(device, (4, 4, 4), (1, 1, 1), (4, 4), entries=2, D_DATAIN_FORMAT=1 | code << 8)
    device.write("CSC.D_DATAIN_FORMAT", 1)
    sdp_registers(device, (1, 4, 4), 8, flying=True)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    wanted = f"CDMA.D_DATAIN_FORMAT.PIXEL_FORMAT = {code}: only 8-bit pixels are modelled"
    assert wanted in device.errors()


@pytest.mark.parametrize(("code", "u_byte"), [(28, 1), (29, 0)])
def test_semi_planar_image(device: Device, code: int, u_byte: int) -> None:
    """Y in one plane, U and V side by side in another; names list the high byte first."""
    height, width, skip, line, line_uv = 4, 5, 2, 32, 64
    second = SOURCE + 0x1000
    rng = np.random.default_rng(code)
    luma = rng.integers(0, 256, (height, line), dtype=np.uint8)
    chroma = rng.integers(0, 256, (height, line_uv), dtype=np.uint8)
    device.put(SOURCE, luma)
    device.put(second, chroma)
    weights = np.eye(3, dtype=np.int8)
    device.put(WEIGHTS, pack_weights(weights.reshape(3, 3, 1, 1), 8, 8))
    conv_registers(
        device, (3, height, width), (3, 1, 1), (height, width), entries=-(-width * 3 // 8),
        D_DATAIN_FORMAT=1 | code << 8, D_LINE_STRIDE=line, D_LINE_UV_STRIDE=line_uv,
        D_DAIN_ADDR_LOW_1=second, D_PIXEL_OFFSET=skip, D_DAIN_MAP=0,
        D_CVT_CFG=1, D_CVT_SCALE=1, D_MEAN_FORMAT=1,
        D_MEAN_GLOBAL_0=16 | 128 << 16, D_MEAN_GLOBAL_1=100,
    )  # fmt: skip
    device.write("CSC.D_DATAIN_FORMAT", 1)
    device.write("CSC.D_WEIGHT_SIZE_EXT_0", 0)
    device.write("CSC.D_WEIGHT_SIZE_EXT_1", 2 | 2 << 16)
    sdp_registers(device, (3, height, width), 8, flying=True)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    assert device.errors() == []
    got = unpack(device.bytes_at(TARGET, height * width * 8), 3, height, width, 8)
    for y in range(height):
        for x in range(width):
            pair = chroma[y, 2 * (x + skip) : 2 * (x + skip) + 2]
            pixel = (luma[y, x + skip], pair[u_byte], pair[1 - u_byte])
            want = [
                saturate(int(value) - mean, 8)
                for value, mean in zip(pixel, (16, 128, 100), strict=True)
            ]
            assert got[:, y, x].tolist() == want
