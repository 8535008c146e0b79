"""Published graphs by compilers of other years: their NN jobs, coefficients above all.

No outputs are published for these graphs. What is checked is what damaged or misread streams
do not give: every stream ends with its last weight, the kernels of all cores are as many as the
descriptor says, and on V7 the output planes are a permutation.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from fwgen.model.nbg.container import Container
from fwgen.model.nbg.model import read_container
from fwgen.model.nbg.records import NbgOperation, OperationType, PatchSource

from .vip_nn import V7, V8, NnEngine

INPUT, OUTPUT, COEFFICIENTS, SIZE = 0x100_0000, 0x300_0000, 0x500_0000, 0x600_0000
CORES = {V7: 8, V8: 4}
DISABLE_ZDP = 4


@pytest.fixture
def public(testdata: Path) -> Path:
    folder = testdata / "vip" / "public"
    if not folder.is_dir():
        pytest.skip("no published graphs among the reference data")
    return folder


def job_words(container: Container, operation: NbgOperation) -> list[int]:
    """A job's descriptor with the addresses of this memory, without rings."""
    raw = container.cursor.bytes_of(container.descriptor(operation))
    words = list(struct.unpack("<32I", raw[:128]))
    (patch,) = (p for p in container.patches_of(operation) if p.source is PatchSource.COEFFICIENT)
    assert patch.offset == 20 and patch.transformed
    entry = container.coefficients[patch.index]
    at = COEFFICIENTS + entry.offset - container.coefficient_block.offset
    words[5] = words[5] & ~0x3FFFFFF | at >> 6
    words[6], words[7] = INPUT, OUTPUT
    words[18] &= ~0x3FFFFFF
    words[20] &= ~0x3FFFFFF
    return words


def as_uint8(words: list[int]) -> list[int]:
    """The descriptor with uint8 for all element types and a border that fits."""
    words[1] &= ~0x3F
    words[15] &= ~(7 << 19 | 0xFF << 10)
    return words


def run_jobs(
    library: Path, path: Path, generation: int, nn_config: int, change: bool = False
) -> tuple[list[bool], list[str]]:
    """Whether each NN job of a graph ran, on an input of zeros; errors.

    change: whether element types are made uint8.
    """
    container = read_container(path.read_bytes(), path.name)
    engine = NnEngine(library, SIZE)
    block = container.cursor.bytes_of(container.coefficient_block)
    engine.memory[COEFFICIENTS : COEFFICIENTS + len(block)] = memoryview(block)
    jobs = [job_words(container, o) for o in container.jobs() if o.type is OperationType.NN]
    results = [
        engine.run(as_uint8(words) if change else words, generation, CORES[generation], nn_config)[
            0
        ]
        for words in jobs
    ]
    return results, engine.errors


def test_v7_graph_of_uint8(model_library: Path, public: Path) -> None:
    # An older compiler: 1x1 kernels go by blocks of 6 channels (GL_NN_CONFIG bit 2 is 0).
    path = public / "yolov8n_uint8_vim3.nb"
    results, errors = run_jobs(model_library, path, V7, 0x902010)
    assert len(results) == 132 and all(results), errors
    # Read channel by channel, its 1x1 kernels are no valid streams.
    results, errors = run_jobs(model_library, path, V7, 0x902010 | DISABLE_ZDP)
    assert results.count(False) > 20
    assert all("NN coefficients: " in error for error in errors)


def test_v8_graph(model_library: Path, public: Path) -> None:
    results, errors = run_jobs(model_library, public / "mobilenet_vim3_201110.nb", V8, 0x40)
    assert len(results) == 30 and all(results), errors


@pytest.mark.parametrize(("name", "jobs"), [("alike_a311d.nb", 26), ("superpoint_a311d.nb", 100)])
def test_v7_graphs_of_int8(model_library: Path, public: Path, name: str, jobs: int) -> None:
    results, errors = run_jobs(model_library, public / name, V7, 0x10)
    assert len(results) == jobs and not any(results)
    assert all("kernel type (only uint8 is modelled)" in error for error in errors)
    # How streams are coded does not depend on what the bytes mean.
    results, errors = run_jobs(model_library, public / name, V7, 0x10, change=True)
    assert len(results) == jobs and all(results), errors
