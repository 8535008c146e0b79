"""What the Cortex-A port promises: tests/port/app/port_test.c, in QEMU.

Orders of interrupts follow from the priorities in port_test.c and the rules of
FreeRTOS and the GIC; ticks are held against the generic timer's counter.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from port_firmware import ALL_CHECKS, GICV2, GICV3, SOME_CHECKS, Boot, Firmware

from fwgen.board.profile import load_board
from fwgen.build.elf import read_image
from fwgen.build.toolchain import find_toolchain

HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.qemu

HOLDERS_ROUNDS = 120
LATENCY_SAMPLES = 200
SWITCHES = 1000
DRIFT_TICKS = 10_000
SECURE_TIMER, PHYSICAL_TIMER, VIRTUAL_TIMER = 29, 30, 27
NESTING = 1354212
"""1, 2: begin and end of API; 3, 4: of API_HIGH; 5: ABOVE. API pends API_HIGH, which preempts
it; that pends API again, which waits, and ABOVE, which preempts both."""

CRITICAL = 957812
"""9, ABOVE in the critical section, 7 and 8 in it, API after it."""

FPU_WORDS = 65
"""d0 to d31 and FPSCR."""

Build = Callable[[str], Firmware]


def check_all(boot: Boot, timer: int) -> None:
    """Everything that port_test.c measures."""
    assert boot.fault == {}
    assert (boot.code, boot.value("end")) == (0, 0)
    assert boot.value("timer") == timer

    assert boot.value("register errors") == 0
    assert boot.value("least preempted rounds") > HOLDERS_ROUNDS // 10
    assert boot.value("interrupts with FPU") == boot.value("nested interrupts with FPU") > 10

    assert boot.value("nesting") == NESTING
    assert boot.value("critical") == CRITICAL

    plain, full = boot.value("switches without FPU"), boot.value("switches with FPU")
    assert 0 < plain < full
    words = boot.value("stack words with FPU") - boot.value("stack words without FPU")
    assert words >= FPU_WORDS
    assert boot.value("FPU of this task") == 0

    buckets = boot.values["latency bucket"]
    assert sum(buckets) == LATENCY_SAMPLES
    # Below 16 << 4 counts of 16 ns: 4 microseconds, at 125 million instructions a second;
    # unless a tick comes in between.
    assert sum(buckets[:5]) >= LATENCY_SAMPLES * 95 // 100
    assert boot.value("latency worst") < 1250

    assert boot.value("ticks") == DRIFT_TICKS
    assert abs(boot.value("microseconds") - DRIFT_TICKS * 1000) < DRIFT_TICKS


def test_all_checks(firmware: Build, board_file: str) -> None:
    qemu = load_board(board_file).qemu
    assert qemu is not None
    entered_in_hyp = "virtualization=on" in qemu.machine
    timer = PHYSICAL_TIMER if entered_in_hyp else VIRTUAL_TIMER
    check_all(firmware(board_file).boot(ALL_CHECKS), timer)


# choice, exit code, fields of the report; "@name" is the address of a symbol's function.
FAULTS = [
    (1, 70, {"kind": "dataabort", "dfsr": "0x00000005", "dfar": "0x00000010", "mode": "sys"}),
    (2, 70, {"kind": "prefetchabort", "ifsr": "0x00000005", "ifar": "0x00000020", "mode": "sys"}),
    (3, 70, {"kind": "undefined", "mode": "sys"}),
    (4, 70, {"kind": "interrupt", "intid": "0x00000087", "mode": "svc"}),
    (5, 71, {"kind": "stack"}),
    (6, 72, {"kind": "assert", "file": "port_test.c"}),
    (7, 72, {"kind": "assert", "file": "port.c"}),
    (8, 70, {"kind": "dataabort", "dfsr": "0x00000805", "dfar": "0x00000024", "mode": "svc"}),
]
"""DFSR 5: translation fault of a section; bit 11: a write. 0x87: SPI 103."""

INSIDE = {1: "provoke", 3: "provoke", 8: "fwgen_irq102_IRQHandler"}
"""Where the program counter must be."""


@pytest.mark.parametrize(("choice", "code", "fields"), FAULTS)
def test_fault(firmware: Build, choice: int, code: int, fields: dict[str, str]) -> None:
    built = firmware(GICV2)
    boot = built.boot(choice)
    assert boot.code == code
    assert {name: boot.fault.get(name) for name in fields} == fields
    assert boot.fault["task"] == "conduct"
    if choice in INSIDE:
        symbol = read_image(built.elf).symbols[INSIDE[choice]]
        assert symbol.address <= int(boot.fault["pc"], 16) < symbol.address + symbol.size
    if choice == 2:
        assert boot.fault["pc"] == "0x00000020"


# How the image is entered: machine, KIND of entry.S (none: as the machine does), timer.
GIC2 = "virt,highmem=off,gic-version=2"
GIC3 = "virt,highmem=off,gic-version=3"
ENTRIES = {
    "hyp": (GICV2, f"{GIC2},virtualization=on", None, PHYSICAL_TIMER),
    "secure": (GICV2, f"{GIC2},secure=on", None, SECURE_TIMER),
    "monitor": (GICV2, f"{GIC2},secure=on", 1, SECURE_TIMER),
    "non-secure": (GICV2, f"{GIC2},secure=on", 2, VIRTUAL_TIMER),
    "secure, caches on": (GICV2, f"{GIC2},secure=on", 3, SECURE_TIMER),
    "non-secure, caches on": (GICV2, f"{GIC2},secure=on", 4, VIRTUAL_TIMER),
    "hyp, GICv3": (GICV3, f"{GIC3},virtualization=on", None, PHYSICAL_TIMER),
    "secure, GICv3": (GICV3, f"{GIC3},secure=on", None, SECURE_TIMER),
    "non-secure, GICv3": (GICV3, f"{GIC3},secure=on", 6, VIRTUAL_TIMER),
    "non-secure, GICv3, FIQ at EL3": (GICV3, f"{GIC3},secure=on", 7, VIRTUAL_TIMER),
}


def shim(folder: Path, kind: int) -> tuple[str, ...]:
    """Arguments of QEMU that enter the image through entry.S."""
    elf = folder / "entry.elf"
    command = [find_toolchain().tool("gcc"), "-mcpu=cortex-a7", "-nostdlib"]
    command += ["-Wl,-Ttext=0x40100000", f"-Wa,--defsym,KIND={kind}"]
    command += ["-o", str(elf), str(HERE / "entry.S")]
    subprocess.run(command, check=True, timeout=60)
    return "-device", f"loader,file={elf},cpu-num=0"


@pytest.mark.parametrize("entry", ENTRIES)
def test_entry(firmware: Build, tmp_path: Path, entry: str) -> None:
    board_file, machine, kind, timer = ENTRIES[entry]
    arguments = () if kind is None else shim(tmp_path, kind)
    boot = firmware(board_file).boot(SOME_CHECKS, machine, *arguments)
    assert boot.fault == {}
    assert (boot.code, boot.value("end")) == (0, 0)
    assert boot.value("timer") == timer
    assert (boot.value("nesting"), boot.value("critical")) == (NESTING, CRITICAL)


def test_no_timer_frequency(firmware: Build, tmp_path: Path) -> None:
    """CNTFRQ is zero and the profile gives none: a report, not a division by zero."""
    boot = firmware(GICV2).boot(SOME_CHECKS, f"{GIC2},secure=on", *shim(tmp_path, 5))
    assert boot.code == 72
    assert (boot.fault["kind"], boot.fault["file"]) == ("assert", "timer.c")
    assert "CNTFRQ is zero" in boot.text
