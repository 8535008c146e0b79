"""Reads what the reports and artefacts need from the linked ELF file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_WRITE, _ALLOC, _EXEC = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Section:
    """One allocated section.

    Attributes:
        address: where it is used.
        load_address: where a loader puts it.
        data: contents, empty for memory that is only reserved.
        alignment: of the address, in bytes.
    """

    name: str
    address: int
    load_address: int
    size: int
    has_contents: bool
    is_writable: bool
    is_code: bool
    data: bytes
    alignment: int = 1


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol with a size or an address."""

    name: str
    address: int
    size: int
    kind: str


@dataclass(frozen=True, slots=True)
class Image:
    """A linked image.

    Attributes:
        sections: allocated ones that are not empty, by address.
        symbols: name -> symbol; of several local ones with a name, the last.
    """

    sections: tuple[Section, ...]
    symbols: dict[str, Symbol]
    entry: int


def read_image(path: Path) -> Image:
    """Read an ELF file that this build linked."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
        sections = []
        for section in elf.iter_sections():
            flags = section["sh_flags"]
            if not flags & _ALLOC or not section["sh_size"]:
                continue
            has_contents = section["sh_type"] != "SHT_NOBITS"
            address = section["sh_addr"]
            load = address
            for segment in segments:
                start = segment["p_vaddr"]
                if has_contents and start <= address < start + max(1, segment["p_filesz"]):
                    load = segment["p_paddr"] + (address - start)
            sections.append(
                Section(
                    section.name,
                    address,
                    load,
                    section["sh_size"],
                    has_contents,
                    bool(flags & _WRITE),
                    bool(flags & _EXEC),
                    section.data() if has_contents else b"",
                    max(1, section["sh_addralign"]),
                )
            )
        symbols = {}
        for table in elf.iter_sections():
            if isinstance(table, SymbolTableSection):
                for symbol in table.iter_symbols():
                    if symbol.name and symbol["st_shndx"] != "SHN_UNDEF":
                        symbols[symbol.name] = Symbol(
                            symbol.name,
                            symbol["st_value"],
                            symbol["st_size"],
                            symbol["st_info"]["type"],
                        )
        sections.sort(key=lambda item: item.address)
        return Image(tuple(sections), symbols, elf["e_entry"])
