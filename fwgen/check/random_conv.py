"""Random convolution register programs, from feature cubes and from images."""

from __future__ import annotations

from dataclasses import dataclass

from fwgen.check.random_program import Buffer, Builder, place_cube

_CONV_BLOCKS = ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA")

# 8-bit pixel formats: code -> bytes per pixel.
_FORMATS = {0: 1, **{code: 4 for code in (12, 13, 14, 15, 16, 17, 18, 19, 26, 27)}}


@dataclass(frozen=True, slots=True)
class ConvShape:
    """Geometry of a convolution; paddings as programmed, dilations and strides as used."""

    width: int
    height: int
    channels: int
    kernels: int
    columns: int
    rows: int
    sx: int
    sy: int
    dx: int
    dy: int
    left: int
    right: int
    top: int
    bottom: int
    out_width: int
    out_height: int


def _along(b: Builder, taps: int, dilation: int, stride: int, limit: int) -> tuple[int, ...]:
    """(input size, pad before, pad after, output size) of one direction."""
    span = (taps - 1) * dilation + 1
    before = b.between(0, min(span - 1, 31)) if b.chance(0.6) else 0
    after = b.between(0, min(span - 1, 63)) if b.chance(0.6) else 0
    low = max(1, span - before - after)
    size = b.between(low, max(low, limit))
    out = (before + size + after - span) // stride + 1
    return size, before, after, out


def _shape(b: Builder) -> ConvShape:
    atom_c, atom_k = b.config.atom_c, b.config.atom_k
    columns, rows = b.between(1, 5), b.between(1, 5)
    if b.chance(0.05):
        columns, rows = b.between(1, 12), b.between(1, 12)
    sx, sy = b.between(1, 3), b.between(1, 3)
    if b.chance(0.1):
        sx, sy = b.between(1, 8), b.between(1, 8)
    dx, dy = (b.between(1, 4), b.between(1, 4)) if b.chance(0.3) else (1, 1)
    width, left, right, out_width = _along(b, columns, dx, sx, 12)
    height, top, bottom, out_height = _along(b, rows, dy, sy, 12)
    channels = b.between(1, 2 * atom_c + 5)
    kernels = b.between(1, 2 * atom_k + 5)
    if b.chance(0.05):
        channels, kernels = b.between(1, 400), b.between(1, 150)
    return ConvShape(
        width, height, channels, kernels, columns, rows, sx, sy, dx, dy, left, right, top, bottom,
        out_width, out_height,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConvStream:
    """What a convolution delivers: size (width, height, channels) and magnitude (log2)."""

    size: tuple[int, int, int]
    bits: int
    blocks: tuple[str, ...] = _CONV_BLOCKS


def _stream(shape: ConvShape, clip: int) -> ConvStream:
    taps = shape.rows * shape.columns * shape.channels
    bits = max(1, 12 + taps.bit_length() // 2 - clip)
    return ConvStream((shape.out_width, shape.out_height, shape.kernels), bits)


def feature_entries(channels: int, width: int, atom: int, bank_width: int) -> int:
    """Convolution buffer entries that one line of a feature cube takes."""
    atoms = -(-channels // atom)
    per_entry = bank_width // atom
    full, rest = divmod(atoms, per_entry)
    extra = 0
    if rest:
        if 2 * rest > per_entry:
            extra = width
        elif 2 * rest == per_entry:
            extra = -(-width // 2)
        else:
            extra = -(-width // 4)
    return full * width + extra


def _banks(b: Builder, entries: int, height: int) -> tuple[int, int]:
    """(data banks, weight banks), or (0, 0) if the data does not fit."""
    need = -(-entries * height // b.config.depth)
    if need >= b.config.banks:
        return 0, 0
    data = b.between(need, min(b.config.banks - 1, need + 3))
    return data, b.between(1, b.config.banks - data)


def program_conv(b: Builder, image: bool) -> ConvStream | None:
    """Program one convolution.

    Returns what goes to SDP and the blocks to enable, or None when the random
    sizes exceed the buffer.
    """
    return _program_image(b) if image else _program_feature(b)


def _program_feature(b: Builder) -> ConvStream | None:
    shape = _shape(b)
    atom = b.config.atom
    entries = feature_entries(shape.channels, shape.width, atom, b.config.width)
    data_banks, weight_banks = _banks(b, entries, shape.height)
    if not data_banks:
        return None
    b.select(*_CONV_BLOCKS)
    cube = place_cube(b, shape.width, shape.height, shape.channels)
    weights = shape.kernels * shape.rows * shape.columns * shape.channels
    packed = cube.line_stride == shape.width * atom
    surface_packed = cube.surface_stride == shape.width * shape.height * atom
    b.note(
        f"{shape.width}x{shape.height}x{shape.channels} k{shape.columns}x{shape.rows}"
        f"x{shape.kernels} s{shape.sx},{shape.sy} d{shape.dx},{shape.dy} "
        f"p{shape.left},{shape.right},{shape.top},{shape.bottom}"
    )
    b.fields("CDMA.D_DATAIN_FORMAT", DATAIN_FORMAT=0, PIXEL_FORMAT=b.pick((0, 12, 36)))
    b.fields("CDMA.D_DAIN_MAP", LINE_PACKED=int(packed), SURF_PACKED=int(surface_packed))
    grains = b.between(1, shape.height) - 1 if packed else 0
    b.fields("CDMA.D_FETCH_GRAIN", GRAINS=grains)
    b.fields("CDMA.D_PIXEL_OFFSET", PIXEL_X_OFFSET=0)
    _program_source(b, cube.buffer, cube.line_stride, cube.surface_stride)
    _program_input(b, shape, entries)
    _program_weights(b, shape, weights, shape.channels, shape.columns)
    clip = _program_common(b, shape, data_banks, weight_banks, image=False, channels=shape.channels)
    _program_conversion(b, image=False)
    b.fields("CSC.D_POST_Y_EXTENSION", Y_EXTENSION=0)
    return _stream(shape, clip)


def _program_image(b: Builder) -> ConvStream | None:
    code = b.pick(tuple(_FORMATS))
    pixel = _FORMATS[code]
    extension = b.pick((0, 0, 1, 2))
    most = (b.config.atom_c >> extension) // pixel if extension else 10
    if most < 1:
        extension, most = 0, 10
    columns, rows = b.between(1, min(most, 10)), b.between(1, 6)
    sx, sy = b.between(1, 4), b.between(1, 4)
    dy = b.between(1, 3) if b.chance(0.1) else 1
    # One tap a row: the dilation in x has nothing to act on.
    dx = b.between(1, 3) if b.chance(0.05) else 1
    width, left, right, out_width = _along(b, columns, 1, sx, 24)
    height, top, bottom, out_height = _along(b, rows, dy, sy, 14)
    kernels = b.between(1, 2 * b.config.atom_k + 3)
    shape = ConvShape(
        width, height, pixel, kernels, columns, rows, sx, sy, dx, dy, left, right, top, bottom,
        out_width, out_height,
    )  # fmt: skip
    entries = -(-(left + width + right) * pixel // b.config.width)
    data_banks, weight_banks = _banks(b, entries, height)
    if not data_banks:
        return None
    b.select(*_CONV_BLOCKS)
    skip = b.between(0, 31) if b.chance(0.3) else 0
    skip = min(skip, b.config.atom // pixel - 1)
    line = -(-(width + skip) * pixel // 32) * 32
    if b.chance(0.3):
        line += 32 * b.between(0, 3)
    buffer = b.buffer(line * height)
    b.note(
        f"image format {code} {width}x{height} k{columns}x{rows}x{kernels} s{sx},{sy} dy{dy} "
        f"p{left},{right},{top},{bottom} ext{extension} skip{skip}"
    )
    b.fields(
        "CDMA.D_DATAIN_FORMAT",
        DATAIN_FORMAT=1,
        PIXEL_FORMAT=code,
        PIXEL_SIGN_OVERRIDE=int(b.chance(0.3)),
    )
    b.fields("CDMA.D_DAIN_MAP", LINE_PACKED=0, SURF_PACKED=0)
    b.fields("CDMA.D_FETCH_GRAIN", GRAINS=b.between(1, height) - 1)
    b.fields("CDMA.D_PIXEL_OFFSET", PIXEL_X_OFFSET=skip)
    _program_source(b, buffer, line, line * height)
    _program_input(b, shape, entries)
    taps = columns * pixel
    _program_weights(b, shape, kernels * rows * taps, taps, 1)
    clip = _program_common(b, shape, data_banks, weight_banks, image=True, channels=pixel)
    _program_conversion(b, image=True)
    b.fields("CSC.D_POST_Y_EXTENSION", Y_EXTENSION=extension)
    return _stream(shape, clip)


def _program_source(b: Builder, buffer: Buffer, line: int, surface: int) -> None:
    b.fields("CDMA.D_DAIN_RAM_TYPE", DATAIN_RAM_TYPE=buffer.ram_type)
    b.address("CDMA.D_DAIN_ADDR_LOW_0", "CDMA.D_DAIN_ADDR_HIGH_0", buffer)
    b.raw("CDMA.D_LINE_STRIDE", line)
    b.raw("CDMA.D_SURF_STRIDE", surface)


def _program_input(b: Builder, shape: ConvShape, entries: int) -> None:
    size = {"WIDTH": shape.width - 1, "HEIGHT": shape.height - 1}
    b.fields("CDMA.D_DATAIN_SIZE_0", **{f"DATAIN_{name}": n for name, n in size.items()})
    b.fields("CDMA.D_DATAIN_SIZE_1", DATAIN_CHANNEL=shape.channels - 1)
    extended = {f"DATAIN_{name}_EXT": n for name, n in size.items()}
    b.fields("CDMA.D_DATAIN_SIZE_EXT_0", **extended)
    b.fields("CSC.D_DATAIN_SIZE_EXT_0", **extended)
    b.fields("CDMA.D_ENTRY_PER_SLICE", ENTRIES=entries - 1)
    b.fields("CSC.D_ENTRY_PER_SLICE", ENTRIES=entries - 1)


def _program_weights(b: Builder, shape: ConvShape, total: int, channels: int, columns: int) -> None:
    unit = b.pick((128, 64, b.config.width))
    size = -(-total // unit) * unit
    buffer = b.buffer(size)
    b.fields("CDMA.D_WEIGHT_FORMAT", WEIGHT_FORMAT=0)
    b.fields("CSC.D_WEIGHT_FORMAT", WEIGHT_FORMAT=0)
    b.fields("CDMA.D_WEIGHT_SIZE_0", BYTE_PER_KERNEL=total // shape.kernels - 1)
    b.fields("CDMA.D_WEIGHT_SIZE_1", WEIGHT_KERNEL=shape.kernels - 1)
    b.fields("CDMA.D_WEIGHT_RAM_TYPE", WEIGHT_RAM_TYPE=buffer.ram_type)
    b.address("CDMA.D_WEIGHT_ADDR_LOW", "CDMA.D_WEIGHT_ADDR_HIGH", buffer)
    b.raw("CDMA.D_WEIGHT_BYTES", size)
    b.raw("CSC.D_WEIGHT_BYTES", size)
    b.fields(
        "CSC.D_WEIGHT_SIZE_EXT_0", WEIGHT_WIDTH_EXT=columns - 1, WEIGHT_HEIGHT_EXT=shape.rows - 1
    )
    b.fields(
        "CSC.D_WEIGHT_SIZE_EXT_1", WEIGHT_CHANNEL_EXT=channels - 1, WEIGHT_KERNEL=shape.kernels - 1
    )


def _program_common(
    b: Builder, shape: ConvShape, data_banks: int, weight_banks: int, *, image: bool, channels: int
) -> int:
    """What both inputs share; returns CLIP_TRUNCATE."""
    for block in _CONV_BLOCKS:
        b.raw(f"{block}.D_MISC_CFG", 0)
    for block in ("CDMA", "CSC", "CACC"):
        b.raw(f"{block}.D_BATCH_NUMBER", 0)
    b.fields("CSC.D_DATAIN_FORMAT", DATAIN_FORMAT=int(image))
    b.fields("CSC.D_DATAIN_SIZE_EXT_1", DATAIN_CHANNEL_EXT=channels - 1)
    out = {"DATAOUT_WIDTH": shape.out_width - 1, "DATAOUT_HEIGHT": shape.out_height - 1}
    for block in ("CSC", "CACC"):
        b.fields(f"{block}.D_DATAOUT_SIZE_0", **out)
        b.fields(f"{block}.D_DATAOUT_SIZE_1", DATAOUT_CHANNEL=shape.kernels - 1)
    b.fields("CSC.D_ATOMICS", ATOMICS=shape.out_width * shape.out_height - 1)
    b.fields("CSC.D_RELEASE", RLS_SLICES=shape.height - 1)
    b.fields("CDMA.D_CONV_STRIDE", CONV_X_STRIDE=shape.sx - 1, CONV_Y_STRIDE=shape.sy - 1)
    b.fields(
        "CSC.D_CONV_STRIDE_EXT", CONV_X_STRIDE_EXT=shape.sx - 1, CONV_Y_STRIDE_EXT=shape.sy - 1
    )
    b.fields("CSC.D_DILATION_EXT", X_DILATION_EXT=shape.dx - 1, Y_DILATION_EXT=shape.dy - 1)
    b.fields(
        "CDMA.D_ZERO_PADDING",
        PAD_LEFT=shape.left,
        PAD_RIGHT=shape.right,
        PAD_TOP=shape.top,
        PAD_BOTTOM=shape.bottom,
    )
    b.fields("CSC.D_ZERO_PADDING", PAD_LEFT=shape.left, PAD_TOP=shape.top)
    pad = b.signed(16)
    b.fields("CDMA.D_ZERO_PADDING_VALUE", PAD_VALUE=pad)
    b.fields("CSC.D_ZERO_PADDING_VALUE", PAD_VALUE=pad)
    for block in ("CDMA", "CSC"):
        b.fields(f"{block}.D_BANK", DATA_BANK=data_banks - 1, WEIGHT_BANK=weight_banks - 1)
    clip = b.between(0, 31) if b.chance(0.1) else b.between(0, 9)
    b.fields("CACC.D_CLIP_CFG", CLIP_TRUNCATE=clip)
    return clip


def _program_conversion(b: Builder, *, image: bool) -> None:
    if b.sane:
        scale_bits = b.between(1, 15)
        scale = b.sized(scale_bits, 16)
        shift = max(0, scale_bits + b.between(-2, 2))
        offset = b.signed(9)
    else:
        scale = b.signed(16) if b.chance(0.5) else b.signed(8)
        shift = b.between(0, 63) if b.chance(0.3) else b.between(0, 12)
        offset = b.signed(16)
    b.fields("CDMA.D_CVT_CFG", CVT_EN=int(b.chance(0.65)), CVT_TRUNCATE=shift)
    b.fields("CDMA.D_CVT_OFFSET", CVT_OFFSET=offset)
    b.fields("CDMA.D_CVT_SCALE", CVT_SCALE=scale)
    # Feature input ignores the means.
    b.fields("CDMA.D_MEAN_FORMAT", MEAN_FORMAT=int(b.chance(0.5 if image else 0.15)))
    for index, (low, high) in enumerate((("RY", "GU"), ("BV", "AX"))):
        b.fields(
            f"CDMA.D_MEAN_GLOBAL_{index}",
            **{f"MEAN_{name}": b.signed(9 if b.sane else 16) for name in (low, high)},
        )
