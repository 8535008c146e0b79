"""Damaged network binary graphs: a byte changed or the end cut off."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator

INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)


def seal(data: bytes) -> bytes:
    """The same file with right checksums (container 2.0.5), so that nothing else is noticed."""
    out = bytearray(data)
    try:
        if struct.unpack_from("<I", out, 4) == (0x00020005,):
            _sections(out)
            struct.pack_into("<I", out, 0xC, 0)
            struct.pack_into("<I", out, 0xC, zlib.crc32(out))
    except struct.error:
        pass  # cut too short to have them
    return bytes(out)


def _sections(out: bytearray) -> None:
    start, size, count = struct.unpack_from("<III", out, 0x30)
    if size != 44 or count > 64:
        return
    spans = {}
    for at in range(start, start + size * count, size):
        number, offset, _, length = struct.unpack_from("<IIII", out, at)
        spans[number] = (offset, length)
    offset, length = spans.get(0x28, (0, 0))
    for at in range(offset, min(offset + length, len(out) - 7), 8):
        (number,) = struct.unpack_from("<I", out, at)
        first, extent = spans.get(number, (0, 0))
        struct.pack_into("<I", out, at + 4, zlib.crc32(out[first : first + extent]))


def mutants(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`count` damaged files with a note of what was done."""
    source = random.Random(seed)
    for _ in range(count):
        kind = source.random()
        if kind < 0.05:
            size = source.randrange(len(data))
            yield f"cut to {size} bytes", seal(data[:size])
            continue
        at = source.randrange(len(data))
        out = bytearray(data)
        value = source.choice(
            (*INTERESTING, source.randrange(256), out[at] ^ 1 << source.randrange(8))
        )
        if value == out[at]:
            value ^= 0xFF
        out[at] = value
        yield f"byte {at:#x} = {value:#04x}", seal(bytes(out))
