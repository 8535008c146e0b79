"""COBS: bytes without zeros, so that zero can separate frames (docs/link.md)."""

from __future__ import annotations


def encode(data: bytes) -> bytes:
    """The COBS form of `data`, without delimiters; at least one byte, none of them zero."""
    out = bytearray()
    for block in data.split(b"\0"):
        while len(block) >= 254:
            out += b"\xff" + block[:254]
            block = block[254:]
        out += bytes((len(block) + 1,)) + block
    # A block of exactly 254 bytes implies no zero, so the last split needs its
    # own length byte only when a zero (or the end of the data) follows it.
    return bytes(out)


def decode(data: bytes) -> bytes | None:
    """The bytes whose COBS form is `data` (without delimiters), or None when it is none."""
    out = bytearray()
    position = 0
    while position < len(data):
        code = data[position]
        block = data[position + 1 : position + code]
        if code == 0 or len(block) != code - 1 or 0 in block:
            return None
        out += block
        position += code
        if code != 0xFF and position < len(data):
            out.append(0)
    return bytes(out)
