"""Which processes a test's program has started."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> list[int]:
    """Child processes, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found
