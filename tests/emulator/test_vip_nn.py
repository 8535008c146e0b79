"""The VIP's NN engine against the NumPy reference, job by job.

FWGEN_VIP_NN_RANDOM says how many random jobs are run (default 40), and
FWGEN_VIP_NN_SEED which is the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fwgen.check.random_vip_nn import NnJob, random_job
from fwgen.reference.nvdla.memory import DRAM, Memory
from fwgen.reference.vip.nn import run_nn_job

from .vip_nn import NnEngine

COUNT = int(os.environ.get("FWGEN_VIP_NN_RANDOM", "40"))
FIRST = int(os.environ.get("FWGEN_VIP_NN_SEED", "0"))
KERNELS = ("plain", "plain-bytes", "plain-signed", "avx2", "avxvnni", "avx512vnni", "amx")


@pytest.fixture
def engine(model_library: Path) -> Iterator[NnEngine]:
    made = NnEngine(model_library)
    yield made
    made.force_kernels(None)


def expected_memory(job: NnJob) -> np.ndarray:
    """All of the memory after the reference has run the job."""
    memory = Memory()
    data = memory.add(DRAM, 0, job.memory.size)
    data[:] = job.memory
    run_nn_job(job.fields.words(), memory, job.fields.generation, job.cores, job.nn_config)
    return data


def run_engine(engine: NnEngine, job: NnJob) -> np.ndarray:
    """All of the memory after the engine has run the job."""
    engine.memory = job.memory.copy()
    ok, _ = engine.run(job.fields.words(), job.fields.generation, job.cores, job.nn_config)
    assert ok and engine.errors == []
    return engine.memory


def test_random_jobs_leave_the_memory_that_the_reference_leaves(engine: NnEngine) -> None:
    seen: set[int] = set()
    for seed in range(FIRST, FIRST + COUNT):
        job = random_job(seed)
        engine.writes.clear()
        got = run_engine(engine, job)
        np.testing.assert_array_equal(got, expected_memory(job), f"seed {seed}")
        low, high = job.out_span
        assert all(low <= w.address and w.address + w.size <= high for w in engine.writes)
        seen.update(got[low:high].tolist())
    assert len(seen) == 256  # results are spread over all bytes


@pytest.mark.parametrize("name", KERNELS)
def test_every_inner_loop_computes_the_same(engine: NnEngine, name: str) -> None:
    if not engine.force_kernels(name):
        pytest.skip(f"this host has no {name}")
    for seed in range(1000, 1010):
        job = random_job(seed)
        np.testing.assert_array_equal(run_engine(engine, job), expected_memory(job), f"seed {seed}")


def test_cost_counts_products_and_bytes(engine: NnEngine) -> None:
    job = next(j for j in map(random_job, range(99)) if not j.fields.pooling)
    fields = job.fields
    engine.memory = job.memory.copy()
    ok, cost = engine.run(fields.words(), fields.generation, job.cores, job.nn_config)
    outputs = fields.out_size[0] * fields.out_size[1] * fields.kernels
    depth = 1 if fields.depthwise else fields.channels
    assert ok
    assert cost.bytes_written == outputs
    assert cost.macs == outputs * depth * fields.kernel[0] * fields.kernel[1]
