"""The NVDLA configurations as data (NVDLA hardware specifications, spec/defs).

All of them compute int8 only, have the same register map, and have neither
Winograd nor weight compression, batches, BDMA or RUBIK. nv_full, the first
release with 16-bit types and another register map, is not supported.
"""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass

from fwgen.errors import UsageError


@dataclass(frozen=True, slots=True)
class Configuration:
    """One build of the hardware.

    Attributes:
        name: as boards write it.
        atom_c, atom_k: channels and kernels that the MAC array takes at a time.
        atom: channels (= bytes) per innermost block of a feature cube in memory.
        cbuf_banks, cbuf_width, cbuf_depth: convolution buffer: banks of `depth`
            entries of `width` bytes.
        elementwise: has the SDP's Y stage with its look-up table.
        cvsram: has the second memory port.
        address_bits: width of memory addresses.
        bus_bits: width of the memory bus.
    """

    name: str
    atom_c: int
    atom_k: int
    atom: int
    cbuf_banks: int
    cbuf_width: int
    cbuf_depth: int
    elementwise: bool
    cvsram: bool
    address_bits: int
    bus_bits: int

    def facts(self) -> dict[str, object]:
        """The properties as JSON-ready data."""
        return dataclasses.asdict(self)


CONFIGURATIONS: dict[str, Configuration] = {
    c.name: c
    for c in (
        Configuration("nv_small", 8, 8, 8, 32, 8, 512, False, False, 32, 64),
        Configuration("nv_small_256", 32, 8, 8, 32, 32, 128, False, False, 32, 64),
        Configuration("nv_small_256_full", 32, 8, 8, 32, 32, 128, True, True, 32, 64),
        Configuration("nv_medium_512", 32, 16, 16, 32, 32, 512, False, False, 64, 128),
        Configuration("nv_medium_1024_full", 32, 32, 32, 32, 32, 512, True, True, 64, 256),
        Configuration("nv_large", 64, 32, 32, 16, 64, 512, True, True, 64, 256),
    )
}

# Named in messages about models that were compiled for something else.
UNSUPPORTED_ATOMS = {"nv_full": 32}


def configuration(name: str) -> Configuration:
    """The configuration of that name; UsageError if there is none."""
    found = CONFIGURATIONS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, CONFIGURATIONS, n=1)
        raise UsageError(
            f"unknown NVDLA configuration {name!r}",
            expected="one of " + ", ".join(CONFIGURATIONS),
            hints=(f"Did you mean {near[0]!r}?",) if near else (),
        )
    return found


def names_with_atom(atom: int) -> tuple[str, ...]:
    """Configurations whose memory atom has that many bytes, supported or not."""
    supported = tuple(c.name for c in CONFIGURATIONS.values() if c.atom == atom)
    return supported + tuple(n for n, a in UNSUPPORTED_ATOMS.items() if a == atom)
