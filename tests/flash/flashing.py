"""Images, lines and patience for the tests of `fwgen flash`."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from fake_uboot import FakeUBoot
from noisy_line import Noise, NoisyLine

from fwgen.board.profile import load_board
from fwgen.board.types import Flash, Memory
from fwgen.flash.flasher import Flasher
from fwgen.flash.image import FlashImage, Part
from fwgen.flash.options import FlashOptions, FlashReport
from fwgen.flash.xmodem import Patience
from fwgen.machine.transport import open_transport

LOAD = 0x0200_8000
QUICK = Patience(start_seconds=4.0, answer_seconds=0.8, repeats=12)


def image(size: int = 5000, seed: int = 1) -> FlashImage:
    """Random bytes for the RV1126."""
    data = random.Random(seed).randbytes(size)
    return FlashImage(load_board("rv1126-nvdla"), Part("firmware.bin", LOAD, data), (), LOAD + 64)


def stm32_image(base: int, size: int, page: int | None) -> FlashImage:
    """Random bytes for a microcontroller with 16 KiB of flash from `base` on."""
    board = load_board("mps2-an385")
    flash = Memory("flash", base, 16 * 1024, ("code",))
    board = replace(
        board,
        memories=(flash, *board.memories[1:]),
        flash=Flash("stm32-uart", base, page_size=page),
    )
    data = random.Random(7).randbytes(size)
    return FlashImage(board, Part("firmware.bin", base, data), (), base)


def options(method: str = "uboot-ymodem", **changes: Any) -> FlashOptions:
    """Quick ones for one speed."""
    usual: dict[str, Any] = {"speeds": (115200,), "connect_seconds": 10.0}
    return FlashOptions(method=method, **{**usual, **changes})


@contextmanager
def line_to(
    device: Any, noise: Noise | None = None, *, use_pty: bool = False
) -> Iterator[NoisyLine]:
    """A line to a fake, switched on for the block."""
    with device:
        fd = device.ours.fileno()
        with NoisyLine(fd, fd, noise or Noise(), use_pty=use_pty) as line:
            yield line


def flash(
    line: NoisyLine,
    what: FlashImage,
    how: FlashOptions,
    *,
    seconds: float = 120.0,
    said: list[str] | None = None,
    patience: Patience = QUICK,
    recorder: Any = None,
) -> FlashReport:
    """Flash over the line, as the command does."""
    return Flasher(
        lambda speed, parity: open_transport(line.address, baud=speed, parity=parity),
        what,
        how,
        time.monotonic() + seconds,
        say=(said if said is not None else []).append,
        patience=patience,
        recorder=recorder,
    ).run()


def loaded(device: FakeUBoot, what: FlashImage) -> bool:
    """Whether the device has the image with its header."""
    part = what.as_uimage()
    return device.memory.get(part.address, b"")[: len(part.data)] == part.data
