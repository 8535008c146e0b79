"""Periods of watchdogs: what the hardware is told, and what it cannot count.

Facts: the Linux driver drivers/watchdog/dw_wdt.c (DesignWare, fixed periods of 2^(16 + TOP)
clocks); Arm DDI0479, section 4.5 (CMSDK: 32 bits, two periods until the reset).
"""

from __future__ import annotations

from fwgen.board.rulebase import PAGE, Rules
from fwgen.board.types import Watchdog

DW_TOPS = 16
CMSDK_LOADS = 1 << 32
SMALLEST_MS = 100
"""The supervisor runs four times in this time."""


def watchdog_load(watchdog: Watchdog) -> int | None:
    """The smallest period that is not shorter than the timeout, as the driver writes it.

    Returns:
        TOP of a DesignWare watchdog, the counter's start of a CMSDK one; None: none is
        that long.
    """
    counts = -(-watchdog.timeout_ms * watchdog.clock_hz // 1000)
    if watchdog.driver == "dw_wdt":
        return next((top for top in range(DW_TOPS) if 1 << (16 + top) >= counts), None)
    half = -(-counts // 2)
    return half if half < CMSDK_LOADS else None


def check_watchdog(rules: Rules, watchdog: Watchdog) -> None:
    """Check a profile's watchdog.

    Raises:
        UsageError: the first rule broken.
    """
    rules.aligned(("watchdog", "base"), watchdog.base, PAGE)
    for memory in rules.board.memories:
        if memory.base <= watchdog.base < memory.end:
            rules.fail(
                ("watchdog", "base"),
                f"{watchdog.base:#x} is memory: '{memory.name}'",
                "the address of its registers",
            )
    if watchdog.timeout_ms < SMALLEST_MS:
        rules.fail(
            ("watchdog", "timeout_ms"),
            f"{watchdog.timeout_ms} ms leave the supervisor no time",
            f"at least {SMALLEST_MS}",
        )
    if watchdog_load(watchdog) is None:
        most = (1 << (15 + DW_TOPS)) if watchdog.driver == "dw_wdt" else 2 * (CMSDK_LOADS - 1)
        rules.fail(
            ("watchdog", "timeout_ms"),
            f"the watchdog cannot count {watchdog.timeout_ms} ms",
            f"at most {most * 1000 // watchdog.clock_hz} at {watchdog.clock_hz} Hz",
        )
    if (watchdog.cause_register is None) != (watchdog.cause_mask == 0):
        rules.fail(
            ("watchdog",),
            "'cause_register' and 'cause_mask' go together",
            "both, the mask not 0, or neither",
        )
    if watchdog.cause_register is not None:
        rules.aligned(("watchdog", "cause_register"), watchdog.cause_register, 4)
