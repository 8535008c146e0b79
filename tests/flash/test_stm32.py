"""`fwgen flash` by the ROM loader of an STM32, against a stand-in written from AN3155."""

from __future__ import annotations

import pytest
from fake_stm32 import BASE, PAGE, FakeStm32
from flashing import flash, line_to, options, stm32_image
from noisy_line import Noise

from fwgen.errors import DeviceError, RunTimeout, UsageError
from fwgen.flash.flasher import flash_steps
from fwgen.machine.transport import open_transport

pytestmark = pytest.mark.waits


def test_write_verify_go() -> None:
    device, what = FakeStm32(), stm32_image(BASE, 3001, PAGE)
    before = bytes(device.flash)
    with line_to(device) as line:
        report = flash(line, what, options("stm32-uart"))
    assert bytes(device.flash[:3001]) == what.main.data
    assert device.flash[3001:3072] == b"\xff" * 71
    # Other pages keep what they hold.
    assert bytes(device.flash[3072:]) == before[3072:] and device.erased == [0, 1, 2]
    assert device.went == BASE
    assert (report.sent, report.verified, report.started) == (3004, 3004, True)
    assert report.loader == "STM32 0x413, loader 3.1"


def test_the_whole_flash_only_if_allowed() -> None:
    what = stm32_image(BASE, 500, None)
    with pytest.raises(UsageError, match="all of it must be erased"):
        flash_steps(what, options("stm32-uart"))
    for legacy in (False, True):
        device = FakeStm32(legacy=legacy)
        with line_to(device) as line:
            flash(line, what, options("stm32-uart", erase_all=True, start="none"))
        assert device.erased == ["all"] and device.went is None
        assert bytes(device.flash[:500]) == what.main.data


def test_protected_device() -> None:
    device = FakeStm32(protected=True)
    before = bytes(device.flash)
    with line_to(device) as line, pytest.raises(DeviceError, match="refused") as error:
        flash(line, stm32_image(BASE, 500, PAGE), options("stm32-uart"))
    assert any("read-protected" in hint for hint in error.value.hints)
    assert bytes(device.flash) == before


def test_a_cell_that_keeps_its_bit_is_erased_again() -> None:
    what = stm32_image(BASE, 700, PAGE)
    cell = next(i for i in range(300, 700) if not what.main.data[i] & 1)
    device, said = FakeStm32(weak_cell=cell), []
    with line_to(device) as line:
        report = flash(line, what, options("stm32-uart"), said=said)
    assert report.attempts == 2 and any("erasing and writing again" in text for text in said)
    assert bytes(device.flash[:700]) == what.main.data


@pytest.mark.parametrize(
    "noise",
    [Noise(drop=0.0008), Noise(damage=0.0008), Noise(repeat=0.0008), Noise(late=0.05)],
    ids=["loss", "damage", "repeated bytes", "late answers"],
)
def test_noise(noise: Noise) -> None:
    device, what = FakeStm32(), stm32_image(BASE, 4000, PAGE)
    with line_to(device, noise) as line:
        report = flash(line, what, options("stm32-uart", attempts=5))
    assert report.verified == 4000 and bytes(device.flash[:4000]) == what.main.data
    assert device.went == BASE


@pytest.mark.parametrize("percent", [5, 50, 90])
def test_a_line_that_is_cut(percent: int) -> None:
    device, what = FakeStm32(), stm32_image(BASE, 4000, PAGE)
    with line_to(device, Noise(cut_after=(percent * 42,))) as line:
        report = flash(line, what, options("stm32-uart"))
    assert report.lines == 2 and bytes(device.flash[:4000]) == what.main.data


def test_time_runs_out() -> None:
    what = stm32_image(BASE, 4000, PAGE)
    with line_to(FakeStm32(), Noise(delay=0.3)) as line:
        with pytest.raises(RunTimeout) as error:
            flash(line, what, options("stm32-uart"), seconds=2.0)
    assert "may hold a part of the image" in error.value.hints[0]


def test_nobody_there() -> None:
    device = FakeStm32()
    with line_to(device, Noise(drop=1.0)) as line:
        with pytest.raises(DeviceError, match="no ROM loader answers"):
            flash(line, stm32_image(BASE, 100, PAGE), options("stm32-uart", connect_seconds=1.0))


def test_the_port_is_opened_with_even_parity(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pty has no parity, so what pyserial is asked for is looked at."""
    asked: list[object] = []

    class Port:
        def __init__(self, *arguments: object, **options: object) -> None:
            asked.append(options["parity"])
            raise OSError("enough")

    monkeypatch.setattr("serial.Serial", Port)
    for parity in ("N", "E"):
        with pytest.raises(DeviceError, match="enough"):
            open_transport("/dev/ttyS0", parity=parity)  # type: ignore[arg-type]
    assert asked == ["N", "E"]
