"""Convolutions as kernel arguments (NVDLA hardware specification, CDMA to CACC).

The weights are brought into the kernel's order and the input converter into tables; both
are constants of the program.
"""

from __future__ import annotations

from dataclasses import replace

from fwgen.accel.cpu.constants import Store, byte_table, limited, reordered_weights, round_shift
from fwgen.accel.cpu.layer import Layer
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.program.commands import Value
from fwgen.program.kernels import MAX_TILE, Convolution, Cube, Post, add

PIXEL_ORDERS = {
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
"""Byte of a pixel that holds each channel, by pixel format."""

PLAIN_ORDER = (0, 1, 2, 3)

MEANS = (
    "CDMA.D_MEAN_GLOBAL_0.MEAN_RY",
    "CDMA.D_MEAN_GLOBAL_0.MEAN_GU",
    "CDMA.D_MEAN_GLOBAL_1.MEAN_BV",
    "CDMA.D_MEAN_GLOBAL_1.MEAN_AX",
)

TILE_BYTES = 16384
"""Patches of a tile are kept below this where a smaller tile can help."""


def _is_image(layer: Layer) -> bool:
    return bool(layer.field("CDMA.D_DATAIN_FORMAT.DATAIN_FORMAT"))


def _tables(layer: Layer, channels: int) -> tuple[bytes, ...]:
    """Results of the input converter by input byte: one table, or one a channel."""
    if not layer.field("CDMA.D_CVT_CFG.CVT_EN"):
        return ()
    scale = layer.signed("CDMA.D_CVT_SCALE.CVT_SCALE")
    shift = layer.field("CDMA.D_CVT_CFG.CVT_TRUNCATE")
    image = _is_image(layer)
    offsets = [layer.signed("CDMA.D_CVT_OFFSET.CVT_OFFSET")]
    if image and layer.field("CDMA.D_MEAN_FORMAT.MEAN_FORMAT"):
        offsets = [layer.signed(name) for name in MEANS[:channels]]
    is_signed = not image or bool(layer.field("CDMA.D_DATAIN_FORMAT.PIXEL_SIGN_OVERRIDE"))

    def table(offset: int) -> bytes:
        return byte_table(
            lambda x: limited(round_shift((x - offset) * scale, shift), 8), is_signed=is_signed
        )

    return tuple(table(offset) for offset in offsets)


def kernel_shape(layer: Layer) -> tuple[int, int, int, int]:
    """(kernels, rows, columns, channels) of the weights as the hardware sees them."""
    return (
        layer.size("CSC.D_WEIGHT_SIZE_EXT_1.WEIGHT_KERNEL"),
        layer.size("CSC.D_WEIGHT_SIZE_EXT_0.WEIGHT_HEIGHT_EXT"),
        layer.size("CSC.D_WEIGHT_SIZE_EXT_0.WEIGHT_WIDTH_EXT"),
        layer.size("CSC.D_WEIGHT_SIZE_EXT_1.WEIGHT_CHANNEL_EXT"),
    )


def _tile(width: int, taps: int) -> int:
    tile = min(MAX_TILE, width)
    while tile > 1 and tile * taps > TILE_BYTES:
        tile -= 1
    return tile


def convolution_of(
    layer: Layer, config: Configuration, weights: bytes, post: Post, store: Store
) -> tuple[Convolution, int]:
    """A convolution and what follows it; and the bytes of scratch memory that it needs.

    `weights` are those of the model. The scratch address is still 0.
    """
    shape = kernel_shape(layer)
    kernels, rows, columns, per_column = shape
    channels = layer.size("CDMA.D_DATAIN_SIZE_1.DATAIN_CHANNEL")
    address = layer.value("CDMA.D_DAIN_ADDR_LOW_0")
    line, surface = layer.word("CDMA.D_LINE_STRIDE"), layer.word("CDMA.D_SURF_STRIDE")
    block, order, extension = config.atom, 0, 1
    dilation_x = layer.size("CSC.D_DILATION_EXT.X_DILATION_EXT")
    if _is_image(layer):
        # Taps and channels of a pixel kernel are one axis, one step wide.
        columns, dilation_x, block, surface = per_column // channels, 1, channels, 0
        extension = 1 << layer.field("CSC.D_POST_Y_EXTENSION.Y_EXTENSION")
        address = add(address, layer.field("CDMA.D_PIXEL_OFFSET.PIXEL_X_OFFSET") * channels)
        places = PIXEL_ORDERS[layer.field("CDMA.D_DATAIN_FORMAT.PIXEL_FORMAT")]
        if channels == len(PLAIN_ORDER) and places != PLAIN_ORDER:
            order = sum(place << 8 * n for n, place in enumerate(places))
    taps = -(-rows * columns * channels // 4) * 4
    tables = _tables(layer, channels)
    table: Value = store("converter", b"".join(tables)) if tables else 0
    width = layer.size("CSC.D_DATAOUT_SIZE_0.DATAOUT_WIDTH")
    tile = _tile(width, taps)
    conv = Convolution(
        source=Cube(address, line, surface),
        width=layer.size("CDMA.D_DATAIN_SIZE_0.DATAIN_WIDTH"),
        height=layer.size("CDMA.D_DATAIN_SIZE_0.DATAIN_HEIGHT"),
        channels=channels,
        block=block,
        weights=store("weights", reordered_weights(weights, config, shape, extension)),
        taps=taps,
        kernels=kernels,
        rows=rows,
        columns=columns,
        stride_x=layer.size("CSC.D_CONV_STRIDE_EXT.CONV_X_STRIDE_EXT"),
        stride_y=layer.size("CSC.D_CONV_STRIDE_EXT.CONV_Y_STRIDE_EXT"),
        dilation_x=dilation_x,
        dilation_y=layer.size("CSC.D_DILATION_EXT.Y_DILATION_EXT"),
        pad_left=layer.field("CSC.D_ZERO_PADDING.PAD_LEFT"),
        pad_top=layer.field("CSC.D_ZERO_PADDING.PAD_TOP"),
        pad_value=layer.signed("CSC.D_ZERO_PADDING_VALUE.PAD_VALUE", 8),
        truncate=layer.field("CACC.D_CLIP_CFG.CLIP_TRUNCATE"),
        table=table,
        table_count=len(tables),
        order=order,
        output_width=width,
        first_row=0,
        end_row=layer.size("CSC.D_DATAOUT_SIZE_0.DATAOUT_HEIGHT"),
        scratch=0,
        tile=tile,
        post=post,
    )
    return conv, Convolution.scratch_size(tile, post.block, taps)


def bands(conv: Convolution, macs: int) -> tuple[Convolution, ...]:
    """The same work in calls of about `macs` products, whole rows each.

    Between calls the run can be cancelled and its time is checked.
    """
    a_row = max(1, conv.output_width * conv.kernels * conv.taps)
    rows = max(1, macs // a_row)
    return tuple(
        replace(conv, first_row=row, end_row=min(row + rows, conv.end_row))
        for row in range(0, conv.end_row, rows)
    )
