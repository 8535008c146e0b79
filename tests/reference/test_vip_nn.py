"""The NumPy reference of the VIP's NN engine against the vendor simulator's outputs.

Graphs whose jobs are all NN jobs need nothing else: their descriptors are taken as the player
has patched them, and the reference runs them in the player's memory.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from nbg_cases import NbgCase, nbg_cases

from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check.nbg_player import MEMORY, VIP_SRAM, NbgPlayer
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.model import read_container
from fwgen.model.nbg.records import NbgOperation
from fwgen.reference.nvdla.memory import DRAM, Memory
from fwgen.reference.vip.nn import run_nn_job

# Generation and NN cores of each target.
TARGETS = {0xB5: (8, 4), 0x9F: (8, 6), 0x88: (7, 8), 0x82: (7, 10)}
SRAM_SIZE = 0x40000
LOAD_NN_CONFIG = 0x08010E4C


def nn_config(container: Container, operation: NbgOperation) -> int:
    """The value that the job's state buffer loads into GL_NN_CONFIG."""
    raw = container.cursor.bytes_of(container.states[operation.state])
    words = struct.unpack(f"<{len(raw) // 4}I", raw)
    return words[words.index(LOAD_NN_CONFIG) + 1]


def run_reference(library: Path, case: NbgCase, container: Container) -> list[bytes]:
    """Outputs of a graph of NN jobs."""
    player = NbgPlayer(library, BY_TARGET[container.target].name, container)
    memory = Memory()
    data = memory.add(DRAM, MEMORY, player.memory.size)
    data[:] = player.memory
    memory.add(DRAM, VIP_SRAM, SRAM_SIZE)
    placement = player.placement
    player.close()
    for address, tensor in zip(placement.inputs, case.tensors("in"), strict=True):
        data[address - MEMORY :][: len(tensor)] = np.frombuffer(tensor, np.uint8)
    for operation in container.jobs():
        at = placement.descriptors[operation.index] - MEMORY
        words = data[at : at + 128].view("<u4").tolist()
        generation, cores = TARGETS[container.target]
        run_nn_job(words, memory, generation, cores, nn_config(container, operation))
    return [
        data[address - MEMORY :][: tensor.size].tobytes()
        for address, tensor in zip(placement.outputs, container.outputs, strict=True)
    ]


def test_graphs_of_nn_jobs(model_library: Path, testdata: Path) -> None:
    compared = 0
    for case in nbg_cases(testdata):
        container = read_container(case.path.read_bytes(), case.path.name)
        if set(container.engine_mix()) != {"N"}:
            continue
        assert run_reference(model_library, case, container) == list(case.tensors("out")), case.name
        compared += 1
    if compared == 0:
        pytest.skip("no graphs among the reference data")
    assert compared >= 35
