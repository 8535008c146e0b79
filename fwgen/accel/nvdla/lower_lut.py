"""Upload of the two look-up tables of SDP or CDP (NVDLA kernel firmware, LUT).

The tables are single, not one a group, and locked while the unit runs. SDP has
32-bit starts and ends, CDP 38-bit ones in two registers.
"""

from __future__ import annotations

from fwgen.accel.nvdla.writer import RowWriter, signed
from fwgen.model.nvdla.descriptors import Lut, Slope

HALF_PRECISION = 2


def _bounds(w: RowWriter, block: str, lut: Lut) -> None:
    bounds = (
        ("LE_START", lut.linear_exp_start),
        ("LE_END", lut.linear_exp_end),
        ("LO_START", lut.linear_only_start),
        ("LO_END", lut.linear_only_end),
    )
    for name, value in bounds:
        if block == "SDP":
            w.raw(f"SDP.S_LUT_{name}", signed(value, 32))
        else:
            w.raw(f"CDP.S_LUT_{name}_LOW", signed(value, 32))
            w.raw(f"CDP.S_LUT_{name}_HIGH", signed(value >> 32, 32))


def _slopes(
    w: RowWriter, block: str, table: str, underflow: Slope, overflow: Slope, precision: int
) -> None:
    half = precision == HALF_PRECISION
    scales = {
        f"LUT_{table}_SLOPE_UFLOW_SCALE": underflow.data_f if half else underflow.scale,
        f"LUT_{table}_SLOPE_OFLOW_SCALE": overflow.data_f if half else overflow.scale,
    }
    w.fields(f"{block}.S_LUT_{table}_SLOPE_SCALE", **scales)
    if not half:
        shifts = {
            f"LUT_{table}_SLOPE_UFLOW_SHIFT": underflow.shifter,
            f"LUT_{table}_SLOPE_OFLOW_SHIFT": overflow.shifter,
        }
        w.fields(f"{block}.S_LUT_{table}_SLOPE_SHIFT", **shifts)


def lower_lut(w: RowWriter, block: str, lut: Lut, precision: int) -> None:
    """Write the upload of one table pair for block "SDP" or "CDP". May raise FieldOverflow."""
    for number, table in enumerate((lut.linear_exp_table, lut.linear_only_table)):
        w.fields(f"{block}.S_LUT_ACCESS_CFG", LUT_ADDR=0, LUT_TABLE_ID=number, LUT_ACCESS_TYPE=1)
        w.port(f"{block}.S_LUT_ACCESS_DATA", table)
    w.fields(
        f"{block}.S_LUT_CFG",
        LUT_LE_FUNCTION=lut.method,
        LUT_HYBRID_PRIORITY=lut.hybrid_priority,
        LUT_UFLOW_PRIORITY=lut.underflow_priority,
        LUT_OFLOW_PRIORITY=lut.overflow_priority,
    )
    if lut.method == 0:
        w.fields(
            f"{block}.S_LUT_INFO",
            LUT_LE_INDEX_OFFSET=lut.linear_exp_offset.exp_offset,
            LUT_LO_INDEX_SELECT=lut.linear_only_offset.frac_bits,
        )
    else:
        w.fields(
            f"{block}.S_LUT_INFO",
            LUT_LE_INDEX_SELECT=lut.linear_exp_offset.frac_bits,
            LUT_LO_INDEX_SELECT=lut.linear_only_offset.frac_bits,
        )
    _bounds(w, block, lut)
    le = (lut.linear_exp_underflow_slope, lut.linear_exp_overflow_slope)
    lo = (lut.linear_only_underflow_slope, lut.linear_only_overflow_slope)
    _slopes(w, block, "LE", *le, precision)
    _slopes(w, block, "LO", *lo, precision)
