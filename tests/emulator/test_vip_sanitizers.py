"""Graphs, random jobs and the fuzz corpus of the VIP on a model with sanitizers.

As in test_sanitizers.py: a run on the ordinary library is recorded, and a small C program
plays the record on the checked build and compares registers and memory.
"""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from nbg_cases import nbg_cases

from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check import nbg_player, random_vip_nn
from fwgen.check.graph_image import MEMORY
from fwgen.check.nbg_player import NbgPlayer
from fwgen.check.random_vip_tp import fc_blob, fc_fields, random_table, random_tp_job
from fwgen.machine.model_library import EmulatedAccelerator
from fwgen.model.nbg.model import read_container

from .checked import play, replay_corpus, used
from .conftest import REPOSITORY
from .vip_device import B5, BASE, COMMANDS, DESCRIPTOR, END, SOURCE, TABLE, TARGET, Vip, event, load

pytestmark = pytest.mark.slow

RANDOM_JOBS = 40


def started(
    accelerator: EmulatedAccelerator,
    config: str,
    base: int,
    memory: np.ndarray,
    commands: int,
    units: int,
) -> bytes:
    """Record of a stream that has just been started, and of its whole run."""  # fmt: skip
    script = b"C" + bytes((len(config),)) + config.encode()
    script += b"M" + struct.pack("<BQQ", 0, base, memory.size)
    for start, end in used(memory):
        script += b"D" + struct.pack("<BQI", 0, base + start, end - start)
        script += memory[start:end].tobytes()
    enable = nbg_player.ENABLE | units
    for offset, value in (
        (nbg_player.INTR_ENBL, 0xFFFFFFFF),
        (nbg_player.COMMAND_ADDRESS, commands),
        (nbg_player.COMMAND_CONTROL, enable),
        (nbg_player.SEC_COMMAND_CONTROL, enable),
    ):
        script += b"W" + struct.pack("<II", offset, value)
    while (cycles := accelerator.next_event()) is not None:
        accelerator.advance(cycles)
        script += b"S"
    pending = accelerator.read32(nbg_player.INTR_ACKNOWLEDGE)
    script += b"R" + struct.pack("<II", nbg_player.INTR_ACKNOWLEDGE, pending)
    script += b"K" + struct.pack("<BQII", 0, base, memory.size, zlib.crc32(memory))
    return script + b"Z" + struct.pack("<I", accelerator.guest_error_count)


def test_every_graph(
    model_library: Path, checked_build: Path, testdata: Path, tmp_path: Path
) -> None:
    script = bytearray()
    count = 0
    for case in nbg_cases(testdata):
        if case.kind == "negative":
            continue
        container = read_container(case.path.read_bytes(), case.path.name)
        config = BY_TARGET[container.target].name
        player = NbgPlayer(model_library, config, container)
        player.start(case.tensors("in"))
        script += started(
            player.accelerator, config, MEMORY, player.memory,
            player.placement.commands, player.stream_size // 8,
        )  # fmt: skip
        assert player.outputs() == tuple(case.tensors("out"))
        player.close()
        count += 1
    if not count:
        pytest.skip("no graphs among the reference data")
    assert play(checked_build, bytes(script), tmp_path / "script").startswith(f"{count} cases")


def record_job(vip: Vip, config: str, unit_state: int, words: list[int]) -> bytes:
    """Record of one job in a device's memory."""
    vip.put_words(DESCRIPTOR, words)
    stream = [*load(unit_state, DESCRIPTOR), *load(0x10A4, 0), *event(), *END]
    vip.start(stream)
    script = started(vip.accelerator, config, BASE, vip.memory, COMMANDS, len(stream) // 2)
    if vip.accelerator.guest_error_count:
        vip.accelerator.reset()
        vip.write("HI.INTR_ENBL", 0xFFFFFFFF)
    return script


def test_random_tp_jobs(model_library: Path, checked_build: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    script = b""
    for number in range(RANDOM_JOBS):
        vip = Vip(model_library)
        vip.put(SOURCE, rng.integers(0, 256, 0x2000, np.uint8).tobytes())
        vip.put(TABLE, random_table(rng).tobytes())
        fields = random_tp_job(rng, SOURCE, TARGET, TABLE)
        if number % 4 == 0:
            weights = rng.integers(90, 120, (5, 40))
            vip.put(TABLE, fc_blob(random.Random(number), weights, np.arange(40), 100))
            fields = fc_fields(5, 40, 3, source=SOURCE, target=TARGET)
            fields.patches[(11, 0, 32)] = TABLE
        script += record_job(vip, B5, 0x10B8, fields.words())
        vip.accelerator.close()
    assert play(checked_build, script, tmp_path / "script").startswith(f"{RANDOM_JOBS} ")


def test_random_nn_jobs(model_library: Path, checked_build: Path, tmp_path: Path) -> None:
    cores = {4: B5, 6: "vip8000nanosi_plus_pid0x9f", 8: "vip_pid0x88", 10: "vip_pid0x82"}
    script = b""
    count = 0
    for seed in range(10 * RANDOM_JOBS):
        job = random_vip_nn.random_job(seed)
        config = cores.get(job.cores)
        v7 = job.cores in (8, 10)
        if config is None or v7 != (job.fields.generation == random_vip_nn.V7):
            continue
        accelerator = EmulatedAccelerator(model_library, "vip", config)
        memory = accelerator.add_memory(0, 0, random_vip_nn.MEMORY_SIZE)
        memory[:] = job.memory
        stream = [
            *load(0x3930, job.nn_config), *load(0x10A0, DESCRIPTOR - BASE), *event(), *END,
        ]  # fmt: skip
        for at, words in ((DESCRIPTOR - BASE, job.fields.words()), (COMMANDS - BASE, stream)):
            memory[at : at + 4 * len(words)] = np.array(words, "<u4").view(np.uint8)
        enable = nbg_player.ENABLE | len(stream) // 2
        accelerator.write32(nbg_player.COMMAND_ADDRESS, COMMANDS - BASE)
        accelerator.write32(nbg_player.COMMAND_CONTROL, enable)
        accelerator.write32(nbg_player.SEC_COMMAND_CONTROL, enable)
        script += started(accelerator, config, 0, memory, COMMANDS - BASE, len(stream) // 2)
        assert accelerator.guest_errors() == []
        accelerator.close()
        count += 1
        if count == RANDOM_JOBS:
            break
    assert play(checked_build, script, tmp_path / "script").startswith(f"{RANDOM_JOBS} cases")


def test_corpus(checked_build: Path) -> None:
    folder = REPOSITORY / "emulator" / "fuzz" / "corpus-vip"
    replay_corpus(checked_build, "replay_corpus_vip", folder)
