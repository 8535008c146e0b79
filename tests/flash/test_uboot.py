"""`fwgen flash` by U-Boot, against a stand-in, over good and bad lines."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fake_uboot import FakeUBoot
from flashing import LOAD, flash, image, line_to, loaded, options
from noisy_line import Noise

from fwgen.errors import DeviceError, FwgenError, RunTimeout
from fwgen.flash.flasher import flash_steps
from fwgen.flash.image import FlashImage
from fwgen.flash.line import Transcript
from fwgen.flash.options import Storage

pytestmark = pytest.mark.waits

HEADER = LOAD - 64
KNOWN = re.compile(
    r"version|load[bxy] 0x2007fc0|crc32 0x2007fc0 0x[0-9a-f]+"
    r"|bootm 0x2007fc0 - \$\{fdtcontroladdr\}"
)


@pytest.mark.parametrize(
    ("method", "name"),
    [("uboot-ymodem", "YMODEM"), ("uboot-xmodem", "XMODEM-1K"), ("uboot-kermit", "Kermit")],
)
def test_load_verify_start(method: str, name: str) -> None:
    device, what = FakeUBoot(), image()
    with line_to(device) as line:
        report = flash(line, what, options(method, only=True))
    assert loaded(device, what) and device.started
    assert (report.protocol, report.sent, report.verified) == (name, 5064, 5064)
    assert (report.attempts, report.lines, report.started) == (1, 1, True)
    crc = f"crc32 {HEADER:#x} {5064:#x}"
    command = {"uboot-ymodem": "loady", "uboot-xmodem": "loadx", "uboot-kermit": "loadb"}[method]
    assert device.executed == [
        "version",
        f"{command} {HEADER:#x}",
        crc,
        f"bootm {HEADER:#x} - ${{fdtcontroladdr}}",
    ]
    # The plan that --dry-run prints is what happens.
    assert [step.command for step in flash_steps(what, options(method))] == device.executed


@pytest.mark.parametrize("size", [1, 64, 960, 961, 40000])
def test_sizes_at_the_edges_of_blocks(size: int) -> None:
    """With the header of 64 bytes: one byte, whole blocks of both sizes, more than 256 blocks."""
    device, what = FakeUBoot(), image(size)
    with line_to(device) as line:
        assert flash(line, what, options(only=True)).attempts == 1
    part = what.as_uimage()
    assert len(device.memory[part.address]) == len(part.data)  # no padding with YMODEM


def with_gaps() -> FlashImage:
    """Two pieces and a tail of zeros around 20 KiB that need not be sent."""
    what = image(3000)
    data = what.main.data + bytes(20_000) + image(2000, seed=2).main.data + bytes(17_000)
    return replace(what, main=replace(what.main, data=data))


@pytest.mark.parametrize("missing", [(), ("loady",), ("mw.b",), ("crc32",)])
def test_gaps_are_filled_on_the_device(missing: tuple[str, ...]) -> None:
    """Also with XMODEM, which pads pieces into the gaps."""
    device, what = FakeUBoot(missing=missing), with_gaps()
    with line_to(device) as line:
        report = flash(line, what, options())
    part = what.as_uimage()
    assert device.read(part.address, len(part.data)) == part.data and device.started
    total, sent = 42_064, 5_064
    assert report.sent == (total + sent if missing == ("mw.b",) else sent)
    assert report.verified == (0 if missing == ("crc32",) else total)
    if not missing:
        assert [step.command for step in flash_steps(what, options())] == device.executed


def test_a_gap_that_does_not_become_zero() -> None:
    device = FakeUBoot()
    device.do_mw_b = lambda *words: None  # type: ignore[method-assign]
    with line_to(device) as line, pytest.raises(DeviceError, match="what lies between them"):
        flash(line, with_gaps(), options())
    assert not device.started


def test_go_gets_the_bare_image() -> None:
    device, what = FakeUBoot(), image()
    with line_to(device) as line:
        flash(line, what, options(start="go"))
    assert device.memory[LOAD] == what.main.data
    assert device.executed[-1] == f"go {what.entry:#x}"


def test_automatic_start_is_interrupted() -> None:
    device = FakeUBoot(boot_seconds=2.0)
    with line_to(device) as line:
        flash(line, image(100), options())
    assert device.started


def test_no_start_leaves_the_prompt() -> None:
    device = FakeUBoot()
    with line_to(device) as line:
        report = flash(line, image(100), options(start="none"))
        assert not report.started
        assert flash(line, image(100, seed=2), options()).started
    assert device.started


@pytest.mark.parametrize("prompt", ["rv1126=> ", "U-Boot> ", "# "])
def test_other_prompts(prompt: str) -> None:
    device = FakeUBoot(prompt=prompt)
    with line_to(device) as line:
        assert flash(line, image(100), options()).verified == 164


# ---- what the device lacks ----


def test_next_protocol_where_a_command_is_missing() -> None:
    said: list[str] = []
    device = FakeUBoot(missing=("loady",))
    with line_to(device) as line:
        assert flash(line, image(100), options(), said=said).protocol == "XMODEM-1K"
    assert "this U-Boot has no loady" in said


def test_no_serial_loading_at_all() -> None:
    device = FakeUBoot(missing=("loady", "loadx", "loadb"))
    with line_to(device) as line, pytest.raises(DeviceError) as error:
        flash(line, image(100), options())
    assert "built without loady, loadx, loadb" in error.value.message
    hints = " ".join(error.value.hints)
    assert "CONFIG_CMD_LOADB" in hints and "SD card" in hints and "at its prompt" in hints
    assert device.executed[1:] == [f"{c} {HEADER:#x}" for c in ("loady", "loadx", "loadb")]


def test_without_crc32_bootm_is_the_judge() -> None:
    device = FakeUBoot(missing=("crc32",))
    with line_to(device) as line:
        report = flash(line, image(100), options())
        assert report.started and report.verified == 0
    device = FakeUBoot(missing=("crc32",))
    with line_to(device) as line, pytest.raises(DeviceError, match="cannot be verified"):
        flash(line, image(100), options(start="go"))
    assert not device.started


def test_something_else_at_the_prompt() -> None:
    device = FakeUBoot(prompt="login: ", missing=("version",))
    device.do_version = lambda: device.put("sh: version: not found\r\n")  # type: ignore[method-assign]
    device._missing = ()
    with line_to(device) as line, pytest.raises(DeviceError, match="not U-Boot's"):
        flash(line, image(100), options(connect_seconds=3.0))


def test_nobody_answers() -> None:
    device = FakeUBoot(boot_seconds=0.0)  # the operating system runs
    with line_to(device) as line:
        time.sleep(0.3)
        with pytest.raises(DeviceError, match="no U-Boot answers") as error:
            flash(line, image(100), options(connect_seconds=2.0))
    assert any("Reset the board" in hint for hint in error.value.hints)


# ---- damage ----


def test_damage_that_only_the_crc_finds() -> None:
    device, what = FakeUBoot(flip=1), image()
    with line_to(device) as line:
        report = flash(line, what, options())
    assert report.attempts == 2 and loaded(device, what)


def test_damage_that_stays_is_never_started() -> None:
    device = FakeUBoot(flip=99)
    with line_to(device) as line, pytest.raises(DeviceError, match="did not get through") as error:
        flash(line, image(200), options())
    assert any("at its prompt; nothing was started" in hint for hint in error.value.hints)
    assert not device.started
    assert [c for c in device.executed if c.startswith("bootm")] == []


NOISES = {
    "loss": Noise(drop=0.001),
    "damage": Noise(damage=0.001),
    "repeated bytes": Noise(repeat=0.001),
    "all of it": Noise(drop=0.0005, damage=0.0005, repeat=0.0005, delay=0.002),
    "late answers": Noise(late=0.12),
}


@pytest.mark.parametrize(
    ("method", "noise"),
    [
        *(("uboot-ymodem", noise) for noise in NOISES),
        ("uboot-xmodem", "all of it"),
        ("uboot-kermit", "all of it"),
    ],
)
def test_noise(method: str, noise: str) -> None:
    """The image arrives, and no damaged command is ever executed."""
    size = 5000 if method == "uboot-kermit" else 9000
    device, what = FakeUBoot(), image(size)
    with line_to(device, replace(NOISES[noise])) as line:
        report = flash(line, what, options(method, attempts=4, connect_seconds=30.0))
    assert report.verified == size + 64
    assert loaded(device, what)
    assert [command for command in device.executed if not KNOWN.fullmatch(command)] == []


def test_a_hopeless_line_ends_in_a_message() -> None:
    """A receiver that gives up may get one block or packet as text: no more, and no command."""
    device = FakeUBoot()
    with line_to(device, Noise(damage=0.05, seed=3)) as line:
        with pytest.raises(FwgenError) as error:
            flash(line, image(3000), options(connect_seconds=5.0), seconds=20.0)
    assert error.value.exit_code in (5, 124) and error.value.hints
    assert not device.started
    others = [command for command in device.executed if not KNOWN.fullmatch(command)]
    assert all(not hasattr(device, "do_" + command.split()[0]) for command in others)


def test_a_receiver_that_leaves_gets_no_second_block() -> None:
    """The device is at its prompt in the middle: what is sent then is typed there."""

    class Leaves(FakeUBoot):
        left = 0

        def block(self, size: int) -> tuple[int, bytes | None]:
            if self.executed[-1].startswith("loady") and self.left == 0:
                self.left = 1
                self.get(self._silence)
                raise Left
            return super().block(size)

        def do_loady(self, address: str) -> None:
            try:
                super().do_loady(address)
            except Left:
                self.put("\r\nxyzModem - gave up\r\n")

    class Left(Exception):
        pass

    device, what = Leaves(), image(3000)
    with line_to(device) as line:
        report = flash(line, what, options())
    assert report.attempts == 2 and loaded(device, what)
    assert sum(1 for command in device.executed if not KNOWN.fullmatch(command)) <= 3


@pytest.mark.parametrize("percent", [1, 50, 99])
def test_a_line_that_is_cut(percent: int) -> None:
    device, what = FakeUBoot(), image(8000)
    noise = Noise(cut_after=(300 + percent * 80,))
    with line_to(device, noise) as line:
        report = flash(line, what, options())
        assert line.cuts == 1 and report.lines == 2
    assert loaded(device, what) and device.started


def test_a_line_that_is_always_cut() -> None:
    device = FakeUBoot()
    noise = Noise(cut_after=tuple(range(2000, 60000, 2000)))
    with line_to(device, noise) as line, pytest.raises(DeviceError, match="lost 3 times") as error:
        flash(line, image(9000), options(lines=3))
    assert not device.started and any("Nothing was started" in h for h in error.value.hints)


def test_time_runs_out_and_the_prompt_is_back() -> None:
    device = FakeUBoot()
    with line_to(device, Noise(delay=0.2)) as line:
        with pytest.raises(RunTimeout) as error:
            flash(line, image(60000), options(), seconds=5.0)
        assert "at its U-Boot prompt" in error.value.hints[0]
        line.noise.delay = 0.0
        assert flash(line, image(100), options()).started


# ---- starting ----


@pytest.mark.parametrize(
    ("start", "words", "state"),
    [
        ("return", "Wrong Image Format", "is at its prompt"),
        ("reset", "data abort", "resets itself"),
    ],
)
def test_a_start_that_fails(start: str, words: str, state: str) -> None:
    with line_to(FakeUBoot(start=start)) as line, pytest.raises(DeviceError) as error:
        flash(line, image(100), options())
    assert "did not start the image" in error.value.message and words in error.value.message
    assert state in error.value.hints[0]


def test_no_bootm() -> None:
    device = FakeUBoot(missing=("bootm",))
    with line_to(device) as line, pytest.raises(DeviceError, match="no 'bootm'") as error:
        flash(line, image(100), options())
    assert any("--start go" in hint for hint in error.value.hints)


# ---- storing ----


def test_spi_flash_is_written_and_read_back() -> None:
    device, what = FakeUBoot(), image(3000)
    with line_to(device) as line:
        report = flash(line, what, options(storage=Storage("sf", "", 0x1000), start="none"))
    data = what.as_uimage().data
    assert bytes(device.flash[0x1000 : 0x1000 + len(data)]) == data
    assert report.stored == "SPI flash 0, byte 0x1000"
    assert device.executed[-5:] == [
        "sf probe",
        f"sf update {HEADER:#x} 0x1000 {len(data):#x}",
        f"mw.b {HEADER:#x} 0 {len(data):#x}",
        f"sf read {HEADER:#x} 0x1000 {len(data):#x}",
        f"crc32 {HEADER:#x} {len(data):#x}",
    ]


def test_flash_that_keeps_nothing_is_found_out() -> None:
    device = FakeUBoot(flash_is_stuck=True)
    with line_to(device) as line, pytest.raises(DeviceError, match="is not the image") as error:
        flash(line, image(3000), options(storage=Storage("sf", "", 0)))
    assert not device.started and any("write it again" in hint for hint in error.value.hints)


def test_mmc_that_is_missing() -> None:
    device = FakeUBoot()
    with line_to(device) as line, pytest.raises(DeviceError, match="no command 'mmc'"):
        flash(line, image(100), options(storage=Storage("mmc", "0", 0x4000)))
    assert not device.started


# ---- the transcript ----


def test_transcript_has_every_byte(tmp_path: Path) -> None:
    device, what = FakeUBoot(), image(300)
    file = tmp_path / "log.txt"
    with line_to(device) as line, Transcript(file) as recorder:
        flash(line, what, options(), recorder=recorder)
        passed = line.passed
    sent = b""
    times = []
    for row in file.read_text().splitlines():
        moment, sign, text = re.fullmatch(r" *([0-9.]+) ([<>#]) (.*)", row).groups()  # type: ignore[union-attr]
        times.append(float(moment))
        if sign == ">":
            sent += text.encode().decode("unicode_escape").encode("latin-1")
    assert len(sent) == passed and times == sorted(times)
    assert what.as_uimage().data[:300] in sent


def test_pty() -> None:
    device = FakeUBoot()
    with line_to(device, use_pty=True) as line:
        assert flash(line, image(), options()).started
