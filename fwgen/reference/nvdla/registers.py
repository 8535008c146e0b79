"""The part of the NVDLA register map that the reference decodes (NVDLA register manual).

One line per register: offset in the block, name, reset value, then its fields
as NAME:lsb:width. Registers without fields hold one 32-bit value. Registers
that no functional rule reads (performance counters, arbitration weights) are
left out: writes to them are stored and have no effect.
"""

from __future__ import annotations

from dataclasses import dataclass

_BLOCKS = {
    "GLB": (
        0x1000,
        """
        000 S_NVDLA_HW_VERSION 303031
        004 S_INTR_MASK 0
        008 S_INTR_SET 0
        00c S_INTR_STATUS 0
        """,
    ),
    "CDMA": (
        0x3000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        00c S_CBUF_FLUSH_STATUS 0 FLUSH_DONE:0:1
        010 D_OP_ENABLE 0
        014 D_MISC_CFG 1100 CONV_MODE:0:1 IN_PRECISION:8:2 PROC_PRECISION:12:2 DATA_REUSE:16:1
            + WEIGHT_REUSE:20:1 SKIP_DATA_RLS:24:1 SKIP_WEIGHT_RLS:28:1
        018 D_DATAIN_FORMAT c00 DATAIN_FORMAT:0:1 PIXEL_FORMAT:8:6 PIXEL_MAPPING:16:1
            + PIXEL_SIGN_OVERRIDE:20:1
        01c D_DATAIN_SIZE_0 0 DATAIN_WIDTH:0:13 DATAIN_HEIGHT:16:13
        020 D_DATAIN_SIZE_1 0 DATAIN_CHANNEL:0:13
        024 D_DATAIN_SIZE_EXT_0 0 DATAIN_WIDTH_EXT:0:13 DATAIN_HEIGHT_EXT:16:13
        028 D_PIXEL_OFFSET 0 PIXEL_X_OFFSET:0:5 PIXEL_Y_OFFSET:16:3
        02c D_DAIN_RAM_TYPE 0 DATAIN_RAM_TYPE:0:1
        030 D_DAIN_ADDR_HIGH_0 0
        034 D_DAIN_ADDR_LOW_0 0
        040 D_LINE_STRIDE 0
        048 D_SURF_STRIDE 0
        058 D_BATCH_NUMBER 0 BATCHES:0:5
        060 D_ENTRY_PER_SLICE 0 ENTRIES:0:14
        068 D_WEIGHT_FORMAT 0 WEIGHT_FORMAT:0:1
        06c D_WEIGHT_SIZE_0 0 BYTE_PER_KERNEL:0:18
        070 D_WEIGHT_SIZE_1 0 WEIGHT_KERNEL:0:13
        074 D_WEIGHT_RAM_TYPE 0 WEIGHT_RAM_TYPE:0:1
        078 D_WEIGHT_ADDR_HIGH 0
        07c D_WEIGHT_ADDR_LOW 0
        080 D_WEIGHT_BYTES 0
        098 D_MEAN_FORMAT 0 MEAN_FORMAT:0:1
        09c D_MEAN_GLOBAL_0 0 MEAN_RY:0:16 MEAN_GU:16:16
        0a0 D_MEAN_GLOBAL_1 0 MEAN_BV:0:16 MEAN_AX:16:16
        0a4 D_CVT_CFG 0 CVT_EN:0:1 CVT_TRUNCATE:4:6
        0a8 D_CVT_OFFSET 0 CVT_OFFSET:0:16
        0ac D_CVT_SCALE 0 CVT_SCALE:0:16
        0b0 D_CONV_STRIDE 0 CONV_X_STRIDE:0:3 CONV_Y_STRIDE:16:3
        0b4 D_ZERO_PADDING 0 PAD_LEFT:0:5 PAD_RIGHT:8:6 PAD_TOP:16:5 PAD_BOTTOM:24:6
        0b8 D_ZERO_PADDING_VALUE 0 PAD_VALUE:0:16
        0bc D_BANK 0 DATA_BANK:0:5 WEIGHT_BANK:16:5
        """,
    ),
    "CSC": (
        0x4000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 D_OP_ENABLE 0
        00c D_MISC_CFG 1100 CONV_MODE:0:1 IN_PRECISION:8:2 PROC_PRECISION:12:2 DATA_REUSE:16:1
            + WEIGHT_REUSE:20:1 SKIP_DATA_RLS:24:1 SKIP_WEIGHT_RLS:28:1
        010 D_DATAIN_FORMAT 0 DATAIN_FORMAT:0:1
        014 D_DATAIN_SIZE_EXT_0 0 DATAIN_WIDTH_EXT:0:13 DATAIN_HEIGHT_EXT:16:13
        018 D_DATAIN_SIZE_EXT_1 0 DATAIN_CHANNEL_EXT:0:13
        01c D_BATCH_NUMBER 0 BATCHES:0:5
        020 D_POST_Y_EXTENSION 0 Y_EXTENSION:0:2
        024 D_ENTRY_PER_SLICE 0 ENTRIES:0:14
        028 D_WEIGHT_FORMAT 0 WEIGHT_FORMAT:0:1
        02c D_WEIGHT_SIZE_EXT_0 0 WEIGHT_WIDTH_EXT:0:5 WEIGHT_HEIGHT_EXT:16:5
        030 D_WEIGHT_SIZE_EXT_1 0 WEIGHT_CHANNEL_EXT:0:13 WEIGHT_KERNEL:16:13
        034 D_WEIGHT_BYTES 0
        03c D_DATAOUT_SIZE_0 0 DATAOUT_WIDTH:0:13 DATAOUT_HEIGHT:16:13
        040 D_DATAOUT_SIZE_1 0 DATAOUT_CHANNEL:0:13
        04c D_CONV_STRIDE_EXT 0 CONV_X_STRIDE_EXT:0:3 CONV_Y_STRIDE_EXT:16:3
        050 D_DILATION_EXT 0 X_DILATION_EXT:0:5 Y_DILATION_EXT:16:5
        054 D_ZERO_PADDING 0 PAD_LEFT:0:5 PAD_TOP:16:5
        058 D_ZERO_PADDING_VALUE 0 PAD_VALUE:0:16
        05c D_BANK 0 DATA_BANK:0:5 WEIGHT_BANK:16:5
        """,
    ),
    "CMAC_A": (
        0x5000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 D_OP_ENABLE 0
        00c D_MISC_CFG 1000 CONV_MODE:0:1 PROC_PRECISION:12:2
        """,
    ),
    "CMAC_B": (
        0x6000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 D_OP_ENABLE 0
        00c D_MISC_CFG 1000 CONV_MODE:0:1 PROC_PRECISION:12:2
        """,
    ),
    "CACC": (
        0x7000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 D_OP_ENABLE 0
        00c D_MISC_CFG 1000 CONV_MODE:0:1 PROC_PRECISION:12:2
        010 D_DATAOUT_SIZE_0 0 DATAOUT_WIDTH:0:13 DATAOUT_HEIGHT:16:13
        014 D_DATAOUT_SIZE_1 0 DATAOUT_CHANNEL:0:13
        018 D_DATAOUT_ADDR 0
        01c D_BATCH_NUMBER 0 BATCHES:0:5
        020 D_LINE_STRIDE 0 LINE_STRIDE:0:24
        024 D_SURF_STRIDE 0 SURF_STRIDE:0:24
        02c D_CLIP_CFG 0 CLIP_TRUNCATE:0:5
        030 D_OUT_SATURATION 0
        """,
    ),
    "SDP_RDMA": (
        0x8000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 D_OP_ENABLE 0
        00c D_DATA_CUBE_WIDTH 0 WIDTH:0:13
        010 D_DATA_CUBE_HEIGHT 0 HEIGHT:0:13
        014 D_DATA_CUBE_CHANNEL 0 CHANNEL:0:13
        018 D_SRC_BASE_ADDR_LOW 0
        01c D_SRC_BASE_ADDR_HIGH 0
        020 D_SRC_LINE_STRIDE 0
        024 D_SRC_SURFACE_STRIDE 0
        028 D_BRDMA_CFG 1 BRDMA_DISABLE:0:1 BRDMA_DATA_USE:1:2 BRDMA_DATA_SIZE:3:1
            + BRDMA_DATA_MODE:4:1 BRDMA_RAM_TYPE:5:1
        02c D_BS_BASE_ADDR_LOW 0
        030 D_BS_BASE_ADDR_HIGH 0
        034 D_BS_LINE_STRIDE 0
        038 D_BS_SURFACE_STRIDE 0
        040 D_NRDMA_CFG 1 NRDMA_DISABLE:0:1 NRDMA_DATA_USE:1:2 NRDMA_DATA_SIZE:3:1
            + NRDMA_DATA_MODE:4:1 NRDMA_RAM_TYPE:5:1
        044 D_BN_BASE_ADDR_LOW 0
        048 D_BN_BASE_ADDR_HIGH 0
        04c D_BN_LINE_STRIDE 0
        050 D_BN_SURFACE_STRIDE 0
        058 D_ERDMA_CFG 1 ERDMA_DISABLE:0:1 ERDMA_DATA_USE:1:2 ERDMA_DATA_SIZE:3:1
            + ERDMA_DATA_MODE:4:1 ERDMA_RAM_TYPE:5:1
        05c D_EW_BASE_ADDR_LOW 0
        060 D_EW_BASE_ADDR_HIGH 0
        064 D_EW_LINE_STRIDE 0
        068 D_EW_SURFACE_STRIDE 0
        070 D_FEATURE_MODE_CFG 14 FLYING_MODE:0:1 WINOGRAD:1:1 IN_PRECISION:2:2
            + PROC_PRECISION:4:2 OUT_PRECISION:6:2 BATCH_NUMBER:8:5
        074 D_SRC_DMA_CFG 0 SRC_RAM_TYPE:0:1
        """,
    ),
    "SDP": (
        0x9000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 S_LUT_ACCESS_CFG 0 LUT_ADDR:0:10 LUT_TABLE_ID:16:1 LUT_ACCESS_TYPE:17:1
        00c S_LUT_ACCESS_DATA 0 LUT_DATA:0:16
        010 S_LUT_CFG 0 LUT_LE_FUNCTION:0:1 LUT_UFLOW_PRIORITY:4:1 LUT_OFLOW_PRIORITY:5:1
            + LUT_HYBRID_PRIORITY:6:1
        014 S_LUT_INFO 0 LUT_LE_INDEX_OFFSET:0:8 LUT_LE_INDEX_SELECT:8:8
            + LUT_LO_INDEX_SELECT:16:8
        018 S_LUT_LE_START 0
        01c S_LUT_LE_END 0
        020 S_LUT_LO_START 0
        024 S_LUT_LO_END 0
        028 S_LUT_LE_SLOPE_SCALE 0 LUT_LE_SLOPE_UFLOW_SCALE:0:16 LUT_LE_SLOPE_OFLOW_SCALE:16:16
        02c S_LUT_LE_SLOPE_SHIFT 0 LUT_LE_SLOPE_UFLOW_SHIFT:0:5 LUT_LE_SLOPE_OFLOW_SHIFT:5:5
        030 S_LUT_LO_SLOPE_SCALE 0 LUT_LO_SLOPE_UFLOW_SCALE:0:16 LUT_LO_SLOPE_OFLOW_SCALE:16:16
        034 S_LUT_LO_SLOPE_SHIFT 0 LUT_LO_SLOPE_UFLOW_SHIFT:0:5 LUT_LO_SLOPE_OFLOW_SHIFT:5:5
        038 D_OP_ENABLE 0
        03c D_DATA_CUBE_WIDTH 0 WIDTH:0:13
        040 D_DATA_CUBE_HEIGHT 0 HEIGHT:0:13
        044 D_DATA_CUBE_CHANNEL 0 CHANNEL:0:13
        048 D_DST_BASE_ADDR_LOW 0
        04c D_DST_BASE_ADDR_HIGH 0
        050 D_DST_LINE_STRIDE 0
        054 D_DST_SURFACE_STRIDE 0
        058 D_DP_BS_CFG 73 BS_BYPASS:0:1 BS_ALU_BYPASS:1:1 BS_ALU_ALGO:2:2 BS_MUL_BYPASS:4:1
            + BS_MUL_PRELU:5:1 BS_RELU_BYPASS:6:1
        05c D_DP_BS_ALU_CFG 0 BS_ALU_SRC:0:1 BS_ALU_SHIFT_VALUE:8:6
        060 D_DP_BS_ALU_SRC_VALUE 0 BS_ALU_OPERAND:0:16
        064 D_DP_BS_MUL_CFG 0 BS_MUL_SRC:0:1 BS_MUL_SHIFT_VALUE:8:8
        068 D_DP_BS_MUL_SRC_VALUE 0 BS_MUL_OPERAND:0:16
        06c D_DP_BN_CFG 53 BN_BYPASS:0:1 BN_ALU_BYPASS:1:1 BN_ALU_ALGO:2:2 BN_MUL_BYPASS:4:1
            + BN_MUL_PRELU:5:1 BN_RELU_BYPASS:6:1
        070 D_DP_BN_ALU_CFG 0 BN_ALU_SRC:0:1 BN_ALU_SHIFT_VALUE:8:6
        074 D_DP_BN_ALU_SRC_VALUE 0 BN_ALU_OPERAND:0:16
        078 D_DP_BN_MUL_CFG 0 BN_MUL_SRC:0:1 BN_MUL_SHIFT_VALUE:8:8
        07c D_DP_BN_MUL_SRC_VALUE 0 BN_MUL_OPERAND:0:16
        080 D_DP_EW_CFG 53 EW_BYPASS:0:1 EW_ALU_BYPASS:1:1 EW_ALU_ALGO:2:2 EW_MUL_BYPASS:4:1
            + EW_MUL_PRELU:5:1 EW_LUT_BYPASS:6:1
        084 D_DP_EW_ALU_CFG 2 EW_ALU_SRC:0:1 EW_ALU_CVT_BYPASS:1:1
        088 D_DP_EW_ALU_SRC_VALUE 0
        08c D_DP_EW_ALU_CVT_OFFSET_VALUE 0
        090 D_DP_EW_ALU_CVT_SCALE_VALUE 0 EW_ALU_CVT_SCALE:0:16
        094 D_DP_EW_ALU_CVT_TRUNCATE_VALUE 0 EW_ALU_CVT_TRUNCATE:0:6
        098 D_DP_EW_MUL_CFG 2 EW_MUL_SRC:0:1 EW_MUL_CVT_BYPASS:1:1
        09c D_DP_EW_MUL_SRC_VALUE 0
        0a0 D_DP_EW_MUL_CVT_OFFSET_VALUE 0
        0a4 D_DP_EW_MUL_CVT_SCALE_VALUE 0 EW_MUL_CVT_SCALE:0:16
        0a8 D_DP_EW_MUL_CVT_TRUNCATE_VALUE 0 EW_MUL_CVT_TRUNCATE:0:6
        0ac D_DP_EW_TRUNCATE_VALUE 0 EW_TRUNCATE:0:10
        0b0 D_FEATURE_MODE_CFG 0 FLYING_MODE:0:1 OUTPUT_DST:1:1 WINOGRAD:2:1 NAN_TO_ZERO:3:1
            + BATCH_NUMBER:8:5
        0b4 D_DST_DMA_CFG 0 DST_RAM_TYPE:0:1
        0bc D_DATA_FORMAT 0 PROC_PRECISION:0:2 OUT_PRECISION:2:2
        0c0 D_CVT_OFFSET 0
        0c4 D_CVT_SCALE 0 CVT_SCALE:0:16
        0c8 D_CVT_SHIFT 0 CVT_SHIFT:0:6
        0cc D_STATUS 0 STATUS_UNEQUAL:0:1
        """,
    ),
    "PDP_RDMA": (
        0xA000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 D_OP_ENABLE 0
        00c D_DATA_CUBE_IN_WIDTH 0 CUBE_IN_WIDTH:0:13
        010 D_DATA_CUBE_IN_HEIGHT 0 CUBE_IN_HEIGHT:0:13
        014 D_DATA_CUBE_IN_CHANNEL 0 CUBE_IN_CHANNEL:0:13
        018 D_FLYING_MODE 0 FLYING_MODE:0:1
        01c D_SRC_BASE_ADDR_LOW 0
        020 D_SRC_BASE_ADDR_HIGH 0
        024 D_SRC_LINE_STRIDE 0
        028 D_SRC_SURFACE_STRIDE 0
        02c D_SRC_RAM_CFG 0 SRC_RAM_TYPE:0:1
        030 D_DATA_FORMAT 0 INPUT_DATA:0:2
        034 D_OPERATION_MODE_CFG 0 SPLIT_NUM:0:8
        038 D_POOLING_KERNEL_CFG 0 KERNEL_WIDTH:0:4 KERNEL_STRIDE_WIDTH:4:4
        03c D_POOLING_PADDING_CFG 0 PAD_WIDTH:0:4
        040 D_PARTIAL_WIDTH_IN 0 PARTIAL_WIDTH_IN_FIRST:0:10 PARTIAL_WIDTH_IN_LAST:10:10
            + PARTIAL_WIDTH_IN_MID:20:10
        """,
    ),
    "PDP": (
        0xB000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 D_OP_ENABLE 0
        00c D_DATA_CUBE_IN_WIDTH 0 CUBE_IN_WIDTH:0:13
        010 D_DATA_CUBE_IN_HEIGHT 0 CUBE_IN_HEIGHT:0:13
        014 D_DATA_CUBE_IN_CHANNEL 0 CUBE_IN_CHANNEL:0:13
        018 D_DATA_CUBE_OUT_WIDTH 0 CUBE_OUT_WIDTH:0:13
        01c D_DATA_CUBE_OUT_HEIGHT 0 CUBE_OUT_HEIGHT:0:13
        020 D_DATA_CUBE_OUT_CHANNEL 0 CUBE_OUT_CHANNEL:0:13
        024 D_OPERATION_MODE_CFG 0 POOLING_METHOD:0:2 FLYING_MODE:4:1 SPLIT_NUM:8:8
        02c D_PARTIAL_WIDTH_IN 0 PARTIAL_WIDTH_IN_FIRST:0:10 PARTIAL_WIDTH_IN_LAST:10:10
            + PARTIAL_WIDTH_IN_MID:20:10
        030 D_PARTIAL_WIDTH_OUT 0 PARTIAL_WIDTH_OUT_FIRST:0:10 PARTIAL_WIDTH_OUT_LAST:10:10
            + PARTIAL_WIDTH_OUT_MID:20:10
        034 D_POOLING_KERNEL_CFG 0 KERNEL_WIDTH:0:4 KERNEL_HEIGHT:8:4 KERNEL_STRIDE_WIDTH:16:4
            + KERNEL_STRIDE_HEIGHT:20:4
        038 D_RECIP_KERNEL_WIDTH 0 RECIP_KERNEL_WIDTH:0:17
        03c D_RECIP_KERNEL_HEIGHT 0 RECIP_KERNEL_HEIGHT:0:17
        040 D_POOLING_PADDING_CFG 0 PAD_LEFT:0:3 PAD_TOP:4:3 PAD_RIGHT:8:3 PAD_BOTTOM:12:3
        044 D_POOLING_PADDING_VALUE_1_CFG 0 PAD_VALUE_1X:0:19
        048 D_POOLING_PADDING_VALUE_2_CFG 0 PAD_VALUE_2X:0:19
        04c D_POOLING_PADDING_VALUE_3_CFG 0 PAD_VALUE_3X:0:19
        050 D_POOLING_PADDING_VALUE_4_CFG 0 PAD_VALUE_4X:0:19
        054 D_POOLING_PADDING_VALUE_5_CFG 0 PAD_VALUE_5X:0:19
        058 D_POOLING_PADDING_VALUE_6_CFG 0 PAD_VALUE_6X:0:19
        05c D_POOLING_PADDING_VALUE_7_CFG 0 PAD_VALUE_7X:0:19
        060 D_SRC_BASE_ADDR_LOW 0
        064 D_SRC_BASE_ADDR_HIGH 0
        068 D_SRC_LINE_STRIDE 0
        06c D_SRC_SURFACE_STRIDE 0
        070 D_DST_BASE_ADDR_LOW 0
        074 D_DST_BASE_ADDR_HIGH 0
        078 D_DST_LINE_STRIDE 0
        07c D_DST_SURFACE_STRIDE 0
        080 D_DST_RAM_CFG 0 DST_RAM_TYPE:0:1
        084 D_DATA_FORMAT 0 INPUT_DATA:0:2
        """,
    ),
    "CDP_RDMA": (
        0xC000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 D_OP_ENABLE 0
        00c D_DATA_CUBE_WIDTH 0 WIDTH:0:13
        010 D_DATA_CUBE_HEIGHT 0 HEIGHT:0:13
        014 D_DATA_CUBE_CHANNEL 0 CHANNEL:0:13
        018 D_SRC_BASE_ADDR_LOW 0
        01c D_SRC_BASE_ADDR_HIGH 0
        020 D_SRC_LINE_STRIDE 0
        024 D_SRC_SURFACE_STRIDE 0
        028 D_SRC_DMA_CFG 0 SRC_RAM_TYPE:0:1
        030 D_OPERATION_MODE 0 OPERATION_MODE:0:2
        034 D_DATA_FORMAT 0 INPUT_DATA:0:2
        """,
    ),
    "CDP": (
        0xD000,
        """
        000 S_STATUS 0
        004 S_POINTER 0
        008 S_LUT_ACCESS_CFG 0 LUT_ADDR:0:10 LUT_TABLE_ID:16:1 LUT_ACCESS_TYPE:17:1
        00c S_LUT_ACCESS_DATA 0 LUT_DATA:0:16
        010 S_LUT_CFG 0 LUT_LE_FUNCTION:0:1 LUT_UFLOW_PRIORITY:4:1 LUT_OFLOW_PRIORITY:5:1
            + LUT_HYBRID_PRIORITY:6:1
        014 S_LUT_INFO 0 LUT_LE_INDEX_OFFSET:0:8 LUT_LE_INDEX_SELECT:8:8
            + LUT_LO_INDEX_SELECT:16:8
        018 S_LUT_LE_START_LOW 0
        01c S_LUT_LE_START_HIGH 0 LUT_LE_START_HIGH:0:6
        020 S_LUT_LE_END_LOW 0
        024 S_LUT_LE_END_HIGH 0 LUT_LE_END_HIGH:0:6
        028 S_LUT_LO_START_LOW 0
        02c S_LUT_LO_START_HIGH 0 LUT_LO_START_HIGH:0:6
        030 S_LUT_LO_END_LOW 0
        034 S_LUT_LO_END_HIGH 0 LUT_LO_END_HIGH:0:6
        038 S_LUT_LE_SLOPE_SCALE 0 LUT_LE_SLOPE_UFLOW_SCALE:0:16 LUT_LE_SLOPE_OFLOW_SCALE:16:16
        03c S_LUT_LE_SLOPE_SHIFT 0 LUT_LE_SLOPE_UFLOW_SHIFT:0:5 LUT_LE_SLOPE_OFLOW_SHIFT:5:5
        040 S_LUT_LO_SLOPE_SCALE 0 LUT_LO_SLOPE_UFLOW_SCALE:0:16 LUT_LO_SLOPE_OFLOW_SCALE:16:16
        044 S_LUT_LO_SLOPE_SHIFT 0 LUT_LO_SLOPE_UFLOW_SHIFT:0:5 LUT_LO_SLOPE_OFLOW_SHIFT:5:5
        048 D_OP_ENABLE 0
        04c D_FUNC_BYPASS 0 SQSUM_BYPASS:0:1 MUL_BYPASS:1:1
        050 D_DST_BASE_ADDR_LOW 0
        054 D_DST_BASE_ADDR_HIGH 0
        058 D_DST_LINE_STRIDE 0
        05c D_DST_SURFACE_STRIDE 0
        060 D_DST_DMA_CFG 0 DST_RAM_TYPE:0:1
        068 D_DATA_FORMAT 1 INPUT_DATA_TYPE:0:2
        070 D_LRN_CFG 0 NORMALZ_LEN:0:2
        074 D_DATIN_OFFSET 0 DATIN_OFFSET:0:16
        078 D_DATIN_SCALE 1 DATIN_SCALE:0:16
        07c D_DATIN_SHIFTER 0 DATIN_SHIFTER:0:5
        080 D_DATOUT_OFFSET 0
        084 D_DATOUT_SCALE 1 DATOUT_SCALE:0:16
        088 D_DATOUT_SHIFTER 0 DATOUT_SHIFTER:0:6
        098 D_OUT_SATURATION 0
        """,
    ),
}

# Blocks whose registers have no effect on data: memory interfaces, error collector.
INERT_BLOCKS = ((0x0000, 0x1000), (0x2000, 0x3000), (0xE000, 0x10000))


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a register: the register's byte offset in its block, lsb and width."""

    register: int
    lsb: int
    width: int


@dataclass(frozen=True, slots=True)
class Block:
    """One block of the register map; `fields` is keyed by (register name, field name)."""

    name: str
    base: int
    offsets: dict[str, int]
    resets: dict[int, int]
    fields: dict[str, Field]


def _parse(name: str, base: int, text: str) -> Block:
    offsets: dict[str, int] = {}
    resets: dict[int, int] = {}
    fields: dict[str, Field] = {}
    offset, register = 0, ""
    for line in text.split("\n"):
        words = line.split()
        if not words:
            continue
        if words[0] == "+":
            tokens = words[1:]
        else:
            offset, register = int(words[0], 16), words[1]
            offsets[register] = offset
            resets[offset] = int(words[2], 16)
            tokens = words[3:]
            if not tokens:
                fields[register] = Field(offset, 0, 32)
        for token in tokens:
            field, lsb, width = token.split(":")
            fields[f"{register}.{field}"] = Field(offset, int(lsb), int(width))
    return Block(name, base, offsets, resets, fields)


BLOCKS: dict[str, Block] = {
    name: _parse(name, base, text) for name, (base, text) in _BLOCKS.items()
}


def block_at(offset: int) -> Block | None:
    """The block whose 4 KiB window holds a byte offset, or None."""
    for block in BLOCKS.values():
        if block.base <= offset < block.base + 0x1000:
            return block
    return None


def offset_of(name: str) -> int:
    """Byte offset of a register named "BLOCK.REGISTER".

    Raises:
        KeyError: no such register in this table.
    """
    block, register = name.split(".")
    return BLOCKS[block].base + BLOCKS[block].offsets[register]


def name_of(offset: int) -> str | None:
    """The "BLOCK.REGISTER" name at a byte offset, or None."""
    block = block_at(offset)
    if block is not None:
        for register, at in block.offsets.items():
            if block.base + at == offset:
                return f"{block.name}.{register}"
    return None
