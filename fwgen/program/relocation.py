"""Addresses inside constant data (docs/program.md, "Addresses in constants").

Some accelerators read addresses from memory: command buffers, job descriptors. Their
bytes are constants of the program but for those addresses, which a Layout gives.
"""

from __future__ import annotations

import struct

from fwgen.plan.layout import Layout
from fwgen.program.program import Buffer
from fwgen.program.resolve import resolve


def contents(buffer: Buffer, layout: Layout) -> bytes:
    """What a constant buffer holds in memory: its data with all addresses filled in.

    Raises:
        ValueError: a relocation lies outside the data, or its field does not hold the
            address; the lowering must not produce such buffers.
    """
    data = bytearray(buffer.data or b"")
    for relocation in buffer.relocations:
        if relocation.offset < 0 or relocation.offset + 4 > len(data):
            raise ValueError(f"{buffer.name}: no word at byte {relocation.offset}")
        mask = (1 << relocation.bits) - 1
        field = resolve(relocation.value, layout) >> relocation.shift
        if field & ~mask:
            raise ValueError(f"{buffer.name}: {field:#x} has more than {relocation.bits} bits")
        (word,) = struct.unpack_from("<I", data, relocation.offset)
        struct.pack_into("<I", data, relocation.offset, word & ~mask & 0xFFFFFFFF | field)
    return bytes(data)
