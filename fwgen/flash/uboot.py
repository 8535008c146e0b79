"""The command line of U-Boot over a serial line that may lose bytes.

Nothing is executed before it was echoed correctly: a command is typed without its end
of line, and taken back with Ctrl-C if the echo differs. Ctrl-C is also what interrupts
the automatic start, and what gives a prompt at any time without executing anything. (An
empty line would repeat the last command.)
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from fwgen.errors import DeviceError
from fwgen.flash.line import Line, TransferError
from fwgen.flash.xmodem import CANCEL, NAK

_INTERRUPT = b"\x03"
_PROMPT = re.compile(rb"[\r\n]([ -~]{0,40}[>#$:] ?)$")
_UNKNOWN = re.compile(rb"nknown command")
_PIECE = 16  # UARTs have FIFOs of this size, and U-Boot reads them by polling
_TYPING_ATTEMPTS = 6


class WrongSpeed(DeviceError):
    """What arrives is no text."""


class UnknownCommand(DeviceError):
    """This U-Boot was built without a command.

    Attributes:
        command: its name.
    """

    def __init__(self, command: str, where: str) -> None:
        super().__init__(f"this U-Boot has no command '{command}'", where=where)
        self.command = command


def looks_like_noise(data: bytes) -> bool:
    """Whether these bytes come from a line of another speed."""
    odd = sum(1 for byte in data if not 0x20 <= byte < 0x7F and byte not in b"\r\n\t\x1b\x07\x08")
    return len(data) >= 8 and odd * 4 > len(data)


class UBoot:
    """A U-Boot that listens on a line.

    Attributes:
        prompt: as it was seen.
        version: first line of its answer to `version`.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self.prompt = b""
        self.version = ""

    # ---- the prompt ----

    def reach(self, seconds: float) -> bool:
        """Interrupt the automatic start and find the prompt; False if nobody answers.

        A loader that still waits for an earlier transfer is told to give up.

        Raises:
            WrongSpeed: what arrives is noise.
            DeviceError: there is a prompt, and it is not U-Boot's.
        """
        end = time.monotonic() + seconds
        heard = b""
        turn = 0
        while time.monotonic() < end:
            turn += 1
            self._line.send(_INTERRUPT)
            data = self._line.until_quiet(0.25, 1.0)
            heard = (heard + data)[-2048:]
            if looks_like_noise(heard):
                raise WrongSpeed("what arrives is no text", where=self._line.name)
            if _PROMPT.search(b"\n" + data) and self._learn_prompt():
                self._ask_version()
                return True
            waits = data.strip(b"C\x15") == b"" and data != b""
            if waits or (not data and turn % 4 == 0):
                self.cancel_transfer(3.0)
        return False

    def _learn_prompt(self) -> bool:
        """Whether Ctrl-C gives the same last line twice."""
        seen = []
        for _ in range(4):
            self._line.send(_INTERRUPT)
            match = _PROMPT.search(self._line.until_quiet(0.3, 2.0))
            if match is not None:
                seen.append(match.group(1))
                if len(seen) > 1 and seen[-1] == seen[-2]:
                    self.prompt = seen[-1]
                    return True
        return False

    def _ask_version(self) -> None:
        text = ""
        for _ in range(3):
            try:
                text = self.command("version", 3.0)
            except UnknownCommand:
                self.version = "U-Boot"
                return
            for row in text.splitlines():
                if "U-Boot" in row:
                    self.version = row.strip()
                    return
        raise DeviceError(
            f"there is a prompt '{self.prompt.decode('ascii').strip()}', but it is not U-Boot's",
            where=self._line.name,
            expected="U-Boot's answer to 'version'",
            hints=(
                "Something else runs there, perhaps the firmware: reset the board.",
                f"It answered: {' '.join(text.split())[:100]}",
            ),
        )

    def recover(self) -> bool:
        """Get a prompt, ending what runs if it must be; False if nobody answers."""
        for _ in range(3):
            for _ in range(3):
                self._line.send(_INTERRUPT)
                if self.at_prompt(self._line.until_quiet(0.2, 2.0)):
                    return True
            self.cancel_transfer(5.0)
        return False

    def cancel_transfer(self, seconds: float) -> None:
        """End an X- or YMODEM transfer on the device; harmless at the prompt.

        A receiver in the middle of a block takes CAN for data, waits for silence, and
        asks again: then it is told again.
        """
        for _ in range(4):
            self._line.send(CANCEL)
            end = time.monotonic() + seconds
            data = b""
            while not data and time.monotonic() < end:
                data = self._line.until_quiet(0.3, 1.0)
            if data[-1:] not in (b"C", bytes([NAK])):
                return

    def at_prompt(self, text: bytes) -> bool:
        """Whether `text` ends with the prompt at the begin of a line."""
        return text.endswith((b"\n" + self.prompt, b"\r" + self.prompt))

    # ---- commands ----

    def command(self, text: str, seconds: float, done: re.Pattern[str] | None = None) -> str:
        """Execute a command and wait for the next prompt.

        Args:
            text: without end of line.
            seconds: that it may take.
            done: what its output must contain; enough even if the prompt is lost.

        Returns:
            What it printed.

        Raises:
            UnknownCommand: U-Boot does not have it.
            TransferError: no prompt in time.
        """
        out = self.enter(text)
        end = time.monotonic() + seconds
        while not self.at_prompt(b"\n" + out):
            data = self._line.read(min(1.0, max(0.0, end - time.monotonic())))
            out += data
            found = done is not None and done.search(out.decode("ascii", "replace"))
            if not data and (found or time.monotonic() >= end):
                if found or self.recover():
                    break
                raise TransferError(
                    f"'{text}' did not end within {seconds:g} s", where=self._line.name
                )
        if _UNKNOWN.search(out):
            raise UnknownCommand(text.split()[0], self._line.name)
        return out.removesuffix(self.prompt).decode("ascii", "replace")

    def enter(self, text: str) -> bytes:
        """Type a command and its end of line; the first bytes that follow.

        Raises:
            TransferError: the echo stays wrong.
        """
        self._type(text)
        for _ in range(3):
            self._line.send(b"\r")
            out = self._line.read(2.0)
            if out:
                while b"\n" not in out and (more := self._line.read(0.5)):
                    out += more
                return out.partition(b"\n")[2]
        raise TransferError(f"no answer to '{text}'", where=self._line.name)

    def begin_transfer(self, text: str) -> None:
        """Enter a command that then asks for data; leaves the question to be read.

        Raises:
            UnknownCommand: U-Boot does not have it.
            TransferError: it ended at once.
        """
        out = self.enter(text)
        end = time.monotonic() + 3.0
        while time.monotonic() < end and b"\n" not in out and not self.at_prompt(b"\n" + out):
            out += self._line.read(0.3)
        if _UNKNOWN.search(out):
            self.recover()
            raise UnknownCommand(text.split()[0], self._line.name)
        if self.at_prompt(b"\n" + out):
            reason = " ".join(out.removesuffix(self.prompt).decode("ascii", "replace").split())
            raise TransferError(f"'{text}' ended: {reason[:120]}", where=self._line.name)
        self._line.unread(out.rpartition(b"\n")[2])

    def watch(self, seconds: float, ended: Callable[[bytes], bool]) -> bytes:
        """What arrives until `ended` says so of it, or for `seconds`."""
        out = b""
        end = time.monotonic() + seconds
        while not ended(out) and time.monotonic() < end:
            out += self._line.read(min(0.3, max(0.0, end - time.monotonic())))
        return out

    def _type(self, text: str) -> None:
        wanted = text.encode("ascii")
        for _ in range(_TYPING_ATTEMPTS):
            if self._echoes(wanted):
                return
            self._line.send(_INTERRUPT)
            self._line.until_quiet(0.3, 3.0)
        raise TransferError(
            f"the device does not echo '{text}' as it was typed",
            where=self._line.name,
            hints=("The line is noisy, or something else types at the same prompt.",),
        )

    def _echoes(self, wanted: bytes) -> bool:
        self._line.discard()
        for start in range(0, len(wanted), _PIECE):
            piece = wanted[start : start + _PIECE]
            self._line.send(piece)
            echo = b""
            while len(echo) < len(piece):
                data = self._line.read(2.0)
                if not data:
                    return False
                echo += data
            if echo != piece:
                return False
        return not self._line.read(0.02)
