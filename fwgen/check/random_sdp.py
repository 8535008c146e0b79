"""Random SDP register programs: X stages, Y stage, LUT, output converter.

Used alone (memory to memory) and as the second half of convolutions.
"""

from __future__ import annotations

from dataclasses import dataclass

from fwgen.check.random_program import Builder, CubeSpec, place_cube

_STAGES = {"BS": "BRDMA", "BN": "NRDMA", "EW": "ERDMA"}


@dataclass(frozen=True, slots=True)
class SdpPlan:
    """What the random SDP operation must do.

    Attributes:
        flying: input comes from CACC.
        bits: magnitude of the input, log2.
        to_pdp: output goes to PDP.
        x_stages: probability that an X stage is active.
        ew: the Y stage is active.
        lut: the LUT is active.
    """

    flying: bool = False
    bits: int = 7
    to_pdp: bool = False
    x_stages: float = 0.7
    ew: bool = False
    lut: bool = False


def program_sdp(b: Builder, size: tuple[int, int, int], plan: SdpPlan) -> tuple[str, ...]:
    """Program SDP for a cube (width, height, channels).

    Returns the blocks to enable. `Builder.select` for SDP and SDP_RDMA has
    been called by the caller.
    """
    width, height, channels = size
    needs_rdma = not plan.flying
    bits, idle = plan.bits, plan.flying
    for stage in ("BS", "BN", "EW"):
        active = plan.ew if stage == "EW" else b.chance(plan.x_stages)
        memory, bits = _program_stage(b, stage, active, size, plan, bits)
        needs_rdma = needs_rdma or memory
        idle = idle and not memory
    if plan.lut:
        program_lut(b, "SDP", bits)
        bits = 15
    for block in ("SDP", "SDP_RDMA"):
        b.raw(f"{block}.D_DATA_CUBE_WIDTH", width - 1)
        b.raw(f"{block}.D_DATA_CUBE_HEIGHT", height - 1)
        b.raw(f"{block}.D_DATA_CUBE_CHANNEL", channels - 1)
    b.fields("SDP_RDMA.D_FEATURE_MODE_CFG", FLYING_MODE=int(plan.flying))
    b.fields("SDP.D_FEATURE_MODE_CFG", FLYING_MODE=int(plan.flying), OUTPUT_DST=int(plan.to_pdp))
    b.raw("SDP.D_DATA_FORMAT", 0)
    source = None
    if not plan.flying:
        source = place_cube(b, width, height, channels)
        b.address("SDP_RDMA.D_SRC_BASE_ADDR_LOW", "SDP_RDMA.D_SRC_BASE_ADDR_HIGH", source.buffer)
        b.raw("SDP_RDMA.D_SRC_LINE_STRIDE", source.line_stride)
        b.raw("SDP_RDMA.D_SRC_SURFACE_STRIDE", source.surface_stride)
        b.fields("SDP_RDMA.D_SRC_DMA_CFG", SRC_RAM_TYPE=source.buffer.ram_type)
    if not plan.to_pdp:
        _program_output(b, size, source)
    _program_converter(b, bits)
    # An armed SDP_RDMA with nothing to read ends by itself.
    return ("SDP_RDMA", "SDP") if needs_rdma or (idle and b.chance(0.3)) else ("SDP",)


def _program_output(b: Builder, size: tuple[int, int, int], source: CubeSpec | None) -> None:
    in_place = source is not None and b.chance(0.1)
    target = source if in_place and source is not None else place_cube(b, *size)
    b.address("SDP.D_DST_BASE_ADDR_LOW", "SDP.D_DST_BASE_ADDR_HIGH", target.buffer)
    b.raw("SDP.D_DST_LINE_STRIDE", target.line_stride)
    b.raw("SDP.D_DST_SURFACE_STRIDE", target.surface_stride)
    b.fields("SDP.D_DST_DMA_CFG", DST_RAM_TYPE=target.buffer.ram_type)


def _program_converter(b: Builder, bits: int) -> None:
    if b.chance(0.05):
        offset, scale, shift = 0, 1, 0
    elif b.sane:
        scale_bits = b.between(1, 15)
        scale = b.sized(scale_bits, 16)
        shift = max(0, min(63, bits + scale_bits - 7 + b.between(-3, 1)))
        offset = b.sized(bits - b.between(0, 6), 32)
    else:
        offset = b.signed(32) if b.chance(0.2) else b.signed(12)
        scale = b.signed(16)
        shift = b.between(0, 63) if b.chance(0.2) else b.between(0, 24)
    b.raw("SDP.D_CVT_OFFSET", offset)
    b.fields("SDP.D_CVT_SCALE", CVT_SCALE=scale)
    b.fields("SDP.D_CVT_SHIFT", CVT_SHIFT=shift)


def _program_stage(
    b: Builder, stage: str, active: bool, size: tuple[int, int, int], plan: SdpPlan, bits: int
) -> tuple[bool, int]:
    """One stage with its operands.

    Returns whether it reads memory, and the magnitude of its output (log2).
    """
    alu, mul = b.chance(0.7), b.chance(0.7)
    ew = stage == "EW"
    compare = ew and active and alu and not plan.to_pdp and b.chance(0.06)
    cfg = {
        f"{stage}_BYPASS": int(not active),
        f"{stage}_ALU_BYPASS": int(not alu),
        f"{stage}_ALU_ALGO": 3 if compare else b.between(0, 2),
        f"{stage}_MUL_BYPASS": int(not mul),
        f"{stage}_MUL_PRELU": int(b.chance(0.3)),
    }
    if ew:
        cfg["EW_LUT_BYPASS"] = int(not plan.lut)
    else:
        cfg[f"{stage}_RELU_BYPASS"] = int(b.chance(0.7))
    b.fields(f"SDP.D_DP_{stage}_CFG", **cfg)
    alu_memory, mul_memory = b.chance(0.5), b.chance(0.5)
    wanted = (alu and alu_memory, mul and mul_memory)
    memory = active and any(wanted)
    two_bytes = b.chance(0.5)
    operand_bits = 13 if two_bytes else 6
    if ew:
        out = _program_ew_operands(b, alu_memory, mul_memory, mul, bits, operand_bits)
    else:
        out = _program_x_operands(b, stage, alu_memory, mul_memory, mul, bits, operand_bits)
    if memory:
        _program_operand_reader(b, stage, wanted, two_bytes, size)
        b.note(f"{stage}:mem")
    elif b.chance(0.5):
        prefix = _STAGES[stage]
        b.fields(f"SDP_RDMA.D_{prefix}_CFG", **{f"{prefix}_DISABLE": 1})
    else:
        # With DISABLE set the rest of the word has no meaning.
        b.raw(f"SDP_RDMA.D_{_STAGES[stage]}_CFG", 1 | (b.between(0, 31) << 1))
    return memory, min(31, max(1, out)) if active else bits


def _program_x_operands(
    b: Builder,
    stage: str,
    alu_memory: bool,
    mul_memory: bool,
    mul: bool,
    bits: int,
    operand_bits: int,
) -> int:
    if b.sane:
        have = operand_bits if alu_memory else min(15, bits)
        operand = b.sized(have, 16)
        shift = max(0, min(63, bits - have + (b.between(-1, 2) if b.big else b.between(-3, 0))))
    else:
        operand = b.signed(16)
        shift = b.between(0, 63) if b.chance(0.15) else b.between(0, 16)
    b.fields(
        f"SDP.D_DP_{stage}_ALU_CFG",
        **{f"{stage}_ALU_SRC": int(alu_memory), f"{stage}_ALU_SHIFT_VALUE": shift},
    )
    b.fields(f"SDP.D_DP_{stage}_ALU_SRC_VALUE", **{f"{stage}_ALU_OPERAND": operand})
    scale_bits = b.between(1, 15)
    if b.sane:
        operand = b.sized(scale_bits, 16)
        if mul_memory:
            scale_bits = operand_bits
        grow = b.between(-3, 4) if bits < 24 else b.between(-8, 0)
        if b.big:
            grow = min(scale_bits, 31 - bits + b.between(-1, 1))
        shift = max(0, scale_bits - grow) if mul else b.pick((0, 0, 1, 2, 3))
    else:
        operand = b.signed(16)
        shift = b.between(0, 255) if b.chance(0.15) else b.between(0, 20)
    b.fields(
        f"SDP.D_DP_{stage}_MUL_CFG",
        **{f"{stage}_MUL_SRC": int(mul_memory), f"{stage}_MUL_SHIFT_VALUE": shift},
    )
    b.fields(f"SDP.D_DP_{stage}_MUL_SRC_VALUE", **{f"{stage}_MUL_OPERAND": operand})
    return bits + (scale_bits if mul else 0) - shift


def _program_ew_operands(
    b: Builder, alu_memory: bool, mul_memory: bool, mul: bool, bits: int, operand_bits: int
) -> int:
    after_mul = bits
    for name, memory in (("MUL", mul_memory), ("ALU", alu_memory)):
        bypass = b.chance(0.4)
        b.fields(
            f"SDP.D_DP_EW_{name}_CFG",
            **{f"EW_{name}_SRC": int(memory), f"EW_{name}_CVT_BYPASS": int(bypass)},
        )
        prefix = f"SDP.D_DP_EW_{name}_CVT"
        wanted = b.between(1, 31) if name == "MUL" else max(1, min(31, after_mul - b.between(0, 4)))
        if b.sane:
            register = b.sized(wanted, 32)
            offset = b.sized(operand_bits - b.between(0, 5), 32)
            scale_bits = b.between(1, 15)
            scale = b.sized(scale_bits, 16)
            shift = max(0, min(63, operand_bits + scale_bits - wanted))
        else:
            register = b.signed(32)
            offset = b.signed(32) if b.chance(0.6) else b.signed(16)
            scale = b.signed(16)
            shift = b.between(0, 63) if b.chance(0.15) else b.between(0, 20)
        b.raw(f"SDP.D_DP_EW_{name}_SRC_VALUE", register)
        b.raw(f"{prefix}_OFFSET_VALUE", offset)
        b.fields(f"{prefix}_SCALE_VALUE", **{f"EW_{name}_CVT_SCALE": scale})
        b.fields(f"{prefix}_TRUNCATE_VALUE", **{f"EW_{name}_CVT_TRUNCATE": shift})
        if name == "MUL":
            have = operand_bits if memory and bypass else wanted
            truncate = max(0, min(1023, have + b.between(-4, 4)))
            if not b.sane:
                truncate = b.between(0, 1023) if b.chance(0.2) else b.between(0, 34)
            b.fields("SDP.D_DP_EW_TRUNCATE_VALUE", EW_TRUNCATE=truncate)
            if mul:
                after_mul = max(1, min(31, bits + have - truncate))
    return after_mul


def _program_operand_reader(
    b: Builder,
    stage: str,
    wanted: tuple[bool, bool],
    two_bytes: bool,
    size: tuple[int, int, int],
) -> None:
    prefix = _STAGES[stage]
    alu, mul = wanted
    use = 2 if alu and mul else (1 if alu else 0)
    per_element = b.chance(0.5)
    element = (2 if use == 2 else 1) * (2 if two_bytes else 1)
    width, height, channels = size
    if per_element:
        cube = place_cube(b, width, height, channels, element)
        buffer = cube.buffer
        line, surface = cube.line_stride, cube.surface_stride
    else:
        atom = b.config.atom
        buffer = b.buffer(-(-channels // atom) * atom * element)
        # Strides have no meaning here.
        line, surface = b.between(0, 64) * 32, b.between(0, 64) * 32
    b.fields(
        f"SDP_RDMA.D_{prefix}_CFG",
        **{
            f"{prefix}_DISABLE": 0,
            f"{prefix}_DATA_USE": use,
            f"{prefix}_DATA_SIZE": int(two_bytes),
            f"{prefix}_DATA_MODE": int(per_element),
            f"{prefix}_RAM_TYPE": buffer.ram_type,
        },
    )
    b.address(f"SDP_RDMA.D_{stage}_BASE_ADDR_LOW", f"SDP_RDMA.D_{stage}_BASE_ADDR_HIGH", buffer)
    b.raw(f"SDP_RDMA.D_{stage}_LINE_STRIDE", line)
    b.raw(f"SDP_RDMA.D_{stage}_SURFACE_STRIDE", surface)


def _program_table(b: Builder, unit: str, table: int, entries: int) -> None:
    start = 0
    if b.chance(0.2):
        start = b.between(0, entries - 1)
    b.fields(f"{unit}.S_LUT_ACCESS_CFG", LUT_ADDR=start, LUT_TABLE_ID=table, LUT_ACCESS_TYPE=1)
    # A few writes more than entries: the address stays at the last one.
    count = entries - start + (b.between(0, 3) if b.chance(0.2) else 0)
    values = b.content(2 * count).view("<i2")
    if b.chance(0.5):
        values.sort()
    for value in values:
        b.raw(f"{unit}.S_LUT_ACCESS_DATA", int(value) & 0xFFFF)


def program_lut(b: Builder, unit: str, bits: int) -> None:
    """Tables and index registers of SDP or CDP for values of about `bits` bits."""
    _program_table(b, unit, 0, 65)
    _program_table(b, unit, 1, 257)
    b.fields(
        f"{unit}.S_LUT_CFG",
        LUT_LE_FUNCTION=int(b.chance(0.5)),
        LUT_UFLOW_PRIORITY=int(b.chance(0.5)),
        LUT_OFLOW_PRIORITY=int(b.chance(0.5)),
        LUT_HYBRID_PRIORITY=int(b.chance(0.5)),
    )
    wide = 32 if unit == "SDP" else 38
    magnitude = max(2, min(wide - 1, bits + b.between(-1, 1)))
    if not b.sane:
        magnitude = b.between(2, 31 if unit == "SDP" else 21)
    if b.chance(0.04):
        magnitude = wide - 1
    starts = [b.signed(magnitude + 1) for _ in range(2)]
    selects = []
    for index_bits in (6, 8):
        select = magnitude - index_bits + b.between(-2, 2)
        if b.chance(0.1):
            select = b.signed(8)
        selects.append(select)
    offset = b.between(-2, magnitude) if b.chance(0.8) else b.pick((0, 1))
    if b.chance(0.15):
        offset = b.signed(8)
    b.fields(
        f"{unit}.S_LUT_INFO",
        LUT_LE_INDEX_OFFSET=offset,
        LUT_LE_INDEX_SELECT=selects[0],
        LUT_LO_INDEX_SELECT=selects[1],
    )
    for table, start, select, bits in (
        ("LE", starts[0], selects[0], 6),
        ("LO", starts[1], selects[1], 8),
    ):
        end = start + (1 << max(0, select + bits)) if b.chance(0.7) else b.signed(wide)
        end = max(-(1 << (wide - 1)), min((1 << (wide - 1)) - 1, end))
        for name, value in (("START", start), ("END", end)):
            if unit == "SDP":
                b.raw(f"SDP.S_LUT_{table}_{name}", value)
            else:
                b.raw(f"CDP.S_LUT_{table}_{name}_LOW", value)
                b.raw(f"CDP.S_LUT_{table}_{name}_HIGH", (value >> 32) & 0x3F)
        for what, bits_wide in (("SCALE", 16), ("SHIFT", 5)):
            b.fields(
                f"{unit}.S_LUT_{table}_SLOPE_{what}",
                **{
                    f"LUT_{table}_SLOPE_{side}_{what}": b.signed(bits_wide)
                    for side in ("UFLOW", "OFLOW")
                },
            )
