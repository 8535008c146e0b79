"""Direct convolution: CDMA fetch and conversion, CSC addressing, CMAC, CACC output.

Feature and image input, int8, uncompressed weights. The result is the stream
of 32-bit accumulators that CACC delivers to SDP.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fwgen.reference.nvdla.configs import Config
from fwgen.reference.nvdla.cubes import Cube, check_address, check_size
from fwgen.reference.nvdla.memory import Memory, ReferenceGuestError, ReferenceUnsupported
from fwgen.reference.nvdla.regfile import Group
from fwgen.reference.nvdla.rounding import Ints, limits, round_shift, saturate

# Pixel format code -> source byte of each of R, G, B, A.
_PIXEL_BYTES = {
    0: (0,),
    12: (0, 1, 2, 3),
    13: (2, 1, 0, 3),
    14: (1, 2, 3, 0),
    15: (3, 2, 1, 0),
    16: (0, 1, 2, 3),
    17: (2, 1, 0, 3),
    18: (1, 2, 3, 0),
    19: (3, 2, 1, 0),
    26: (2, 1, 0, 3),
    27: (1, 2, 3, 0),
}

_MEANS = (
    "D_MEAN_GLOBAL_0.MEAN_RY",
    "D_MEAN_GLOBAL_0.MEAN_GU",
    "D_MEAN_GLOBAL_1.MEAN_BV",
    "D_MEAN_GLOBAL_1.MEAN_AX",
)


@dataclass(frozen=True, slots=True)
class ConvUnits:
    """The register groups that one convolution uses."""

    cdma: Group
    csc: Group
    cmac_a: Group
    cmac_b: Group
    cacc: Group


@dataclass(frozen=True, slots=True)
class ConvResult:
    """Accumulators after clipping, shape (K, OH, OW), and how many saturated."""

    accumulators: Ints
    saturated: int


def _require(units: ConvUnits) -> None:
    for group in (units.cdma, units.csc, units.cmac_a, units.cmac_b, units.cacc):
        name = group.block.name
        if group["D_MISC_CFG.CONV_MODE"]:
            raise ReferenceUnsupported(f"{name}: Winograd")
        if group["D_MISC_CFG.PROC_PRECISION"]:
            raise ReferenceUnsupported(f"{name}: precision other than int8")
    for group in (units.cdma, units.csc):
        name = group.block.name
        if group["D_MISC_CFG.IN_PRECISION"]:
            raise ReferenceUnsupported(f"{name}: input precision other than int8")
        if group["D_WEIGHT_FORMAT.WEIGHT_FORMAT"]:
            raise ReferenceUnsupported(f"{name}: compressed weights")
        if group["D_MISC_CFG.DATA_REUSE"] or group["D_MISC_CFG.WEIGHT_REUSE"]:
            raise ReferenceUnsupported(f"{name}: reuse of the convolution buffer")
    for group in (units.cdma, units.csc, units.cacc):
        if group["D_BATCH_NUMBER.BATCHES"]:
            raise ReferenceUnsupported(f"{group.block.name}: batches")


def _convert(x: Ints, cdma: Group, offset: Ints | int) -> Ints:
    scale = cdma.signed("D_CVT_SCALE.CVT_SCALE")
    shift = cdma["D_CVT_CFG.CVT_TRUNCATE"]
    return saturate(saturate(round_shift((x - offset) * scale, shift), 17), 8)


def _feature_input(units: ConvUnits, config: Config, memory: Memory) -> Ints:
    """The converted input cube, shape (H, W, C)."""
    cdma = units.cdma
    channels = cdma["D_DATAIN_SIZE_1.DATAIN_CHANNEL"] + 1
    cube = Cube(
        space=0 if cdma["D_DAIN_RAM_TYPE.DATAIN_RAM_TYPE"] else 1,
        base=cdma.address("D_DAIN_ADDR", "_0"),
        line_stride=cdma["D_LINE_STRIDE"],
        surface_stride=cdma["D_SURF_STRIDE"],
        width=cdma["D_DATAIN_SIZE_0.DATAIN_WIDTH"] + 1,
        height=cdma["D_DATAIN_SIZE_0.DATAIN_HEIGHT"] + 1,
        channels=channels,
        atom=config.atom,
    )
    data = cube.read(memory)
    x = data.transpose(1, 2, 0, 3).reshape(cube.height, cube.width, -1)[:, :, :channels]
    if cdma["D_CVT_CFG.CVT_EN"]:
        # MEAN_FORMAT has no effect on feature data.
        x = _convert(x, cdma, cdma.signed("D_CVT_OFFSET.CVT_OFFSET"))
    return x


def _image_input(units: ConvUnits, memory: Memory) -> Ints:
    """Converted rows with left and right padding, shape (H, (padL + W + padR) * C)."""
    cdma = units.cdma
    code = cdma["D_DATAIN_FORMAT.PIXEL_FORMAT"]
    if code not in _PIXEL_BYTES:
        raise ReferenceUnsupported(f"CDMA: pixel format {code}")
    if cdma["D_DATAIN_FORMAT.PIXEL_MAPPING"]:
        raise ReferenceUnsupported("CDMA: pixel mapping other than pitch linear")
    order = _PIXEL_BYTES[code]
    channels = cdma["D_DATAIN_SIZE_1.DATAIN_CHANNEL"] + 1
    if channels != len(order):
        raise ReferenceGuestError(f"CDMA: {channels} channels for pixel format {code}")
    width = cdma["D_DATAIN_SIZE_0.DATAIN_WIDTH"] + 1
    height = cdma["D_DATAIN_SIZE_0.DATAIN_HEIGHT"] + 1
    check_size(width * height * channels)
    check_address(cdma.address("D_DAIN_ADDR", "_0"))
    skip = cdma["D_PIXEL_OFFSET.PIXEL_X_OFFSET"]
    y = np.arange(height, dtype=np.int64)[:, None, None] * cdma["D_LINE_STRIDE"]
    x = (np.arange(width, dtype=np.int64)[None, :, None] + skip) * len(order)
    addresses = (
        cdma.address("D_DAIN_ADDR", "_0") + y + x + np.array(order, dtype=np.int64)[None, None, :]
    )
    space = 0 if cdma["D_DAIN_RAM_TYPE.DATAIN_RAM_TYPE"] else 1
    raw = memory.gather(space, addresses)
    if cdma["D_CVT_CFG.CVT_EN"]:
        signed = cdma["D_DATAIN_FORMAT.PIXEL_SIGN_OVERRIDE"]
        pixels = (raw.view(np.int8) if signed else raw).astype(np.int64)
        offset: Ints | int
        if cdma["D_MEAN_FORMAT.MEAN_FORMAT"]:
            offset = np.array([cdma.signed(name) for name in _MEANS[:channels]], dtype=np.int64)
        else:
            offset = cdma.signed("D_CVT_OFFSET.CVT_OFFSET")
        pixels = _convert(pixels, cdma, offset)
    else:
        pixels = raw.view(np.int8).astype(np.int64)
    left = cdma["D_ZERO_PADDING.PAD_LEFT"]
    right = cdma["D_ZERO_PADDING.PAD_RIGHT"]
    padded = np.pad(pixels, ((0, 0), (left, right), (0, 0)), constant_values=_pad_value(units.cdma))
    return padded.reshape(height, -1)


def _pad_value(group: Group) -> int:
    return group.signed("D_ZERO_PADDING_VALUE.PAD_VALUE", 8)


def _weights(units: ConvUnits, config: Config, memory: Memory, extension: int) -> Ints:
    """Weights as (R, S, C, K); `extension` rows share a step in image mode."""
    csc, cdma = units.csc, units.cdma
    kernels = csc["D_WEIGHT_SIZE_EXT_1.WEIGHT_KERNEL"] + 1
    channels = csc["D_WEIGHT_SIZE_EXT_1.WEIGHT_CHANNEL_EXT"] + 1
    rows = csc["D_WEIGHT_SIZE_EXT_0.WEIGHT_HEIGHT_EXT"] + 1
    columns = csc["D_WEIGHT_SIZE_EXT_0.WEIGHT_WIDTH_EXT"] + 1
    total = kernels * channels * rows * columns
    size = cdma["D_WEIGHT_BYTES"]
    if size < total:
        raise ReferenceGuestError(f"CDMA: WEIGHT_BYTES {size} for {total} weights")
    check_size(total)
    check_address(cdma.address("D_WEIGHT_ADDR"))
    addresses = cdma.address("D_WEIGHT_ADDR") + np.arange(total, dtype=np.int64)
    space = 0 if cdma["D_WEIGHT_RAM_TYPE.WEIGHT_RAM_TYPE"] else 1
    stream = memory.gather(space, addresses).view(np.int8).astype(np.int64)
    weights = np.zeros((rows, columns, channels, kernels), dtype=np.int64)
    at = 0
    for k0 in range(0, kernels, config.atom_k):
        k1 = min(k0 + config.atom_k, kernels)
        if extension > 1:
            for r0 in range(0, rows, extension):
                r1 = min(r0 + extension, rows)
                count = (k1 - k0) * (r1 - r0) * channels
                merged = stream[at : at + count].reshape(k1 - k0, r1 - r0, channels)
                weights[r0:r1, 0, :, k0:k1] = merged.transpose(1, 2, 0)
                at += count
            continue
        for c0 in range(0, channels, config.atom_c):
            c1 = min(c0 + config.atom_c, channels)
            count = rows * columns * (k1 - k0) * (c1 - c0)
            part = stream[at : at + count].reshape(rows, columns, k1 - k0, c1 - c0)
            weights[:, :, c0:c1, k0:k1] = part.transpose(0, 1, 3, 2)
            at += count
    return weights


def _feature_sums(units: ConvUnits, x: Ints, weights: Ints, size: tuple[int, int]) -> Ints:
    """Exact sums (OH, OW, K) of a feature convolution."""
    csc = units.csc
    rows, columns, channels, kernels = weights.shape
    if channels > x.shape[2]:
        x = np.pad(x, ((0, 0), (0, 0), (0, channels - x.shape[2])))
    x = x[:, :, :channels].astype(np.float64)
    out_h, out_w = size
    sx = csc["D_CONV_STRIDE_EXT.CONV_X_STRIDE_EXT"] + 1
    sy = csc["D_CONV_STRIDE_EXT.CONV_Y_STRIDE_EXT"] + 1
    dx = csc["D_DILATION_EXT.X_DILATION_EXT"] + 1
    dy = csc["D_DILATION_EXT.Y_DILATION_EXT"] + 1
    left, top = csc["D_ZERO_PADDING.PAD_LEFT"], csc["D_ZERO_PADDING.PAD_TOP"]
    check_size(out_h * out_w * max(kernels, channels))
    need_w = (out_w - 1) * sx + (columns - 1) * dx + 1
    need_h = (out_h - 1) * sy + (rows - 1) * dy + 1
    check_size((left + max(need_w, x.shape[1])) * (top + max(need_h, x.shape[0])) * channels)
    padded = np.pad(
        x,
        (
            (top, max(0, need_h - top - x.shape[0])),
            (left, max(0, need_w - left - x.shape[1])),
            (0, 0),
        ),
        constant_values=float(_pad_value(csc)),
    )
    w = weights.astype(np.float64)
    # Sums stay far below 2**53, so float64 products and sums are exact.
    sums = np.zeros((out_h * out_w, kernels))
    for r in range(rows):
        for s in range(columns):
            y0, x0 = r * dy, s * dx
            window = padded[
                y0 : y0 + (out_h - 1) * sy + 1 : sy, x0 : x0 + (out_w - 1) * sx + 1 : sx
            ]
            sums += np.ascontiguousarray(window).reshape(-1, channels) @ w[r, s]
    return sums.astype(np.int64).reshape(out_h, out_w, kernels)


def _image_sums(units: ConvUnits, rows_in: Ints, weights: Ints, size: tuple[int, int]) -> Ints:
    """Exact sums (OH, OW, K) of an image convolution."""
    csc = units.csc
    rows, columns, taps, kernels = weights.shape
    if columns != 1:
        raise ReferenceGuestError("CSC: kernel width register above 1 in image mode")
    pixel = units.cdma["D_DATAIN_SIZE_1.DATAIN_CHANNEL"] + 1
    out_h, out_w = size
    step = (csc["D_CONV_STRIDE_EXT.CONV_X_STRIDE_EXT"] + 1) * pixel
    sy = csc["D_CONV_STRIDE_EXT.CONV_Y_STRIDE_EXT"] + 1
    dy = csc["D_DILATION_EXT.Y_DILATION_EXT"] + 1
    top = csc["D_ZERO_PADDING.PAD_TOP"]
    if (out_w - 1) * step + taps > rows_in.shape[1]:
        raise ReferenceGuestError("CSC: image window beyond the padded row")
    check_size(out_h * out_w * max(kernels, taps))
    need_h = (out_h - 1) * sy + (rows - 1) * dy + 1
    check_size((top + max(need_h, rows_in.shape[0])) * rows_in.shape[1])
    padded = np.pad(
        rows_in,
        ((top, max(0, need_h - top - rows_in.shape[0])), (0, 0)),
        constant_values=_pad_value(csc),
    ).astype(np.float64)
    index = np.arange(out_w)[:, None] * step + np.arange(taps)[None, :]
    w = weights.astype(np.float64)
    sums = np.zeros((out_h * out_w, kernels))
    for r in range(rows):
        lines = padded[r * dy : r * dy + (out_h - 1) * sy + 1 : sy]
        sums += lines[:, index].reshape(-1, taps) @ w[r, 0]
    return sums.astype(np.int64).reshape(out_h, out_w, kernels)


def convolve(units: ConvUnits, config: Config, memory: Memory) -> ConvResult:
    """Run one convolution; the result is in CACC's output order by kernel.

    Raises:
        ReferenceUnsupported: a mode outside int8 direct convolution.
        ReferenceGuestError: contradicting sizes or addresses outside memory.
    """
    _require(units)
    csc, cacc = units.csc, units.cacc
    size = (
        csc["D_DATAOUT_SIZE_0.DATAOUT_HEIGHT"] + 1,
        csc["D_DATAOUT_SIZE_0.DATAOUT_WIDTH"] + 1,
    )
    image = bool(units.cdma["D_DATAIN_FORMAT.DATAIN_FORMAT"])
    if image != bool(csc["D_DATAIN_FORMAT.DATAIN_FORMAT"]):
        raise ReferenceGuestError("CDMA and CSC disagree on DATAIN_FORMAT")
    extension = 1 << csc["D_POST_Y_EXTENSION.Y_EXTENSION"] if image else 1
    weights = _weights(units, config, memory, extension)
    if image:
        sums = _image_sums(units, _image_input(units, memory), weights, size)
    else:
        sums = _feature_sums(units, _feature_input(units, config, memory), weights, size)
    sums = saturate(sums, 48)
    clipped = round_shift(sums, cacc["D_CLIP_CFG.CLIP_TRUNCATE"])
    low, high = limits(32)
    saturated = int(np.count_nonzero((clipped < low) | (clipped > high)))
    return ConvResult(saturate(clipped, 32).transpose(2, 0, 1), saturated)
