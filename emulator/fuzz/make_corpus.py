"""Writes a seed corpus for fuzz_nvdla: one small valid program of each kind.

Input format: see fuzz_nvdla.c. Registers are numbered in the order of
register_table.inc. Usage: python make_corpus.py OUTPUT_DIRECTORY
"""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "nvdla" / "register_table.inc"
NAMES = re.findall(r'REGISTER\(.*"([^"]+)"\)', TABLE.read_text())
INDEX = {name: number for number, name in enumerate(NAMES)}

CONFIGS = ("nv_small", "nv_small_256", "nv_small_256_full", "nv_medium_512", "nv_large")
ATOM = {"nv_small": 8, "nv_small_256": 8, "nv_small_256_full": 8, "nv_medium_512": 16}
SOURCE, TARGET, WEIGHTS, OPERANDS = 0x0000, 0x1000, 0x2000, 0x3000


def write(name: str, value: int) -> bytes:
    return struct.pack("<BHI", 0, INDEX[name], value & 0xFFFFFFFF)


def block(name: str, values: dict[str, int]) -> bytes:
    return b"".join(write(f"{name}.{register}", value) for register, value in values.items())


def fill(base: int, seed: int) -> bytes:
    return b"".join(
        struct.pack("<BHB", 5, base + 16 * i, (seed * (i + 3) * 37) & 0xFF) for i in range(24)
    )


def sdp(atom: int, channels: int, flying: int = 0, to_pdp: int = 0, **values: int) -> bytes:
    size = {
        "D_DATA_CUBE_WIDTH": 3,
        "D_DATA_CUBE_HEIGHT": 3,
        "D_DATA_CUBE_CHANNEL": channels - 1,
    }
    strides = (4 * atom, 16 * atom)
    return block(
        "SDP",
        {
            **size,
            "D_DST_BASE_ADDR_LOW": TARGET,
            "D_DST_LINE_STRIDE": strides[0],
            "D_DST_SURFACE_STRIDE": strides[1],
            "D_DST_DMA_CFG": 1,
            "D_FEATURE_MODE_CFG": flying | to_pdp << 1,
            "D_CVT_SCALE": 3,
            "D_CVT_SHIFT": 4,
            **values,
        },
    ) + block(
        "SDP_RDMA",
        {
            **size,
            "D_SRC_BASE_ADDR_LOW": SOURCE,
            "D_SRC_LINE_STRIDE": strides[0],
            "D_SRC_SURFACE_STRIDE": strides[1],
            "D_SRC_DMA_CFG": 1,
            "D_FEATURE_MODE_CFG": flying,
            "D_BRDMA_CFG": 2 << 1 | 1 << 3 | 1 << 5,
            "D_BS_BASE_ADDR_LOW": OPERANDS,
            "D_NRDMA_CFG": 1 << 4 | 1 << 5,
            "D_BN_BASE_ADDR_LOW": OPERANDS,
            "D_BN_LINE_STRIDE": strides[0],
            "D_BN_SURFACE_STRIDE": strides[1],
            "D_ERDMA_CFG": 1 << 1 | 1 << 5,
            "D_EW_BASE_ADDR_LOW": OPERANDS,
        },
    )


STAGES = {
    "D_DP_BS_CFG": 2 << 2,
    "D_DP_BS_ALU_CFG": 1,
    "D_DP_BS_MUL_CFG": 1 | 6 << 8,
    "D_DP_BN_CFG": 1 << 1 | 1 << 5,
    "D_DP_BN_MUL_CFG": 1 | 4 << 8,
    "D_DP_EW_CFG": 2 << 2 | 1 << 4,
    "D_DP_EW_ALU_CFG": 1,
    "D_DP_EW_ALU_CVT_SCALE_VALUE": 5,
    "S_LUT_CFG": 0x41,
    "S_LUT_INFO": 0x20200,
    "S_LUT_LE_END": 256,
    "S_LUT_LO_END": 1024,
}


def conv(atom: int, channels: int, image: int = 0, merge: int = 0) -> bytes:
    deep = 4 * 2 if image else channels
    inputs = 4 if image else channels
    common = {"D_MISC_CFG": 0}
    return (
        block("CACC", {**common, "D_DATAOUT_SIZE_0": 0x30003, "D_DATAOUT_SIZE_1": channels - 1,
                       "D_CLIP_CFG": 2})
        + block("CMAC_A", common)
        + block("CMAC_B", common)
        + block(
            "CSC",
            {
                **common,
                "D_DATAIN_FORMAT": image,
                "D_DATAIN_SIZE_EXT_0": 0x40004,
                "D_DATAIN_SIZE_EXT_1": inputs - 1,
                "D_ENTRY_PER_SLICE": 4,
                "D_WEIGHT_SIZE_EXT_0": 0x10000 if image else 0x10001,
                "D_WEIGHT_SIZE_EXT_1": (deep - 1) | (channels - 1) << 16,
                "D_WEIGHT_BYTES": 0x1000,
                "D_POST_Y_EXTENSION": merge,
                "D_DATAOUT_SIZE_0": 0x30003,
                "D_DATAOUT_SIZE_1": channels - 1,
            },
        )
        + block(
            "CDMA",
            {
                **common,
                "D_DATAIN_FORMAT": image | 12 << 8,
                "D_DATAIN_SIZE_0": 0x40004,
                "D_DATAIN_SIZE_EXT_0": 0x40004,
                "D_DATAIN_SIZE_1": inputs - 1,
                "D_DAIN_RAM_TYPE": 1,
                "D_DAIN_ADDR_LOW_0": SOURCE,
                "D_LINE_STRIDE": 5 * atom,
                "D_SURF_STRIDE": 25 * atom,
                "D_DAIN_MAP": 1,
                "D_ENTRY_PER_SLICE": 4,
                "D_WEIGHT_SIZE_1": channels - 1,
                "D_WEIGHT_RAM_TYPE": 1,
                "D_WEIGHT_ADDR_LOW": WEIGHTS,
                "D_WEIGHT_BYTES": 0x1000,
                "D_CVT_CFG": 0x11,
                "D_CVT_SCALE": 3,
            },
        )
    )  # fmt: skip


def pdp(atom: int, channels: int, method: int, flying: int = 0) -> bytes:
    size = {
        "D_DATA_CUBE_IN_WIDTH": 3,
        "D_DATA_CUBE_IN_HEIGHT": 3,
        "D_DATA_CUBE_IN_CHANNEL": channels - 1,
    }
    return block(
        "PDP",
        {
            **size,
            "D_DATA_CUBE_OUT_WIDTH": 1,
            "D_DATA_CUBE_OUT_HEIGHT": 1,
            "D_DATA_CUBE_OUT_CHANNEL": channels - 1,
            "D_OPERATION_MODE_CFG": method | (1 - flying) << 4,
            "D_POOLING_KERNEL_CFG": 0x110202,
            "D_RECIP_KERNEL_WIDTH": 0x5555,
            "D_RECIP_KERNEL_HEIGHT": 0x5555,
            "D_POOLING_PADDING_CFG": 0x1011,
            "D_DST_BASE_ADDR_LOW": TARGET,
            "D_DST_LINE_STRIDE": 2 * atom,
            "D_DST_SURFACE_STRIDE": 4 * atom,
            "D_DST_RAM_CFG": 1,
        },
    ) + block(
        "PDP_RDMA",
        {
            **size,
            "D_SRC_BASE_ADDR_LOW": SOURCE,
            "D_SRC_LINE_STRIDE": 4 * atom,
            "D_SRC_SURFACE_STRIDE": 16 * atom,
            "D_SRC_RAM_CFG": 1,
        },
    )


def cdp(atom: int, channels: int, linear: int) -> bytes:
    strides = (4 * atom, 16 * atom)
    table = write("CDP.S_LUT_ACCESS_CFG", 1 << 17 | 1 << 16) + b"".join(
        write("CDP.S_LUT_ACCESS_DATA", 0x4000 - 50 * i) for i in range(20)
    )
    return (
        table
        + block(
            "CDP_RDMA",
            {
                "D_DATA_CUBE_WIDTH": 3,
                "D_DATA_CUBE_HEIGHT": 3,
                "D_DATA_CUBE_CHANNEL": channels - 1,
                "D_SRC_BASE_ADDR_LOW": SOURCE,
                "D_SRC_LINE_STRIDE": strides[0],
                "D_SRC_SURFACE_STRIDE": strides[1],
                "D_SRC_DMA_CFG": 1,
            },
        )
        + block(
            "CDP",
            {
                "S_LUT_CFG": linear | 0x40,
                "S_LUT_INFO": 0x60602,
                "S_LUT_LE_END_LOW": 65536,
                "S_LUT_LO_END_LOW": 65536,
                "D_DST_BASE_ADDR_LOW": TARGET,
                "D_DST_LINE_STRIDE": strides[0],
                "D_DST_SURFACE_STRIDE": strides[1],
                "D_DST_DMA_CFG": 1,
                "D_DATA_FORMAT": 0,
                "D_LRN_CFG": 2,
                "D_DATOUT_SHIFTER": 9,
            },
        )
    )


def copies() -> bytes:
    """Two transfers, the second launched behind the first."""
    transfer = block(
        "BDMA",
        {
            "CFG_SRC_ADDR_LOW": SOURCE,
            "CFG_DST_ADDR_LOW": TARGET,
            "CFG_LINE": 1,
            "CFG_CMD": 3,
            "CFG_LINE_REPEAT": 2,
            "CFG_SRC_LINE": 64,
            "CFG_DST_LINE": 96,
            "CFG_SURF_REPEAT": 1,
            "CFG_SRC_SURF": 256,
            "CFG_DST_SURF": 512,
            "CFG_OP": 1,
        },
    )
    return (
        transfer
        + write("BDMA.CFG_LAUNCH0", 1)
        + write("BDMA.CFG_CMD", 1)
        + write("BDMA.CFG_OP", 1)
        + write("BDMA.CFG_LAUNCH1", 1)
    )


def reshape(mode: int) -> bytes:
    return block(
        "RBK",
        {
            "D_MISC_CFG": mode,
            "D_DAIN_RAM_TYPE": 1,
            "D_DATAIN_SIZE_0": 0x10002,
            "D_DATAIN_SIZE_1": 34,
            "D_DAIN_ADDR_LOW": SOURCE,
            "D_DAIN_LINE_STRIDE": 96,
            "D_DAIN_SURF_STRIDE": 192,
            "D_DAIN_PLANAR_STRIDE": 64,
            "D_DAOUT_RAM_TYPE": 1,
            "D_DATAOUT_SIZE_1": 34,
            "D_DAOUT_ADDR_LOW": TARGET,
            "D_DAOUT_LINE_STRIDE": 192,
            "D_DAOUT_SURF_STRIDE": 768,
            "D_DAOUT_PLANAR_STRIDE": 64,
            "D_CONTRACT_STRIDE_0": 384,
            "D_CONTRACT_STRIDE_1": 384,
            "D_DECONV_STRIDE": 0x10001,
        },
    )


def main(argv: list[str]) -> int:
    target = Path(argv[1])
    target.mkdir(parents=True, exist_ok=True)
    run = b"\x07"
    for number, config in enumerate(CONFIGS):
        atom = ATOM.get(config, 32)
        channels = atom + 3
        head = bytes((number if config != "nv_large" else 5, 15))
        data = fill(SOURCE, 3) + fill(WEIGHTS, 5) + fill(OPERANDS, 7)
        seeds = {
            "sdp": sdp(atom, channels, **STAGES) + run,
            "sdp_pdp": sdp(atom, channels, to_pdp=1) + pdp(atom, channels, 1, 1) + run,
            "conv": conv(atom, channels) + sdp(atom, channels, 1, **STAGES) + run,
            "image": conv(atom, channels, 1) + sdp(atom, channels, 1) + run,
            "merged": conv(atom, channels, 1, 1) + sdp(atom, channels, 1) + run,
            "pdp_average": pdp(atom, channels, 0) + run,
            "pdp_max": pdp(atom, channels, 1) + run,
            "cdp_linear": cdp(atom, channels, 1) + run,
            "cdp_exponent": cdp(atom, channels, 0) + run,
        }
        for name, program in seeds.items():
            (target / f"{config}_{name}").write_bytes(head + data + program)
    head = bytes((6, 15))
    (target / "bdma").write_bytes(head + fill(SOURCE, 3) + copies() + run)
    for mode, name in enumerate(("contract", "split", "merge")):
        (target / f"rubik_{name}").write_bytes(head + fill(SOURCE, 3) + reshape(mode) + run)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
