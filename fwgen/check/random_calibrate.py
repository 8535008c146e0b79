"""Fits the output converters of a random program to the values that reach them.

Most random scales and shifts saturate every result or make it zero, and then
an error further up cannot be seen. The NumPy reference tells what enters each
converter; this changes nothing about what is right, only where the program looks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fwgen.accel.nvdla.registers import OFFSETS
from fwgen.check.random_program import LayerCase, Wait, Write
from fwgen.reference.nvdla import ReferenceNvdla
from fwgen.reference.nvdla.rounding import Ints

# Converter registers: offset (with its width), scale, shift.
_CONVERTERS = {
    "SDP": ("SDP.D_CVT_OFFSET", 32, "SDP.D_CVT_SCALE", "SDP.D_CVT_SHIFT"),
    "CDP": ("CDP.D_DATOUT_OFFSET", 25, "CDP.D_DATOUT_SCALE", "CDP.D_DATOUT_SHIFTER"),
}


def _fit(values: Ints, seed: int, offset_bits: int) -> tuple[int, int, int]:
    """(offset, scale, shift) that spread most of the values over int8."""
    rng = np.random.default_rng(seed)
    low, high = np.percentile(values, [5, 95])
    limit = (1 << (offset_bits - 1)) - 1
    offset = int(np.clip((low + high) / 2, -limit, limit))
    spread = max(1.0, float(high - low))
    wanted = float(rng.uniform(60, 400)) / spread
    shift = int(np.clip(np.floor(14 - np.log2(wanted)), 0, 63))
    shift = max(0, shift - int(rng.integers(0, 8)))
    scale = int(np.clip(round(wanted * 2.0**shift), 1, 32767))
    return offset, scale if rng.random() < 0.7 else -scale, shift


def calibrate(case: LayerCase) -> LayerCase:
    """The same program with fitted output converters."""
    model = ReferenceNvdla(case.config)
    seen: dict[str, list[Ints]] = {"SDP": [], "CDP": []}
    model.observer = lambda unit, values: seen[unit].append(values)
    for space, base, data in case.segments:
        model.add_memory(space, base, data.size)[:] = data
    for command in case.commands:
        if isinstance(command, Write):
            model.write(OFFSETS[command.register], command.value)
    commands = list(case.commands)
    for unit, (offset_name, bits, scale_name, shift_name) in _CONVERTERS.items():
        fitted = [
            _fit(values, case.seed * 16 + index, bits) for index, values in enumerate(seen[unit])
        ]
        for register, part in ((offset_name, 0), (scale_name, 1), (shift_name, 2)):
            _replace(commands, register, [values[part] for values in fitted])
    return replace(case, commands=tuple(commands))


def _replace(commands: list[Write | Wait], register: str, values: list[int]) -> None:
    """Give the n-th write of a register the n-th value; operations run in program order."""
    remaining = iter(values)
    for index, command in enumerate(commands):
        if isinstance(command, Write) and command.register == register:
            mask = 0xFFFFFFFF if register.endswith("OFFSET") else 0xFFFF
            commands[index] = Write(register, next(remaining) & mask)
