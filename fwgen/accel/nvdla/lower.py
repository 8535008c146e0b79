"""One operation's register writes, whatever its unit (NVDLA kernel firmware)."""

from __future__ import annotations

from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.lower_conv import lower_conv
from fwgen.accel.nvdla.lower_pool import lower_cdp, lower_pdp
from fwgen.accel.nvdla.lower_sdp import lower_sdp
from fwgen.accel.nvdla.writer import Resolve, RowWriter
from fwgen.model.nvdla.descriptors import (
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    Lut,
    PdpOp,
    PdpSurface,
    SdpOp,
    SdpSurface,
)
from fwgen.model.nvdla.tasks import DlaOperation
from fwgen.program.commands import Write, WritePort


def lower_rows(
    operation: DlaOperation, luts: tuple[Lut, ...], config: Configuration, resolve: Resolve
) -> list[Write | WritePort]:
    """Configuration writes of an operation that the rules admit, without pointers and enables.

    Raises FieldOverflow if a value does not fit its register.
    """
    w = RowWriter(resolve)
    op, surface = operation.op, operation.surface
    if isinstance(op, ConvOp) and isinstance(surface, ConvSurface):
        lower_conv(w, config, op, surface)
    elif isinstance(op, SdpOp) and isinstance(surface, SdpSurface):
        lower_sdp(w, op, surface, luts)
    elif isinstance(op, PdpOp) and isinstance(surface, PdpSurface):
        lower_pdp(w, op, surface)
    else:
        assert isinstance(op, CdpOp) and isinstance(surface, CdpSurface), "rules admit no other"
        lower_cdp(w, op, surface, luts)
    return w.commands
