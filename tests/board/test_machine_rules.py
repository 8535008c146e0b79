"""The rules about Cortex-A boards, overlays and unverified keys, each broken once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fwgen.board.profile import list_boards, load_board
from fwgen.errors import UsageError
from fwgen.machine.from_board import machine_config

GOOD = """\
name = "good"
description = "A Cortex-A board for tests"
docs = []
unverified = ["cpu.prio_bits", "memory.ram.size", "accelerator.base"]

[cpu]
core = "cortex-a7"
clock_hz = 800_000_000
irq_controller = "gicv2"
external_irqs = 128
prio_bits = 4
fpu = "neon-vfpv4"
gic_distributor = 0xfeff1000
gic_cpu_interface = 0xfeff2000
timer_hz = 24_000_000

[[memory]]
name = "text"
base = 0x02008000
size = "4MiB"
use = ["code", "constants", "dma"]

[[memory]]
name = "ram"
base = 0x03000000
size = "16MiB"
use = ["data", "tensors", "dma"]
load = "text"

[console]
driver = "dw_apb_uart"
base = 0xff570000
irq = 14
clock_hz = 24_000_000

[[accelerator]]
name = "dla0"
family = "nvdla"
config = "nv_small"
base = 0xfd800000
irq = 127
clock_hz = 400_000_000

[qemu]
machine = "virt,gic-version=2"
cpu = "cortex-a7"
controller_type = "arm_gic"
add = ["interrupt_controller", "console", "unassigned"]

[[qemu.overlay]]
name = "dram"
kind = "ram"
base = 0
size = "512MiB"

[[qemu.overlay]]
name = "wdt"
kind = "dw_wdt"
base = 0xff680000
irq = 32
clock_hz = 1_000_000

[[qemu.overlay]]
name = "uart"
kind = "meson_uart"
base = 0xff590000
irq = 16
serial = 1
"""

# (old text, new text, text of the error's line, key, message, expected)
WRONG = [
    ("timer_hz = 24_000_000\n", "timer_hz = 0\n", "timer_hz", "cpu.timer_hz", "bad value 0", ""),
    ("prio_bits = 4", "prio_bits = 3", "prio_bits", "cpu.prio_bits", "at least 4", "4 to 8"),
    ("gic_cpu_interface = 0xfeff2000\n", "", "[cpu]", "cpu", "cpu.gic_cpu_interface", "base"),
    ("0xfeff2000", "0xfeff1000", "0xfeff1000", "cpu.gic_cpu_interface", "overlaps cpu.gic_dis", ""),
    ("0xfeff1000", "0x02100000", "0x02100000", "cpu.gic_distributor", "overlaps memory 't", ""),
    ("0xfeff1000", "0xfeff1010", "0xfeff1010", "cpu.gic_distributor", "not aligned", "0x1000"),
    ("irq = 127", "irq = 128", "irq = 128", "accelerator[0].irq", "on this GICV2", "0 to 127"),
    ("irq = 127", "irq = 127\nirq_priority = 4", "irq_priority", "accelerator[0].irq_priority",
     "too urgent to call FreeRTOS", "5 (max_syscall_priority)"),
    ('"cpu.prio_bits"', '"cpu.prio_bit"', "unver", "unverified[0]", "no key 'cpu.prio_bit'", ""),
    ('"memory.ram.size"', '"memory.rom.size"', "unver", "unverified[1]", "memory.rom.size", ""),
    ("unverified", "verified = true\nunverified", "verified = true", "verified", "not verified",
     "verified = false"),
    ('"arm_gic"', '"arm-gicv3"', "arm-gicv3", "qemu.controller_type", "is no gicv2", "'arm_gic'"),
    ('"console", "una', '"console", "console", "una', "add", "qemu.add[2]", "given twice", ""),
    ('"console", "una', '"link", "una', "add", "qemu.add", "no [link] to add", ""),
    ('"dw_apb_uart"', '"pl011"', "add", "qemu.add", "cannot add", "imx_uart"),
    ("interrupt_controller\"", "interupt_controller\"", "add", "qemu.add[0]",
     "'interupt_controller' is not known", "'interrupt_controller'"),
    ('kind = "ram"', 'kind = "rom"', "rom", "qemu.overlay[0].kind", "'rom' is not known", "'ram'"),
    ('size = "512MiB"\n', "", "[[qemu", "qemu.overlay[0]", "has no 'size'", "base, size"),
    ('size = "512MiB"', 'size = "512MiB"\nirq = 3', "irq = 3", "qemu.overlay[0].irq",
     "a ram has no 'irq'", "base, size"),
    ('size = "512MiB"', 'size = "512MiB"\nsiez = 3', "siez", "qemu.overlay[0].siez",
     "unknown key 'siez'", "'size'"),
    ('size = "512MiB"', "size = 0x20000800", "0x20000800", "qemu.overlay[0].size", "aligned", ""),
    ('size = "512MiB"', 'size = "34MiB"', "base = 0\n", "qemu.overlay[0].base",
     "covers a part of memory 'text'", "all of it"),
    ('size = "512MiB"', 'size = "32MiB"', "base = 0x02008000", "memory[0].base",
     "has no memory 'text'", "qemu.add"),
    ('size = "512MiB"', 'size = 0xff000000', "base = 0\n", "qemu.overlay[0].base",
     "overlaps 'dla0'", ""),
    ("base = 0xff680000", "base = 0xff570100", "0xff570100", "qemu.overlay[1].base",
     "overlaps [console]", ""),
    ("base = 0xff680000", "base = 0x04000000", "0x04000000", "qemu.overlay[1].base",
     "overlaps overlay 'dram'", ""),
    ("base = 0xff680000", "base = 0xff590800", "0xff590000", "qemu.overlay[2].base",
     "overlaps overlay 'wdt'", ""),
    ('name = "wdt"', 'name = "dram"', 'name = "dram"', "qemu.overlay[1].name", "is taken", ""),
    ("irq = 32", "irq = 14", "irq = 14", "qemu.overlay[1].irq", "is taken by [console]", ""),
    ("irq = 32", "irq = 127", "irq = 127", "qemu.overlay[1].irq", "is taken by 'dla0'", ""),
    ("irq = 32", "irq = 128", "irq = 128", "qemu.overlay[1].irq", "does not exist", "0 to 127"),
    ("clock_hz = 1_000_000\n", "", "[[qemu", "qemu.overlay[1]", "has no 'clock_hz'", "clock_hz"),
    ("serial = 1", "serial = 0", "serial = 0", "qemu.overlay[2].serial", "taken by [console]", ""),
    ("serial = 1", "serial = 8", "serial = 8", "qemu.overlay[2].serial", "bad value 8", ""),
    ("serial = 1", "serial = 1\nhiword = true", "hiword", "qemu.overlay[2].hiword", "has no", ""),
    # The last priority of a GIC never interrupts: the mask cannot be larger.
    ("irq = 127", "irq = 127\nirq_priority = 15", "irq_priority", "accelerator[0].irq_priority",
     "does not exist with 4 priority bits", "5 to 14"),
    ("prio_bits = 4", "prio_bits = 4\nmax_syscall_priority = 15", "max_sys",
     "cpu.max_syscall_priority", "does not exist", "1 to 14"),
    ('fpu = "neon-vfpv4"', 'fpu = "none"', "fpu", "cpu.fpu", "has no none", "neon-vfpv4"),
    ("0x02008000", "0x02008040", "0x02008040", "memory[0].base", "not aligned", "0x1000"),
    ('size = "4MiB"', "size = 0x400400", "0x400400", "memory[0].size", "not aligned", "0x1000"),
    ("[qemu]\n", '[flash]\nmethod = "manual"\nload_address = 0x02009000\n[qemu]\n', "load_a",
     "flash.load_address", "starts at 0x2008000 and would be loaded to 0x2009000", "vector_table"),
]  # fmt: skip


def write(folder: Path, text: str) -> Path:
    file = folder / "good.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_good_one(tmp_path: Path) -> None:
    board = load_board(write(tmp_path, GOOD))
    assert board.emulation == "overlays"
    lines = [overlay.serial for overlay in machine_config(board).overlays]
    assert [line for line in lines if line is not None] == [0, 1]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case[1].strip()[-40:])
def test_wrong_key(tmp_path: Path, case: tuple[str, str, str, str, str, str]) -> None:
    old, new, line_text, key, message, expected = case
    assert old in GOOD
    wrong = GOOD.replace(old, new, 1)
    file = write(tmp_path, wrong)
    with pytest.raises(UsageError) as info:
        load_board(file)
    error = info.value
    match = re.fullmatch(r"(.*):(\d+), (\S+)", error.where or "")
    assert match, error.where
    assert match.group(1) == str(file)
    assert line_text.strip() in wrong.splitlines()[int(match.group(2)) - 1]
    assert match.group(3) == key
    assert message.lower() in error.message.lower(), error.message
    assert expected in (error.expected or ""), error.expected


def test_a_microcontroller_has_no_gic(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nextends = "mps2-an385"\n[cpu]\ntimer_hz = 1000\n')
    with pytest.raises(UsageError, match="cortex-m3 has no 'timer_hz'"):
        load_board(file)
    file.write_text('name = "mine"\nextends = "mps2-an385"\n[qemu]\nadd = ["interrupt_controller"]')
    with pytest.raises(UsageError, match="has an NVIC"):
        load_board(file)


@pytest.mark.parametrize("name", list_boards())
def test_every_board_says_what_is_open(name: str) -> None:
    board = load_board(name)
    assert board.verified != bool(board.unverified)
    assert board.soc
    if not board.verified and board.qemu is not None:
        assert board.emulation in ("overlays", "stand-in")


# Bytes of SRAM inside the NPU by target, from the heads of published graphs, seen from
# 0x400000 on.
OWN_SRAM = {0xB5: 256, 0x9F: 256, 0x88: 512, 0x82: 512, 0xB9: 512, 0x99: 512}


@pytest.mark.parametrize("name", list_boards())
def test_no_tensor_lies_where_the_npu_sees_its_own_sram(name: str) -> None:
    from fwgen.accel.vip.configurations import configuration

    board = load_board(name)
    for accelerator in board.accelerators:
        if accelerator.family == "vip":
            size = OWN_SRAM[configuration(accelerator.config).target] << 10
            for memory in board.regions("dma"):
                assert memory.end <= 0x400000 or memory.base >= 0x400000 + size
