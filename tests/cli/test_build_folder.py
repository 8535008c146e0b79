"""What a build folder says is what the verbs that take one go by; damaged folders are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fwgen.cli.main import run
from fwgen.emulate import open_build, open_firmware
from fwgen.errors import UsageError
from fwgen.project.new import new_application

pytestmark = pytest.mark.qemu

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
IRQ = 10


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder") / "build"
    command = ["build", "-q", "-b", "mps2-an385", str(DIGITS), "-o", str(folder)]
    assert run([*command, "--jobs", "1", "--irq", str(IRQ)]) == 0
    return folder


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """Reports and image, for a test to damage."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in ("build_info.json", "size.json", "firmware.elf"):
        shutil.copy(built / name, folder)
    return folder


def test_the_interrupt_of_the_build_is_emulated(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert open_build(built).board.accelerators[0].irq == IRQ
    assert run(["run", "--json", str(built)]) == 0
    assert len(json.loads(capsys.readouterr().out)["inferences"]) == 1


def test_a_board_that_is_not_installed(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = json.loads((copy / "build_info.json").read_text())
    (copy / "build_info.json").write_text(json.dumps(info | {"board": "mine"}))
    assert run(["run", str(copy)]) == 2
    text = capsys.readouterr().err
    assert "'mine'" in text
    assert "--board with the path of its profile" in text


def test_a_project_knows_the_profile_of_its_board(copy: Path, tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text('extends = "mps2-an385"\nname = "mine"\ndescription = "Mine."\n')
    project = tmp_path / "app"
    new_application(project, "mps2-an385", DIGITS)
    file = project / "fwgen.toml"
    file.write_text(file.read_text().replace('"mps2-an385"', '"../mine.toml"'))
    info = json.loads((copy / "build_info.json").read_text())
    (copy / "build_info.json").write_text(json.dumps(info | {"board": "mine"}))
    (project / "build").mkdir()
    copy.rename(project / "build" / "mine")
    assert open_firmware(project).board.name == "mine"
    with pytest.raises(UsageError, match="not installed"):
        open_firmware(project / "build" / "mine")  # who gives the folder names the profile


@pytest.mark.parametrize("content", [b"", b"\x7fELG" + bytes(100), b"text"])
def test_an_image_that_is_none(
    copy: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "firmware.elf").write_bytes(content)
    assert run(["run", str(copy)]) == 2
    assert "the image is damaged" in capsys.readouterr().err


def test_a_cpu_that_locks_up(built: Path, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An erased flash: the reset vector leads nowhere, and so does that of the fault."""
    vectors = (built / "firmware.bin").read_bytes()[:64]
    image = (built / "firmware.elf").read_bytes()
    assert image.count(vectors) == 1
    (copy / "firmware.elf").write_bytes(image.replace(vectors, b"\xff" * 64))
    assert run(["run", "--timeout", "20", str(copy)]) == 1
    text = capsys.readouterr().err
    assert "the CPU locked up" in text
    assert "R15=" in text


@pytest.mark.parametrize(
    "report", [{}, {"regions": 1}, {"regions": [{"name": "x"}]}, {"regions": [], "components": []}]
)
def test_a_damaged_size_report(
    copy: Path, report: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "size.json").write_text(json.dumps(report))
    assert run(["size", str(copy)]) == 2
    assert "size.json is damaged" in capsys.readouterr().err
