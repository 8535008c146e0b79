"""Memory of the reference: byte segments in two address spaces, and its two errors.

Accesses are whole index arrays: a unit computes the address of each element
and reads or writes all of them at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fwgen.reference.nvdla.rounding import Ints

DRAM = 0  # DBBIF, "MC"
SRAM = 1  # SRAMIF, "CV"


class ReferenceUnsupported(NotImplementedError):
    """The register program asks for something that the reference does not model."""


class ReferenceGuestError(RuntimeError):
    """The register program is wrong: bad address, contradicting sizes, armed group written."""


class Memory:
    """Byte segments of the two memory ports."""

    def __init__(self) -> None:
        self._segments: dict[int, list[tuple[int, npt.NDArray[np.uint8]]]] = {DRAM: [], SRAM: []}

    def add(self, space: int, base: int, size: int) -> npt.NDArray[np.uint8]:
        """A new zero-filled segment; returns the array that backs it."""
        data = np.zeros(size, dtype=np.uint8)
        self._segments[space].append((base, data))
        return data

    def _locate(self, space: int, addresses: Ints) -> tuple[npt.NDArray[np.uint8], Ints]:
        low, high = int(addresses.min()), int(addresses.max())
        for base, data in self._segments[space]:
            if base <= low and high < base + data.size:
                return data, addresses - base
        raise ReferenceGuestError(f"no memory at 0x{low:x}..0x{high:x} in space {space}")

    def gather(self, space: int, addresses: Ints) -> npt.NDArray[np.uint8]:
        """Bytes at `addresses`, in the same shape.

        Raises:
            ReferenceGuestError: an address lies outside every one segment.
        """
        data, index = self._locate(space, addresses)
        return data[index]

    def scatter(self, space: int, addresses: Ints, values: Ints) -> None:
        """Write the low byte of each value to its address, in C order of the arrays.

        Raises:
            ReferenceGuestError: an address lies outside every one segment.
        """
        data, index = self._locate(space, addresses)
        data[index] = (values & 0xFF).astype(np.uint8)
