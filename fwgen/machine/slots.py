"""Client of the link's requests for slots, partitions and settings (docs/link.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from fwgen.errors import DeviceError, UsageError
from fwgen.machine.frames import Request, Status
from fwgen.machine.link import Link, LinkError, PayloadReader

NO_SLOT = 0xFF
KEY_LIMIT = 31
VALUE_LIMIT = 256
KINDS = ("raw", "settings", "state", "slot")
_ERASE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Slot:
    """What one slot holds.

    Attributes:
        fault: code of fwgen.package.faults; 0: a package that fits the device.
        digest: first 8 bytes of the payload's SHA-256.
    """

    index: int
    fault: int
    length: int = 0
    version: int = 0
    digest: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class SlotsInfo:
    """Answer of SLOTS.

    Attributes:
        running, confirmed, trial: indices of slots; None: none, for `running` the model of
            the image.
        boots, boot_limit: starts of the trial, and how many it may have.
        fault: why the last trial was given up, 0: it was not.
        oldest: smallest version that is accepted.
    """

    running: int | None
    confirmed: int | None
    trial: int | None
    boots: int
    boot_limit: int
    signed: bool
    anti_rollback: bool
    in_place: bool
    fault: int
    oldest: int
    layout_hash: str
    slot_size: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition of PARTITIONS."""

    name: str
    kind: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class NvmemInfo:
    """Answer of PARTITIONS."""

    erase_size: int
    program_size: int
    partitions: tuple[PartitionInfo, ...]


def slots(link: Link) -> SlotsInfo:
    """State of the slots; errors as Link says."""
    r = PayloadReader(_ask(link, Request.SLOTS), Request.SLOTS)
    running, confirmed, trial, boots, limit, count, flags, fault, oldest = r.unpack("8BI")
    layout = r.take(8).hex()
    (size,) = r.unpack("I")
    found = []
    for index in range(count):
        (code,) = r.unpack("B")
        if code:
            found.append(Slot(index, code))
            continue
        length, version = r.unpack("II")
        digest = r.take(8).hex()
        found.append(Slot(index, 0, length, version, digest, r.string()))
    return SlotsInfo(
        running=_slot(running),
        confirmed=_slot(confirmed),
        trial=_slot(trial),
        boots=boots,
        boot_limit=limit,
        signed=bool(flags & 1),
        anti_rollback=bool(flags & 2),
        in_place=bool(flags & 4),
        fault=fault,
        oldest=oldest,
        layout_hash=layout,
        slot_size=size,
        slots=tuple(found),
    )


def _slot(number: int) -> int | None:
    return None if number == NO_SLOT else number


def confirm(link: Link) -> None:
    """Confirm the model on trial that runs; nothing happens if it is confirmed already.

    Raises:
        UsageError: the model of the image runs.
    """
    try:
        _ask(link, Request.CONFIRM)
    except LinkError as error:
        if error.status != Status.NOT_SUPPORTED:
            raise
        raise UsageError(
            "no model of a slot runs",
            where=link.transport.name,
            expected="a model on trial, which `fwgen update` starts",
        ) from None


def reset(link: Link) -> None:
    """Reset the device; it takes some time to answer again."""
    _ask(link, Request.RESET)


def partitions(link: Link) -> NvmemInfo:
    """The partitions of the device."""
    r = PayloadReader(_ask(link, Request.PARTITIONS), Request.PARTITIONS)
    erase, program, count = r.unpack("IIH")
    found = []
    for _ in range(count):
        offset, size, kind = r.unpack("IIB")
        text = KINDS[kind] if kind < len(KINDS) else f"kind {kind}"
        found.append(PartitionInfo(r.string(), text, offset, size))
    return NvmemInfo(erase, program, tuple(found))


def erase_partition(link: Link, name: str) -> int:
    """Erase a partition block by block; returns its size in bytes.

    Raises:
        UsageError: no such partition, or one that is in use.
    """
    info = partitions(link)
    for part in info.partitions:
        if part.name == name:
            break
    else:
        raise UsageError(
            f"no partition '{name}'",
            where=link.transport.name,
            expected="one of " + ", ".join(p.name for p in info.partitions),
        )
    try:
        for offset in range(0, part.size, info.erase_size):
            payload = struct.pack("<I", offset) + name.encode()
            _ask(link, Request.PARTITION_ERASE, payload, _ERASE_SECONDS)
    except LinkError as error:
        if error.status in (Status.BUSY, Status.NOT_SUPPORTED):
            raise UsageError(
                f"partition '{name}' is in use",
                where=link.transport.name,
                expected="settings, a raw partition, or a slot that neither runs nor is confirmed",
            ) from None
        raise
    return part.size


def keys(link: Link) -> dict[str, int]:
    """Names of all settings and their lengths in bytes."""
    found: dict[str, int] = {}
    cursor = 0
    while True:
        payload = _ask(link, Request.SETTING_KEYS, struct.pack("<I", cursor))
        r = PayloadReader(payload, Request.SETTING_KEYS)
        (following,) = r.unpack("I")
        left = len(payload) - 4
        while left:
            (length,) = r.unpack("H")
            key = r.string()
            found[key] = length
            left -= 3 + len(key.encode())
        if following == 0:
            return found
        if following <= cursor:
            raise DeviceError("the list of settings goes in a circle", where=link.transport.name)
        cursor = following


def get(link: Link, key: str) -> bytes:
    """The value of a setting.

    Raises:
        UsageError: there is none of that name.
    """
    try:
        return _ask(link, Request.SETTING_GET, _key(key))
    except LinkError as error:
        if error.status != Status.BAD_INDEX:
            raise
        known = ", ".join(sorted(keys(link))) or "none"
        raise UsageError(
            f"no setting '{key}'", where=link.transport.name, expected=f"one of: {known}"
        ) from None


def put(link: Link, key: str, value: bytes) -> None:
    """Set a value of up to 256 bytes.

    Raises:
        UsageError: key or value is too long, or the store is full.
    """
    data = _key(key)
    if len(value) > VALUE_LIMIT:
        raise UsageError(
            f"the value has {len(value)} bytes", where=key, expected=f"at most {VALUE_LIMIT}"
        )
    try:
        _ask(link, Request.SETTING_SET, bytes((len(data),)) + data + value, _ERASE_SECONDS)
    except LinkError as error:
        if error.status != Status.BAD_RANGE:
            raise
        raise UsageError(
            "the settings are full",
            where=link.transport.name,
            expected="room for the value in one erase block with all others",
            hints=("Delete settings: fwgen nvmem delete KEY.",),
        ) from None


def delete(link: Link, key: str) -> None:
    """Forget a setting."""
    _ask(link, Request.SETTING_DELETE, _key(key), _ERASE_SECONDS)


def _key(key: str) -> bytes:
    data = key.encode()
    if not 1 <= len(data) <= KEY_LIMIT or b"\0" in data:
        raise UsageError(
            f"'{key}' cannot name a setting", expected=f"1 to {KEY_LIMIT} bytes of UTF-8"
        )
    return data


def _ask(link: Link, kind: Request, payload: bytes = b"", seconds: float | None = None) -> bytes:
    try:
        return link.request(kind, payload, seconds)
    except LinkError as error:
        if error.status not in (Status.BAD_TYPE, Status.NOT_SUPPORTED):
            raise
        asked = kind in (Request.PARTITION_ERASE, Request.CONFIRM)
        if asked and error.status == Status.NOT_SUPPORTED:
            raise
        raise UsageError(
            "this firmware has no non-volatile memory for that",
            where=link.transport.name,
            expected="firmware built with --nvmem",
        ) from None
