"""Feature cubes in memory and as arrays.

A cube of width W, height H and C channels lies in surfaces of A channels (the
memory atom): address = base + (c // A) * surface_stride + y * line_stride +
x * A + c % A. As an array it is (S, H, W, A) with S = ceil(C / A); the last
surface holds all A channels, used or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fwgen.reference.nvdla.memory import Memory, ReferenceGuestError, ReferenceUnsupported
from fwgen.reference.nvdla.regfile import Group
from fwgen.reference.nvdla.rounding import Ints

# No published layer comes near; corrupt sizes would ask for gigabytes.
_MAX_ELEMENTS = 1 << 27


def check_size(elements: int) -> None:
    """Raise ReferenceUnsupported for more elements than the reference can hold."""
    if elements > _MAX_ELEMENTS:
        raise ReferenceUnsupported(f"{elements} elements in one operation")


def check_address(base: int) -> None:
    """Raise ReferenceGuestError for an address whose arithmetic would leave int64."""
    if base >= 1 << 62:
        raise ReferenceGuestError(f"no memory at 0x{base:x}")


@dataclass(frozen=True, slots=True)
class Cube:
    """Where a feature cube lies; sizes in elements, strides in bytes."""

    space: int
    base: int
    line_stride: int
    surface_stride: int
    width: int
    height: int
    channels: int
    atom: int
    element_bytes: int = 1

    @property
    def surfaces(self) -> int:
        """Number of surfaces, the last one possibly part used."""
        return -(-self.channels // self.atom)

    def addresses(self) -> Ints:
        """Byte address of each element's first byte, shape (S, H, W, A).

        Raises:
            ReferenceGuestError: the addresses leave 62 bits.
            ReferenceUnsupported: more elements than the reference can hold.
        """
        check_size(self.surfaces * self.height * self.width * self.atom)
        check_address(self.base)
        s = np.arange(self.surfaces, dtype=np.int64)[:, None, None, None]
        y = np.arange(self.height, dtype=np.int64)[None, :, None, None]
        x = np.arange(self.width, dtype=np.int64)[None, None, :, None]
        a = np.arange(self.atom, dtype=np.int64)[None, None, None, :]
        return (
            self.base
            + s * self.surface_stride
            + y * self.line_stride
            + (x * self.atom + a) * self.element_bytes
        )

    def read(self, memory: Memory) -> Ints:
        """All elements as signed bytes, shape (S, H, W, A)."""
        return memory.gather(self.space, self.addresses()).view(np.int8).astype(np.int64)

    def write(self, memory: Memory, values: Ints) -> None:
        """Store values (S, H, W, A) as bytes."""
        memory.scatter(self.space, self.addresses(), values)


def unit_cube(
    group: Group, side: str, size: tuple[int, int, int], atom: int, *, ram: str = "DMA"
) -> Cube:
    """The int8 cube that the `side` ("SRC" or "DST") registers of a unit describe.

    `size` is (width, height, channels); `ram` is in the name of the register with RAM_TYPE.
    """
    width, height, channels = size
    return Cube(
        space=0 if group[f"D_{side}_{ram}_CFG.{side}_RAM_TYPE"] else 1,
        base=group.address(f"D_{side}_BASE_ADDR"),
        line_stride=group[f"D_{side}_LINE_STRIDE"],
        surface_stride=group[f"D_{side}_SURFACE_STRIDE"],
        width=width,
        height=height,
        channels=channels,
        atom=atom,
    )


def read_integers(memory: Memory, space: int, addresses: Ints, size: int) -> Ints:
    """Signed little-endian integers of `size` bytes (1 or 2) at `addresses`."""
    low = memory.gather(space, addresses).astype(np.int64)
    if size == 1:
        return ((low ^ 0x80) - 0x80).astype(np.int64)
    high = memory.gather(space, addresses + 1).astype(np.int64)
    return (((low | (high << 8)) ^ 0x8000) - 0x8000).astype(np.int64)


def used_channels(channels: int, atom: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Mask (S, 1, 1, A) that is true for channels below C."""
    surfaces = -(-channels // atom)
    return (np.arange(surfaces * atom) < channels).reshape(surfaces, 1, 1, atom)
