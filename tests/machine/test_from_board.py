"""A board's profile as the machine that plays it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fwgen.board.profile import list_boards, load_board
from fwgen.errors import UsageError
from fwgen.machine.config import Range
from fwgen.machine.from_board import machine_config
from fwgen.machine.ranges import merge_ranges

EMULATED = [name for name in list_boards() if load_board(name).qemu is not None]


@pytest.mark.parametrize("name", EMULATED)
def test_devices_are_those_of_the_profile(name: str) -> None:
    board = load_board(name)
    machine = machine_config(board)
    hardware = [accelerator for accelerator in board.accelerators if accelerator.is_hardware]
    for accelerator, device in zip(hardware, machine.accelerators, strict=True):
        options = dict(device.module_options())
        assert int(options["base"], 0) == accelerator.base
        assert options["config"] == accelerator.config
        assert int(options["size"], 0) == accelerator.window
        if accelerator.reset_register is not None:
            assert int(options["reset"], 0) == accelerator.reset_register
        # An emulated engine can always be reset, so that no fault breaks a board for
        # good; the VIP's reset lies in its own window.
        assert accelerator.reset_register is not None or accelerator.family == "vip"


def test_a_board_without_a_reset_register() -> None:
    board = load_board("mps2-an385")
    bare = replace(board.accelerators[0], reset_register=None)
    machine = machine_config(replace(board, accelerators=(bare,)))
    assert "reset" not in dict(machine.accelerators[0].module_options())


def test_faults_go_to_their_device() -> None:
    board = load_board("mps2-an385")
    machine = machine_config(board, faults={"dla0": ("irq-lost", "irq-twice:3")})
    options = machine.accelerators[0].module_options()
    assert options[-2:] == (("fault", "irq-lost"), ("fault", "irq-twice:3"))
    with pytest.raises(UsageError, match="no accelerator 'dla7'"):
        machine_config(board, faults={"dla7": ("irq-lost",)})


def test_ranges_merge() -> None:
    assert merge_ranges([Range(0x20, 0x10), Range(0, 0x10), Range(0x10, 8)]) == (
        Range(0, 0x18),
        Range(0x20, 0x10),
    )
    assert merge_ranges([Range(0, 0x40), Range(0x10, 8)]) == (Range(0, 0x40),)


def test_what_must_be_switched_on_follows_from_the_power_steps() -> None:
    """RV1126: domain on, bus not idle, the six gates of CLKGATE22 open, resets 211 to 213."""
    (device,) = machine_config(load_board("rv1126")).accelerators
    assert set(device.needs) == {
        (0xFF3E0108, 1, 0),
        (0xFF3E00D0, 1 << 18, 0),
        (0xFF3E00D8, 1 << 18, 0),
        (0xFF490280 + 4 * 22, sum(1 << bit for bit in (2, 3, 7, 8, 9, 10)), 0),
        (0xFF490300 + 4 * (211 // 16), sum(1 << (n % 16) for n in (211, 212, 213)), 0),
    }
    assert ("needs", "0xff3e0108:0x1:0x0") in device.module_options()
    assert machine_config(load_board("mps2-an385")).accelerators[0].needs == ()
