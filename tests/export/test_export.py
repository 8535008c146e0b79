"""Exported trees: they build without fwgen, and give the same image."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray

from fwgen.board.profile import load_board
from fwgen.cli.main import run
from fwgen.errors import UsageError
from fwgen.export.tree import Format, export
from fwgen.machine import tensors
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Target
from fwgen.machine.session import QemuSession

HOST_APP = Path(__file__).resolve().parent / "host_app"
BOARD = "mps2-an385"

# SCons is a Python program; fwgen must not be what it finds there.
SCONS = (
    "import sys; sys.modules['fwgen'] = None; from SCons.Script.Main import main; "
    "sys.argv[0] = 'scons'; main()"
)


def build(kind: Format, tree: Path, tools: Path, *definitions: str) -> None:
    """Run the build system in a tree, with a PATH of `tools` and no other variable."""
    match kind:
        case Format.MAKE:
            commands = [["make", "-j2", *definitions]]
        case Format.CMAKE:
            options = [f"-D{definition}" for definition in definitions]
            commands = [["cmake", "-B", "build", *options], ["cmake", "--build", "build", "-j2"]]
        case Format.SCONS:
            commands = [[sys.executable, "-c", SCONS, "-j2", *definitions]]
    for command in commands:
        done = subprocess.run(
            command,
            cwd=tree,
            env={"PATH": str(tools)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def sections(elf: Path) -> dict[str, tuple[int, int, bytes]]:
    """Address, size and contents of every section that is loaded or reserved."""
    with elf.open("rb") as file:
        return {
            section.name: (
                section["sh_addr"],
                section["sh_size"],
                b"" if section["sh_type"] == "SHT_NOBITS" else section.data(),
            )
            for section in ELFFile(file).iter_sections()
            if section["sh_flags"] & 2
        }


def answers(elf: Path, first: str) -> list[str]:
    """Console lines that begin so, of a run that ends when the firmware ends."""
    with QemuSession(elf, machine_config(load_board(BOARD)), limit=60) as session:
        assert session.watch() == 0
        text = session.console.text()
        session.update_events()
        assert not session.guest_errors
    return [line for line in text.splitlines() if line.startswith(first)]


@pytest.mark.parametrize("kind", list(Format))
def test_the_same_image(kind: Format, project: Path, kernel: Path, tools: Path) -> None:
    tree = project.parent / f"same-{kind}"
    export(project / "build" / BOARD, tree, kind)
    build(kind, tree, tools, f"FREERTOS_KERNEL_PATH={kernel}")
    ours = sections(project / "build" / BOARD / "firmware.elf")
    assert {".text", ".rodata", ".vectors"} < set(ours)
    assert sections(tree / "build" / "firmware.elf") == ours


@pytest.mark.parametrize("kind", list(Format))
def test_the_same_image_for_cortex_a(
    kind: Format, cortex_a: Path, kernel: Path, tools: Path, tmp_path: Path
) -> None:
    """With the kernel of the export: it has no port of its own."""
    export(cortex_a, tmp_path, kind, with_kernel=True)
    assert not (tmp_path / "kernel" / "portable").exists()
    build(kind, tmp_path, tools)
    ours = sections(cortex_a / "firmware.elf")
    assert {".text", ".rodata", ".vectors"} < set(ours)
    assert sections(tmp_path / "build" / "firmware.elf") == ours


@pytest.mark.qemu
@pytest.mark.parametrize("kind", list(Format))
def test_with_kernel_it_runs(
    kind: Format,
    plain: Path,
    tools: Path,
    tmp_path: Path,
    infer: Callable[[NDArray[np.int8]], NDArray[np.int8]],
) -> None:
    """Without a path to a kernel; no application; link and shell in the image."""
    export(plain, tmp_path, kind, with_kernel=True)
    build(kind, tmp_path, tools)
    assert sections(tmp_path / "build" / "firmware.elf") == sections(plain / "firmware.elf")
    image = np.arange(64, dtype=np.int8).reshape(1, 8, 8)
    elf = tmp_path / "build" / "firmware.elf"
    with QemuSession(elf, machine_config(load_board("mps3-an547"))) as session:
        target = Target(session)
        data = tensors.pack(image, target.inputs[0])
        expected = tensors.pack(infer(image).reshape(-1, 1, 1), target.outputs[0])
        inference = target.infer({0: data}, {0: expected})
        assert inference.passed and inference.bytes_compared


@pytest.mark.qemu
@pytest.mark.parametrize("kind", list(Format))
def test_in_a_firmware_of_its_own(
    kind: Format,
    project: Path,
    kernel: Path,
    tools: Path,
    tmp_path: Path,
    infer: Callable[[NDArray[np.int8]], NDArray[np.int8]],
) -> None:
    """The library beside foreign start-up code, vectors, configuration and linker script."""
    host, tree = tmp_path / "host", tmp_path / "tree"
    shutil.copytree(HOST_APP, host)
    export(project / "build" / BOARD, tree, kind)
    library = tree / "fwgen"
    # Only the library is taken over.
    shutil.rmtree(tree / "firmware")
    definitions = [f"FWGEN={library}", f"FREERTOS_KERNEL_PATH={kernel}"]
    if kind is Format.CMAKE:
        definitions.append(f"CMAKE_TOOLCHAIN_FILE={tree / 'toolchain.cmake'}")
    if kind is Format.SCONS:
        definitions.append(f"OUT={tmp_path / 'out'}")
    build(kind, host, tools, *definitions)
    place = {Format.CMAKE: host / "build", Format.SCONS: tmp_path / "out"}.get(kind, host)
    y, x = np.mgrid[0:8, 0:8]
    expected = []
    for number in range(3):
        image = ((x * 11 + y * 13 + number * 17) % 113).astype(np.int8)[None]
        expected.append(f"host: OK {infer(image).tobytes().hex()}")
    assert answers(place / "host.elf", "host: OK") == expected


def test_a_host_that_takes_the_models_memory(
    project: Path, kernel: Path, tools: Path, tmp_path: Path
) -> None:
    """The linker refuses a region of the host over planned addresses."""
    host, tree = tmp_path / "host", tmp_path / "tree"
    shutil.copytree(HOST_APP, host)
    script = host / "host.ld"
    script.write_text(script.read_text().replace("0x00040000", "0x00000200"))
    export(project / "build" / BOARD, tree, Format.MAKE)
    done = subprocess.run(
        ["make", f"FWGEN={tree / 'fwgen'}", f"FREERTOS_KERNEL_PATH={kernel}"],
        cwd=host,
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "overlaps" in done.stderr


def test_what_the_compiler_checks_in_a_host(
    project: Path, kernel: Path, tools: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    export(project / "build" / BOARD, tree, Format.MAKE)
    config = (HOST_APP / "FreeRTOSConfig.h").read_text()
    for old, new, message in (
        ("configMAX_PRIORITIES 7", "configMAX_PRIORITIES 5", "NVDLA_TASK_PRIORITY"),
        ("INTERRUPT_PRIORITY 0x60", "INTERRUPT_PRIORITY 0xa0", "too urgent"),
        ("configUSE_MUTEXES 1", "configUSE_MUTEXES 0", "configUSE_MUTEXES"),
    ):
        host = tmp_path / message.split()[0]
        shutil.copytree(HOST_APP, host)
        assert old in config
        (host / "FreeRTOSConfig.h").write_text(config.replace(old, new))
        done = subprocess.run(
            ["make", f"FWGEN={tree / 'fwgen'}", f"FREERTOS_KERNEL_PATH={kernel}"]
            + ["library/fwgen_port.o"],
            cwd=host,
            env={"PATH": str(tools)},
            capture_output=True,
            text=True,
        )
        assert done.returncode != 0
        assert message in done.stderr


@pytest.mark.parametrize("kind", list(Format))
def test_a_missing_kernel_is_said(kind: Format, plain: Path, tools: Path, tmp_path: Path) -> None:
    export(plain, tmp_path, kind)
    for definition in ((), (f"FREERTOS_KERNEL_PATH={tmp_path}",)):
        with pytest.raises(AssertionError, match="FREERTOS_KERNEL_PATH must name"):
            build(kind, tmp_path, tools, *definition)


@pytest.mark.parametrize("kind", list(Format))
def test_nothing_of_this_machine(kind: Format, project: Path, tmp_path: Path) -> None:
    export(project / "build" / BOARD, tmp_path, kind)
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.suffix != ".bin":
            text = path.read_text()
            assert str(project.parent) not in text, path
            assert not re.search(r"\b(import|from) fwgen\b", text), path


def test_again_and_in_another_format(plain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert export(plain, out, "make").changed
    assert not export(plain, out, "make").changed
    export(plain, out, "cmake")
    assert not (out / "Makefile").exists() and (out / "CMakeLists.txt").exists()


def test_what_is_refused(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        export(plain, tmp_path / "mine", "make")
    with pytest.raises(UsageError, match="cannot read"):
        export(tmp_path, tmp_path / "out", "make")

    copy = tmp_path / "copy"
    shutil.copytree(plain, copy)
    facts = json.loads((copy / "sources.json").read_text())
    for change, message in (
        ({"format": 99}, "another version"),
        ({"generated": None}, "damaged"),
        ({"generated": ["../../etc/passwd"]}, "damaged"),
        ({"runtime": ["rtos/none.c"]}, "missing"),
        ({"models": [{}]}, "damaged"),
    ):
        (copy / "sources.json").write_text(json.dumps(facts | change))
        with pytest.raises(UsageError, match=message):
            export(copy, tmp_path / "out", "make")
    (copy / "sources.json").write_text("{")
    with pytest.raises(UsageError, match="cannot read"):
        export(copy, tmp_path / "out", "make")
    (copy / "firmware.elf").unlink()
    with pytest.raises(UsageError, match="no image"):
        export(copy, tmp_path / "out", "make")
    assert not (tmp_path / "out").exists()


def test_the_command(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["export", str(project), "--format", "make"]) == 0
    assert (tmp_path / "app-make" / "Makefile").is_file()
    assert run(["export", str(project), "-f", "ninja"]) == 2
    assert run(["export", str(tmp_path), "-f", "make"]) == 2
    capsys.readouterr()
    assert run(["export", str(project), "-f", "scons", "-o", "x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "scons"
