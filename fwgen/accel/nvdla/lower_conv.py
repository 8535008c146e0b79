"""Register writes of a convolution, in the firmware's order (NVDLA kernel firmware, CONV).

The blocks are written from the end of the pipeline to its start: CACC, the two
CMACs, CSC, CDMA. CONV never writes memory; `dst` describes the accumulators'
output that the SDP takes over.
"""

from __future__ import annotations

from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.writer import RowWriter, less_one, ram
from fwgen.model.nvdla.descriptors import FEATURE_FORMAT, ConvOp, ConvSurface


def lower_conv(w: RowWriter, config: Configuration, op: ConvOp, surface: ConvSurface) -> None:
    """Write the rows of a convolution. Roles: src, dst, weights, wgs, wmb.

    May raise FieldOverflow.
    """
    src, dst, wt, wmb = (
        surface.src_data,
        surface.dst_data,
        surface.weight_data,
        surface.wmb_data,
    )
    atom = config.atom
    direct = op.conv_mode == 0
    image = op.data_format < FEATURE_FORMAT
    w.fields("CACC.D_MISC_CFG", CONV_MODE=op.conv_mode, PROC_PRECISION=op.out_precision)
    w.fields(
        "CACC.D_DATAOUT_SIZE_0",
        DATAOUT_WIDTH=less_one(dst.width),
        DATAOUT_HEIGHT=less_one(dst.height),
    )
    w.fields("CACC.D_DATAOUT_SIZE_1", DATAOUT_CHANNEL=less_one(dst.channel))
    w.low("CACC.D_DATAOUT_ADDR", "dst")
    w.raw("CACC.D_BATCH_NUMBER", less_one(op.batch))
    w.raw("CACC.D_LINE_STRIDE", dst.line_stride)
    w.raw("CACC.D_SURF_STRIDE", dst.surf_stride)
    w.fields(
        "CACC.D_DATAOUT_MAP",
        LINE_PACKED=dst.width == 1 and dst.height == 1,
        SURF_PACKED=dst.width == 1 and dst.height == 1,
    )
    w.raw("CACC.D_CLIP_CFG", op.out_cvt.truncate)
    w.fields("CMAC_A.D_MISC_CFG", CONV_MODE=op.conv_mode, PROC_PRECISION=op.out_precision)
    w.fields("CMAC_B.D_MISC_CFG", CONV_MODE=op.conv_mode, PROC_PRECISION=op.out_precision)
    w.fields(
        "CSC.D_MISC_CFG",
        CONV_MODE=op.conv_mode,
        IN_PRECISION=op.out_precision,
        PROC_PRECISION=op.out_precision,
        DATA_REUSE=op.data_reuse,
        WEIGHT_REUSE=op.weight_reuse,
        SKIP_DATA_RLS=op.skip_data_rls,
        SKIP_WEIGHT_RLS=op.skip_weight_rls,
    )
    w.fields("CSC.D_DATAIN_FORMAT", DATAIN_FORMAT=image)
    w.fields(
        "CSC.D_DATAIN_SIZE_EXT_0",
        DATAIN_WIDTH_EXT=less_one(op.input_width_csc),
        DATAIN_HEIGHT_EXT=less_one(op.input_height_csc),
    )
    w.fields("CSC.D_DATAIN_SIZE_EXT_1", DATAIN_CHANNEL_EXT=less_one(op.input_channel_csc))
    w.fields("CSC.D_BATCH_NUMBER", BATCHES=less_one(op.batch))
    w.fields("CSC.D_POST_Y_EXTENSION", Y_EXTENSION=op.post_extension)
    w.fields("CSC.D_ENTRY_PER_SLICE", ENTRIES=less_one(op.entry_per_slice))
    w.fields("CSC.D_WEIGHT_FORMAT", WEIGHT_FORMAT=op.weight_format)
    w.fields(
        "CSC.D_WEIGHT_SIZE_EXT_0",
        WEIGHT_WIDTH_EXT=less_one(op.kernel_width_csc),
        WEIGHT_HEIGHT_EXT=less_one(op.kernel_height_csc),
    )
    w.fields(
        "CSC.D_WEIGHT_SIZE_EXT_1",
        WEIGHT_CHANNEL_EXT=less_one(op.kernel_channel_csc),
        WEIGHT_KERNEL=less_one(dst.channel),
    )
    w.raw("CSC.D_WEIGHT_BYTES", wt.size)
    w.raw("CSC.D_WMB_BYTES", wmb.size)
    w.fields(
        "CSC.D_DATAOUT_SIZE_0",
        DATAOUT_WIDTH=less_one(op.input_width_cmac),
        DATAOUT_HEIGHT=less_one(op.input_height_cmac),
    )
    w.fields("CSC.D_DATAOUT_SIZE_1", DATAOUT_CHANNEL=less_one(dst.channel))
    w.fields("CSC.D_ATOMICS", ATOMICS=less_one(dst.width * dst.height))
    w.fields("CSC.D_RELEASE", RLS_SLICES=less_one(op.release))
    w.fields(
        "CSC.D_CONV_STRIDE_EXT",
        CONV_X_STRIDE_EXT=less_one(op.conv_stride_x) if direct else 0,
        CONV_Y_STRIDE_EXT=less_one(op.conv_stride_y) if direct else 0,
    )
    w.fields(
        "CSC.D_DILATION_EXT",
        X_DILATION_EXT=less_one(op.dilation_x),
        Y_DILATION_EXT=less_one(op.dilation_y),
    )
    w.fields(
        "CSC.D_ZERO_PADDING",
        PAD_LEFT=op.pad_x_left if direct else 0,
        PAD_TOP=op.pad_y_top if direct else 0,
    )
    w.fields("CSC.D_ZERO_PADDING_VALUE", PAD_VALUE=op.pad_val)
    w.fields("CSC.D_BANK", DATA_BANK=less_one(op.data_bank), WEIGHT_BANK=less_one(op.weight_bank))
    w.raw("CSC.D_PRA_CFG", op.pra_truncate)
    w.fields(
        "CDMA.D_MISC_CFG",
        CONV_MODE=op.conv_mode,
        IN_PRECISION=op.in_precision,
        PROC_PRECISION=op.out_precision,
        DATA_REUSE=op.data_reuse,
        WEIGHT_REUSE=op.weight_reuse,
        SKIP_DATA_RLS=op.skip_data_rls,
        SKIP_WEIGHT_RLS=op.skip_weight_rls,
    )
    w.fields(
        "CDMA.D_DATAIN_FORMAT",
        DATAIN_FORMAT=image,
        PIXEL_FORMAT=op.data_format if image else 0,
        PIXEL_MAPPING=op.pixel_mapping,
        PIXEL_SIGN_OVERRIDE=op.pixel_override,
    )
    w.fields(
        "CDMA.D_DATAIN_SIZE_0", DATAIN_WIDTH=less_one(src.width), DATAIN_HEIGHT=less_one(src.height)
    )
    w.fields("CDMA.D_DATAIN_SIZE_1", DATAIN_CHANNEL=less_one(src.channel))
    w.fields(
        "CDMA.D_DATAIN_SIZE_EXT_0",
        DATAIN_WIDTH_EXT=less_one(op.input_width_csc),
        DATAIN_HEIGHT_EXT=less_one(op.input_height_csc),
    )
    w.fields("CDMA.D_DAIN_RAM_TYPE", DATAIN_RAM_TYPE=ram(src.type))
    w.high("CDMA.D_DAIN_ADDR_HIGH_0", "src")
    w.low("CDMA.D_DAIN_ADDR_LOW_0", "src")
    w.high("CDMA.D_DAIN_ADDR_HIGH_1", "src", surface.offset_u)
    w.low("CDMA.D_DAIN_ADDR_LOW_1", "src", surface.offset_u)
    w.raw("CDMA.D_LINE_STRIDE", src.line_stride)
    w.raw("CDMA.D_SURF_STRIDE", src.surf_stride)
    w.raw("CDMA.D_LINE_UV_STRIDE", surface.in_line_uv_stride)
    w.fields(
        "CDMA.D_DAIN_MAP",
        LINE_PACKED=src.line_stride == src.width * atom,
        SURF_PACKED=src.surf_stride == src.width * src.height * atom,
    )
    w.fields("CDMA.D_BATCH_NUMBER", BATCHES=less_one(op.batch))
    w.raw("CDMA.D_BATCH_STRIDE", op.batch_stride)
    w.fields("CDMA.D_ENTRY_PER_SLICE", ENTRIES=less_one(op.entry_per_slice))
    w.fields("CDMA.D_FETCH_GRAIN", GRAINS=less_one(op.fetch_grain))
    w.fields("CDMA.D_WEIGHT_FORMAT", WEIGHT_FORMAT=op.weight_format)
    w.fields("CDMA.D_WEIGHT_SIZE_0", BYTE_PER_KERNEL=less_one(op.bytes_per_kernel))
    w.fields("CDMA.D_WEIGHT_SIZE_1", WEIGHT_KERNEL=less_one(dst.channel))
    w.fields("CDMA.D_WEIGHT_RAM_TYPE", WEIGHT_RAM_TYPE=ram(wt.type))
    w.high("CDMA.D_WEIGHT_ADDR_HIGH", "weights")
    w.low("CDMA.D_WEIGHT_ADDR_LOW", "weights")
    w.raw("CDMA.D_WEIGHT_BYTES", wt.size)
    if op.weight_format == 1:
        w.high("CDMA.D_WGS_ADDR_HIGH", "wgs")
        w.low("CDMA.D_WGS_ADDR_LOW", "wgs")
        w.high("CDMA.D_WMB_ADDR_HIGH", "wmb")
        w.low("CDMA.D_WMB_ADDR_LOW", "wmb")
        w.raw("CDMA.D_WMB_BYTES", wmb.size)
    w.fields("CDMA.D_MEAN_FORMAT", MEAN_FORMAT=op.mean_format)
    if op.mean_format == 1:
        w.fields("CDMA.D_MEAN_GLOBAL_0", MEAN_RY=op.mean_ry, MEAN_GU=op.mean_gu)
        w.fields("CDMA.D_MEAN_GLOBAL_1", MEAN_BV=op.mean_bv, MEAN_AX=op.mean_ax)
    if op.in_cvt.enable != 0:
        w.fields("CDMA.D_CVT_CFG", CVT_EN=1, CVT_TRUNCATE=op.in_cvt.truncate)
        w.raw("CDMA.D_CVT_OFFSET", op.in_cvt.offset)
        w.raw("CDMA.D_CVT_SCALE", op.in_cvt.scale)
    if op.in_cvt.enable == 0:
        w.fields("CDMA.D_CVT_CFG", CVT_EN=0)
    w.fields(
        "CDMA.D_CONV_STRIDE",
        CONV_X_STRIDE=less_one(op.conv_stride_x),
        CONV_Y_STRIDE=less_one(op.conv_stride_y),
    )
    w.fields(
        "CDMA.D_ZERO_PADDING",
        PAD_LEFT=op.pad_x_left,
        PAD_RIGHT=op.pad_x_right,
        PAD_TOP=op.pad_y_top,
        PAD_BOTTOM=op.pad_y_bottom,
    )
    w.fields("CDMA.D_ZERO_PADDING_VALUE", PAD_VALUE=op.pad_val)
    w.fields("CDMA.D_BANK", WEIGHT_BANK=less_one(op.weight_bank), DATA_BANK=less_one(op.data_bank))
