"""The decoded tasks of a loadable: networks for the accelerator and operators for the CPU."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from fwgen.model.nvdla.descriptors import (
    CommonOp,
    EmuBuffer,
    EmuOp,
    EmuOpType,
    Lut,
    Network,
    OpDesc,
    OpType,
    Surface,
)


@dataclass(frozen=True, slots=True)
class Address:
    """A place in a memory of the loadable."""

    memory: int
    offset: int


@dataclass(frozen=True, slots=True)
class DlaOperation:
    """One hardware layer: its node in the dependency graph and its two descriptors."""

    index: int
    common: CommonOp
    op: OpDesc
    surface: Surface

    @property
    def type(self) -> OpType:
        """The unit that runs it."""
        return OpType(self.common.op_type)


@dataclass(frozen=True, slots=True)
class DlaTask:
    """A network for the accelerator.

    Attributes:
        id: position in the loadable's task list.
        addresses: what the address indices in the descriptors mean.
    """

    id: int
    addresses: tuple[Address, ...]
    network: Network
    operations: tuple[DlaOperation, ...]
    luts: tuple[Lut, ...]

    def to_json(self) -> dict[str, object]:
        """All facts as JSON-ready data."""
        return {
            "id": self.id,
            "interface": "DLA1",
            "addresses": [dataclasses.asdict(a) for a in self.addresses],
            "network": dataclasses.asdict(self.network),
            "operations": [
                {
                    "index": o.index,
                    "type": o.type.name,
                    "common": dataclasses.asdict(o.common),
                    "op": dataclasses.asdict(o.op),
                    "surface": dataclasses.asdict(o.surface),
                }
                for o in self.operations
            ],
            "luts": [dataclasses.asdict(lut) for lut in self.luts],
        }


@dataclass(frozen=True, slots=True)
class EmuOperation:
    """One operator for the CPU."""

    index: int
    op: EmuOp
    source: EmuBuffer
    destination: EmuBuffer

    @property
    def type(self) -> EmuOpType:
        """The operator."""
        return EmuOpType(self.op.op_type)


def _finite(values: dict[str, object]) -> dict[str, object]:
    """JSON has no infinity and no NaN: write them as text."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


@dataclass(frozen=True, slots=True)
class EmuTask:
    """A list of operators for the CPU; see DlaTask for the attributes."""

    id: int
    addresses: tuple[Address, ...]
    operations: tuple[EmuOperation, ...]

    def to_json(self) -> dict[str, object]:
        """All facts as JSON-ready data."""
        return {
            "id": self.id,
            "interface": "EMU1",
            "addresses": [dataclasses.asdict(a) for a in self.addresses],
            "operations": [
                {
                    "index": o.index,
                    "type": o.type.name,
                    "op": _finite(dataclasses.asdict(o.op)),
                    "source": dataclasses.asdict(o.source),
                    "destination": dataclasses.asdict(o.destination),
                }
                for o in self.operations
            ],
        }
