"""The table of a profile: where the time of an inference went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fwgen.cli.output import print_line, print_table

if TYPE_CHECKING:
    from fwgen.profile import Profile

_NUMBERS = ("GROUP", "START", "END", "CYCLES", "MACS", "BYTES", "CPU us", "SHARE")


def print_profile(profile: Profile) -> None:
    """One line an operation; cycles are the accelerator's, from its first operation's start."""
    print_line()
    print_table(
        ("OPERATION", "UNIT", *_NUMBERS),
        [
            (
                o.name,
                o.unit,
                o.group,
                o.start_cycle,
                o.end_cycle,
                o.cycles,
                o.macs or None,
                o.bytes_read + o.bytes_written or None,
                None if o.cpu_ticks is None else f"{o.cpu_ticks / profile.timer_hz * 1e6:.1f}",
                None if o.share is None else f"{o.share * 100:.1f} %",
            )
            for o in profile.operations
        ],
        _NUMBERS,
    )
    milliseconds = profile.duration_ticks / profile.timer_hz * 1000
    text = f"{profile.model}: {milliseconds:.3f} ms"
    if profile.busy_cycles is not None and profile.clock_hz:
        busy = profile.busy_cycles / profile.clock_hz * 1000
        text += f", of which {profile.accelerator} worked {busy:.3f} ms"
    print_line(text)
    for note in profile.notes:
        print_line(f"note: {note}")
