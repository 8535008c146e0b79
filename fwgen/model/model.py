"""Model: what the later stages may know about a compiled model of any family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ModelTensor:
    """A tensor that the application binds, as the model file describes it.

    Attributes:
        name: as in the file.
        direction: "input" or "output".
        bind_index: position among the tensors of the same direction.
        shape: (N, C, H, W) in elements.
        dtype: "int8", "uint8", "int16", "float16", ...
        layout: "NCHW", "NHWC" or "NCxHWx".
        strides: bytes (element, line, surface); surface is 0 for pitch-linear images.
        size: bytes to bind.
    """

    name: str
    direction: str
    bind_index: int
    shape: tuple[int, int, int, int]
    dtype: str
    layout: str
    strides: tuple[int, int, int]
    size: int


class Model(Protocol):
    """A compiled model: a frozen value, read once, never read again."""

    @property
    def family(self) -> str:
        """Accelerator family that can run it ("nvdla")."""

    @property
    def name(self) -> str:
        """File name without its last suffix."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the file, 64 hexadecimal digits."""

    @property
    def tensors(self) -> tuple[ModelTensor, ...]:
        """Bound tensors: inputs by bind index, then outputs by bind index."""

    def to_json(self) -> dict[str, object]:
        """All facts as JSON-ready data (weights only as sizes and hashes)."""
