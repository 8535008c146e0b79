"""An RV1126 whose U-Boot is Debian's: the loader on QEMU's PL011, the firmware on the board's UART.

U-Boot needs what QEMU's virt has: flash at 0 with its image, GIC from 0x08000000, PL011 at
0x09000000, RAM at 0x40000000. The board's DRAM is what lies between flash and GIC, enough
for the firmware, and nothing hides the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fwgen.board.profile import load_board
from fwgen.machine.emulator_build import qemu_module_path
from fwgen.machine.from_board import machine_config
from fwgen.machine.process import ChildProcess
from fwgen.machine.qemu import find_qemu

BOARD = "rv1126-nvdla"
UBOOT = Path("/usr/lib/u-boot/qemu_arm/u-boot.bin")
DRAM_BASE, DRAM_END = 0x0020_0000, 0x0800_0000


@dataclass(frozen=True)
class Machine:
    """Addresses of its serial lines, for open_transport."""

    loader: str
    firmware: str
    process: ChildProcess


@contextmanager
def uboot_machine(folder: Path) -> Iterator[Machine]:
    """The machine, switched on; ended with the block."""
    if not UBOOT.is_file():
        pytest.skip(f"{UBOOT} not found: it is in Debian's package u-boot-qemu")
    config = machine_config(load_board(BOARD))
    options = [str(qemu_module_path())]
    for overlay in config.overlays:
        kind, name = overlay.options[0]
        if kind == "unassigned":
            continue
        pairs = dict(overlay.options)
        if (kind, name) == ("ram", "dram"):
            pairs |= {"base": hex(DRAM_BASE), "size": hex(DRAM_END - DRAM_BASE)}
        if overlay.serial is not None:
            pairs["chardev"] = "firmware"
        options += [f"{key}={value}" for key, value in pairs.items()]
    for device in config.accelerators:
        options += [f"{key}={value}" for key, value in device.module_options()]
    assert config.cpu is not None
    command = [str(find_qemu().path), "-M", config.machine, "-cpu", config.cpu, "-m", "256M"]
    command += ["-display", "none", "-monitor", "none", "-nic", "none", "-bios", str(UBOOT)]
    command += ["-semihosting-config", "enable=on,target=native"]
    for name in ("loader", "firmware"):
        command += ["-chardev", f"socket,id={name},path={folder / name},server=on,wait=off"]
    command += ["-serial", "chardev:loader", "-plugin", ",".join(options)]
    process = ChildProcess(command)
    try:
        end = time.monotonic() + 30
        while not ((folder / "loader").exists() and (folder / "firmware").exists()):
            assert process.poll() is None and time.monotonic() < end, "\n".join(process.output())
            time.sleep(0.05)
        yield Machine(f"unix:{folder / 'loader'}", f"unix:{folder / 'firmware'}", process)
    finally:
        process.terminate()
