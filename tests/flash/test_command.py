"""`fwgen flash` as a command: what it prints, refuses and asks, and the speeds it tries."""

from __future__ import annotations

import json
import os
import pty
import select
import termios
import threading
import tty
from pathlib import Path

import pytest
from fake_uboot import FakeUBoot
from flashing import flash, image, line_to, options

from fwgen.cli.main import run

pytestmark = pytest.mark.waits


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build folder whose image is random bytes."""
    (tmp_path / "firmware.elf").write_bytes(b"\x7fELF")
    info = {"board": "rv1126-nvdla", "build_id": "00"}
    (tmp_path / "build_info.json").write_text(json.dumps(info))
    monkeypatch.setattr("fwgen.flash.image.read_flash_image", lambda elf, board: image(1000))
    return tmp_path


def test_flash(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    device, log = FakeUBoot(), folder / "bytes.log"
    with line_to(device) as line:
        assert run(["flash", "-p", line.address, "--log", str(log), str(folder)]) == 0
    text = capsys.readouterr().out
    assert "by YMODEM" in text and "1064 bytes verified" in text and "started" in text
    assert device.started and "loady 0x2007fc0" in log.read_text().replace("\n", "")


def test_dry_run_touches_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The port does not exist, and nobody notices."""
    command = ["flash", "--dry-run", "-p", "/dev/none", str(folder), "--store", "sf:0x40000"]
    assert run(command) == 0
    text = capsys.readouterr().out
    wanted = ["loady 0x2007fc0", "crc32 0x2007fc0 0x428", "sf probe"]
    wanted += ["sf update 0x2007fc0 0x40000 0x428", "sf read 0x2007fc0 0x40000 0x428"]
    wanted += ["bootm 0x2007fc0 - ${fdtcontroladdr}", "1064 bytes", "nothing was sent"]
    positions = [text.index(part) for part in wanted[:5]]
    assert positions == sorted(positions) and all(part in text for part in wanted)
    assert run([*command, "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [step["size"] for step in steps if step["size"]] == [1064]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--port is missing"),
        (["-p", "/dev/none", "--start", "go", "--no-start"], "exclude each other"),
        (["-p", "/dev/none", "--store", "sd:1"], "no place to store"),
        (["-p", "/dev/none", "--store", "sf:0"], "this overwrites sf"),
        (["-p", "/dev/none", "--store", "sf:0", "--yes", "--start", "go"], "which go cannot start"),
        (["-p", "/dev/none", "--erase-all"], "for stm32-uart"),
        (["-p", "/dev/none", "--log", "/none/log"], "cannot write the log"),
        (["-b", "mps2-an385"], "does not drive the method 'mcc-sd'"),
        (["-b", "mps2-an385"], "images.txt"),
    ],
)
def test_refusals(
    folder: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["flash", *arguments, str(folder)]) == 2
    assert words in capsys.readouterr().err


def test_exit_codes_of_a_device_that_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["flash", "-p", "/dev/none", str(folder)]) == 5
    assert "cannot open the serial port" in capsys.readouterr().err
    with line_to(FakeUBoot(boot_seconds=0.0)) as line:
        command = ["flash", "-p", line.address, "--json", str(folder)]
        assert run([*command, "--connect-timeout", "1"]) == 5
        assert json.loads(capsys.readouterr().out)["exit_code"] == 5
        assert run([*command, "--timeout", "1"]) == 124
        assert json.loads(capsys.readouterr().out)["error"] == "RunTimeout"


def test_boards_show_names_the_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["boards", "show", "rv1126"]) == 0
    line = next(x for x in capsys.readouterr().out.splitlines() if x.startswith("flash"))
    assert "uboot-ymodem to 0x02008000, started by bootm" in line and "CONFIG_CMD_LOADB" in line


class SpeedyPort(threading.Thread):
    """A pty between host and device that passes text at one speed only, and noise at others."""

    def __init__(self, device: FakeUBoot, speed: int) -> None:
        super().__init__(daemon=True)
        self.master, self._slave = pty.openpty()
        tty.setraw(self._slave, termios.TCSANOW)
        self.address = os.ttyname(self._slave)
        self.speeds: list[int] = []
        self._device = device.ours.fileno()
        self._right = getattr(termios, f"B{speed}")
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            ready = select.select([self.master, self._device], [], [], 0.05)[0]
            for fd in ready:
                data = os.read(fd, 4096)
                speed = termios.tcgetattr(self._slave)[5]
                if speed not in self.speeds[-1:]:
                    self.speeds.append(speed)
                if speed != self._right:
                    data = bytes((byte * 37 + 0x81) & 0xFF | 0x80 for byte in data for _ in "12")
                    fd = self._device  # what the host sends comes back as noise, too
                os.write(self.master if fd == self._device else self._device, data)

    def end(self) -> None:
        self._ended.set()
        self.join(5)
        os.close(self.master)
        os.close(self._slave)


def test_other_speeds_are_tried() -> None:
    with FakeUBoot() as device:
        port = SpeedyPort(device, 921_600)
        port.start()
        try:
            how = options(speeds=(1_500_000, 115_200, 921_600), connect_seconds=40.0)
            report = flash(port, image(300), how)  # type: ignore[arg-type]
        finally:
            port.end()
    assert report.speed == 921_600 and device.started
    # Before the port was opened it had its own.
    assert port.speeds[-3:] == [termios.B1500000, termios.B115200, termios.B921600]
