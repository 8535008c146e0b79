"""Ranges of guest addresses."""

from __future__ import annotations

from collections.abc import Sequence

from fwgen.machine.config import Range


def merge_ranges(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The same addresses in as few ranges as possible, ascending."""
    out: list[Range] = []
    for base, size in sorted(ranges):
        if out and base <= out[-1].base + out[-1].size:
            end = max(out[-1].base + out[-1].size, base + size)
            out[-1] = Range(out[-1].base, end - out[-1].base)
        else:
            out.append(Range(base, size))
    return tuple(out)
