"""The VIP's NN engine against the NumPy reference, job by job.

FWGEN_VIP_NN_RANDOM says how many random jobs are run (default 40), and
FWGEN_VIP_NN_SEED which is the first.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fwgen.check.random_vip_nn import NnFields, NnJob, random_job
from fwgen.reference.nvdla.memory import DRAM, Memory
from fwgen.reference.vip.nn import run_nn_job

from .vip_nn import NnEngine
from .vip_nn_jobs import CORES, make_blob

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


LARGE = {
    # Stages of fewer rows than the plane, pooled; rows with gaps.
    "dense, pooled": NnFields(
        kernel=(3, 3), channels=3, kernels=70, per_core=20, pooling=1, in_size=(333, 80),
        offset=(-1, -1), out_size=(333, 80), in_strides=(340, 80), out_strides=(170, 41),
        border=9, shift=8,
    ),
    # Planes that are read in small pieces, since 16 of them take more than 4 MiB.
    "dense, large planes": NnFields(
        channels=17, kernels=2, per_core=1, in_size=(700, 450), out_size=(700, 450),
        in_strides=(700, 450), out_strides=(700, 450), shift=8,
    ),
    # One row, whose bytes do not fit into a stage of many kernels.
    "dense, long rows": NnFields(
        kernel=(2, 1), channels=2, kernels=64, per_core=16, in_size=(8000, 3),
        out_size=(8000, 3), in_strides=(8000, 3), out_strides=(8000, 3), shift=7,
    ),
    "depthwise, first pixel": NnFields(
        kernel=(3, 3), kernels=18, channels=18, depthwise=1, pooling=3, in_size=(501, 151),
        offset=(-1, 0), out_size=(501, 151), in_strides=(501, 151), out_strides=(251, 76),
        border=255, shift=5,
    ),
    # Gaps too wide to be read, and more than 1024 kernels.
    "depthwise, many": NnFields(
        kernel=(2, 2), kernels=1100, channels=1, depthwise=1, in_size=(3, 3), out_size=(2, 2),
        in_strides=(80, 4), out_strides=(2, 2), shift=5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_large_jobs(engine: NnEngine, name: str) -> None:
    fields = dataclasses.replace(
        LARGE[name], in_address=0x10_0000, out_address=0x80_0000, coefficients=0x200_0000,
        out_zero=128, weight_zero=120,
    )  # fmt: skip
    noise = np.random.default_rng(1)
    memory = np.frombuffer(noise.bytes(0x210_0000), np.uint8).copy()
    depth = 1 if fields.depthwise else fields.channels
    shape = (fields.kernels, depth, fields.kernel[1], fields.kernel[0])
    weights = noise.integers(0, 256, shape, dtype=np.uint8)
    blob = make_blob(fields, weights, noise.integers(-9000, 9000, fields.kernels).tolist())
    memory[fields.coefficients : fields.coefficients + len(blob)] = np.frombuffer(blob, np.uint8)
    job = NnJob(fields, CORES[fields.generation], 0, memory, (0, 0))
    np.testing.assert_array_equal(run_engine(engine, job), expected_memory(job))


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
