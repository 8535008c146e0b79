"""CDP: local response normalisation across channels.

Each value is converted to 9 bits, the squares of its neighbours in channel
direction are summed, the sum is looked up and the result multiplied by the
value and converted to int8. Channels outside [0, C) count as 0, also the
unused channels of the last atom, whose outputs are still written.
"""

from __future__ import annotations

import numpy as np

from fwgen.reference.nvdla.configs import Config
from fwgen.reference.nvdla.cubes import unit_cube
from fwgen.reference.nvdla.lut import LutSettings, cdp_lookup, read_settings
from fwgen.reference.nvdla.memory import Memory, ReferenceUnsupported
from fwgen.reference.nvdla.regfile import Group
from fwgen.reference.nvdla.rounding import Ints, round_shift, saturate, sign_extend


def lut_settings(cdp: Group, tables: tuple[Ints, Ints]) -> LutSettings:
    """The LUT registers of CDP; bounds are 38 bit, selects 6 bit."""

    def bound(name: str) -> int:
        high = cdp[f"S_LUT_{name}_HIGH.LUT_{name}_HIGH"]
        return sign_extend((high << 32) | cdp[f"S_LUT_{name}_LOW"], 38)

    return read_settings(cdp, tables, bound, select_bits=6)


def _square_sums(v: Ints, taps: int) -> Ints:
    """Sum of squares over `taps` neighbours each side; v is (C', H, W)."""
    channels = v.shape[0]
    squares = np.pad(v * v, ((taps, taps), (0, 0), (0, 0)))
    total = np.zeros_like(v)
    for j in range(2 * taps + 1):
        total += squares[j : j + channels]
    return total


def run(cdp: Group, rdma: Group, config: Config, memory: Memory, tables: tuple[Ints, Ints]) -> Ints:
    """Run one operation from memory to memory; the cube size is that of CDP_RDMA.

    Returns the values that enter the output converter.

    Raises:
        ReferenceUnsupported: precision other than int8.
    """
    if cdp["D_DATA_FORMAT.INPUT_DATA_TYPE"] or rdma["D_DATA_FORMAT.INPUT_DATA"]:
        raise ReferenceUnsupported("CDP: precision other than int8")
    width = rdma["D_DATA_CUBE_WIDTH.WIDTH"] + 1
    height = rdma["D_DATA_CUBE_HEIGHT.HEIGHT"] + 1
    channels = rdma["D_DATA_CUBE_CHANNEL.CHANNEL"] + 1
    size = (width, height, channels)
    data = unit_cube(rdma, "SRC", size, config.atom).read(memory)
    surfaces = data.shape[0]
    x = data.transpose(0, 3, 1, 2).reshape(surfaces * config.atom, height, width)
    offset = cdp.signed("D_DATIN_OFFSET.DATIN_OFFSET", 8)
    scale = cdp.signed("D_DATIN_SCALE.DATIN_SCALE")
    v = saturate(round_shift((x - offset) * scale, cdp["D_DATIN_SHIFTER.DATIN_SHIFTER"]), 9)
    v[channels:] = 0
    if cdp["D_FUNC_BYPASS.SQSUM_BYPASS"]:
        sums = v
    else:
        sums = _square_sums(v, cdp["D_LRN_CFG.NORMALZ_LEN"] + 1)
    looked_up = cdp_lookup(sums, lut_settings(cdp, tables))
    y = looked_up if cdp["D_FUNC_BYPASS.MUL_BYPASS"] else looked_up * v
    offset = cdp.signed("D_DATOUT_OFFSET", 25)
    scale = cdp.signed("D_DATOUT_SCALE.DATOUT_SCALE")
    out = saturate(round_shift((y - offset) * scale, cdp["D_DATOUT_SHIFTER.DATOUT_SHIFTER"]), 8)
    result = out.reshape(surfaces, config.atom, height, width).transpose(0, 2, 3, 1)
    unit_cube(cdp, "DST", size, config.atom).write(memory, result)
    return y
