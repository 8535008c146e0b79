"""Images in the formats of loaders: flat binaries, Intel HEX, images for U-Boot's bootm.

Written here and not by objcopy, so that a board whose constants lie far from its
code gets one binary per region instead of one file with a gap of a gigabyte.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from fwgen.build import uimage
from fwgen.build.elf import Section

HEX_RECORD = 32
"""Data bytes of one record."""


def flat_binary(sections: Iterable[Section], base: int, end: int) -> tuple[int, bytes]:
    """What a loader puts into [base, end): address of the first byte, and the bytes.

    Gaps are filled with zeros. (base, b"") if there is nothing.
    """
    loaded = sorted(
        (s.load_address, s.data) for s in sections if s.data and base <= s.load_address < end
    )
    if not loaded:
        return base, b""
    start = loaded[0][0]
    image = bytearray()
    for address, data in loaded:
        image += bytes(address - start - len(image))
        image += data
    return start, bytes(image)


def intel_hex(sections: Iterable[Section], entry: int) -> str:
    """All loaded bytes as Intel HEX with 32-bit addresses."""
    lines = []
    upper = -1
    for section in sorted((s for s in sections if s.data), key=lambda s: s.load_address):
        position = 0
        while position < len(section.data):
            address = section.load_address + position
            if address >> 16 != upper:
                upper = address >> 16
                lines.append(_record(4, 0, upper.to_bytes(2, "big")))
            room = min(HEX_RECORD, 0x10000 - (address & 0xFFFF))
            data = section.data[position : position + room]
            lines.append(_record(0, address & 0xFFFF, data))
            position += len(data)
    lines.append(_record(5, 0, entry.to_bytes(4, "big")))
    lines.append(_record(1, 0, b""))
    return "\n".join(lines) + "\n"


def _record(kind: int, address: int, data: bytes) -> str:
    body = bytes([len(data)]) + address.to_bytes(2, "big") + bytes([kind]) + data
    return ":" + (body + bytes([-sum(body) & 0xFF])).hex().upper()


def write_file(path: Path, data: bytes) -> None:
    """Replace a file as a whole; contents that did not change keep their time stamp."""
    try:
        if path.read_bytes() == data:
            return
    except OSError:
        pass
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_images(
    directory: Path,
    sections: Sequence[Section],
    entry: int,
    regions: Sequence[tuple[str, int, int]],
    main_region: str,
    uimage_name: str | None = None,
) -> list[str]:
    """Write firmware.bin, firmware.REGION.bin where needed, firmware.hex and firmware.uimg.

    Args:
        directory: the project.
        sections: allocated sections.
        entry: address of the entry point.
        regions: name, base and end of the board's memories.
        main_region: whose binary is firmware.bin.
        uimage_name: in the header of firmware.uimg; None: no such file.

    Returns:
        Names of the files.
    """
    names = []
    for name, base, end in regions:
        start, data = flat_binary(sections, base, end)
        file = "firmware.bin" if name == main_region else f"firmware.{name}.bin"
        if data:
            write_file(directory / file, data)
            names.append(file)
        else:
            (directory / file).unlink(missing_ok=True)
        if data and name == main_region and uimage_name is not None:
            image = uimage.legacy_image(data, start, entry, uimage_name)
            write_file(directory / uimage.NAME, image)
            names.append(uimage.NAME)
    if uimage.NAME not in names:
        (directory / uimage.NAME).unlink(missing_ok=True)
    write_file(directory / "firmware.hex", intel_hex(sections, entry).encode())
    return [*names, "firmware.hex"]
