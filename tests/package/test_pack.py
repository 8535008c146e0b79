"""Packing models for the slots of a board, and the verbs around it."""

from __future__ import annotations

import json
import os
import pty
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from devices import HostDevice, build_host, line_to
from noisy_line import Noise
from packages import make_package

from fwgen.board.profile import load_board
from fwgen.cli.main import run as fwgen
from fwgen.errors import FitError, ModelError, UsageError
from fwgen.package import format
from fwgen.package.check import read_package
from fwgen.package.faults import Fault
from fwgen.package.pack import PackOptions, SelfTest, expected_device, pack_model
from fwgen.package.verify import verify
from fwgen.plan.slots import slot_board, slot_kernels, slot_layout
from fwgen.program.commands import Kernel

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
BOARDS = Path(__file__).resolve().parents[1] / "nvmem" / "boards"
IN_PLACE, COPIED = "mps2-an385-nvmem", "mps3-an547-nvmem"


@pytest.mark.parametrize("name", [IN_PLACE, COPIED])
def test_a_package_is_linked_for_its_board(name: str) -> None:
    board = load_board(name)
    slots = slot_layout(board)
    package = pack_model(DIGITS, board)
    assert package.data == pack_model(DIGITS, board).data
    assert tuple(v.base for v in package.header.variants) == slots.bases
    assert len(slots.bases) == (2 if name == IN_PLACE else 1)
    for base in slots.bases:
        assert verify(package.data, expected_device(board, base)) is Fault.GOOD
    assert verify(package.data, expected_device(board, slots.bases[0] + 64)) is Fault.VARIANT
    first = format.decode_table(package.data, package.header.variants[0].table)
    low, size = slots.tensors
    assert all(low <= t.address and t.address + t.size <= low + size for t in first.tensors)
    assert first.clear[1] <= size
    names = [package.data[t.name : t.name + 32].partition(b"\0")[0] for t in first.tensors]
    assert names == [b"image", b"scores"]


def test_programs_name_the_addresses_of_their_slot() -> None:
    """Weights are read where the package lies: their addresses move with the slot."""
    board = load_board(IN_PLACE)
    package = pack_model(DIGITS, board)
    bases = slot_layout(board).bases
    programs = []
    for variant in package.header.variants:
        offset, words = format.decode_table(package.data, variant.table).program
        programs.append(struct.unpack_from(f"<{words}I", package.data, offset))
    assert len(programs[0]) == len(programs[1])
    moved = {b - a for a, b in zip(*programs, strict=True) if a != b}
    assert moved == {bases[1] - bases[0]}
    constants = [buffer.data for buffer in package.program.buffers if buffer.data is not None]
    assert len(constants) >= 3
    for variant, words in zip(package.header.variants, programs, strict=True):
        named = [w - variant.base for w in words if variant.base <= w < variant.base + 0x100000]
        for constant in constants:
            assert any(package.data[at : at + len(constant)] == constant for at in named)


def test_a_pipelined_package_needs_firmware_that_pipelines() -> None:
    board = load_board(COPIED)
    (base,) = slot_layout(board).bases
    package = pack_model(DIGITS, board, PackOptions(pipeline_depth=2))
    table = format.decode_table(package.data, package.header.variants[0].table)
    assert (table.banks, table.pipeline_depth, len(table.tensors)) == (2, 2, 4)
    assert table.pipelined[1] > 0
    assert len({t.address for t in table.tensors}) == 4
    for depth, fault in ((1, Fault.LIMIT), (2, Fault.GOOD), (4, Fault.GOOD)):
        assert verify(package.data, expected_device(board, base, pipeline_depth=depth)) is fault


def test_kernels_that_firmware_with_slots_has() -> None:
    """What NVDLA lacks; the kernels that do NVDLA's own work are for boards without one."""
    board = load_board(IN_PLACE)
    assert slot_kernels(board) == (Kernel.SOFTMAX, Kernel.POWER)
    assert set(slot_kernels(load_board("mps2-an385-cpu"))) == set(Kernel)


def test_two_boards_have_two_layouts() -> None:
    board = load_board(IN_PLACE)
    nvmem = board.nvmem
    assert nvmem is not None
    changes = [
        replace(board, name="other"),
        replace(board, accelerators=(replace(board.accelerators[0], base=0x50100000),)),
        replace(board, nvmem=replace(nvmem, run="psram")),
        replace(board, nvmem=replace(nvmem, tensors="psram")),
        load_board(COPIED),
    ]
    hashes = {slot_layout(b).hash for b in [board, *changes]}
    assert len(hashes) == 1 + len(changes)
    assert slot_layout(replace(board, description="other words")).hash == slot_layout(board).hash


def test_what_cannot_be_packed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model slots"):
        pack_model(DIGITS, load_board("mps2-an385"))
    board = load_board(IN_PLACE)
    nvmem = board.nvmem
    assert nvmem is not None
    small = tuple(replace(p, size=8192) if p.kind == "slot" else p for p in nvmem.partitions)
    with pytest.raises(FitError, match="slot"):
        pack_model(DIGITS, replace(board, nvmem=replace(nvmem, partitions=small)))
    np.save(tmp_path / "image.npy", np.zeros((1, 8, 8), np.int8))
    image = {"image": tmp_path / "image.npy"}
    with pytest.raises(UsageError, match="lacks output 'scores'"):
        pack_model(DIGITS, board, PackOptions(self_test=SelfTest(image, {})))
    with pytest.raises(UsageError, match="is no tensor"):
        pack_model(DIGITS, board, PackOptions(self_test=SelfTest({"x": tmp_path}, {})))


def test_the_planner_sees_only_what_packages_may_use() -> None:
    board = load_board(COPIED)
    (base,) = slot_layout(board).bases
    seen = slot_board(board, base)
    assert [m.name for m in seen.regions("constants")] == ["slot"]
    assert [m.name for m in seen.regions("tensors", "dma")] == ["slot_tensors"]
    assert seen.memory("slot").base == base + format.HEADER_SIZE


def test_the_verb_writes_signs_and_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cryptography")
    key, target = tmp_path / "key.pem", tmp_path / "digits.pkg"
    assert fwgen(["pack", "--new-key", str(key)]) == 0
    public = capsys.readouterr().out.strip()
    assert len(bytes.fromhex(public)) == 32
    assert (key.stat().st_mode & 0o77) == 0
    assert fwgen(["pack", "--public-key", str(key)]) == 0
    assert capsys.readouterr().out.strip() == public
    assert fwgen(["pack", "--new-key", str(key)]) == 2
    command = ["pack", str(DIGITS), "-b", IN_PLACE, "-o", str(target), "--key", str(key)]
    assert fwgen([*command, "--model-version", "7", "--json"]) == 0
    capsys.readouterr()
    data, header = read_package(target)
    assert (header.version, header.name, len(data)) == (7, "digits", header.length)
    from fwgen.package.signing import verifier

    assert header.signature is not None
    assert verifier(bytes.fromhex(public))(header.signature, data[: format.SIGNED_SIZE])
    assert set(tmp_path.iterdir()) == {key, target}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d[:400], "no model package"),
        (lambda d: d[:-1], "its end is missing"),
        (lambda d: d + b"x", "something was appended"),
        (lambda d: d[:700] + bytes([d[700] ^ 1]) + d[701:], "CRC-32"),
        (lambda d: d[:40] + bytes([d[40] ^ 1]) + d[41:], "header is damaged"),
    ],
)
def test_a_damaged_file_never_reaches_the_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change,  # type: ignore[no-untyped-def]
    message: str,
) -> None:
    file = tmp_path / "damaged.pkg"
    file.write_bytes(change(make_package()))
    with pytest.raises(ModelError):
        read_package(file)
    assert fwgen(["update", "--port", str(tmp_path / "no such port"), str(file)]) == 3
    assert message in capsys.readouterr().err


def test_verbs_on_a_device(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = HostDevice(build_host(tmp_path_factory.mktemp("verbs"), "target"), tmp_path / "flash")
    file = tmp_path / "one.pkg"
    file.write_bytes(make_package("one"))

    def ask(*words: str, code: int = 0) -> str:
        assert fwgen(["nvmem", "--port", line.address, *words]) == code
        caught = capsys.readouterr()
        return caught.err if code else caught.out

    with line_to(device, Noise()) as line:
        ask("set", "gain", "0.5")
        ask("set", "table", "hex:00ff10")
        assert ask("get", "gain") == "0.5\n"
        assert ask("get", "table") == "hex:00ff10\n"
        assert json.loads(ask("get", "table", "--json")) == {
            "key": "table",
            "hex": "00ff10",
            "text": None,
        }
        assert "no setting 'gian'" in ask("get", "gian", code=2)
        ask("delete", "table")
        listed = ask("list")
        assert "slot_a" in listed and "gain" in listed and "table" not in listed
        assert "the model of the image runs" in ask("slots")
        # The bar is for terminals: give the verb one.
        main, side = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "fwgen", "update", "-p", line.address, str(file)],
            stdout=subprocess.PIPE,
            stderr=side,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
        out, _ = process.communicate(timeout=60)
        os.close(side)
        shown = os.read(main, 65536).decode()
        os.close(main)
        assert process.returncode == 0, shown
        assert "one is confirmed in slot 0" in out.decode()
        assert "kB" in shown and "/s" in shown and "0:00:00" in shown
        assert "one" in ask("slots") and "running" in ask("slots")
        assert "in use" in ask("erase", "slot_a", code=2)
        ask("erase", "settings")
        assert "gain" not in ask("list")
        assert fwgen(["update", "--port", line.address, str(file)]) == 0
        assert "already" in capsys.readouterr().out


def test_constants_with_addresses_stand_there_once_for_each_slot(testdata: Path) -> None:
    """Command buffers and descriptors of a VIP: of each slot they name that slot's bytes."""
    graph = testdata / "vip" / "corpus" / "given" / "net_lenet_9F.nb"
    if not graph.is_file():
        pytest.skip("reference data has no network binary graphs")
    board = load_board(str(BOARDS / "imx8mp-m7-nvmem.toml"))
    slots = slot_layout(board)
    package = pack_model(graph, board)
    buffers = {buffer.name: buffer for buffer in package.program.buffers}
    commands, weights = buffers["commands"], buffers["coefficients"]
    assert commands.relocations and commands.data is not None and weights.data is not None
    assert package.data.count(weights.data) == 1
    weights_at = package.data.index(weights.data)
    weights_end = weights_at + weights.size
    descriptors: list[set[int]] = []
    low, size = slots.tensors
    starts = []
    for variant in package.header.variants:
        offset, words = format.decode_table(package.data, variant.table).program
        program = struct.unpack_from(f"<{words}I", package.data, offset)
        inside = [w - variant.base for w in program if 0 <= w - variant.base < slots.room]
        (start,) = {at for at in inside if package.data[at : at + 4] == commands.data[:4]}
        starts.append(start)
        named = [
            struct.unpack_from("<I", package.data, start + r.offset)[0]
            for r in commands.relocations
        ]
        in_package = [a - variant.base for a in named if 0 <= a - variant.base < len(package.data)]
        others = [a for a in named if not 0 <= a - variant.base < len(package.data)]
        assert all(low <= a < low + size for a in others)
        assert in_package and not any(weights_at <= at < weights_end for at in in_package)
        descriptors.append(set(in_package))
    assert len(set(starts)) == len(slots.bases) == 2
    assert not descriptors[0] & descriptors[1]
