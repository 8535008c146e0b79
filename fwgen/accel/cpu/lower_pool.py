"""PDP and CDP as kernel arguments (NVDLA hardware specification, PDP and CDP)."""

from __future__ import annotations

from dataclasses import replace

from fwgen.accel.cpu.constants import Store, limited, lut_of, round_shift, signed_words
from fwgen.accel.cpu.layer import Layer
from fwgen.accel.cpu.lower_post import blocks
from fwgen.program.kernels import (
    Converter,
    Cube,
    Normalisation,
    NormaliseFlag,
    Pooling,
    PoolMethod,
    add,
)


def pdp_source(layer: Layer) -> Cube:
    """The input of a pooling that reads memory."""
    return Cube(
        layer.value("PDP_RDMA.D_SRC_BASE_ADDR_LOW"),
        layer.word("PDP_RDMA.D_SRC_LINE_STRIDE"),
        layer.word("PDP_RDMA.D_SRC_SURFACE_STRIDE"),
    )


def poolings_of(layer: Layer, block: int, source: Cube) -> tuple[Pooling, ...]:
    """A pooling: one call, or one for each part of a split width.

    Part 0 has the padding on the left. Each later part starts with the columns that its
    first window shares with the part before it.
    """
    window = "PDP.D_POOLING_KERNEL_CFG.KERNEL_"
    padding = "PDP.D_POOLING_PADDING_VALUE_{0}_CFG.PAD_VALUE_{0}X"
    whole = Pooling(
        source=source,
        destination=Cube(
            layer.value("PDP.D_DST_BASE_ADDR_LOW"),
            layer.word("PDP.D_DST_LINE_STRIDE"),
            layer.word("PDP.D_DST_SURFACE_STRIDE"),
        ),
        block=block,
        surfaces=blocks(layer.size("PDP.D_DATA_CUBE_IN_CHANNEL.CUBE_IN_CHANNEL"), block),
        width=layer.size("PDP.D_DATA_CUBE_IN_WIDTH.CUBE_IN_WIDTH"),
        height=layer.size("PDP.D_DATA_CUBE_IN_HEIGHT.CUBE_IN_HEIGHT"),
        output_width=layer.size("PDP.D_DATA_CUBE_OUT_WIDTH.CUBE_OUT_WIDTH"),
        output_height=layer.size("PDP.D_DATA_CUBE_OUT_HEIGHT.CUBE_OUT_HEIGHT"),
        kernel_width=layer.size(window + "WIDTH"),
        kernel_height=layer.size(window + "HEIGHT"),
        stride_x=layer.size(window + "STRIDE_WIDTH"),
        stride_y=layer.size(window + "STRIDE_HEIGHT"),
        pad_left=layer.field("PDP.D_POOLING_PADDING_CFG.PAD_LEFT"),
        pad_top=layer.field("PDP.D_POOLING_PADDING_CFG.PAD_TOP"),
        method=PoolMethod(layer.field("PDP.D_OPERATION_MODE_CFG.POOLING_METHOD")),
        reciprocal_width=layer.field("PDP.D_RECIP_KERNEL_WIDTH.RECIP_KERNEL_WIDTH"),
        reciprocal_height=layer.field("PDP.D_RECIP_KERNEL_HEIGHT.RECIP_KERNEL_HEIGHT"),
        padding=(0, *(layer.signed(padding.format(n)) for n in range(1, 8))),
    )
    parts = layer.size("PDP.D_OPERATION_MODE_CFG.SPLIT_NUM")
    if parts == 1:
        return (whole,)

    def widths(side: str) -> list[int]:
        name = f"PDP.D_PARTIAL_WIDTH_{side}.PARTIAL_WIDTH_{side}_"
        first, middle, last = (layer.size(name + part) for part in ("FIRST", "MID", "LAST"))
        return [first, *(middle,) * (parts - 2), last]

    shared = whole.kernel_width - whole.stride_x
    found = []
    start = output_start = 0
    for width, output_width in zip(widths("IN"), widths("OUT"), strict=True):
        before = shared if start else 0
        found.append(
            replace(
                whole,
                source=replace(source, address=add(source.address, (start - before) * block)),
                destination=replace(
                    whole.destination,
                    address=add(whole.destination.address, output_start * block),
                ),
                width=width + before,
                output_width=output_width,
                pad_left=0 if start else whole.pad_left,
            )
        )
        start += width
        output_start += output_width
    return tuple(found)


def normalisation_of(layer: Layer, block: int, store: Store) -> Normalisation:
    """A local response normalisation; the input converter becomes a table."""
    offset = layer.signed("CDP.D_DATIN_OFFSET.DATIN_OFFSET", 8)
    scale = layer.signed("CDP.D_DATIN_SCALE.DATIN_SCALE")
    shift = layer.field("CDP.D_DATIN_SHIFTER.DATIN_SHIFTER")
    inputs = (byte - 256 if byte > 127 else byte for byte in range(256))
    values = [limited(round_shift((x - offset) * scale, shift), 9) for x in inputs]
    flags = NormaliseFlag.NONE
    if layer.field("CDP.D_FUNC_BYPASS.SQSUM_BYPASS"):
        flags |= NormaliseFlag.NO_SQUARES
    if layer.field("CDP.D_FUNC_BYPASS.MUL_BYPASS"):
        flags |= NormaliseFlag.NO_MUL
    return Normalisation(
        source=Cube(
            layer.value("CDP_RDMA.D_SRC_BASE_ADDR_LOW"),
            layer.word("CDP_RDMA.D_SRC_LINE_STRIDE"),
            layer.word("CDP_RDMA.D_SRC_SURFACE_STRIDE"),
        ),
        destination=Cube(
            layer.value("CDP.D_DST_BASE_ADDR_LOW"),
            layer.word("CDP.D_DST_LINE_STRIDE"),
            layer.word("CDP.D_DST_SURFACE_STRIDE"),
        ),
        block=block,
        width=layer.size("CDP_RDMA.D_DATA_CUBE_WIDTH.WIDTH"),
        height=layer.size("CDP_RDMA.D_DATA_CUBE_HEIGHT.HEIGHT"),
        channels=layer.size("CDP_RDMA.D_DATA_CUBE_CHANNEL.CHANNEL"),
        values=store("values", signed_words(values)),
        reach=layer.size("CDP.D_LRN_CFG.NORMALZ_LEN"),
        flags=flags,
        table=store("table", lut_of(layer, "CDP").data()),
        converter=Converter(
            layer.signed("CDP.D_DATOUT_OFFSET.DATOUT_OFFSET", 25),
            layer.signed("CDP.D_DATOUT_SCALE.DATOUT_SCALE"),
            layer.field("CDP.D_DATOUT_SHIFTER.DATOUT_SHIFTER"),
        ),
    )
