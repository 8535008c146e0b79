"""Debian's U-Boot in QEMU gets an image over its console and starts it; the network runs.

U-Boot is a peer that nobody of fwgen wrote: its loady and loadx, its crc32, its bootm.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from flashing import flash, image, options
from noisy_line import Noise, NoisyLine
from uboot_machine import BOARD, UBOOT, uboot_machine

from fwgen.board.profile import load_board
from fwgen.cli.main import run
from fwgen.flash.image import read_flash_image
from fwgen.flash.xmodem import USUAL
from fwgen.machine.inference import Target
from fwgen.machine.link import Link
from fwgen.machine.tensors import load
from fwgen.machine.transport import SocketTransport, open_transport

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits"

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.skipif(
        not UBOOT.is_file(), reason=f"{UBOOT} not found: it is in Debian's package u-boot-qemu"
    ),
]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flash") / "build"
    model = str(EXAMPLE / "digits.nvdla")
    assert run(["build", "-q", model, "-b", BOARD, "-o", str(folder), "--jobs", "1"]) == 0
    return folder


def compared_bytes(address: str, folder: Path) -> int:
    """Run one image of the example; bytes that equal those of its NumPy reference."""
    command = [sys.executable, str(EXAMPLE / "reference.py"), "--image", "0"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    link = Link(open_transport(address), timeout=20.0)
    try:
        target = Target(link)
        inference = target.infer(
            {0: load(folder / "image.npy", target.inputs[0])},
            {0: load(folder / "scores.npy", target.outputs[0])},
        )
        assert inference.passed
        return inference.bytes_compared
    finally:
        link.transport.close()


def test_flash_and_run(build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    artefact = (build / "firmware.uimg").read_bytes()
    size = len(artefact)
    image_of_build = read_flash_image(build / "firmware.elf", load_board(BOARD))
    assert image_of_build.as_uimage().data == artefact
    with uboot_machine(tmp_path) as machine:
        code = run(["flash", "--json", "-p", machine.loader, str(build)])
        report = json.loads(capsys.readouterr().out)
        assert code == 0, report
        assert report["loader"].startswith("U-Boot 20")
        assert (report["protocol"], report["started"]) == ("YMODEM", True)
        assert report["sent"] <= report["verified"] == size
        assert compared_bytes(machine.firmware, tmp_path) == 16  # ten scores, padded to a line


def test_other_protocols_and_bad_lines(tmp_path: Path) -> None:
    """Random bytes over lines that are cut or damage bytes; U-Boot's own CRC is the judge."""
    with uboot_machine(tmp_path) as machine:
        wire = open_transport(machine.loader)
        assert isinstance(wire, SocketTransport)
        os.set_blocking(wire.fileno(), True)
        for method, size, noise, lines in (
            ("uboot-ymodem", 9000, Noise(cut_after=(5000,)), 2),
            ("uboot-xmodem", 6000, Noise(damage=0.0003), 1),
            ("uboot-kermit", 2500, Noise(damage=0.0003), 1),
        ):
            how = options(method, only=True, start="none", attempts=4, connect_seconds=60.0)
            with NoisyLine(wire.fileno(), wire.fileno(), noise) as line:
                report = flash(line, image(size), how, patience=USUAL, seconds=200)
            assert (report.verified, report.lines) == (size + 64, lines)
        wire.close()
