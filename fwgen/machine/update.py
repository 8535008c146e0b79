"""Sends a model package to a running device (docs/update.md, "The update").

The transfer is a window of requests that go on from whatever offset the device names, so
lost, damaged and repeated frames cost time and nothing else. A lost line is opened again.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from fwgen.errors import DeviceError, ModelError, RunTimeout, TaskError
from fwgen.machine import slots
from fwgen.machine.frames import RESPONSE, Frame, Request, Status, status_words
from fwgen.machine.link import Link, LinkError, PayloadReader
from fwgen.machine.slots import Slot, SlotsInfo

T = TypeVar("T")

HEADER_SIZE = 512
_FRAME_COST = 8 + 4 + 4 + 8
"""Bytes on the wire beside the data: header, CRC-32, offset, COBS and delimiters."""

_FINISH_BYTES_PER_SECOND = 50_000
"""Slowest digest that is waited for."""


@dataclass(frozen=True, slots=True)
class UpdateLimits:
    """How patient the host is.

    Attributes:
        answer_seconds: wait for an answer of the transfer before it is sent again.
        silent_rounds: such waits without any progress before the line counts as lost.
        lines: how often a line may be opened, the first time included.
        starts: how often the transfer may begin anew on one line.
        boot_seconds: wait for the device after its reset.
    """

    answer_seconds: float = 2.0
    silent_rounds: int = 6
    lines: int = 4
    starts: int = 4
    boot_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What an update did.

    Attributes:
        slot: that holds the package; None: the device ran it already.
        resumed_at: bytes that the device had from an earlier attempt.
        sent, resent: bytes of payload on the line.
        state: "confirmed", "on trial" (waits for CONFIRM) or "written" (waits for a reset).
    """

    slot: int | None
    total: int
    resumed_at: int
    sent: int
    resent: int
    lines: int
    seconds: float
    state: str


Progress = Callable[[int, int], None]
"""(bytes that the device has, bytes in all)."""

Words = Callable[[int], str]
"""Code of a refusal to a sentence."""


class Updater:
    """One update.

    Args:
        connect: opens the line; called again when it is lost.
        package: all its bytes.
        progress: told as the device acknowledges.
        words: names of refusals.
    """

    def __init__(
        self,
        connect: Callable[[], Link],
        package: bytes,
        *,
        words: Words,
        progress: Progress = lambda done, total: None,
        limits: UpdateLimits = UpdateLimits(),  # noqa: B008
    ) -> None:
        self._connect = connect
        self._package = package
        self._words = words
        self._progress = progress
        self._limits = limits
        self._lines = 0
        self._sent = 0
        self._furthest = 0
        self._resent = 0
        self._resumed: int | None = None
        self._board = ""

    def run(self, *, reset: bool = True) -> UpdateReport:
        """Send the package; with `reset`, start it and wait for the end of its trial.

        Raises:
            ModelError: the device refuses the package.
            TaskError: its trial failed and the device went back.
            DeviceError: no line, or the flash fails; the device runs what it ran.
            RunTimeout: the link's deadline passed.
        """
        begin = time.monotonic()
        slot = self._on_a_line(self._transfer)
        state = "confirmed" if slot is None else "written"
        if slot is not None and reset:
            state = self._on_a_line(lambda link: self._try(link, slot))
        return UpdateReport(
            slot=slot,
            total=len(self._package),
            resumed_at=self._resumed or 0,
            sent=self._sent,
            resent=self._resent,
            lines=self._lines,
            seconds=time.monotonic() - begin,
            state=state,
        )

    # ---- lines ----

    def _on_a_line(self, work: Callable[[Link], T]) -> T:
        """Do `work`; if the line is lost, open it again and do it again."""
        while True:
            self._lines += 1
            link: Link | None = None
            try:
                link = self._connect()
                self._board = link.info().board
                return work(link)
            except (LinkError, RunTimeout):
                raise
            except DeviceError as error:
                if self._lines >= self._limits.lines:
                    raise DeviceError(
                        f"the update was given up: {error.message}",
                        where=error.where,
                        hints=(
                            "The device runs what it ran before.",
                            "Start the update again: it goes on where it stopped.",
                            *error.hints,
                        ),
                    ) from None
                time.sleep(min(2.0, 0.25 * self._lines))
            finally:
                if link is not None:
                    link.transport.close()

    # ---- transfer ----

    def _transfer(self, link: Link) -> int | None:
        for attempt in range(self._limits.starts):
            info = slots.slots(link)
            if info.running is not None and info.trial is None:
                if self._is_ours(info.slots[info.running]):
                    return None
            try:
                slot = self._send_all(link)
                self._finish(link)
                return slot
            except LinkError as error:
                # The device was reset or its flash refused a block: it says where to go on.
                again = error.status in (Status.BAD_INDEX, Status.FLASH, Status.BAD_RANGE)
                if not again or attempt + 1 == self._limits.starts:
                    raise self._explained(error) from None
        raise AssertionError("the last attempt returns or raises")

    def _explained(self, error: LinkError) -> Exception:
        if error.status == Status.REFUSED and error.payload:
            return ModelError(
                f"the device refuses the package: {self._words(error.payload[0])}",
                where=error.where,
                expected=f"a package made for this device, a board '{self._board}'",
                hints=("`fwgen nvmem --port PORT slots` shows what it asks for.",),
            )
        if error.status == Status.BUSY:
            return DeviceError(
                "the device has a model on trial and no free slot",
                where=error.where,
                expected="a device whose trial is over",
                hints=("Confirm it: fwgen nvmem --port PORT confirm. Or reset the device.",),
            )
        if error.status == Status.FLASH:
            return DeviceError(
                "the device cannot write its flash",
                where=error.where,
                hints=("The device runs what it ran before.",),
            )
        return error

    def _send_all(self, link: Link) -> int:
        payload = link.request(Request.UPDATE_BEGIN, self._package[:HEADER_SIZE])
        r = PayloadReader(payload, Request.UPDATE_BEGIN)
        slot, _, chunk, following, window = r.unpack("BBHII")
        if not 1 <= chunk <= 1020 or not HEADER_SIZE <= following <= len(self._package):
            raise DeviceError(
                f"the device asks for byte {following} in pieces of {chunk}",
                where=link.transport.name,
                hints=("Firmware and fwgen may be of different versions; build again.",),
            )
        if self._resumed is None:
            self._resumed = following if following > HEADER_SIZE else 0
        self._furthest = max(self._furthest, following)
        frames = max(1, window // (chunk + _FRAME_COST))
        _Window(self, link, chunk, frames, self._limits).run(following)
        return slot

    def _finish(self, link: Link) -> None:
        patience = 5.0 + len(self._package) / _FINISH_BYTES_PER_SECOND
        link.request(Request.UPDATE_FINISH, b"", patience)

    # ---- trial ----

    def _try(self, link: Link, slot: int) -> str:
        info = slots.slots(link)
        if self._is_ours(info.slots[slot]) and info.trial == slot and info.running != slot:
            slots.reset(link)
            info = self._after_boot(link)
        if not self._is_ours(info.slots[slot]):
            raise TaskError(
                f"slot {slot} holds another package by now",
                where=link.transport.name,
                expected="nobody else who updates the device at the same time",
                hints=("`fwgen nvmem --port PORT slots` shows what the device runs.",),
            )
        if info.running == slot:
            return "confirmed" if info.confirmed == slot else "on trial"
        raise TaskError(
            f"the device went back to what it ran: {self._words(info.fault)}",
            where=link.transport.name,
            expected="a package whose self-test passes on the device",
        )

    def _is_ours(self, slot: Slot) -> bool:
        """Whether a slot holds the package; one of the same model may differ in its header."""
        header = self._package[:HEADER_SIZE]
        return (
            slot.digest == header[128:136].hex()
            and slot.version == int.from_bytes(header[20:24], "little")
            and slot.name == header[96:128].partition(b"\0")[0].decode("utf-8", "replace")
        )

    def _after_boot(self, link: Link) -> SlotsInfo:
        """Wait until the device answers again; a failed trial resets it once more."""
        end = time.monotonic() + self._limits.boot_seconds
        usual = link.timeout, link.attempts
        link.timeout, link.attempts = 0.5, 1
        link.drain(0.3)
        try:
            while True:
                try:
                    link.info()
                    return slots.slots(link)
                except (LinkError, RunTimeout):
                    raise
                except DeviceError:
                    if time.monotonic() >= end:
                        raise
        finally:
            link.timeout, link.attempts = usual

    # ---- for the window ----

    def piece(self, offset: int, chunk: int) -> bytes:
        """The bytes at an offset; counts them."""
        data = self._package[offset : offset + chunk]
        self._sent += len(data)
        self._resent += max(0, min(self._furthest, offset + len(data)) - offset)
        self._furthest = max(self._furthest, offset + len(data))
        return data

    @property
    def total(self) -> int:
        return len(self._package)

    def acknowledge(self, done: int) -> None:
        self._progress(done, len(self._package))


class _Window:
    """Requests on their way, in order; the device's answers say which byte it expects."""

    def __init__(
        self, updater: Updater, link: Link, chunk: int, frames: int, limits: UpdateLimits
    ) -> None:
        self._updater = updater
        self._link = link
        self._chunk = chunk
        self._frames = frames
        self._limits = limits
        self._flying: deque[int] = deque()  # sequence numbers
        self._next = 0  # to be sent
        self._done = 0  # the device has all before it

    def run(self, offset: int) -> None:
        """Send everything from an offset on.

        Raises:
            LinkError: the device says no.
            DeviceError: no progress.
        """
        self._next = self._done = offset
        self._updater.acknowledge(offset)
        total = self._updater.total
        silent = 0
        heard = time.monotonic()
        while self._done < total:
            while len(self._flying) < self._frames and self._next < total:
                if not self._post():
                    break
            before = self._done
            for frame in self._link.answers(0.05 if self._frames > 1 else 0.2):
                self._take(frame)
            now = time.monotonic()
            if self._link.deadline is not None and now >= self._link.deadline:
                raise RunTimeout(
                    f"the update did not end in time, {self._done} of {total} bytes are there",
                    where=self._link.transport.name,
                )
            if self._done > before:
                self._updater.acknowledge(self._done)
                silent, heard = 0, now
            elif now - heard > self._limits.answer_seconds:
                silent += 1
                heard = now
                if silent >= self._limits.silent_rounds:
                    raise DeviceError(
                        f"the device takes no more data after byte {self._done} of {total}",
                        where=self._link.transport.name,
                        hints=("Check the line; noise and a wrong speed have this effect.",),
                    )
                self._go_back()

    def _post(self) -> bool:
        data = self._updater.piece(self._next, self._chunk)
        sequence = self._link.post(
            Request.UPDATE_DATA,
            struct.pack("<I", self._next) + data,
            self._limits.answer_seconds,
        )
        if sequence is None:
            return False
        self._flying.append(sequence)
        self._next += len(data)
        return True

    def _take(self, frame: Frame) -> None:
        if frame.type != Request.UPDATE_DATA | RESPONSE or frame.sequence not in self._flying:
            return
        while self._flying.popleft() != frame.sequence:
            pass  # answers come in order: those before it are lost
        if frame.status != Status.OK:
            raise LinkError(
                f"UPDATE_DATA failed: {status_words(frame.status)}",
                frame.status,
                frame.payload,
                where=self._link.transport.name,
            )
        (expected,) = PayloadReader(frame.payload, Request.UPDATE_DATA).unpack("I")
        if expected > self._done:
            self._done = expected
            self._next = max(self._next, expected)
        elif expected == self._done and self._next > self._done:
            # The device waits for a frame that is lost: what follows it is ignored.
            self._go_back()
        elif expected < self._done:
            raise LinkError(
                "the device forgot what it had", Status.BAD_INDEX, where=self._link.transport.name
            )

    def _go_back(self) -> None:
        """Send again from the byte that the device expects; late answers are ignored."""
        self._flying.clear()
        self._next = self._done
