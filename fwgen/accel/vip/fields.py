"""Where the address fields of a job point: the file's patches applied symbolically.

A patch adds the address of a buffer to what the word holds (TIM-VX NBG header). The
base of the VIP's own SRAM is known; every other address stays symbolic until a layout
gives it. Containers 1.x keep the offset in the word, 2.0.5 in the patch: the sum of
both serves either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fwgen.model.nbg.container import NN_WORDS, Container
from fwgen.model.nbg.records import NbgOperation, NbgPatch, OperationType, PatchSource

VIP_SRAM_BASE = 0x400000
"""Where the NPU sees its own SRAM: files for 2.0.5 hold it as a number."""

UNITS_BITS = 26
"""Width of fields in units of 64 bytes."""


@dataclass(frozen=True, slots=True)
class AddressField:
    """A word of a descriptor that holds an address.

    Attributes:
        word: index of the word.
        what: for messages.
        in_units: whether it holds the address / 64 in its low 26 bits.
        sources: what it may point to.
    """

    word: int
    what: str
    in_units: bool
    sources: frozenset[PatchSource]


_MEMORY = frozenset(
    {
        PatchSource.INPUT,
        PatchSource.OUTPUT,
        PatchSource.POOL,
        PatchSource.AXI_SRAM,
        PatchSource.VIP_SRAM,
    }
)
_WRITABLE = _MEMORY - {PatchSource.INPUT}
_DATA = frozenset({PatchSource.COEFFICIENT})

NN_FIELDS = (
    AddressField(5, "coefficients", True, _DATA),
    AddressField(6, "input", False, _MEMORY),
    AddressField(7, "output", False, _WRITABLE),
    AddressField(19, "end of the output ring", True, _WRITABLE),
    AddressField(21, "end of the input ring", True, _MEMORY),
)
TP_FIELDS = (
    AddressField(10, "input", False, _MEMORY),
    AddressField(11, "look-up table", False, _DATA),
    AddressField(13, "output", False, _WRITABLE),
    AddressField(26, "end of the input ring", True, _MEMORY),
    AddressField(28, "end of the output ring", True, _WRITABLE),
)
FIELDS = {OperationType.NN: NN_FIELDS, OperationType.TP: TP_FIELDS}

COEFFICIENTS, INPUT, OUTPUT, OUTPUT_RING_END, INPUT_RING_END = (f.word for f in NN_FIELDS)
TP_INPUT, TP_TABLE, TP_OUTPUT, TP_INPUT_RING_END, TP_OUTPUT_RING_END = (f.word for f in TP_FIELDS)


@dataclass(frozen=True, slots=True)
class Place:
    """A byte in one of the memories of a graph.

    Attributes:
        source: which kind of memory.
        index: which input, output or coefficient entry; 0 otherwise.
        offset: bytes from its start.
    """

    source: PatchSource
    index: int
    offset: int

    def describe(self) -> str:
        """For messages: "input 0 + 0x40"."""
        name = self.source.name.lower().replace("_", " ")
        number = (
            f" {self.index}"
            if self.source
            in (
                PatchSource.INPUT,
                PatchSource.OUTPUT,
                PatchSource.COEFFICIENT,
            )
            else ""
        )
        return f"{name}{number} + {self.offset:#x}"


def patched(word: int, patch: NbgPatch) -> Place:
    """Where a patched word points; the patch's own word being `word`."""
    old = word & ((1 << UNITS_BITS) - 1) if patch.transformed else word
    return Place(patch.source, max(0, patch.index), (old + patch.base) & 0xFFFFFFFF)


def descriptor_words(container: Container, operation: NbgOperation) -> tuple[int, ...]:
    """The words of an NN or TP descriptor as the file holds them."""
    span = container.descriptor(operation)
    return container.cursor.words(span.offset, NN_WORDS, "descriptor")


def places(
    container: Container, operation: NbgOperation, words: Sequence[int]
) -> tuple[dict[int, Place], tuple[str, ...]]:
    """Where the address fields of a descriptor point, by word; and what is wrong.

    A word that no patch names holds an address in the VIP's own SRAM.
    """
    fields = {field.word: field for field in FIELDS[operation.type]}
    found: dict[int, Place] = {}
    reasons: list[str] = []
    for patch in container.patches_of(operation):
        if patch.type != 1:
            continue
        field = fields.get(patch.offset // 4)
        if field is None:
            reasons.append(f"a patch writes an address into word {patch.offset // 4}")
            continue
        if field.word in found:
            reasons.append(f"two patches for the address of the {field.what}")
        if patch.transformed is not field.in_units:
            unit = "bytes" if field.in_units else "units of 64 bytes"
            reasons.append(f"the address of the {field.what} is patched in {unit}")
        if patch.source not in field.sources:
            reasons.append(
                f"the {field.what} would be in {patch.source.name.lower().replace('_', ' ')}"
            )
        found[field.word] = patched(words[field.word], patch)
    for field in fields.values():
        if field.word in found or field.sources == _DATA:
            continue
        word = words[field.word]
        address = (word & ((1 << UNITS_BITS) - 1)) << 6 if field.in_units else word
        found[field.word] = Place(PatchSource.VIP_SRAM, 0, address - VIP_SRAM_BASE)
    return found, tuple(reasons)
