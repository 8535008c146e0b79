"""Register names of traces, "NVDLA_<BLOCK>.<REGISTER>_0", over the product's register map."""

from __future__ import annotations

from functools import cache

from fwgen.accel.nvdla.register_map import BLOCKS


class RegisterMap:
    """Looks up offsets and fields by trace name."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._fields: dict[tuple[str, str], tuple[int, int]] = {}
        for block, (base, text) in BLOCKS.items():
            self._add_block(block, base, text)

    def _add_block(self, block: str, base: int, text: str) -> None:
        name = ""
        for line in text.splitlines():
            words = line.split()
            if not words:
                continue
            if words[0] == "+":
                tokens = words[1:]
            else:
                name = f"NVDLA_{block}.{words[1]}_0"
                self._offsets[name] = base + int(words[0], 16)
                tokens = words[3:]
            for token in tokens:
                field, lsb, width = token.split(":")
                self._fields[name, field] = int(lsb), int(width.rstrip("r"))

    def offset(self, name: str) -> int | None:
        """Byte offset of a register in the window, or None."""
        return self._offsets.get(name)

    def field(self, name: str, field: str) -> tuple[int, int] | None:
        """(lsb, width) of a field, or None."""
        return self._fields.get((name, field))

    def names(self) -> list[str]:
        """All trace names."""
        return list(self._offsets)

    def name_of(self, offset: int) -> str:
        """Trace name at a byte offset, or the offset itself as text."""
        for name, at in self._offsets.items():
            if at == offset:
                return name
        return f"0x{offset:05x}"


@cache
def default_registers() -> RegisterMap:
    """The map of nv_small to nv_large."""
    return RegisterMap()
