"""PDP: average, maximum and minimum pooling, with width splitting.

Maximum and minimum ignore padding; the average adds tabulated multiples of the
padding value and multiplies by two 16.16 reciprocals with a rounding after
each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fwgen.reference.nvdla.configs import Config
from fwgen.reference.nvdla.cubes import check_size, unit_cube
from fwgen.reference.nvdla.memory import Memory, ReferenceGuestError, ReferenceUnsupported
from fwgen.reference.nvdla.regfile import Group
from fwgen.reference.nvdla.rounding import Ints, round_shift, wrap

AVERAGE, MAXIMUM, MINIMUM = 0, 1, 2


@dataclass(frozen=True, slots=True)
class _Part:
    """One column range of a split: input [start, start + width), output likewise."""

    start: int
    width: int
    out_start: int
    out_width: int
    pad_left: int


def input_size(pdp: Group) -> tuple[int, int, int]:
    """(width, height, channels) of the input as PDP sees it."""
    return (
        pdp["D_DATA_CUBE_IN_WIDTH.CUBE_IN_WIDTH"] + 1,
        pdp["D_DATA_CUBE_IN_HEIGHT.CUBE_IN_HEIGHT"] + 1,
        pdp["D_DATA_CUBE_IN_CHANNEL.CUBE_IN_CHANNEL"] + 1,
    )


def output_size(pdp: Group) -> tuple[int, int, int]:
    """(width, height, channels) of the output."""
    return (
        pdp["D_DATA_CUBE_OUT_WIDTH.CUBE_OUT_WIDTH"] + 1,
        pdp["D_DATA_CUBE_OUT_HEIGHT.CUBE_OUT_HEIGHT"] + 1,
        pdp["D_DATA_CUBE_OUT_CHANNEL.CUBE_OUT_CHANNEL"] + 1,
    )


def read_input(rdma: Group, config: Config, memory: Memory) -> Ints:
    """The int8 source cube, all channels of the last atom, shape (S, H, W, A)."""
    if rdma["D_DATA_FORMAT.INPUT_DATA"]:
        raise ReferenceUnsupported("PDP_RDMA: precision other than int8")
    return unit_cube(rdma, "SRC", input_size(rdma), config.atom, ram="RAM").read(memory)


def _parts(pdp: Group, width: int, out_width: int, kw: int, sx: int, left: int) -> list[_Part]:
    count = pdp["D_OPERATION_MODE_CFG.SPLIT_NUM"] + 1
    if count == 1:
        return [_Part(0, width, 0, out_width, left)]
    first, mid, last = (
        pdp[f"D_PARTIAL_WIDTH_IN.PARTIAL_WIDTH_IN_{name}"] + 1 for name in ("FIRST", "MID", "LAST")
    )
    out_first, out_mid, out_last = (
        pdp[f"D_PARTIAL_WIDTH_OUT.PARTIAL_WIDTH_OUT_{name}"] + 1
        for name in ("FIRST", "MID", "LAST")
    )
    overlap = kw - sx
    parts = [_Part(0, first, 0, out_first, left)]
    for i in range(1, count):
        final = i == count - 1
        parts.append(
            _Part(
                start=first + (i - 1) * mid - overlap,
                width=(last if final else mid) + overlap,
                out_start=out_first + (i - 1) * out_mid,
                out_width=out_last if final else out_mid,
                pad_left=0,
            )
        )
    return parts


def _pad_table(pdp: Group) -> Ints:
    values = [0]
    for n in range(1, 8):
        values.append(pdp.signed(f"D_POOLING_PADDING_VALUE_{n}_CFG.PAD_VALUE_{n}X"))
    return np.array(values, dtype=np.int64)


def _pool(x: Ints, pdp: Group, part: _Part, geometry: tuple[int, ...]) -> Ints:
    """Pool one part: input (S, H, W, A) of the part, output (S, OH, OW, A)."""
    kw, kh, sx, sy, top, out_height = geometry
    method = pdp["D_OPERATION_MODE_CFG.POOLING_METHOD"]
    height, width = x.shape[1], x.shape[2]
    columns = np.arange(part.out_width)[:, None] * sx - part.pad_left + np.arange(kw)[None, :]
    rows = np.arange(out_height)[:, None] * sy - top + np.arange(kh)[None, :]
    column_ok = (columns >= 0) & (columns < width)
    row_ok = (rows >= 0) & (rows < height)
    valid_columns = column_ok.sum(axis=1)
    valid_rows = row_ok.sum(axis=1)
    if not (valid_columns.all() and valid_rows.all()):
        raise ReferenceGuestError("PDP: a window lies wholly in the padding")
    safe_rows = np.clip(rows, 0, height - 1)
    safe_columns = np.clip(columns, 0, width - 1)
    shape = (x.shape[0], out_height, part.out_width, x.shape[3])
    fill = {AVERAGE: 0, MAXIMUM: -128, MINIMUM: 127}[method]
    result = np.full(shape, fill, dtype=np.int64)
    for j in range(kh):
        lines = x[:, safe_rows[:, j]]
        for i in range(kw):
            value = lines[:, :, safe_columns[:, i]]
            inside = (row_ok[:, j][:, None] & column_ok[:, i][None, :])[None, :, :, None]
            if method == AVERAGE:
                result += np.where(inside, value, 0)
            elif method == MAXIMUM:
                result = np.maximum(result, np.where(inside, value, -128))
            else:
                result = np.minimum(result, np.where(inside, value, 127))
    if method != AVERAGE:
        return result
    missing_columns, missing_rows = kw - valid_columns, kh - valid_rows
    if missing_columns.max() > 7 or missing_rows.max() > 7:
        raise ReferenceGuestError("PDP: more than 7 padded columns or rows in a window")
    table = _pad_table(pdp)
    padding = (
        valid_rows[:, None] * table[missing_columns][None, :] + kw * table[missing_rows][:, None]
    )
    total = wrap(result + padding[None, :, :, None], 16)
    by_width = round_shift(total * pdp["D_RECIP_KERNEL_WIDTH.RECIP_KERNEL_WIDTH"], 16)
    by_height = round_shift(by_width * pdp["D_RECIP_KERNEL_HEIGHT.RECIP_KERNEL_HEIGHT"], 16)
    return wrap(by_height, 8)


def pool(x: Ints, pdp: Group) -> Ints:
    """Pool a cube (S, H, W, A) to (S, OH, OW, A).

    Raises:
        ReferenceUnsupported: precision other than int8.
        ReferenceGuestError: sizes that contradict each other, empty windows.
    """
    if pdp["D_DATA_FORMAT.INPUT_DATA"]:
        raise ReferenceUnsupported("PDP: precision other than int8")
    method = pdp["D_OPERATION_MODE_CFG.POOLING_METHOD"]
    if method > MINIMUM:
        raise ReferenceGuestError("PDP: POOLING_METHOD 3 is reserved")
    width, height, channels = input_size(pdp)
    out_width, out_height, out_channels = output_size(pdp)
    if out_channels != channels:
        raise ReferenceGuestError("PDP: input and output channels differ")
    if x.shape[1:3] != (height, width):
        raise ReferenceGuestError("PDP: input size differs from what arrives")
    kernel = "D_POOLING_KERNEL_CFG.KERNEL_"
    kw, kh = pdp[kernel + "WIDTH"] + 1, pdp[kernel + "HEIGHT"] + 1
    sx, sy = pdp[kernel + "STRIDE_WIDTH"] + 1, pdp[kernel + "STRIDE_HEIGHT"] + 1
    left, top = (
        pdp["D_POOLING_PADDING_CFG.PAD_LEFT"],
        pdp["D_POOLING_PADDING_CFG.PAD_TOP"],
    )
    check_size(x.shape[0] * x.shape[3] * out_width * out_height)
    parts = _parts(pdp, width, out_width, kw, sx, left)
    if sum(part.out_width for part in parts) != out_width:
        raise ReferenceGuestError("PDP: the parts do not add up to the output width")
    result = np.zeros((x.shape[0], out_height, out_width, x.shape[3]), dtype=np.int64)
    for part in parts:
        end = part.start + part.width
        if part.start < 0 or end > width:
            raise ReferenceGuestError("PDP: a part lies outside the input")
        pooled = _pool(x[:, :, part.start : end], pdp, part, (kw, kh, sx, sy, top, out_height))
        result[:, :, part.out_start : part.out_start + part.out_width] = pooled
    return result


def write_output(values: Ints, pdp: Group, config: Config, memory: Memory) -> None:
    """Store the output cube."""
    cube = unit_cube(pdp, "DST", output_size(pdp), config.atom, ram="RAM")
    cube.write(memory, values)
