"""A board with hardly more memory than the image needs: it fits, and one line less does not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fwgen.emulate import RunOptions, open_build, run_build
from fwgen.errors import FitError
from fwgen.pipeline import build_model

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
PROFILE = """
name = "small"
extends = "mps2-an385"
description = "Small memories"
[[memory]]
name = "ssram1"
size = {code}
[[memory]]
name = "ssram23"
size = {data}
[[memory]]
name = "psram"
use = ["nvmem"]
"""


def needed(build: Path) -> tuple[int, int]:
    """Bytes of the code and of the data region that an image fills, gaps included."""
    code = (build / "firmware.bin").stat().st_size
    layout = json.loads((build / "memory_map.json").read_text())
    bottom = max(
        s["address"] + s["size"]
        for s in layout["sections"]
        if s["name"] in (".stack", ".data", ".bss")
    )
    tensors = sum(a["size"] for a in layout["arenas"] if a["kind"] == "tensors")
    return _lines(code), _lines(bottom - 0x20000000) + _lines(tensors)


def _lines(size: int) -> int:
    return -(-size // 64) * 64


@pytest.mark.qemu
def test_exactly_enough_is_enough(tmp_path: Path) -> None:
    profile = tmp_path / "small.toml"

    def build(code: int, data: int, name: str) -> Path:
        profile.write_text(PROFILE.format(code=code, data=data))
        return build_model(DIGITS, str(profile), tmp_path / name).directory

    code, data = needed(build(48 << 10, 48 << 10, "roomy"))
    tight = build(code, data, "tight")
    image = tmp_path / "image.npy"
    np.save(image, np.zeros((1, 1, 8, 8), np.int8))
    folder = open_build(tight, str(profile))
    assert run_build(folder, RunOptions(inputs={"image": image})).passed
    for less_code, less_data in ((64, 0), (0, 64)):
        with pytest.raises(FitError):
            build(code - less_code, data - less_data, "less")
        assert not (tmp_path / "less" / "firmware.elf").exists()
