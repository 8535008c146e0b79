"""Damaged loadables through the whole host side, and what is still accepted on the accelerator.

Every stage of `fwgen build` up to the words of the program meets thousands of
damaged bytes over time; here a few hundred. What is accepted is played on the
emulated accelerator with no memory but the planned buffers, so that an access
elsewhere is a guest error.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fwgen.accel.nvdla.registers import OFFSETS
from fwgen.accel.registry import family
from fwgen.errors import ExitCode, FitError, FwgenError, ModelError
from fwgen.machine.emulator_build import model_library_path
from fwgen.machine.model_library import DRAM, EmulatedAccelerator
from fwgen.model.nvdla.loadable import read_loadable
from fwgen.pipeline import CompiledModel, compile_model
from fwgen.program.decode import Opcode
from fwgen.program.encode import all_words, encode
from fwgen.program.optimise import optimise
from fwgen.program.program import Role
from fwgen.program.simulate import Player, RegisterWrite

CASES = [
    ("lenet5.nv_small.int8.nhwc.nvdla", "mps2-an385"),
    ("lenet5.nv_large.int8.nhwc.nvdla", "mps3-an547-nv-large"),
    ("resblock.nv_small.int8.ncxhwx.nvdla", "mps3-an547"),
    ("mobilish.nv_small.int8.nhwc.nvdla", "mps2-an500"),
    ("CDP_L0_0_small.fbuf", "mps2-an386"),
]
SECONDS = 5.0  # of one mutant; it takes milliseconds, but the machine may be busy
WORK = 50_000_000  # multiplications and bytes of what is still played
STATUS = OFFSETS["GLB.S_INTR_STATUS"]

EDGES = (0, 1, 7, 8, 31, 32, 0x7F, 0xFF, 0x1FFF, 0x2000, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFF8, 0xFFFFFFFF)


def lists_of(data: bytes) -> list[tuple[int, int]]:
    """Where descriptors lie in the file: (offset, bytes) of the small blobs."""
    blobs = [b.data for b in read_loadable(data, "x").blobs if 8 <= len(b.data) < 10_000]
    return [(data.index(blob), len(blob)) for blob in blobs]


def changed_word(data: bytearray, at: int, chance: random.Random) -> None:
    """One field of 1, 2 or 4 bytes gets a value that breaks readers."""
    size = chance.choice((1, 2, 4))
    at -= at % size
    value = int.from_bytes(data[at : at + size], "little")
    changes: tuple[Callable[[], int], ...] = (
        lambda: chance.choice(EDGES),
        lambda: value + chance.choice((-64, -32, -8, -1, 1, 8, 32, 64)),
        lambda: value * chance.choice((2, 4)),
        lambda: value ^ 1 << chance.randrange(8 * size),
        lambda: -value,
    )
    new = chance.choice(changes)() & (1 << 8 * size) - 1
    data[at : at + size] = new.to_bytes(size, "little")


def damaged(data: bytes, lists: list[tuple[int, int]], chance: random.Random) -> bytes:
    """A copy that is cut short or has a few fields changed, most of them in descriptors."""
    out = bytearray(data)
    kind = chance.randrange(10)
    if kind == 0:
        return bytes(out[: chance.randrange(len(out))])
    for _ in range(chance.choice((1, 1, 2, 3))):
        if kind < 3:  # tables and offsets of the file are at both ends
            place = chance.randrange(3000)
            at = place if chance.random() < 0.5 else len(out) - 4 - place
        else:
            start, size = chance.choice(lists)
            at = start + chance.randrange(size - 4)
        changed_word(out, max(0, min(at, len(out) - 4)), chance)
    return bytes(out)


def check_places(compiled: CompiledModel) -> None:
    """Every buffer lies as a whole in a region of the board that the accelerator may use."""
    regions = compiled.board.regions("dma")
    for placement in compiled.layout.placements:
        end = placement.address + placement.size
        assert placement.size >= compiled.program.buffers[placement.buffer].size
        assert any(m.base <= placement.address and end <= m.end for m in regions)


def play(compiled: CompiledModel) -> None:
    """Two inferences on an accelerator that has the planned buffers and no other memory."""
    program, layout = compiled.program, compiled.layout
    traits = family(program.family).register_traits(program.config)
    words = all_words(encode(optimise(program, traits, layout), layout, traits))
    ranges: list[list[int]] = []
    for placement in sorted(layout.placements, key=lambda p: p.address):
        end = placement.address + placement.size
        if ranges and placement.address <= ranges[-1][1]:
            ranges[-1][1] = max(ranges[-1][1], end)
        else:
            ranges.append([placement.address, end])
    with EmulatedAccelerator(model_library_path(), program.family, program.config) as device:
        memory = [(low, device.add_memory(DRAM, low, high - low)) for low, high in ranges]

        def contents(buffer: int) -> np.ndarray:
            place = layout.placements[buffer]
            low, array = max((m for m in memory if m[0] <= place.address), key=lambda m: m[0])
            return array[place.address - low :][: program.buffers[buffer].size]

        constants = [b for b in program.buffers if b.role is Role.CONSTANT]
        for buffer in program.buffers:
            if buffer.data is not None:
                contents(buffer.id)[:] = np.frombuffer(buffer.data, np.uint8)
        player = Player()
        for _ in range(2):
            run(device, player, words)
        assert device.guest_errors() == []
        for buffer in constants:
            assert contents(buffer.id).tobytes() == buffer.data, f"{buffer.name} was overwritten"


def run(device: EmulatedAccelerator, player: Player, words: list[int]) -> None:
    """Play the words as the executor would; CPU kernels are left out."""
    seen = 0
    for effect in player.run(words):
        if isinstance(effect, RegisterWrite):
            device.write32(effect.register, effect.value)
        elif effect.opcode is Opcode.WAIT:
            mask = effect.operands[1]
            while seen & mask != mask:
                status = device.read32(STATUS)
                device.write32(STATUS, status)
                seen |= status
                cycles = device.next_event()
                if seen & mask != mask:
                    assert cycles is not None, f"waits for {mask:#x}, has {seen:#x}"
                    device.advance(cycles)
            seen &= ~mask


@pytest.mark.parametrize(("name", "board"), CASES, ids=[name for name, _ in CASES])
def test_damaged_models_are_refused_or_stay_in_their_buffers(
    testdata: Path, tmp_path: Path, name: str, board: str
) -> None:
    chance = random.Random(name)
    data = (testdata / "nvdla" / "loadables" / name).read_bytes()
    lists = lists_of(data)
    path = tmp_path / "model.bin"
    accepted = refused = 0
    for _ in range(120):
        path.write_bytes(damaged(data, lists, chance))
        start = time.monotonic()
        try:
            compiled = compile_model(path, board)
        except FwgenError as error:
            assert isinstance(error, (ModelError, FitError))
            assert error.message and error.where
            refused += 1
            continue
        finally:
            assert time.monotonic() - start < SECONDS
        accepted += 1
        check_places(compiled)
        operations = compiled.program.operations
        if sum(o.macs + o.bytes_read + o.bytes_written for o in operations) < WORK:
            play(compiled)
    assert accepted > 0
    assert refused > 0


def test_a_model_that_needs_more_memory_than_the_board_has(testdata: Path, tmp_path: Path) -> None:
    data = (testdata / "nvdla" / "loadables" / "lenet5.nv_small.int8.nhwc.nvdla").read_bytes()
    loadable = read_loadable(data, "x")
    output = next(m for m in loadable.memories if m.flags & 8)
    old = struct.pack("<Q", output.size)
    places = [i for i in range(len(data) - 8) if data[i : i + 8] == old]
    codes = set()
    for at in places:  # one of them is the size of the output's memory
        path = tmp_path / "model.bin"
        path.write_bytes(data[:at] + struct.pack("<Q", 64 << 20) + data[at + 8 :])
        try:
            compile_model(path, "mps2-an385")
        except FwgenError as error:
            codes.add(error.exit_code)
    assert ExitCode.DOES_NOT_FIT in codes
