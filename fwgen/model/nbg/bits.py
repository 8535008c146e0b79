"""Fields of descriptors: ranges of bits, some of them in several pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Piece = tuple[int, int, int]
"""Word, lowest bit, number of bits."""

Field = tuple[Piece, ...]
"""Pieces of a number, the lowest first."""


def extract(words: Sequence[int], field: Field) -> int:
    """The unsigned number in a field."""
    value = shift = 0
    for word, low, width in field:
        value |= (words[word] >> low & ((1 << width) - 1)) << shift
        shift += width
    return value


def extract_all(words: Sequence[int], fields: Mapping[str, Field]) -> dict[str, int]:
    """Every field by name."""
    return {name: extract(words, field) for name, field in fields.items()}


def signed(value: int, width: int) -> int:
    """The two's complement number of `width` bits in an unsigned one."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value
