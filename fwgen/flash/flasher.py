"""Opens the line, finds the loader at one of the speeds, and lets the method do its work."""

from __future__ import annotations

import time
from collections.abc import Callable

from fwgen.errors import DeviceError, FwgenError, RunTimeout
from fwgen.flash.image import FlashImage
from fwgen.flash.line import Line, Recorder, TransferError
from fwgen.flash.options import FlashOptions, FlashReport, Step
from fwgen.flash.stm32_method import Stm32Method, stm32_steps
from fwgen.flash.uboot import UBoot, WrongSpeed
from fwgen.flash.uboot_method import UBootMethod, uboot_steps
from fwgen.flash.xmodem import USUAL, Patience
from fwgen.machine.transport import LineClosed, Parity, Transport

_GRACE_SECONDS = 25.0
_FIRST_LISTEN = 3.0
_LATER_LISTEN = 15.0

_STM32_STATE = (
    "The flash may hold a part of the image. The ROM loader is there after each reset with "
    "BOOT0 high: flash again."
)

Connect = Callable[[int, Parity], Transport]
"""Opens the line at a speed and with a parity ("N" or "E")."""


def flash_steps(image: FlashImage, options: FlashOptions) -> tuple[Step, ...]:
    """What `Flasher.run` does where nothing fails; touches nothing."""
    if options.method == "stm32-uart":
        return stm32_steps(image, options)
    return uboot_steps(image, options)


class Flasher:
    """One image onto one device.

    Args:
        connect: opens the line; called again when it is lost.
        image: what to load.
        options: how.
        deadline: `time.monotonic()` after which everything ends with RunTimeout.
        progress: (name, bytes acknowledged, bytes in all).
        say: gets sentences about what is being done.
        recorder: told of every byte on the line.
    """

    def __init__(
        self,
        connect: Connect,
        image: FlashImage,
        options: FlashOptions,
        deadline: float,
        *,
        progress: Callable[[str, int, int], None] = lambda name, done, total: None,
        say: Callable[[str], None] = lambda text: None,
        recorder: Recorder | None = None,
        patience: Patience = USUAL,
    ) -> None:
        self._connect = connect
        self._image = image
        self._options = options
        self._deadline = deadline
        self._progress = progress
        self._say = say
        self._recorder = recorder
        self._patience = patience
        self._lines = 0
        self._speed: int | None = None

    def run(self) -> FlashReport:
        """Load, verify, store and start, as the options say.

        Raises:
            DeviceError: it cannot be done; the message says in what state the device is.
            RunTimeout: the deadline passed.
        """
        if self._options.method == "stm32-uart":
            work = Stm32Method(self._image, self._options, self._progress, self._say).run
            return self._on_a_line(lambda: self._stm32(work))
        method = UBootMethod(self._image, self._options, self._progress, self._say, self._patience)
        return self._on_a_line(lambda: self._uboot(method))

    def _on_a_line(self, work: Callable[[], FlashReport]) -> FlashReport:
        """Do `work`; if the line is lost, do it again on a new one."""
        losses = 0
        while True:
            try:
                return work()
            except LineClosed as error:
                losses += 1
                if losses >= self._options.lines:
                    raise DeviceError(
                        f"the line was lost {losses} times: {error.message}",
                        where=error.where,
                        hints=(
                            _STM32_STATE
                            if self._options.method == "stm32-uart"
                            else "Nothing was started. U-Boot waits for data or is at its prompt; "
                            "flash again when the line is back.",
                        ),
                    ) from None
                self._say("the line was lost; opening it again")
                time.sleep(min(2.0, 0.25 * losses))
                if time.monotonic() >= self._deadline:
                    raise RunTimeout("the time limit ran out", where=error.where) from None

    def _open(self, speed: int, parity: Parity) -> Line:
        self._lines += 1
        if self._recorder is not None:
            self._recorder.record("#", f"open, {speed} baud".encode())
        try:
            transport = self._connect(speed, parity)
        except DeviceError as error:
            # A port that was there may be away for a moment: an adapter that was unplugged.
            if self._lines == 1:
                raise
            raise LineClosed(error.message, where=error.where, hints=error.hints) from None
        return Line(transport, self._deadline, self._recorder)

    # ---- U-Boot ----

    def _uboot(self, method: UBootMethod) -> FlashReport:
        line, uboot, speed = self._find_uboot()
        try:
            self._say(f"{uboot.version} answers at {line.name}")
            return method.run(line, uboot, speed, self._lines)
        except LineClosed:
            raise
        except TransferError as error:
            raise _with_state(error, _state(line, uboot)) from None
        except RunTimeout as error:
            raise _with_state(error, _state(line, uboot)) from None
        except KeyboardInterrupt:
            _state(line, uboot)
            raise
        finally:
            line.close()

    def _find_uboot(self) -> tuple[Line, UBoot, int]:
        """At one of the speeds; the speed that worked once is the only one afterwards."""
        options = self._options
        speeds = (self._speed,) if self._speed is not None else options.speeds
        self._say("waiting for U-Boot: switch the board on or reset it, if nothing happens")
        end = time.monotonic() + options.connect_seconds
        heard: dict[int, str] = {}
        listen = _FIRST_LISTEN if len(speeds) > 1 else options.connect_seconds
        while True:
            for speed in speeds:
                line = self._open(speed, "N")
                uboot = UBoot(line)
                try:
                    if uboot.reach(min(listen, max(0.5, end - time.monotonic()))):
                        self._speed = speed
                        return line, uboot, speed
                    heard.setdefault(speed, "nothing that looks like a prompt")
                except WrongSpeed:
                    heard[speed] = "noise"
                except BaseException:
                    line.close()
                    raise
                line.close()
                if time.monotonic() >= end:
                    raise _no_prompt(line.name, heard)
            listen = _LATER_LISTEN if len(speeds) > 1 else listen

    # ---- STM32 ----

    def _stm32(self, work: Callable[[Line, int, int], FlashReport]) -> FlashReport:
        speed = self._options.speeds[0]
        line = self._open(speed, "E")
        try:
            return work(line, speed, self._lines)
        except RunTimeout as error:
            raise _with_state(error, _STM32_STATE) from None
        finally:
            line.close()


def _no_prompt(name: str, heard: dict[int, str]) -> DeviceError:
    return DeviceError(
        "no U-Boot answers: " + ", ".join(f"{what} at {speed}" for speed, what in heard.items()),
        where=name,
        expected="a U-Boot prompt after Ctrl-C",
        hints=(
            "Reset the board while fwgen waits; --connect-timeout sets how long.",
            "Check --baud and that no other program reads the port; --log FILE shows all bytes.",
            "If the automatic start cannot be interrupted by Ctrl-C, stop it by hand first.",
        ),
    )


def _state(line: Line, uboot: UBoot) -> str:
    """Bring the device back to its prompt; how that went, in words."""
    try:
        line.grace(_GRACE_SECONDS)
        if uboot.recover():
            return "The device is at its U-Boot prompt; the image was not started."
    except (DeviceError, RunTimeout):
        pass
    return "The device does not answer; reset it. The image was not started."


def _with_state(error: FwgenError, state: str) -> FwgenError:
    kind = RunTimeout if isinstance(error, RunTimeout) else DeviceError
    return kind(
        error.message, where=error.where, expected=error.expected, hints=(state, *error.hints)
    )
