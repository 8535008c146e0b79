"""Rules of [watchdog]: periods by hand calculation, refusals with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fwgen.board.profile import load_board
from fwgen.board.types import Watchdog
from fwgen.board.watchdog import watchdog_load
from fwgen.errors import UsageError


@pytest.mark.parametrize(
    ("driver", "clock", "ms", "load"),
    [
        # 2 s of 100 MHz are 200,000,000 clocks: between 2^27 and 2^28 = 2^(16 + 12).
        ("dw_wdt", 100_000_000, 2000, 12),
        # Exactly 2^16 clocks, and one more.
        ("dw_wdt", 65_536_000, 1, 0),
        ("dw_wdt", 65_537_000, 1, 1),
        ("dw_wdt", 100_000_000, 22_000, None),  # 2^31 clocks are 21.47 s
        # Two periods of 25,000,000 clocks.
        ("cmsdk_wdt", 25_000_000, 2000, 25_000_000),
        ("cmsdk_wdt", 1_000_000_000, 9000, None),
    ],
)
def test_periods(driver: str, clock: int, ms: int, load: int | None) -> None:
    watchdog = Watchdog(
        driver="dw_wdt" if driver == "dw_wdt" else "cmsdk_wdt",
        base=0,
        clock_hz=clock,
        timeout_ms=ms,
    )
    assert watchdog_load(watchdog) == load


@pytest.mark.parametrize(
    ("lines", "at", "message"),
    [
        ("base = 0xff680010", "base", "not aligned"),
        ("base = 0x04000000", "base", "is memory: 'dram'"),
        ("timeout_ms = 99", "timeout_ms", "no time"),
        ("timeout_ms = 30000", "timeout_ms", "cannot count 30000 ms"),
        ("cause_mask = 0", "watchdog", "go together"),
        ("cause_register = 0xff490402", "cause_register", "not aligned"),
        ('driver = "iwdg"', "driver", "iwdg"),
        ("period = 3", "period", "period"),
    ],
)
def test_refused_with_file_and_line(tmp_path: Path, lines: str, at: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        f'name = "mine"\nextends = "rv1126-nvdla"\ndescription = "a test"\n\n[watchdog]\n{lines}\n'
    )
    with pytest.raises(UsageError, match=re.escape(message)) as error:
        load_board(file)
    assert "mine.toml:" in str(error.value.where) and at in str(error.value.where)
