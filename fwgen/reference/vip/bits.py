"""Bits of a byte string, least significant first."""

from __future__ import annotations

from fwgen.reference.nvdla.memory import ReferenceGuestError


class BitReader:
    """Reads numbers of any width, up to the end of the bits.

    Args:
        data: the bytes that hold them.
        length: how many bits count; the rest is padding.
    """

    def __init__(self, data: bytes, length: int) -> None:
        self._data = data
        self.length = length
        self.position = 0

    def take(self, count: int) -> int:
        """The next `count` bits (up to 32) as a number.

        Raises:
            ReferenceGuestError: they reach past the end.
        """
        if self.position + count > self.length:
            raise ReferenceGuestError("a coefficient stream ends too early")
        first = self.position // 8
        window = int.from_bytes(self._data[first : first + 6], "little")
        value = window >> (self.position % 8) & ((1 << count) - 1)
        self.position += count
        return value
