"""What is played on the model built with sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fwgen.check.targets import Bytes

PAGE = 4096


def used(data: Bytes) -> Iterator[tuple[int, int]]:
    """Ranges of pages with a byte that is not zero."""
    whole = data.size // PAGE
    pages = data[: whole * PAGE].reshape(-1, PAGE).any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], pages.view(np.int8), [0]))))
    for first, last in edges.reshape(-1, 2):
        yield int(first) * PAGE, int(last) * PAGE
    if whole * PAGE < data.size:
        yield whole * PAGE, data.size


def play(build: Path, script: bytes, path: Path) -> str:
    path.write_bytes(script)
    done = subprocess.run(
        [str(build / "play_script"), str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return done.stdout


def replay_corpus(build: Path, program: str, folder: Path) -> None:
    """All inputs of a fuzz corpus."""
    files = sorted(folder.iterdir())
    assert len(files) > 50
    done = subprocess.run(
        [str(build / program), *map(str, files)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-8000:]
    assert done.stdout == f"{len(files)} inputs\n"
