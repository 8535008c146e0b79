"""What a user may ask of `fwgen flash`, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Start = Literal["bootm", "go", "none"]

SPEEDS = (115_200, 1_500_000, 921_600, 57_600, 38_400, 9_600)
"""Tried where the first speed gives noise or silence."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Where an image is written for good.

    Attributes:
        kind: "sf": SPI flash of U-Boot's `sf`; "mmc": eMMC or SD card.
        device: number of the device; for sf "BUS:CHIP" or empty.
        offset: sf: byte; mmc: block of 512 bytes.
    """

    kind: Literal["sf", "mmc"]
    device: str
    offset: int


@dataclass(frozen=True, slots=True)
class FlashOptions:
    """How to flash.

    Attributes:
        method: of the profile, or the user's choice.
        only: use no other protocol of U-Boot than the method's.
        start: how the image is started; "none": it is not.
        verify: compare what arrived, on the device or by reading it back.
        storage: write it there, too.
        erase_all: stm32-uart: the whole flash may be erased.
        speeds: tried in turn; one that is right is kept.
        connect_seconds: how long the loader is waited for, once for each line.
        lines: how often a line is opened at most.
        attempts: transfers by one protocol before the next is tried.
    """

    method: str
    only: bool = False
    start: Start = "bootm"
    verify: bool = True
    storage: Storage | None = None
    erase_all: bool = False
    speeds: tuple[int, ...] = SPEEDS
    connect_seconds: float = 60.0
    lines: int = 4
    attempts: int = 2


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done to the device, as --dry-run shows it.

    Attributes:
        what: in words.
        command: typed or sent; empty if that is no text.
        size: bytes sent for it.
    """

    what: str
    command: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class FlashReport:
    """What was done.

    Attributes:
        loader: who it was: U-Boot's version, or the id of an STM32.
        protocol: that brought the image over.
        sent: bytes of the image; headers of the protocol do not count.
        verified: bytes that the device was seen to have.
        stored: where it was written for good; empty: nowhere.
        started: whether the device left the loader for the image.
        attempts: transfers that were begun.
        lines: how often the line was opened.
        seconds: from the loader's first answer on.
    """

    loader: str
    protocol: str
    speed: int
    sent: int
    verified: int
    stored: str
    started: bool
    attempts: int
    lines: int
    seconds: float
