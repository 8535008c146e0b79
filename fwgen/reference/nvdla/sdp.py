"""SDP: stages X1 (BS), X2 (BN), Y (EW) with its LUT, and the output converter.

Data is 32 bit between the stages. A stage that is bypassed passes its input;
in the X stages the shift of the multiplier acts even with the multiplier
bypassed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fwgen.reference.nvdla.configs import Config
from fwgen.reference.nvdla.cubes import (
    Cube,
    check_address,
    read_integers,
    unit_cube,
    used_channels,
)
from fwgen.reference.nvdla.lut import LutSettings, read_settings, sdp_lookup
from fwgen.reference.nvdla.memory import Memory, ReferenceGuestError, ReferenceUnsupported
from fwgen.reference.nvdla.regfile import Group
from fwgen.reference.nvdla.rounding import (
    Ints,
    round_shift,
    saturate,
    shift_left_saturate,
    sign_extend,
    wrap,
)

ALU_MAX, ALU_MIN, ALU_SUM, ALU_EQUAL = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class SdpResult:
    """int8 output (S, H, W, A) and the values before the output converter.

    `unequal` is set only by the comparing ALU mode.
    """

    values: Ints
    unconverted: Ints
    unequal: bool | None


@dataclass(frozen=True, slots=True)
class _Operands:
    alu: Ints | None
    mul: Ints | None


def stage_reads_memory(sdp: Group, stage: str) -> bool:
    """True if an active ALU or multiplier of a stage takes its operand from memory."""
    cfg = f"D_DP_{stage}_CFG.{stage}_"
    if sdp[cfg + "BYPASS"]:
        return False
    alu = not sdp[cfg + "ALU_BYPASS"] and sdp[f"D_DP_{stage}_ALU_CFG.{stage}_ALU_SRC"]
    mul = not sdp[cfg + "MUL_BYPASS"] and sdp[f"D_DP_{stage}_MUL_CFG.{stage}_MUL_SRC"]
    return bool(alu or mul)


def needs_rdma(sdp: Group) -> bool:
    """True if the operation of this group waits for SDP_RDMA."""
    if not sdp["D_FEATURE_MODE_CFG.FLYING_MODE"]:
        return True
    return any(stage_reads_memory(sdp, stage) for stage in ("BS", "BN", "EW"))


def cube_size(group: Group) -> tuple[int, int, int]:
    """(width, height, channels) of an SDP or SDP_RDMA group."""
    return (
        group["D_DATA_CUBE_WIDTH.WIDTH"] + 1,
        group["D_DATA_CUBE_HEIGHT.HEIGHT"] + 1,
        group["D_DATA_CUBE_CHANNEL.CHANNEL"] + 1,
    )


def read_input(rdma: Group, config: Config, memory: Memory) -> Ints:
    """The int8 source cube, shape (S, H, W, A)."""
    if rdma["D_FEATURE_MODE_CFG.IN_PRECISION"]:
        raise ReferenceUnsupported("SDP_RDMA: input precision other than int8")
    return unit_cube(rdma, "SRC", cube_size(rdma), config.atom).read(memory)


def _memory_operands(rdma: Group, stage: str, config: Config, memory: Memory) -> _Operands:
    prefix = {"BS": "BRDMA", "BN": "NRDMA", "EW": "ERDMA"}[stage]
    cfg = f"D_{prefix}_CFG.{prefix}_"
    if rdma[cfg + "DISABLE"]:
        raise ReferenceGuestError(f"SDP: {stage} takes operands from a disabled {prefix}")
    use = rdma[cfg + "DATA_USE"]
    if use == 3:
        raise ReferenceGuestError(f"SDP_RDMA: {prefix}_DATA_USE 3 is reserved")
    parts = 2 if use == 2 else 1
    size = 2 if rdma[cfg + "DATA_SIZE"] else 1
    space = 0 if rdma[cfg + "RAM_TYPE"] else 1
    base = rdma.address(f"D_{stage}_BASE_ADDR")
    width, height, channels = cube_size(rdma)
    if rdma[cfg + "DATA_MODE"]:
        addresses = Cube(
            space=space,
            base=base,
            line_stride=rdma[f"D_{stage}_LINE_STRIDE"],
            surface_stride=rdma[f"D_{stage}_SURFACE_STRIDE"],
            width=width,
            height=height,
            channels=channels,
            atom=config.atom,
            element_bytes=parts * size,
        ).addresses()
    else:
        check_address(base)
        surfaces = -(-channels // config.atom)
        index = np.arange(surfaces * config.atom, dtype=np.int64)
        addresses = (base + index * parts * size).reshape(surfaces, 1, 1, config.atom)
    first = read_integers(memory, space, addresses, size)
    if use == 0:
        return _Operands(alu=None, mul=first)
    if use == 1:
        return _Operands(alu=first, mul=None)
    return _Operands(alu=first, mul=read_integers(memory, space, addresses + size, size))


def _pick(from_memory: int, operand: Ints | None, register: int, what: str) -> Ints:
    if not from_memory:
        return np.array(register, dtype=np.int64)
    if operand is None:
        raise ReferenceGuestError(f"SDP: {what} operand is not in what SDP_RDMA reads")
    return operand


def _alu(x: Ints, operand: Ints, algorithm: int) -> Ints:
    if algorithm == ALU_MAX:
        return np.maximum(x, operand)
    if algorithm == ALU_MIN:
        return np.minimum(x, operand)
    return x + operand


def x_stage(x: Ints, sdp: Group, stage: str, operands: _Operands) -> Ints:
    """One of the two X stages on 32-bit data."""
    cfg = f"D_DP_{stage}_CFG.{stage}_"
    if sdp[cfg + "BYPASS"]:
        return x
    alu_cfg = f"D_DP_{stage}_ALU_CFG.{stage}_ALU_"
    mul_cfg = f"D_DP_{stage}_MUL_CFG.{stage}_MUL_"
    if not sdp[cfg + "ALU_BYPASS"]:
        register = sdp.signed(f"D_DP_{stage}_ALU_SRC_VALUE.{stage}_ALU_OPERAND")
        operand = _pick(sdp[alu_cfg + "SRC"], operands.alu, register, f"{stage} ALU")
        operand = shift_left_saturate(operand, sdp[alu_cfg + "SHIFT_VALUE"], 32)
        algorithm = sdp[cfg + "ALU_ALGO"]
        if algorithm == ALU_EQUAL:
            raise ReferenceGuestError(f"SDP: {stage}_ALU_ALGO 3 is reserved")
        x = _alu(x, operand, algorithm)
    # The multiplier's shift port is 6 bits wide, its register field 8.
    shift = sdp[mul_cfg + "SHIFT_VALUE"] & 63
    if sdp[cfg + "MUL_BYPASS"]:
        x = saturate(round_shift(x, shift), 32)
    else:
        register = sdp.signed(f"D_DP_{stage}_MUL_SRC_VALUE.{stage}_MUL_OPERAND")
        operand = _pick(sdp[mul_cfg + "SRC"], operands.mul, register, f"{stage} multiplier")
        product = saturate(round_shift(x * operand, shift), 32)
        if sdp[cfg + "MUL_PRELU"]:
            product = np.where(x >= 0, wrap(x, 32), product)
        x = product
    if not sdp[cfg + "RELU_BYPASS"]:
        x = np.maximum(x, 0)
    return x


def _ew_operand(sdp: Group, name: str, operands: Ints | None) -> Ints:
    cfg = f"D_DP_EW_{name}_CFG.EW_{name}_"
    register = sdp.signed(f"D_DP_EW_{name}_SRC_VALUE")
    operand = _pick(sdp[cfg + "SRC"], operands, register, f"EW {name}")
    if not sdp[cfg + "SRC"] or sdp[cfg + "CVT_BYPASS"]:
        return operand
    prefix = f"D_DP_EW_{name}_CVT"
    offset = sdp.signed(f"{prefix}_OFFSET_VALUE")
    scale = sdp.signed(f"{prefix}_SCALE_VALUE.EW_{name}_CVT_SCALE")
    shift = sdp[f"{prefix}_TRUNCATE_VALUE.EW_{name}_CVT_TRUNCATE"]
    return saturate(round_shift((operand - offset) * scale, shift), 32)


def lut_settings(sdp: Group, tables: tuple[Ints, Ints]) -> LutSettings:
    """The LUT registers of SDP; bounds are 32 bit."""
    return read_settings(sdp, tables, lambda name: sign_extend(sdp[f"S_LUT_{name}"], 32))


def _y_stage(
    x: Ints, sdp: Group, operands: _Operands, tables: tuple[Ints, Ints]
) -> tuple[Ints, bool | None]:
    cfg = "D_DP_EW_CFG.EW_"
    if sdp[cfg + "BYPASS"]:
        return x, None
    if not sdp[cfg + "MUL_BYPASS"]:
        operand = _ew_operand(sdp, "MUL", operands.mul)
        product = saturate(round_shift(x * operand, sdp["D_DP_EW_TRUNCATE_VALUE.EW_TRUNCATE"]), 32)
        x = np.where(x >= 0, x, product) if sdp[cfg + "MUL_PRELU"] else product
    if not sdp[cfg + "ALU_BYPASS"]:
        operand = _ew_operand(sdp, "ALU", operands.alu)
        algorithm = sdp[cfg + "ALU_ALGO"]
        if algorithm == ALU_EQUAL:
            _, _, channels = cube_size(sdp)
            used = used_channels(channels, x.shape[3])
            return x, bool(np.any((x != operand) & used))
        x = saturate(_alu(x, operand, algorithm), 32)
    if not sdp[cfg + "LUT_BYPASS"]:
        x = sdp_lookup(x, lut_settings(sdp, tables))
    return x, None


def convert_output(x: Ints, sdp: Group) -> Ints:
    """The output converter C, to int8."""
    offset = sdp.signed("D_CVT_OFFSET")
    scale = sdp.signed("D_CVT_SCALE.CVT_SCALE")
    shift = sdp["D_CVT_SHIFT.CVT_SHIFT"]
    return saturate(saturate(round_shift((x - offset) * scale, shift), 17), 8)


def process(
    x: Ints,
    sdp: Group,
    rdma: Group | None,
    config: Config,
    memory: Memory,
    tables: tuple[Ints, Ints],
) -> SdpResult:
    """Run all stages on the input (S, H, W, A).

    Raises:
        ReferenceUnsupported: precision other than int8, Winograd, batches.
        ReferenceGuestError: operands that nobody reads, reserved codes.
    """
    if sdp["D_DATA_FORMAT.PROC_PRECISION"] or sdp["D_DATA_FORMAT.OUT_PRECISION"]:
        raise ReferenceUnsupported("SDP: precision other than int8")
    if sdp["D_FEATURE_MODE_CFG.WINOGRAD"]:
        raise ReferenceUnsupported("SDP: Winograd")
    if sdp["D_FEATURE_MODE_CFG.BATCH_NUMBER"]:
        raise ReferenceUnsupported("SDP: batches")
    operands = {}
    for stage in ("BS", "BN", "EW"):
        operands[stage] = _Operands(None, None)
        if stage_reads_memory(sdp, stage):
            if rdma is None:
                raise ReferenceGuestError("SDP: operands from memory without SDP_RDMA")
            operands[stage] = _memory_operands(rdma, stage, config, memory)
    for stage in ("BS", "BN"):
        x = x_stage(x, sdp, stage, operands[stage])
    x, unequal = _y_stage(x, sdp, operands["EW"], tables)
    return SdpResult(convert_output(x, sdp), x, unequal)


def write_output(values: Ints, sdp: Group, config: Config, memory: Memory) -> None:
    """Store the output cube."""
    width, height, channels = cube_size(sdp)
    Cube(
        space=0 if sdp["D_DST_DMA_CFG.DST_RAM_TYPE"] else 1,
        base=sdp.address("D_DST_BASE_ADDR"),
        line_stride=sdp["D_DST_LINE_STRIDE"],
        surface_stride=sdp["D_DST_SURFACE_STRIDE"],
        width=width,
        height=height,
        channels=channels,
        atom=config.atom,
    ).write(memory, values)
