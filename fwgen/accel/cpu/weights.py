"""The weights of a convolution out of a loadable."""

from __future__ import annotations

from collections.abc import Sequence

from fwgen.accel.nvdla.access import weight_bytes
from fwgen.accel.nvdla.memory import Use, pieces_of
from fwgen.accel.nvdla.steps import Item
from fwgen.errors import ModelError
from fwgen.model.nvdla.descriptors import ConvOp, ConvSurface
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.tasks import DlaOperation
from fwgen.model.nvdla.validate import blobs_by_name

ROLE = "weights"
"""Role of the weights among the accesses of a convolution."""


def weights_of(model: NvdlaModel, item: Item, uses: Sequence[Use]) -> bytes:
    """The bytes of all kernels as the file holds them; zero where it gives none.

    Args:
        uses: all accesses of the model.

    Raises:
        ModelError: an operation writes there, so that they are no constants.
    """
    assert isinstance(item.operation, DlaOperation)
    op, surface = item.operation.op, item.operation.surface
    assert isinstance(op, ConvOp) and isinstance(surface, ConvSurface)
    size = weight_bytes(op, surface)
    (use,) = [u for u in uses if u.operation == item.number and u.role == ROLE]
    low, high = use.start, use.start + size
    for other in uses:
        touched = any(a < high and low < b for a, b in other.runs)
        if other.write and other.memory == use.memory and touched:
            raise ModelError(
                f"{other.label} is written where the weights of {item.name} lie",
                where=f"{model.name}, memory {use.memory}",
                expected="weights that are constants",
                hints=("Run this model on an accelerator.",),
            )
    memory = model.loadable.memories[use.memory]
    image = bytearray(size)
    for offset, piece in pieces_of(memory, blobs_by_name(model.loadable), low, high):
        image[offset - low : offset - low + len(piece)] = piece
    return bytes(image)
