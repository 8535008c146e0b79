"""LeNet-5 on a Cortex-A7: the accelerator's layers run unchanged, every output byte is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fwgen.emulate import RunOptions, open_build, run_build
from fwgen.pipeline import build_model

pytestmark = pytest.mark.qemu

MODEL = "lenet5.nv_small.int8.nhwc"
INFERENCES = 3


def test_published_bytes(testdata: Path, tmp_path: Path, board_file: str) -> None:
    folder = testdata / "nvdla" / "loadables"
    facts = json.loads((folder / f"{MODEL}.json").read_text())
    inputs, outputs = (
        {str(entry["bind_id"]): folder / entry["file"] for entry in facts[kind]}
        for kind in ("inputs", "outputs")
    )
    build_model(folder / facts["file"], board_file, tmp_path)
    report = run_build(
        open_build(tmp_path, board_file),
        RunOptions(inputs=inputs, expected=outputs, repeats=INFERENCES),
    )
    assert [e.message for i in report.inferences for e in i.guest_errors] == []
    assert report.passed
    golden_bytes = sum(path.stat().st_size for path in outputs.values())
    assert golden_bytes > 0
    assert report.bytes_compared == INFERENCES * golden_bytes
