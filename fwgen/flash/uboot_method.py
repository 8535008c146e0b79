"""Loads an image by U-Boot's commands, stores it if asked to, and starts it."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable

from fwgen.errors import DeviceError
from fwgen.flash.image import FlashImage, Part
from fwgen.flash.kermit import send_kermit
from fwgen.flash.line import Line, TransferError
from fwgen.flash.options import FlashOptions, FlashReport, Step, Storage
from fwgen.flash.uboot import UBoot, UnknownCommand
from fwgen.flash.xmodem import Patience, SendProgress, send_xmodem, send_ymodem

PROTOCOLS = {
    "uboot-ymodem": ("loady", "YMODEM"),
    "uboot-xmodem": ("loadx", "XMODEM-1K"),
    "uboot-kermit": ("loadb", "Kermit"),
}
"""Method -> command of U-Boot, name; in the order in which they are tried."""

_BLOCK = 512
_CRC = re.compile(r"==>\s*([0-9a-fA-F]{8})")
_CRC_BYTES_PER_SECOND = 2_000_000
_STORE_SECONDS = 600.0
_CLEAR_SECONDS = 60.0
_STARTING = (b"Starting kernel", b"Starting application")
_DIED = re.compile(rb"resetting|data abort|undefined instruction|prefetch abort", re.IGNORECASE)
_START_SECONDS = 8.0
_NO_SERIAL = (
    "Build U-Boot with CONFIG_CMD_LOADB, which has loadb, loadx and loady.",
    "Or copy firmware.uimg to an SD card or a TFTP server, load it with U-Boot's `load` or "
    "`tftpboot` and start it with `bootm`.",
)


def parts_to_send(image: FlashImage, options: FlashOptions) -> tuple[Part, ...]:
    """The other memories' parts, then the main one in the form that will be started or stored."""
    raw = options.start == "go" and options.storage is None
    return (*image.others, image.main if raw else image.as_uimage())


def methods_to_try(options: FlashOptions) -> tuple[str, ...]:
    """The method asked for, then the other protocols."""
    if options.only:
        return (options.method,)
    return (options.method, *(method for method in PROTOCOLS if method != options.method))


def uboot_steps(image: FlashImage, options: FlashOptions) -> tuple[Step, ...]:
    """All that `UBootMethod` does where nothing fails."""
    tried = methods_to_try(options)
    names = [PROTOCOLS[method] for method in tried]
    steps = [Step("interrupt the automatic start with Ctrl-C and find U-Boot's prompt", "version")]
    others = "".join(f", else {name} with {command}" for command, name in names[1:])
    for part in parts_to_send(image, options):
        pieces, gaps = part.without_gaps()
        for piece in pieces:
            what = f"send {piece.name} by {names[0][1]}{others}"
            steps.append(Step(what, f"{names[0][0]} {piece.address:#x}", len(piece.data)))
            if options.verify:
                steps.append(_crc_step(piece))
        for gap in gaps:
            steps.append(Step("clear a gap, which was not sent", _clear_command(*gap)))
        if gaps and options.verify:
            steps.append(_crc_step(part))
    if options.storage is not None:
        part = parts_to_send(image, options)[-1]
        for command in _store_commands(options.storage, part):
            steps.append(Step(f"write it to {_place(options.storage)}", command))
        clear = _clear_command(part.address, len(part.data))
        steps.append(Step("clear the memory", clear))
        steps.append(Step("read it back", _read_back_command(options.storage, part)))
        steps.append(Step("compare the device's CRC", _crc_command(part)))
    if options.start != "none":
        steps.append(Step("start it", _start_command(image, options)))
    return tuple(steps)


class UBootMethod:
    """One image over one line; `run` may be called again on a new line.

    Args:
        image: what to load.
        options: how.
        progress: (name, bytes acknowledged, bytes in all).
        say: gets a sentence about what is being done.
    """

    def __init__(
        self,
        image: FlashImage,
        options: FlashOptions,
        progress: Callable[[str, int, int], None],
        say: Callable[[str], None],
        patience: Patience,
    ) -> None:
        self._image = image
        self._options = options
        self._progress = progress
        self._say = say
        self._patience = patience
        self.attempts = 0

    def run(self, line: Line, uboot: UBoot, speed: int, lines: int) -> FlashReport:
        """Everything after the prompt was found.

        Raises:
            DeviceError: it cannot be done; the message says in what state the device is.
            LineClosed, RunTimeout: as Line.
        """
        begin = time.monotonic()
        options = self._options
        protocol = ""
        sent = verified = 0
        parts = parts_to_send(self._image, options)
        for part in parts:
            pieces, gaps = part.without_gaps()
            compared = 0
            for piece in pieces:
                protocol, right = self._load(line, uboot, piece)
                sent += len(piece.data)
                compared += right
            try:
                # Now and not before: the padding of XMODEM reaches into a gap.
                for gap in gaps:
                    uboot.command(_clear_command(*gap), _CLEAR_SECONDS)
            except UnknownCommand:
                protocol, compared = self._load(line, uboot, part)
                sent += len(part.data)
            if compared and gaps:
                compared = self._whole(line, uboot, part)
            verified += compared
        stored = ""
        if options.storage is not None:
            self._store(line, uboot, options.storage, parts[-1])
            stored = _place(options.storage)
        if options.start != "none":
            self._start(line, uboot)
        return FlashReport(
            loader=uboot.version,
            protocol=protocol,
            speed=speed,
            sent=sent,
            verified=verified,
            stored=stored,
            started=options.start != "none",
            attempts=self.attempts,
            lines=lines,
            seconds=time.monotonic() - begin,
        )

    # ---- loading ----

    def _whole(self, line: Line, uboot: UBoot, part: Part) -> int:
        """Compare all of a part that was sent in pieces; its size."""
        if not self._crc_is_right(uboot, part):
            raise DeviceError(
                f"the pieces of {part.name} are right, but not what lies between them",
                where=line.name,
                hints=("The device is at its prompt. Does memory at these addresses work?",),
            )
        return len(part.data)

    def _load(self, line: Line, uboot: UBoot, part: Part) -> tuple[str, int]:
        """Name of the protocol that did it, and the bytes that were verified."""
        missing: list[str] = []
        failed: list[str] = []
        for method in methods_to_try(self._options):
            command, name = PROTOCOLS[method]
            for _ in range(self._options.attempts):
                self.attempts += 1
                try:
                    uboot.begin_transfer(f"{command} {part.address:#x}")
                    self._send(line, method, part)
                    return name, self._verify(line, uboot, part)
                except UnknownCommand as error:
                    if error.command != command:
                        raise
                    missing.append(command)
                    self._say(f"this U-Boot has no {command}")
                    break
                except TransferError as error:
                    failed.append(f"{name}: {error.message}")
                    self._say(f"{failed[-1]}; trying again")
                    if not uboot.recover():
                        raise DeviceError(
                            f"{failed[-1]}, and then the device did not come back to its prompt",
                            where=line.name,
                            hints=("Reset the board and try again.", *error.hints),
                        ) from None
        if missing and not failed:
            raise DeviceError(
                f"this U-Boot ({uboot.version}) was built without " + ", ".join(missing),
                where=line.name,
                expected="a U-Boot that can load over its console",
                hints=(*_NO_SERIAL, "The device is at its prompt; nothing was changed."),
            )
        raise DeviceError(
            f"{part.name} did not get through: {'; '.join(dict.fromkeys(failed))}",
            where=line.name,
            hints=(
                "The device is at its prompt; nothing was started or written to flash.",
                "Check cable and ground, or try a slower speed; --log FILE keeps all bytes.",
            ),
        )

    def _send(self, line: Line, method: str, part: Part) -> None:
        def progress(done: int, total: int) -> None:
            self._progress(part.name, done, total)

        send: SendProgress = progress
        if method == "uboot-ymodem":
            send_ymodem(line, part.name, part.data, send, self._patience)
        elif method == "uboot-xmodem":
            send_xmodem(line, part.data, send, self._patience)
        else:
            send_kermit(line, part.name, part.data, send, self._patience)

    def _verify(self, line: Line, uboot: UBoot, part: Part) -> int:
        """Bytes that the device has as they were sent.

        Raises:
            TransferError: the device has something else, or its prompt does not come back.
        """
        line.until_quiet(0.3, 3.0)
        if not uboot.recover():
            raise TransferError("no prompt after the transfer", where=line.name)
        if not self._options.verify:
            return 0
        try:
            right = self._crc_is_right(uboot, part)
        except UnknownCommand:
            if self._options.start == "bootm" and part.name.startswith("firmware.uimg"):
                self._say("this U-Boot has no crc32: bootm will check the image")
                return 0
            raise DeviceError(
                "this U-Boot has no crc32, so what arrived cannot be verified",
                where=line.name,
                hints=("--no-verify starts it all the same.", "The device is at its prompt."),
            ) from None
        if not right:
            raise TransferError(
                "the device's CRC differs from the image's: bytes were damaged on the line",
                where=line.name,
            )
        return len(part.data)

    def _crc_is_right(self, uboot: UBoot, part: Part) -> bool:
        """Asked again where the answer is wrong: the answer itself may be damaged."""
        expected = f"{zlib.crc32(part.data):08x}"
        seconds = 10.0 + len(part.data) / _CRC_BYTES_PER_SECOND
        answers: list[str] = []
        for _ in range(4):
            found = _CRC.search(uboot.command(_crc_command(part), seconds, _CRC))
            answer = found.group(1).lower() if found is not None else ""
            if answer == expected:
                return True
            if answer and answer in answers:
                return False
            answers.append(answer)
        return False

    # ---- storing ----

    def _store(self, line: Line, uboot: UBoot, storage: Storage, part: Part) -> None:
        place = _place(storage)
        try:
            for command in _store_commands(storage, part):
                self._say(f"{command} (may take minutes)")
                self._checked(uboot, command)
            uboot.command(_clear_command(part.address, len(part.data)), _CLEAR_SECONDS)
            self._checked(uboot, _read_back_command(storage, part))
            right = self._crc_is_right(uboot, part)
        except UnknownCommand as error:
            raise DeviceError(
                f"{error.message}: the image was not written to {place}",
                where=line.name,
                hints=("The device is at its prompt; the image is in its RAM.",),
            ) from None
        except TransferError as error:
            back = "is at its prompt" if uboot.recover() else "does not answer: reset it"
            raise DeviceError(
                f"{error.message}; what {place} holds now is not known",
                where=line.name,
                hints=(f"The device {back}. Write it again before it is started from there.",),
            ) from None
        if not right:
            raise DeviceError(
                f"what was read back from {place} is not the image",
                where=line.name,
                hints=(
                    "The device is at its prompt. Check the offset and write protection, then "
                    "write it again before it is started from there.",
                ),
            )

    def _checked(self, uboot: UBoot, command: str) -> None:
        text = uboot.command(command, _STORE_SECONDS)
        if re.search(r"error|fail|timeout|no (card|such|.*flash)|protect", text, re.IGNORECASE):
            raise TransferError(f"'{command}' failed: {' '.join(text.split())[:160]}")

    # ---- starting ----

    def _start(self, line: Line, uboot: UBoot) -> None:
        command = _start_command(self._image, self._options)
        first = uboot.enter(command)

        def ended(out: bytes) -> bool:
            text = b"\n" + first + out
            return uboot.at_prompt(text) or any(word in text for word in _STARTING)

        text = first + uboot.watch(_START_SECONDS, ended)
        if not uboot.at_prompt(b"\n" + text):
            # A loader that starts and fails says so within moments.
            text += uboot.watch(1.0, lambda out: uboot.at_prompt(out) or bool(_DIED.search(out)))
        if _UNKNOWN_START.search(text):
            raise DeviceError(
                f"this U-Boot has no '{command.split()[0]}'",
                where=line.name,
                hints=(
                    "The device is at its prompt; the image is in its RAM.",
                    "Try --start " + ("go." if self._options.start == "bootm" else "bootm."),
                ),
            )
        came_back = uboot.at_prompt(b"\n" + text)
        if came_back or _DIED.search(text):
            shown = " ".join(text.removesuffix(uboot.prompt).decode("ascii", "replace").split())
            state = "is at its prompt" if came_back else "resets itself"
            raise DeviceError(
                f"'{command}' did not start the image: {shown[-200:]}",
                where=line.name,
                hints=(f"The device {state}; nothing was written to flash by this command.",),
            )


_UNKNOWN_START = re.compile(rb"nknown command")


def _crc_command(part: Part) -> str:
    return f"crc32 {part.address:#x} {len(part.data):#x}"


def _crc_step(part: Part) -> Step:
    crc = zlib.crc32(part.data)
    return Step(f"compare the device's CRC with {crc:08x}", _crc_command(part))


def _clear_command(address: int, size: int) -> str:
    return f"mw.b {address:#x} 0 {size:#x}"


def _blocks(part: Part) -> int:
    return -(-len(part.data) // _BLOCK)


def _store_commands(storage: Storage, part: Part) -> tuple[str, ...]:
    if storage.kind == "sf":
        return (
            f"sf probe {storage.device}".strip(),
            f"sf update {part.address:#x} {storage.offset:#x} {len(part.data):#x}",
        )
    return (
        f"mmc dev {storage.device}",
        f"mmc write {part.address:#x} {storage.offset:#x} {_blocks(part):#x}",
    )


def _read_back_command(storage: Storage, part: Part) -> str:
    if storage.kind == "sf":
        return f"sf read {part.address:#x} {storage.offset:#x} {len(part.data):#x}"
    return f"mmc read {part.address:#x} {storage.offset:#x} {_blocks(part):#x}"


def _place(storage: Storage) -> str:
    if storage.kind == "sf":
        return f"SPI flash {storage.device or '0'}, byte {storage.offset:#x}"
    return f"mmc {storage.device}, block {storage.offset:#x}"


def _start_command(image: FlashImage, options: FlashOptions) -> str:
    if options.start == "bootm":
        return f"bootm {image.as_uimage().address:#x} - ${{fdtcontroladdr}}"
    return f"go {image.entry:#x}"
