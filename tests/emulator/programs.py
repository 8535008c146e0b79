"""Register programs for the tests: one small operation of each unit, and cubes in memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fwgen.model.nvdla.packing import pack_feature, unpack_feature

from .conftest import OPERANDS, SOURCE, TARGET, WEIGHTS, Device

Int8Cube = npt.NDArray[np.int8]

# X1, X2 and Y bypassed.
BYPASS = {"D_DP_BS_CFG": 1, "D_DP_BN_CFG": 1, "D_DP_EW_CFG": 1}


def pack(cube: Int8Cube, atom: int) -> Int8Cube:
    """(C, H, W) as the bytes of a feature cube with packed strides."""
    return np.frombuffer(pack_feature(cube, atom), np.int8)


def unpack(
    data: npt.NDArray[np.uint8], channels: int, height: int, width: int, atom: int
) -> Int8Cube:
    """The bytes of a packed feature cube as (C, H, W)."""
    return unpack_feature(data.tobytes(), (channels, height, width), atom)


def cube_size(channels: int, height: int, width: int, atom: int) -> int:
    """Bytes of a packed feature cube."""
    return -(-channels // atom) * height * width * atom


def _source(shape: tuple[int, int, int], strides: tuple[int, int]) -> dict[str, int]:
    """The source of a read DMA of SDP or CDP."""
    channels, height, width = shape
    return {
        "D_DATA_CUBE_WIDTH": width - 1,
        "D_DATA_CUBE_HEIGHT": height - 1,
        "D_DATA_CUBE_CHANNEL": channels - 1,
        "D_SRC_BASE_ADDR_LOW": SOURCE,
        "D_SRC_LINE_STRIDE": strides[0],
        "D_SRC_SURFACE_STRIDE": strides[1],
    }


def sdp_registers(
    device: Device,
    shape: tuple[int, int, int],
    atom: int,
    *,
    group: int = 0,
    rdma_group: int | None = None,
    flying: bool = False,
    to_pdp: bool = False,
    target: int = TARGET,
    **values: int,
) -> None:
    """Program (not enable) an SDP operation over a packed (C, H, W) cube."""
    channels, height, width = shape
    strides = (width * atom, width * height * atom)
    device.write("SDP.S_POINTER", group)
    device.program(
        "SDP",
        {
            "D_DATA_CUBE_WIDTH": width - 1,
            "D_DATA_CUBE_HEIGHT": height - 1,
            "D_DATA_CUBE_CHANNEL": channels - 1,
            "D_DST_BASE_ADDR_LOW": target,
            "D_DST_LINE_STRIDE": strides[0],
            "D_DST_SURFACE_STRIDE": strides[1],
            "D_FEATURE_MODE_CFG": int(flying) | int(to_pdp) << 1,
            "D_DST_DMA_CFG": 1,
            "D_CVT_SCALE": 1,
            **BYPASS,
            **values,
        },
    )
    device.write("SDP_RDMA.S_POINTER", group if rdma_group is None else rdma_group)
    device.program(
        "SDP_RDMA",
        {
            **_source(shape, strides),
            "D_FEATURE_MODE_CFG": int(flying),
            "D_SRC_DMA_CFG": 1,
        },
    )


def enable_sdp(device: Device, *, rdma: bool = True) -> None:
    """Arm SDP and its RDMA, RDMA last."""
    device.write("SDP.D_OP_ENABLE", 1)
    if rdma:
        device.write("SDP_RDMA.D_OP_ENABLE", 1)


def run_sdp(device: Device, cube: Int8Cube, atom: int = 8, **values: int) -> Int8Cube:
    """An SDP operation in group 0 of a fresh device: (C, H, W) in and out."""
    device.put(SOURCE, pack(cube, atom))
    sdp_registers(device, cube.shape, atom, **values)
    enable_sdp(device)
    assert device.run() == 1
    return unpack(device.bytes_at(TARGET, cube_size(*cube.shape, atom)), *cube.shape, atom).copy()


def conv_registers(
    device: Device,
    cube: tuple[int, int, int],
    kernel: tuple[int, int, int],
    out: tuple[int, int],
    *,
    entries: int,
    group: int = 0,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    pad: tuple[int, int, int, int] = (0, 0, 0, 0),
    pad_value: int = 0,
    truncate: int = 0,
    atom: int = 8,
    **cdma: int,
) -> None:
    """Program a direct convolution: cube (C, H, W), kernel (K, R, S), out (H, W).

    `stride` and `dilation` are (y, x), `pad` is left, top, right, bottom.
    """
    channels, height, width = cube
    kernels, rows, columns = kernel
    weights = kernels * rows * columns * channels
    for block in ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA"):
        device.write(f"{block}.S_POINTER", group)
    size = (width - 1) | (height - 1) << 16
    out_size = (out[1] - 1) | (out[0] - 1) << 16
    strides = (stride[1] - 1) | (stride[0] - 1) << 16
    device.program(
        "CACC",
        {
            "D_MISC_CFG": 0,
            "D_DATAOUT_SIZE_0": out_size,
            "D_DATAOUT_SIZE_1": kernels - 1,
            "D_CLIP_CFG": truncate,
        },
    )
    device.write("CMAC_A.D_MISC_CFG", 0)
    device.write("CMAC_B.D_MISC_CFG", 0)
    device.program(
        "CSC",
        {
            "D_MISC_CFG": 0,
            "D_DATAIN_FORMAT": 0,
            "D_DATAIN_SIZE_EXT_0": size,
            "D_DATAIN_SIZE_EXT_1": channels - 1,
            "D_ENTRY_PER_SLICE": entries - 1,
            "D_WEIGHT_SIZE_EXT_0": (columns - 1) | (rows - 1) << 16,
            "D_WEIGHT_SIZE_EXT_1": (channels - 1) | (kernels - 1) << 16,
            "D_WEIGHT_BYTES": weights,
            "D_DATAOUT_SIZE_0": out_size,
            "D_DATAOUT_SIZE_1": kernels - 1,
            "D_CONV_STRIDE_EXT": strides,
            "D_DILATION_EXT": (dilation[1] - 1) | (dilation[0] - 1) << 16,
            "D_ZERO_PADDING": pad[0] | pad[1] << 16,
            "D_ZERO_PADDING_VALUE": pad_value,
            "D_BANK": 0,
        },
    )
    device.program(
        "CDMA",
        {
            "D_MISC_CFG": 0,
            "D_DATAIN_FORMAT": 0,
            "D_DATAIN_SIZE_0": size,
            "D_DATAIN_SIZE_1": channels - 1,
            "D_DATAIN_SIZE_EXT_0": size,
            "D_DAIN_RAM_TYPE": 1,
            "D_DAIN_ADDR_LOW_0": SOURCE,
            "D_LINE_STRIDE": width * atom,
            "D_SURF_STRIDE": width * height * atom,
            "D_DAIN_MAP": 0x10001,
            "D_ENTRY_PER_SLICE": entries - 1,
            "D_WEIGHT_SIZE_1": kernels - 1,
            "D_WEIGHT_RAM_TYPE": 1,
            "D_WEIGHT_ADDR_LOW": WEIGHTS,
            "D_WEIGHT_BYTES": weights,
            "D_CONV_STRIDE": strides,
            "D_ZERO_PADDING": pad[0] | pad[2] << 8 | pad[1] << 16 | pad[3] << 24,
            "D_ZERO_PADDING_VALUE": pad_value,
            "D_BANK": 0,
            **cdma,
        },
    )


def enable_conv(device: Device) -> None:
    """Arm the five convolution blocks."""
    for block in ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA"):
        device.write(f"{block}.D_OP_ENABLE", 1)


def pack_weights(weights: Int8Cube, atomic_c: int, atomic_k: int) -> Int8Cube:
    """(K, C, R, S) in the order of the direct convolution."""
    kernels, channels, rows, columns = weights.shape
    parts = []
    for first in range(0, kernels, atomic_k):
        for block in range(0, channels, atomic_c):
            piece = weights[first : first + atomic_k, block : block + atomic_c]
            parts.append(piece.transpose(2, 3, 0, 1).reshape(-1))
    return np.ascontiguousarray(np.concatenate(parts))


def pdp_registers(
    device: Device,
    shape: tuple[int, int, int],
    out: tuple[int, int],
    atom: int,
    *,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    method: int,
    flying: bool = False,
    **values: int,
) -> None:
    """Program pooling of (C, H, W) to (H, W): kernel and stride are (y, x)."""
    channels, height, width = shape
    common = {
        "D_DATA_CUBE_IN_WIDTH": width - 1,
        "D_DATA_CUBE_IN_HEIGHT": height - 1,
        "D_DATA_CUBE_IN_CHANNEL": channels - 1,
    }
    device.program(
        "PDP",
        {
            **common,
            "D_DATA_CUBE_OUT_WIDTH": out[1] - 1,
            "D_DATA_CUBE_OUT_HEIGHT": out[0] - 1,
            "D_DATA_CUBE_OUT_CHANNEL": channels - 1,
            "D_OPERATION_MODE_CFG": method | (0 if flying else 1) << 4,
            "D_POOLING_KERNEL_CFG": (kernel[1] - 1)
            | (kernel[0] - 1) << 8
            | (stride[1] - 1) << 16
            | (stride[0] - 1) << 20,
            "D_RECIP_KERNEL_WIDTH": 0x10000 // kernel[1],
            "D_RECIP_KERNEL_HEIGHT": 0x10000 // kernel[0],
            "D_DST_BASE_ADDR_LOW": TARGET,
            "D_DST_LINE_STRIDE": out[1] * atom,
            "D_DST_SURFACE_STRIDE": out[0] * out[1] * atom,
            "D_DST_RAM_CFG": 1,
            **values,
        },
    )
    if flying:
        return
    device.program(
        "PDP_RDMA",
        {
            **common,
            "D_SRC_BASE_ADDR_LOW": SOURCE,
            "D_SRC_LINE_STRIDE": width * atom,
            "D_SRC_SURFACE_STRIDE": width * height * atom,
            "D_SRC_RAM_CFG": 1,
            "D_OPERATION_MODE_CFG": values.get("D_OPERATION_MODE_CFG", 0) >> 8,
        },
    )


def cdp_registers(device: Device, shape: tuple[int, int, int], atom: int, **values: int) -> None:
    """Program a CDP operation over a packed (C, H, W) cube."""
    channels, height, width = shape
    strides = (width * atom, width * height * atom)
    device.program(
        "CDP_RDMA",
        {
            **_source(shape, strides),
            "D_SRC_DMA_CFG": 1,
        },
    )
    device.program(
        "CDP",
        {
            "D_DST_BASE_ADDR_LOW": TARGET,
            "D_DST_LINE_STRIDE": strides[0],
            "D_DST_SURFACE_STRIDE": strides[1],
            "D_DST_DMA_CFG": 1,
            "D_DATA_FORMAT": 0,
            **values,
        },
    )


def upload_lut(device: Device, unit: str, le: list[int], lo: list[int]) -> None:
    """Fill both tables of "SDP" or "CDP"."""
    for table, entries in ((0, le), (1, lo)):
        device.write(f"{unit}.S_LUT_ACCESS_CFG", 1 << 17 | table << 16)
        for entry in entries:
            device.write(f"{unit}.S_LUT_ACCESS_DATA", entry & 0xFFFF)


OPERAND_BASE = OPERANDS
