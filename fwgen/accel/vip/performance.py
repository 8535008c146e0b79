"""Peak rates of VIP configurations.

No public document gives them for the engines. The SoCs' data sheets state int8 rates at the
NPU's clock: RK1808 3.0 TOPS at 800 MHz with 10 NN cores, i.MX 8M Plus 2.3 TOPS at 1 GHz with
6. Both come to 192 multipliers a core. The bus of 16 bytes is the AXI port's width.
"""

from __future__ import annotations

from fwgen.accel.protocol import Peak
from fwgen.accel.vip.configurations import Configuration

CORE_MACS = 192
BUS_BYTES = 16


def peak(config: Configuration) -> Peak | None:
    """Multiplications of all NN cores; None where their number is not known."""
    if not config.nn_cores:
        return None
    source = "NN cores of 192 multipliers, by the SoCs' data sheets; a bus of 16 bytes"
    return Peak(config.nn_cores * CORE_MACS, float(BUS_BYTES), source)
