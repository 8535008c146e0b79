"""Command buffers of a VIP as text (Mesa's etnaviv driver, command words)."""

from __future__ import annotations

import struct

from fwgen.accel.vip.registers import STATE_NAMES

_LOAD, _END, _NOP, _WAIT, _LINK, _STALL = 1, 2, 3, 7, 8, 9


def disassemble_commands(data: bytes, address: int) -> list[str]:
    """One line a command of a buffer that lies at `address`; padding is left out."""
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    lines = []
    at = 0
    while at < len(words):
        first = words[at]
        opcode, count = first >> 27, 2
        second = words[at + 1] if at + 1 < len(words) else 0
        if opcode == _LOAD:
            number = first >> 16 & 0x3FF or 1024
            text = _loads((first & 0xFFFF) << 2, words[at + 1 : at + 1 + number])
            count = (number + 2) // 2 * 2
        elif opcode == _STALL:
            text = f"STALL {second:#06x}"
        elif opcode == _LINK:
            text = f"LINK  {second:#010x}, {first & 0xFFFF} units"
        elif opcode in (_END, _NOP, _WAIT):
            text = {_END: "END", _NOP: "NOP", _WAIT: "WAIT"}[opcode]
        else:
            text = "" if not first and not second else f"{first:#010x} {second:#010x}"
        if text:
            lines.append(f"{address + 4 * at:#010x}  {text}")
        at += count
    return lines


def _loads(state: int, values: tuple[int, ...]) -> str:
    return "LOAD  " + ", ".join(
        f"{STATE_NAMES.get(state + 4 * n, f'{state + 4 * n:#06x}')} = {value:#010x}"
        for n, value in enumerate(values)
    )
