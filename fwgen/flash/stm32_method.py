"""Writes an image to the flash of an STM32 by its ROM loader, reads it back, starts it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from fwgen.board.types import Board
from fwgen.errors import DeviceError, UsageError
from fwgen.flash.image import FlashImage, Part
from fwgen.flash.line import Line, TransferError
from fwgen.flash.options import FlashOptions, FlashReport, Step
from fwgen.flash.stm32 import LONGEST, Refused, Stm32Loader

T = TypeVar("T")

_REPEATS = 6
_ERASED = 0xFF


def stm32_steps(image: FlashImage, options: FlashOptions) -> tuple[Step, ...]:
    """All that `Stm32Method` does where nothing fails."""
    pages = pages_of(image, options)
    steps = [
        Step("wait for the ROM loader (BOOT0 high, reset), 8E1", "0x7f"),
        Step("ask for commands and product", "GET, GET ID"),
    ]
    if pages is None:
        steps.append(Step("erase the whole flash", "EXTENDED ERASE ffff"))
    else:
        steps.append(Step(f"erase {len(pages)} pages from {pages[0]}", "EXTENDED ERASE"))
    for part in _parts(image):
        count = -(-len(part.data) // LONGEST)
        what = f"write {part.name} in {count} blocks"
        steps.append(Step(what, f"WRITE MEMORY {part.address:#x}", len(part.data)))
        if options.verify:
            steps.append(Step("read it back", f"READ MEMORY {part.address:#x}"))
    if options.start != "none":
        steps.append(Step("start it", f"GO {image.main.address:#x}"))
    return tuple(steps)


def pages_of(image: FlashImage, options: FlashOptions) -> range | None:
    """Numbers of the pages that the image covers; None: everything must be erased.

    Raises:
        UsageError: everything must be erased and nobody allowed it.
    """
    board = image.board
    size = board.flash.page_size if board.flash is not None else None
    if options.erase_all:
        return None
    if size is None:
        raise UsageError(
            "the flash has no pages of equal size, so all of it must be erased",
            where=f"board {board.name}, flash.page_size",
            expected="--erase-all",
            hints=("Everything in the flash of the microcontroller is lost then.",),
        )
    base = _flash_base(board, image.main.address)
    starts = [(part.address - base) // size for part in _parts(image)]
    ends = [-(-(part.address + len(part.data) - base) // size) for part in _parts(image)]
    return range(min(starts), max(ends))


def _flash_base(board: Board, address: int) -> int:
    for memory in board.memories:
        if memory.base <= address < memory.end:
            return memory.base
    return address


def _parts(image: FlashImage) -> tuple[Part, ...]:
    """All parts, padded to whole words as the loader wants them."""
    return tuple(
        Part(part.name, part.address, part.data + bytes([_ERASED]) * (-len(part.data) % 4))
        for part in (image.main, *image.others)
    )


class Stm32Method:
    """One image over one line; arguments as UBootMethod."""

    def __init__(
        self,
        image: FlashImage,
        options: FlashOptions,
        progress: Callable[[str, int, int], None],
        say: Callable[[str], None],
    ) -> None:
        self._image = image
        self._options = options
        self._progress = progress
        self._say = say
        self.attempts = 0

    def run(self, line: Line, speed: int, lines: int) -> FlashReport:
        """Everything from the first byte on.

        Raises:
            DeviceError: it cannot be done; the message says in what state the device is.
            LineClosed, RunTimeout: as Line.
        """
        pages = pages_of(self._image, self._options)
        loader = Stm32Loader(line)
        self._say("waiting for the ROM loader: BOOT0 high, then reset, if nothing happens")
        if not loader.sync(max(1, round(self._options.connect_seconds / 0.3))):
            raise DeviceError(
                "no ROM loader answers",
                where=line.name,
                expected="ACK or NACK to 0x7f at 8 data bits, even parity",
                hints=(
                    "Set BOOT0 and reset the device; check --baud and the UART's pins (AN2606).",
                    "A loader that met another speed first wants a reset.",
                ),
            )
        begin = time.monotonic()
        touched = False
        try:
            version, commands = self._again(loader, loader.commands)
            product = self._again(loader, loader.product_id)
            verified = 0
            for attempt in range(self._options.attempts):
                self.attempts += 1
                touched = True
                if pages is None:
                    self._again(loader, lambda: loader.erase_all(commands))
                else:
                    self._again(loader, lambda: loader.erase_pages(pages, commands))
                try:
                    verified = sum(self._write(line, loader, part) for part in _parts(self._image))
                    break
                except _Unclean as error:
                    if attempt + 1 == self._options.attempts:
                        raise
                    self._say(f"{error.message}; erasing and writing again")
            if self._options.start != "none":
                self._again(loader, lambda: loader.go(self._image.main.address))
        except TransferError as error:
            raise self._explained(error, touched) from None
        return FlashReport(
            loader=f"STM32 {product:#05x}, loader {version >> 4}.{version & 15}",
            protocol="AN3155",
            speed=speed,
            sent=sum(len(part.data) for part in _parts(self._image)),
            verified=verified,
            stored=f"flash, {self._image.main.address:#x}",
            started=self._options.start != "none",
            attempts=self.attempts,
            lines=lines,
            seconds=time.monotonic() - begin,
        )

    def _write(self, line: Line, loader: Stm32Loader, part: Part) -> int:
        """Write and read back; bytes that were compared."""
        for position in range(0, len(part.data), LONGEST):
            block = part.data[position : position + LONGEST]
            self._write_block(line, loader, part.address + position, block)
            self._progress(part.name, position + len(block), len(part.data))
        if not self._options.verify:
            return 0
        name = f"{part.name}, reading back"
        for position in range(0, len(part.data), LONGEST):
            block = part.data[position : position + LONGEST]
            self._compare(line, loader, part.address + position, block)
            self._progress(name, position + len(block), len(part.data))
        return len(part.data)

    def _write_block(self, line: Line, loader: Stm32Loader, address: int, block: bytes) -> None:
        """Write a block; if it is not clear whether it was written, look."""
        for _ in range(_REPEATS):
            try:
                loader.write(address, block)
                return
            except TransferError:
                if not loader.resync():
                    raise
            present = self._again(loader, lambda: loader.read(address, len(block)))
            if present == block:
                return
            if any(byte != _ERASED for byte in present):
                raise _Unclean(f"a block at {address:#x} was written wrongly", where=line.name)
        raise TransferError(
            f"the block at {address:#x} cannot be written in {_REPEATS} attempts", where=line.name
        )

    def _compare(self, line: Line, loader: Stm32Loader, address: int, block: bytes) -> None:
        """A wrong answer twice is wrong flash; once, a wrong line."""
        last = b""
        for _ in range(_REPEATS):
            present = self._again(loader, lambda: loader.read(address, len(block)))
            if present == block:
                return
            if present == last:
                break
            last = present
        raise _Unclean(f"the flash at {address:#x} does not hold the image", where=line.name)

    def _again(self, loader: Stm32Loader, work: Callable[[], T]) -> T:
        """Do `work`, which may be repeated, until the line lets it through."""
        for attempt in range(_REPEATS):
            try:
                return work()
            except TransferError:
                if attempt + 1 == _REPEATS or not loader.resync():
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _explained(self, error: TransferError, touched: bool) -> DeviceError:
        hints = list(error.hints)
        if isinstance(error, Refused):
            hints.append(
                "A loader refuses addresses that it does not know, and nearly everything while "
                "the flash is read-protected (AN3155, Readout Unprotect erases it)."
            )
        if touched:
            hints.append(
                "The flash holds no whole image. The ROM loader is there after each reset with "
                "BOOT0 high: flash again."
            )
        else:
            hints.append("The flash was not touched. Reset with BOOT0 high and try again.")
        return DeviceError(error.message, where=error.where, hints=tuple(hints))


class _Unclean(TransferError):
    """Flash must be erased again before it can be written."""
