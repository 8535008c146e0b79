"""NbgModel: a network binary graph, read and checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from fwgen.model.model import ModelTensor
from fwgen.model.nbg import container1, container2
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.cursor import Cursor
from fwgen.model.nbg.records import QUANT_FORMATS, NbgTensor

MAGIC = b"VPMN"
_VERSION_2 = 0x00020005


@dataclass(frozen=True, slots=True)
class NbgModel:
    """A validated graph.

    Attributes:
        name: file name without its last suffix.
        sha256: of the file.
        container: the file's tables.
    """

    name: str
    sha256: str
    container: Container

    @property
    def family(self) -> str:
        """See Model."""
        return "vip"

    @property
    def tensors(self) -> tuple[ModelTensor, ...]:
        """See Model."""
        return tuple(
            ModelTensor(
                t.name,
                t.direction,
                t.index,
                t.shape,
                t.dtype,
                "NCHW",
                (t.element, t.element * t.shape[3], t.element * t.shape[3] * t.shape[2]),
                t.size,
            )
            for t in (*self.container.inputs, *self.container.outputs)
        )

    def to_json(self) -> dict[str, object]:
        """See Model."""
        from fwgen.model.nbg.describe import container_json

        return {
            "family": self.family,
            "name": self.name,
            "sha256": self.sha256,
            **container_json(self.container),
        }


def read_container(data: bytes, source: str) -> Container:
    """Read a file's tables; `source` names the file in errors. Raises ModelError."""
    cursor = Cursor(data, source)
    magic = data[:4]
    if magic != MAGIC:
        cursor.fail(0, f"the file starts with {magic!r}", f"{MAGIC!r}, a network binary graph")
    version = cursor.u32(4, "version")
    if version == _VERSION_2:
        return container2.read(cursor)
    if version >> 8 == 0x100:
        return container1.read(cursor, version & 0xFF)
    text = f"{version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"
    cursor.fail(
        4,
        f"container version {text} ({version:#x}) is not known",
        "1.0.0 to 1.0.20, or 2.0.5",
        "Compile the network with a version of the vendor's tools that writes one of these.",
    )


def quantisation(tensor: NbgTensor) -> tuple[float | None, int | None]:
    """Scale and zero point of a tensor; None for both where it is not quantised."""
    if QUANT_FORMATS[tensor.quant_format] == "affine":
        return tensor.scale, tensor.zero_point
    if QUANT_FORMATS[tensor.quant_format] == "dynamic fixed point":
        return 2.0**-tensor.fixed_position, 0
    return None, None


def read_model(data: bytes, name: str, source: str) -> NbgModel:
    """Read a graph's bytes; `source` names the file in errors. Raises ModelError."""
    return NbgModel(name, hashlib.sha256(data).hexdigest(), read_container(data, source))
