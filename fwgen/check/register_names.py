"""Register names of traces, "NVDLA_<BLOCK>.<REGISTER>_0", over the product's register map."""

from __future__ import annotations

from functools import cache

from fwgen.accel.nvdla.registers import REGISTERS


class RegisterMap:
    """Looks up offsets and fields by trace name."""

    def __init__(self) -> None:
        self._registers = {f"NVDLA_{name}_0": item for name, item in REGISTERS.items()}
        self._names = {item.offset: name for name, item in self._registers.items()}

    def offset(self, name: str) -> int | None:
        """Byte offset of a register in the window, or None."""
        register = self._registers.get(name)
        return None if register is None else register.offset

    def field(self, name: str, field: str) -> tuple[int, int] | None:
        """(lsb, width) of a field, or None."""
        register = self._registers.get(name)
        for item in () if register is None else register.fields:
            if item.name == field:
                return item.lsb, item.width
        return None

    def names(self) -> list[str]:
        """All trace names."""
        return list(self._registers)

    def name_of(self, offset: int) -> str:
        """Trace name at a byte offset, or the offset itself as text."""
        return self._names.get(offset, f"0x{offset:05x}")


@cache
def default_registers() -> RegisterMap:
    """The map of nv_small to nv_large."""
    return RegisterMap()
