"""NumPy reference of the NVDLA int8 datapath, one module per hardware unit.

Written from the published behaviour of the hardware (register manual and
functional rules), not from any other implementation in this repository, so
that agreement of the two says something. It executes register writes; see
`interpreter.ReferenceNvdla`.
"""

from __future__ import annotations

from fwgen.reference.nvdla.interpreter import Operation, ReferenceNvdla
from fwgen.reference.nvdla.memory import ReferenceGuestError, ReferenceUnsupported

__all__ = ["Operation", "ReferenceGuestError", "ReferenceNvdla", "ReferenceUnsupported"]
