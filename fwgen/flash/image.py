"""What of a build goes to a device: a binary for each memory that a loader fills."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fwgen.board.types import Board
from fwgen.build.artefacts import flat_binary
from fwgen.build.elf import read_image
from fwgen.build.uimage import legacy_image
from fwgen.errors import UsageError


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes at an address.

    Attributes:
        name: of the file with the same bytes in the build folder.
    """

    name: str
    address: int
    data: bytes

    def without_gaps(self) -> tuple[tuple[Part, ...], tuple[tuple[int, int], ...]]:
        """What must be sent, and the (address, size) of long runs of zeros between it."""
        gaps = [match.span() for match in _GAP.finditer(self.data)]
        starts = [0, *(end for _, end in gaps)]
        ends = [*(start for start, _ in gaps), len(self.data)]
        spans = [(a, b) for a, b in zip(starts, ends, strict=True) if b > a]
        pieces = tuple(
            Part(
                self.name if len(spans) == 1 else f"{self.name}, part {number} of {len(spans)}",
                self.address + a,
                self.data[a:b],
            )
            for number, (a, b) in enumerate(spans, 1)
        )
        return pieces, tuple((self.address + a, b - a) for a, b in gaps)


_GAP = re.compile(rb"\0{16384,}")
"""Zeros that take longer to send than to write on the device."""


@dataclass(frozen=True, slots=True)
class FlashImage:
    """An image for a board.

    Attributes:
        main: what holds the code; starts at the profile's load address, if there is one.
        others: what lies in other memories.
        entry: address of the entry point.
    """

    board: Board
    main: Part
    others: tuple[Part, ...]
    entry: int

    def as_uimage(self) -> Part:
        """The main part behind a header for `bootm`.

        The header goes in front of the load address, so that the code arrives where it
        runs and `bootm` has nothing to move.
        """
        data = legacy_image(self.main.data, self.main.address, self.entry, self.title)
        header = len(data) - len(self.main.data)
        return Part("firmware.uimg", self.main.address - header, data)

    @property
    def title(self) -> str:
        """What the header calls it."""
        return f"fwgen {self.board.name}"


def read_flash_image(elf: Path, board: Board) -> FlashImage:
    """Cut an ELF file into the parts that a loader writes.

    Raises:
        UsageError: it does not fit what the profile says.
    """
    image = read_image(elf)
    parts = []
    for memory in board.memories:
        address, data = flat_binary(image.sections, memory.base, memory.end)
        if data:
            main = memory.name == board.code.name
            name = "firmware.bin" if main else f"firmware.{memory.name}.bin"
            parts.append((main, Part(name, address, data)))
    main_parts = [part for main, part in parts if main]
    if not main_parts:
        raise UsageError(
            "the image has no code in the board's memory",
            where=str(elf),
            expected=f"an image for {board.name}",
        )
    wanted = board.flash.load_address if board.flash is not None else None
    if wanted is not None and main_parts[0].address != wanted:
        raise UsageError(
            f"the image starts at {main_parts[0].address:#x}",
            where=str(elf),
            expected=f"flash.load_address of {board.name}, {wanted:#x}",
        )
    others = tuple(part for main, part in parts if not main)
    return FlashImage(board, main_parts[0], others, image.entry)
