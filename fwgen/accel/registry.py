"""The accelerator families that this version knows."""

from __future__ import annotations

import difflib

from fwgen.accel.nvdla.family import NvdlaFamily
from fwgen.accel.protocol import AcceleratorFamily
from fwgen.errors import UsageError

_FAMILIES: dict[str, AcceleratorFamily] = {"nvdla": NvdlaFamily()}


def families() -> tuple[str, ...]:
    """Names of all families, sorted."""
    return tuple(sorted(_FAMILIES))


def family(name: str) -> AcceleratorFamily:
    """The family of that name; UsageError if there is none."""
    found = _FAMILIES.get(name)
    if found is None:
        near = difflib.get_close_matches(name, _FAMILIES, n=1)
        raise UsageError(
            f"unknown accelerator family {name!r}",
            expected="one of " + ", ".join(families()),
            hints=(f"Did you mean {near[0]!r}?",) if near else (),
        )
    return found
