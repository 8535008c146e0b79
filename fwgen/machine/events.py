"""The event stream of the device module (docs/emulator.md), as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class OperationEvent:
    """One operation that the emulated accelerator completed; times in its cycles."""

    accelerator: str
    unit: str
    group: int
    start_cycle: int
    end_cycle: int
    macs: int
    bytes_read: int
    bytes_written: int
    time_ns: int


@dataclass(frozen=True, slots=True)
class GuestError:
    """Something the firmware did wrong to an accelerator."""

    accelerator: str
    message: str
    time_ns: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The last record of a device."""

    accelerator: str
    accesses: int
    operations: int
    interrupts: int
    guest_errors: int
    time_ns: int


Event = OperationEvent | GuestError | Summary


def parse_event(line: str) -> Event | None:
    """One line of the stream; None for kinds that are not of interest or a cut line."""
    try:
        r = json.loads(line)
        match r["event"]:
            case "op":
                return OperationEvent(
                    accelerator=r["accel"],
                    unit=r["unit"],
                    group=r["group"],
                    start_cycle=r["start_cycle"],
                    end_cycle=r["end_cycle"],
                    macs=r["macs"],
                    bytes_read=r["bytes_read"],
                    bytes_written=r["bytes_written"],
                    time_ns=r["time_ns"],
                )
            case "guest_error":
                return GuestError(r["accel"], r["message"], r["time_ns"])
            case "summary":
                return Summary(
                    accelerator=r["accel"],
                    accesses=r["accesses"],
                    operations=r["operations"],
                    interrupts=r["interrupts"],
                    guest_errors=r["guest_errors"],
                    time_ns=r["time_ns"],
                )
    except (ValueError, KeyError, TypeError):
        pass
    return None


class EventFile:
    """Follows a growing event file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0

    def new_events(self) -> list[Event]:
        """Events of the complete lines that were added since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        parsed = (parse_event(line) for line in complete.decode("utf-8", "replace").splitlines())
        return [event for event in parsed if event is not None]
