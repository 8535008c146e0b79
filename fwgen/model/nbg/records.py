"""What a network binary graph's tables hold, the same for all container versions.

Facts: the network binary graph header and parser that VeriSilicon publishes with
TIM-VX, and reference data for what container 2.0.5 does differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

DATA_FORMATS = {
    0: ("float32", 4),
    1: ("float16", 2),
    2: ("uint8", 1),
    3: ("int8", 1),
    4: ("uint16", 2),
    5: ("int16", 2),
    6: ("char", 1),
    7: ("bfloat16", 2),
    8: ("int32", 4),
    9: ("uint32", 4),
    10: ("int64", 8),
    11: ("uint64", 8),
    12: ("float64", 8),
}
"""Name and bytes of an element by the number in the file."""

QUANT_FORMATS = {0: "none", 1: "dynamic fixed point", 2: "affine"}


class OperationType(IntEnum):
    """Which engine an operation runs on; the numbers of the file."""

    SH = 1
    NN = 2
    TP = 3
    END = 0xFFFE
    INIT = 0xFFFF


class PatchSource(IntEnum):
    """Whose address a patch adds; the numbers of the file."""

    COMMAND = 0
    INPUT = 1
    OUTPUT = 2
    POOL = 3
    AXI_SRAM = 4
    COEFFICIENT = 5
    SCRATCH_IN = 6
    SCRATCH_OUT = 7
    VIP_SRAM = 8


@dataclass(frozen=True, slots=True)
class NbgTensor:
    """An input or output of the network.

    Attributes:
        index: position among the tensors of its direction.
        direction: "input" or "output".
        name: as in the file, made unique.
        dims: elements, innermost first: W, H, C, N.
        data_format: key of DATA_FORMATS.
        quant_format: key of QUANT_FORMATS.
        fixed_position: of dynamic fixed point: value = q * 2^-fixed_position.
        scale, zero_point: of affine: value = scale * (q - zero_point).
        offset: of the record in the file.
    """

    index: int
    direction: str
    name: str
    dims: tuple[int, ...]
    data_format: int
    quant_format: int
    fixed_position: int
    scale: float
    zero_point: int
    offset: int

    @property
    def dtype(self) -> str:
        """Element type by name."""
        return DATA_FORMATS[self.data_format][0]

    @property
    def element(self) -> int:
        """Bytes of an element."""
        return DATA_FORMATS[self.data_format][1]

    @property
    def size(self) -> int:
        """Bytes of the whole tensor."""
        total = self.element
        for extent in self.dims:
            total *= extent
        return total

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(N, C, H, W); what lies beyond four dimensions multiplies N."""
        w, h, c, *rest = (*self.dims, 1, 1, 1)
        n = 1
        for extent in rest:
            n *= extent
        return (n, c, h, w)


@dataclass(frozen=True, slots=True)
class NbgLayer:
    """A layer of the network: what the compiler calls its operations."""

    name: str
    id: int
    operation_count: int


@dataclass(frozen=True, slots=True)
class NbgOperation:
    """One entry of the operation table.

    Attributes:
        index: position in the table.
        type: the engine.
        descriptor: index in the table of its engine.
        layer: index of its layer, None for the first and last entry.
        state: index of its state buffer.
        patches: indices of its patches.
        offset: of the record in the file.
    """

    index: int
    type: OperationType
    descriptor: int
    layer: int | None
    state: int
    patches: range
    offset: int


@dataclass(frozen=True, slots=True)
class NbgPatch:
    """An address that the loader of the graph fills in.

    Attributes:
        type: 0: in the operation's state buffer, 1: in its descriptor (of the init
            operation: in its state buffer).
        offset: bytes from there to the word.
        source: whose address.
        index: which input, output or coefficient entry.
        base: added to that address.
        transformed: whether the field holds the address in units of 64 bytes.
        at: of the record in the file.
    """

    type: int
    offset: int
    source: PatchSource
    index: int
    base: int
    transformed: bool
    at: int


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes of the file: a state buffer, a descriptor, a coefficient entry.

    Attributes:
        at: offset of the bytes in the file.
        data: the bytes.
    """

    at: int
    data: bytes
