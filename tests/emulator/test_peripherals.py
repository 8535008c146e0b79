"""Peripherals of boards, register by register, without QEMU and under sanitizers.

Expected values: the reset values and bits of the public manuals and drivers that
each model names, and arithmetic by hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest

from fwgen.resources import resource_dir

Play = Callable[..., list[str]]
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
KINDS = {
    "imx_uart": (),
    "meson_uart": (),
    "dw_wdt": ("clock=1000000",),
    "rk_cru": ("status=0x404",),
    "rk_pmu": ("gate=0x110", "status=0x108", "request=0xc0", "idle=0xd8", "ack=0xd0"),
    "registers": ("hiword=1",),
}
# Causes of a reset (board/peripheral.h).
POWER_ON, EXTERNAL, FIRST, SECOND, WATCHDOG = range(5)


@pytest.fixture(scope="session")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Runs commands on one peripheral; what it did, line by line."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc not found")
    emulator = resource_dir("emulator")
    program = tmp_path_factory.mktemp("peripherals") / "play_peripheral"
    subprocess.run(
        ["gcc", "-std=c11", "-O1", "-g", "-fsanitize=address,undefined", *WARNINGS]
        + ["-fno-sanitize-recover=all", f"-I{emulator / 'board'}"]
        + [str(file) for file in sorted((emulator / "board").glob("*.c"))]
        + [str(emulator / "tests" / "play_peripheral.c"), "-o", str(program)],
        check=True,
    )

    def run(kind: str, *commands: str, options: tuple[str, ...] = (), code: int = 0) -> list[str]:
        done = subprocess.run(
            [str(program), kind, *options],
            input="\n".join(commands),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_any_sequence_of_accesses_is_survived(play: Play, kind: str) -> None:
    count = int(os.environ.get("FWGEN_PERIPHERAL_ROUNDS", "200000"))
    assert play(kind, f"random 7 {count}", options=KINDS[kind]) == [f"{count} accesses"]


# ---- UARTs ----


def test_imx_uart_after_reset(play: Play) -> None:
    """The reset values of the reference manual."""
    expected = {0x80: 0, 0x84: 1, 0x88: 0x700, 0x8C: 0x8000, 0x90: 0x801, 0x94: 0x2040}
    expected |= {0x98: 0x4028, 0x9C: 0x2B, 0xA0: 0, 0xA4: 0, 0xA8: 0, 0xB0: 0, 0xB4: 0x60}
    expected |= {0xAC: 4, 0xB8: 0}
    read = play("imx_uart", *(f"r {offset}" for offset in expected))
    assert read == [f"= {value:#010x}" for value in expected.values()]


def test_imx_uart_sends_when_enabled(play: Play) -> None:
    assert play("imx_uart", "w 0x40 65") == [
        "error write UART_UTXD at offset 0x040: the transmitter is off, the byte is lost"
    ]
    assert play("imx_uart", "w 0x80 1", "w 0x84 7", "w 0x40 65") == ["out 65"]


def test_imx_uart_receives_by_level(play: Play) -> None:
    start = ("w 0x90 0x803", "w 0x80 0x201", "w 0x84 7")  # level 3, RRDYEN
    assert play("imx_uart", "in 1") == ["full"]  # the receiver is off
    got = play("imx_uart", *start, "in 1", "in 2", "r 0x94", "in 3", "r 0x94", "r 0")
    assert got == ["= 0x00002040", "irq 1", "= 0x00002240", "irq 0", "= 0x00008001"]
    got = play("imx_uart", *start, *["in 5"] * 33, "r 0xb4")
    assert got == ["irq 1", "full", "= 0x00000048"]  # 32 bytes: TXEMPTY, RXFULL
    assert play("imx_uart", *start, "r 0") == ["= 0x00000000"]


def test_imx_uart_ageing_tells_of_bytes_below_the_level(play: Play) -> None:
    start = ("w 0x90 0x810", "w 0x80 1", "w 0x84 0xf")  # level 16, ATEN
    got = play("imx_uart", *start, "in 1", "r 0x94", "w 0x94 0x100", "r 0x94")
    assert got == ["irq 1", "= 0x00002140", "irq 0", "= 0x00002040"]


def test_imx_uart_loop_and_software_reset(play: Play) -> None:
    got = play("imx_uart", "w 0x80 1", "w 0x84 7", "w 0xb4 0x1000", "w 0x40 9", "r 0")
    assert got == ["= 0x00008009"]
    got = play("imx_uart", "w 0x80 1", "w 0x84 7", "in 1", "w 0x84 6", "r 0x84", "r 0x98")
    assert got == ["= 0x00000007", "= 0x00004028"]


def test_meson_uart_status_and_interrupts(play: Play) -> None:
    assert play("meson_uart", "r 0xc") == ["= 0x00500000"]  # both FIFOs empty
    assert play("meson_uart", "w 0x8 0x1000", "w 0 65") == ["out 65"]
    start = ("w 0x10 0x2002", "w 0x8 0x08003000")  # levels 32 and 2, receive interrupt
    got = play("meson_uart", *start, "in 1", "in 2", "r 0xc", "in 3", "r 4", "r 4", "r 4")
    # The third byte gives an edge of its own; below two bytes the line falls.
    assert got == [
        *("irq 1", "= 0x00400002", "irq 0", "irq 1"),
        *("= 0x00000001", "irq 0", "= 0x00000002", "= 0x00000003"),
    ]
    got = play("meson_uart", "w 0x10 0x2001", "w 0x8 0x1000", "w 0x8 0x10001000", "w 0 65")
    assert got == ["irq 1", "out 65", "irq 0", "irq 1"]


def test_meson_uart_fifo_depth(play: Play) -> None:
    start = "w 0x8 0x2000"
    assert play("meson_uart", start, *["in 1"] * 65, "r 0xc") == ["full", "= 0x00480040"]
    assert play("meson_uart", start, *["in 1"] * 129, options=("fifo=128",)) == ["full"]
    got = play("meson_uart", options=("fifo=129",), code=3)
    assert got == ["refused: fifo=129 is impossible, the largest has 128"]


# ---- watchdog ----


def test_watchdog_interrupt_then_reset(play: Play) -> None:
    """2^16 clocks of 1 MHz are 65.536 ms."""
    start = ("w 4 0", "w 0 3")  # shortest period, interrupt first
    ms = 65_536_000
    got = play("dw_wdt", *start, f"to {ms - 1}", "r 0x10", f"to {ms}", "r 0x10", options=CLOCK)
    assert got == ["= 0x00000000", "irq 1", "= 0x00000001"]
    got = play("dw_wdt", *start, f"to {ms}", "r 0x14", f"to {2 * ms - 1}", options=CLOCK)
    assert got == ["irq 1", "irq 0", "= 0x00000000"]
    got = play("dw_wdt", *start, f"to {2 * ms}", options=CLOCK)
    assert got == ["irq 1", f"machine reset {WATCHDOG}"]


CLOCK = ("clock=1000000",)


def test_watchdog_restarts_only_by_its_key(play: Play) -> None:
    start = ("w 4 1", "w 0 1")  # 2^17 clocks, reset at once
    got = play("dw_wdt", *start, "to 131071000", "w 0xc 0x76", "to 262142000", options=CLOCK)
    assert got == []
    got = play("dw_wdt", *start, "to 131071000", "w 0xc 0x75", "to 131072000", options=CLOCK)
    assert got == [
        "error write WDT_CRR at offset 0x00c: only 0x76 restarts the counter",
        f"machine reset {WATCHDOG}",
    ]


def test_watchdog_cannot_be_switched_off(play: Play) -> None:
    got = play("dw_wdt", "w 0 1", "w 0 0", "r 0", "to 65536000", options=CLOCK)
    assert got == ["= 0x00000001", f"machine reset {WATCHDOG}"]
    got = play("dw_wdt", "w 0 1", f"reset {WATCHDOG}", "r 0", "to 1000000000", options=CLOCK)
    assert got == ["= 0x0000000a"]


def test_watchdog_counter_runs_down(play: Play) -> None:
    got = play("dw_wdt", "w 4 2", "w 0 1", "to 1000000", "r 8", options=CLOCK)
    assert got == [f"= {(1 << 18) - 1000:#010x}"]
    assert play("dw_wdt", code=3) == ["refused: clock= must be given, in Hz"]


# ---- Rockchip ----


def test_cru_hiword_and_causes(play: Play) -> None:
    option = KINDS["rk_cru"]
    got = play("rk_cru", "w 0x2d8 0x00840084", "w 0x2d8 0x00040000", "r 0x2d8", options=option)
    assert got == ["= 0x00000080"]
    assert play("rk_cru", "r 0x404", options=option) == ["= 0x00000000"]
    for cause, bits in ((FIRST, 1), (SECOND, 2), (WATCHDOG, 0x20), (EXTERNAL, 0)):
        got = play("rk_cru", f"reset {cause}", "r 0x404", options=option)
        assert got == [f"= {bits:#010x}"]
    got = play("rk_cru", "w 0x410 2", f"reset {WATCHDOG}", "r 0x404", options=option)
    assert got == ["= 0x00000010"]
    got = play(
        "rk_cru",
        *(f"reset {FIRST}", f"reset {WATCHDOG}", "r 0x404"),
        *("w 0x404 0x20", "r 0x404", f"reset {POWER_ON}", "r 0x404"),
        options=option,
    )
    assert got == ["= 0x00000021", "= 0x00000001", "= 0x00000000"]


def test_cru_resets_the_machine_by_its_keys(play: Play) -> None:
    got = play("rk_cru", "w 0x408 1", "w 0x408 0xfdb9", "w 0x40c 0xeca8", options=KINDS["rk_cru"])
    assert got == [f"machine reset {FIRST}", f"machine reset {SECOND}"]


def test_pmu_domains_follow(play: Play) -> None:
    got = play(
        "rk_pmu",
        *("w 0xc4 0x00040004", "r 0xd0", "r 0xd8"),
        *("w 0x110 0x00010001", "r 0x108", "w 0x108 0"),
        *("w 0x110 0x00010000", "w 0xc4 0x00040000", "r 0x108", "r 0xd8"),
        options=KINDS["rk_pmu"],
    )
    assert got == [
        *("= 0x00040000", "= 0x00040000", "= 0x00000001"),
        "error write a register at offset 0x108: it is read-only",
        *("= 0x00000000", "= 0x00000000"),
    ]


def test_pmu_domains_that_start_off(play: Play) -> None:
    options = (*KINDS["rk_pmu"], "off=1", "parked=0x40000")
    got = play("rk_pmu", "r 0x108", "r 0xd0", "w 0x110 0x10000", "r 0x108", options=options)
    assert got == ["= 0x00000001", "= 0x00040000", "= 0x00000000"]
    got = play("rk_pmu", "w 0xc4 0x40000", "r 0xd0", "reset 1", "r 0xd8", options=options)
    assert got == ["= 0x00000000", "= 0x00040000"]
