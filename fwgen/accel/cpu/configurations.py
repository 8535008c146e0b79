"""The configurations of the CPU family: whose arithmetic and memory layout it keeps.

A compiled model is bound to the hardware it was compiled for: channels in blocks of its
memory atom, weights in the order of its multipliers. `cpu_nv_small` runs what was
compiled for nv_small, and so on. What a configuration leaves out of the hardware, the
CPU does not lack: stage Y, tables and both memory ports are there on all of them.
"""

from __future__ import annotations

import difflib
from dataclasses import replace

from fwgen.accel.nvdla.configurations import CONFIGURATIONS as HARDWARE
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.errors import UsageError

PREFIX = "cpu_"

CONFIGURATIONS: dict[str, Configuration] = {
    PREFIX + name: replace(
        hardware, name=PREFIX + name, elementwise=True, cvsram=True, address_bits=32
    )
    for name, hardware in HARDWARE.items()
}


def configuration(name: str) -> Configuration:
    """The configuration of that name; UsageError if there is none."""
    found = CONFIGURATIONS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, CONFIGURATIONS, n=1)
        raise UsageError(
            f"unknown CPU configuration {name!r}",
            expected="one of " + ", ".join(CONFIGURATIONS),
            hints=(f"Did you mean {near[0]!r}?",) if near else (),
        )
    return found
