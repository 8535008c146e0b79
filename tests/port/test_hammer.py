"""Inferences in a row on a Cortex-A7, with tasks beside them that keep the FPU busy.

Every output byte of every inference is compared with the published ones;
hammer/hammer.c checks the registers.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from port_firmware import GICV3, RV1126

from fwgen.board.profile import load_board
from fwgen.build.application import Application
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Target
from fwgen.machine.session import QemuSession
from fwgen.pipeline import build_model

pytestmark = pytest.mark.qemu

HERE = Path(__file__).resolve().parent
MODEL = "lenet5.nv_small.int8.nhwc"
INFERENCES = int(os.environ.get("FWGEN_HAMMER_INFERENCES", "12"))
"""1000 for the long run."""


@pytest.mark.parametrize("board", [RV1126, "rv1126-cpu", GICV3], ids=["nvdla", "cpu", "gicv3"])
def test_inferences_beside_the_fpu(testdata: Path, tmp_path: Path, board: str) -> None:
    folder = testdata / "nvdla" / "loadables"
    facts = json.loads((folder / f"{MODEL}.json").read_text())
    inputs, outputs = (
        {int(entry["bind_id"]): (folder / entry["file"]).read_bytes() for entry in facts[kind]}
        for kind in ("inputs", "outputs")
    )
    sources = tmp_path / "app"
    sources.mkdir()
    shutil.copy(HERE / "hammer" / "hammer.c", sources)
    shutil.copy(HERE / "app" / "hold.S", sources)
    app = Application(sources, ("hammer.c", "hold.S"), tasks=("holder", "spoiler"))
    options = BuildOptions(kind=BuildKind.TEST, jobs=2, app=app)
    build_model(folder / facts["file"], board, tmp_path / "build", options)
    with QemuSession(
        tmp_path / "build" / "firmware.elf",
        machine_config(load_board(board)),
        limit=60.0 + 2.0 * INFERENCES,
    ) as session:
        target = Target(session)
        for _ in range(INFERENCES):
            inference = target.infer(inputs, outputs)
            assert inference.guest_errors == () and inference.passed
            assert inference.bytes_compared == sum(map(len, outputs.values())) > 0
        assert session.guard(session.link.status).inferences == INFERENCES
        session.finish()
        rounds = [int(n) for n in re.findall(r"hammer: rounds (\d+)", session.console.text())]
    assert rounds and rounds[-1] >= 200
