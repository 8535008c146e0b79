"""Random PDP and CDP register programs."""

from __future__ import annotations

from dataclasses import dataclass

from fwgen.check.random_program import Builder, place_cube
from fwgen.check.random_sdp import program_lut

_RECIPROCALS = (0x10000, 0x8000, 0x5555, 0x4000, 0x3333, 0x2AAA, 0x2492, 0x2000)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Pooling along one direction."""

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    out: int


def _axis(b: Builder, fixed: int | None) -> _Axis:
    """A direction whose windows all hold at least one input element."""
    while True:
        kernel = b.between(1, 8)
        stride = b.between(1, 16) if b.chance(0.15) else b.between(1, 4)
        before = b.between(0, min(kernel - 1, 7)) if b.chance(0.6) else 0
        after = b.between(0, min(kernel - 1, 7)) if b.chance(0.6) else 0
        size = fixed if fixed is not None else b.between(1, 20 if b.chance(0.95) else 90)
        if before + size + after < kernel:
            continue
        out = (before + size + after - kernel) // stride + 1
        last = (out - 1) * stride - before
        missing = max(0, last + kernel - size)
        most = max(before, missing, _missing(size, kernel, stride, before, out))
        if last < size and most <= 7:
            return _Axis(size, kernel, stride, before, after, out)


def _missing(size: int, kernel: int, stride: int, before: int, out: int) -> int:
    """Most padded elements in a window."""
    worst = 0
    for index in range(out):
        low = index * stride - before
        inside = max(0, min(size, low + kernel) - max(0, low))
        worst = max(worst, kernel - inside)
    return worst


@dataclass(frozen=True, slots=True)
class _Split:
    """Widths of the parts of a split."""

    parts: int
    first: int
    mid: int
    last: int
    out_first: int
    out_mid: int
    out_last: int


def _split_axis(b: Builder) -> tuple[_Axis, _Split]:
    """A width that divides into parts, each with whole windows."""
    while True:
        kernel, stride = b.between(1, 8), b.between(1, 6)
        parts = b.between(2, 5)
        out_first, out_mid, out_last = (b.between(1, 4) for _ in range(3))
        before = b.between(0, min(kernel - 1, 7)) if b.chance(0.6) else 0
        after = b.between(0, min(kernel - 1, 7)) if b.chance(0.6) else 0
        first = (out_first - 1) * stride + kernel - before
        mid = out_mid * stride
        slack = b.between(0, stride - 1) if after == 0 else 0
        last = out_last * stride - after + slack
        size = first + (parts - 2) * mid + last
        overlap = kernel - stride
        out = out_first + (parts - 2) * out_mid + out_last
        ok = first >= 1 and last >= 1 and last + overlap >= 1 and mid + overlap >= 1
        ok = ok and first - overlap >= 0 and size >= 1
        # No window of the first or the last part may lie wholly in padding.
        ok = ok and before < kernel and (out_last - 1) * stride < last + overlap
        ok = ok and _missing(size, kernel, stride, before, out) <= min(7, kernel - 1)
        if ok:
            axis = _Axis(size, kernel, stride, before, after, out)
            return axis, _Split(parts, first, mid, last, out_first, out_mid, out_last)


def program_pdp(
    b: Builder, *, split: bool = False, stream: tuple[int, int, int] | None = None
) -> tuple[str, ...]:
    """Program one pooling, from memory or from SDP's `stream` (width, height, channels).

    Returns the blocks to enable. `Builder.select` has been called.
    """
    parts = None
    if split:
        x, parts = _split_axis(b)
    else:
        x = _axis(b, None if stream is None else stream[0])
    y = _axis(b, None if stream is None else stream[1])
    channels = b.between(1, 2 * b.config.atom + 3) if stream is None else stream[2]
    method = b.between(0, 2)
    b.note(
        f"pool{method} {x.size}x{y.size}x{channels} k{x.kernel}x{y.kernel} s{x.stride},{y.stride} "
        f"p{x.before},{x.after},{y.before},{y.after}" + (f" parts{parts.parts}" if parts else "")
    )
    blocks = ("PDP",) if stream is not None else ("PDP_RDMA", "PDP")
    for block in blocks:
        b.raw(f"{block}.D_DATA_CUBE_IN_WIDTH", x.size - 1)
        b.raw(f"{block}.D_DATA_CUBE_IN_HEIGHT", y.size - 1)
        b.raw(f"{block}.D_DATA_CUBE_IN_CHANNEL", channels - 1)
        b.raw(f"{block}.D_DATA_FORMAT", 0)
        _program_partial(b, block, parts)
    b.raw("PDP.D_DATA_CUBE_OUT_WIDTH", x.out - 1)
    b.raw("PDP.D_DATA_CUBE_OUT_HEIGHT", y.out - 1)
    b.raw("PDP.D_DATA_CUBE_OUT_CHANNEL", channels - 1)
    b.fields(
        "PDP.D_OPERATION_MODE_CFG",
        POOLING_METHOD=method,
        FLYING_MODE=int(stream is None),
        SPLIT_NUM=parts.parts - 1 if parts else 0,
    )
    b.fields(
        "PDP.D_POOLING_KERNEL_CFG",
        KERNEL_WIDTH=x.kernel - 1,
        KERNEL_HEIGHT=y.kernel - 1,
        KERNEL_STRIDE_WIDTH=x.stride - 1,
        KERNEL_STRIDE_HEIGHT=y.stride - 1,
    )
    b.fields(
        "PDP.D_POOLING_PADDING_CFG",
        PAD_LEFT=x.before,
        PAD_RIGHT=x.after,
        PAD_TOP=y.before,
        PAD_BOTTOM=y.after,
    )
    _program_average(b, x.kernel, y.kernel)
    if stream is None:
        _program_source(b, x, y, channels, parts)
    target = place_cube(b, x.out, y.out, channels)
    b.address("PDP.D_DST_BASE_ADDR_LOW", "PDP.D_DST_BASE_ADDR_HIGH", target.buffer)
    b.raw("PDP.D_DST_LINE_STRIDE", target.line_stride)
    b.raw("PDP.D_DST_SURFACE_STRIDE", target.surface_stride)
    b.fields("PDP.D_DST_RAM_CFG", DST_RAM_TYPE=target.buffer.ram_type)
    return blocks


def _program_partial(b: Builder, block: str, parts: _Split | None) -> None:
    if parts is None:
        b.raw(f"{block}.D_PARTIAL_WIDTH_IN", 0)
        if block == "PDP":
            b.raw("PDP.D_PARTIAL_WIDTH_OUT", 0)
        return
    b.fields(
        f"{block}.D_PARTIAL_WIDTH_IN",
        PARTIAL_WIDTH_IN_FIRST=parts.first - 1,
        PARTIAL_WIDTH_IN_MID=parts.mid - 1,
        PARTIAL_WIDTH_IN_LAST=parts.last - 1,
    )
    if block == "PDP":
        b.fields(
            "PDP.D_PARTIAL_WIDTH_OUT",
            PARTIAL_WIDTH_OUT_FIRST=parts.out_first - 1,
            PARTIAL_WIDTH_OUT_MID=parts.out_mid - 1,
            PARTIAL_WIDTH_OUT_LAST=parts.out_last - 1,
        )


def _program_average(b: Builder, kw: int, kh: int) -> None:
    true_reciprocals = b.chance(0.7)
    for name, kernel in (("WIDTH", kw), ("HEIGHT", kh)):
        value = _RECIPROCALS[kernel - 1] if true_reciprocals else b.between(0, 0x1FFFF)
        b.raw(f"PDP.D_RECIP_KERNEL_{name}", value)
    regular, pad = b.chance(0.6), b.signed(8)
    for n in range(1, 8):
        value = n * pad if regular else b.signed(19)
        b.fields(f"PDP.D_POOLING_PADDING_VALUE_{n}_CFG", **{f"PAD_VALUE_{n}X": value})


def _program_source(b: Builder, x: _Axis, y: _Axis, channels: int, parts: _Split | None) -> None:
    source = place_cube(b, x.size, y.size, channels)
    for block in ("PDP_RDMA", "PDP"):
        b.address(f"{block}.D_SRC_BASE_ADDR_LOW", f"{block}.D_SRC_BASE_ADDR_HIGH", source.buffer)
        b.raw(f"{block}.D_SRC_LINE_STRIDE", source.line_stride)
        b.raw(f"{block}.D_SRC_SURFACE_STRIDE", source.surface_stride)
    b.fields("PDP_RDMA.D_FLYING_MODE", FLYING_MODE=1)
    b.fields("PDP_RDMA.D_SRC_RAM_CFG", SRC_RAM_TYPE=source.buffer.ram_type)
    b.fields("PDP_RDMA.D_OPERATION_MODE_CFG", SPLIT_NUM=parts.parts - 1 if parts else 0)
    b.fields(
        "PDP_RDMA.D_POOLING_KERNEL_CFG", KERNEL_WIDTH=x.kernel - 1, KERNEL_STRIDE_WIDTH=x.stride - 1
    )
    b.fields("PDP_RDMA.D_POOLING_PADDING_CFG", PAD_WIDTH=x.before)


def program_cdp(b: Builder) -> tuple[str, ...]:
    """Program one normalisation; returns the blocks to enable."""
    b.wait()
    b.select("CDP", "CDP_RDMA")
    width, height = b.between(1, 6), b.between(1, 6)
    channels = b.between(1, 2 * b.config.atom + 3)
    source, target = (place_cube(b, width, height, channels) for _ in range(2))
    b.raw("CDP_RDMA.D_DATA_CUBE_WIDTH", width - 1)
    b.raw("CDP_RDMA.D_DATA_CUBE_HEIGHT", height - 1)
    b.raw("CDP_RDMA.D_DATA_CUBE_CHANNEL", channels - 1)
    b.address("CDP_RDMA.D_SRC_BASE_ADDR_LOW", "CDP_RDMA.D_SRC_BASE_ADDR_HIGH", source.buffer)
    b.raw("CDP_RDMA.D_SRC_LINE_STRIDE", source.line_stride)
    b.raw("CDP_RDMA.D_SRC_SURFACE_STRIDE", source.surface_stride)
    b.fields("CDP_RDMA.D_SRC_DMA_CFG", SRC_RAM_TYPE=source.buffer.ram_type)
    b.raw("CDP_RDMA.D_DATA_FORMAT", 0)
    b.address("CDP.D_DST_BASE_ADDR_LOW", "CDP.D_DST_BASE_ADDR_HIGH", target.buffer)
    b.raw("CDP.D_DST_LINE_STRIDE", target.line_stride)
    b.raw("CDP.D_DST_SURFACE_STRIDE", target.surface_stride)
    b.fields("CDP.D_DST_DMA_CFG", DST_RAM_TYPE=target.buffer.ram_type)
    b.raw("CDP.D_DATA_FORMAT", 0)
    taps = b.between(0, 3)
    sum_bypass, mul_bypass = b.chance(0.3), b.chance(0.3)
    b.note(
        f"{width}x{height}x{channels} lrn{2 * taps + 3} bypass{int(sum_bypass)}{int(mul_bypass)}"
    )
    b.fields("CDP.D_LRN_CFG", NORMALZ_LEN=taps)
    b.fields("CDP.D_FUNC_BYPASS", SQSUM_BYPASS=int(sum_bypass), MUL_BYPASS=int(mul_bypass))
    bits = 7
    if b.chance(0.4):
        offset, scale, shift = 0, 1, 0
    elif b.sane:
        scale_bits = b.between(1, 15)
        offset, scale = b.signed(8), b.sized(scale_bits, 16)
        shift = max(0, min(31, scale_bits + b.between(-2, 4)))
        bits = max(1, min(8, 7 + scale_bits - shift))
    else:
        # The datapath takes the low 8 bits of the offset.
        offset, scale, shift = b.signed(16), b.signed(16), b.between(0, 31)
    b.fields("CDP.D_DATIN_OFFSET", DATIN_OFFSET=offset)
    b.fields("CDP.D_DATIN_SCALE", DATIN_SCALE=scale)
    b.fields("CDP.D_DATIN_SHIFTER", DATIN_SHIFTER=shift)
    program_lut(b, "CDP", bits if sum_bypass else 2 * bits + 1)
    scale_bits = b.between(1, 15)
    product = 14 if mul_bypass else 14 + bits
    if b.sane:
        offset, scale = b.sized(product - b.between(1, 8), 25), b.sized(scale_bits, 16)
        shift = max(0, min(63, product + scale_bits - 7 + b.between(-3, 1)))
    else:
        offset, scale, shift = b.signed(32), b.signed(16), b.between(0, 63)
    b.raw("CDP.D_DATOUT_OFFSET", offset)
    b.fields("CDP.D_DATOUT_SCALE", DATOUT_SCALE=scale)
    b.fields("CDP.D_DATOUT_SHIFTER", DATOUT_SHIFTER=shift)
    return ("CDP_RDMA", "CDP")
