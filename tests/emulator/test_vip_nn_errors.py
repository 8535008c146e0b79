"""What the VIP's NN engine refuses: fields, streams and sizes, each with an error that names it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from fwgen.check.random_vip_nn import V7, V8, NnFields, random_job
from fwgen.check.vip_coefficients import BitWriter, HuffmanCoder
from fwgen.reference.nvdla.memory import (
    DRAM,
    Memory,
    ReferenceGuestError,
    ReferenceUnsupported,
)
from fwgen.reference.vip.nn import run_nn_job

from .vip_nn import NnEngine
from .vip_nn_jobs import fill_in, make_blob, run_fields, store

COUNT = int(os.environ.get("FWGEN_VIP_NN_DAMAGED", "60"))
FIRST = int(os.environ.get("FWGEN_VIP_NN_SEED", "0"))

IMAGE = np.arange(2 * 4 * 5, dtype=np.uint8).reshape(2, 4, 5)
WEIGHTS = np.arange(5 * 2 * 3 * 3, dtype=np.uint8).reshape(5, 2, 3, 3) * 2


@pytest.fixture
def engine(model_library: Path) -> Iterator[NnEngine]:
    yield NnEngine(model_library)


def prepare(
    engine: NnEngine,
    change: Callable[[NnFields], None] = lambda _: None,
    patch: Callable[[bytearray], None] = lambda _: None,
    generation: int = V8,
    table_size: int = 0,
) -> NnFields:
    """A valid job of 5 kernels, changed."""
    fields = NnFields(generation=generation, out_size=(3, 2), per_core=2, shift=6)
    fill_in(fields, IMAGE, WEIGHTS)
    blob = bytearray(make_blob(fields, WEIGHTS, [1, 2, 3, 4, 5], table_size))
    patch(blob)
    store(engine, fields, IMAGE, bytes(blob))
    change(fields)
    return fields


def refused(engine: NnEngine, fields: NnFields, text: str) -> None:
    """The job must write nothing and report exactly one error with that text."""
    ok, errors = run_fields(engine, fields)
    assert not ok
    assert len(errors) == 1 and text in errors[0], errors
    assert engine.writes == []


@pytest.mark.parametrize("generation", [V7, V8])
def test_the_job_itself_is_fine(engine: NnEngine, generation: int) -> None:
    assert run_fields(engine, prepare(engine, generation=generation)) == (True, [])


@pytest.mark.parametrize(
    ("word", "bit", "text"),
    [
        (0, 0, "layer type"),
        (0, 1, "output planes at given offsets, on V8"),
        (0, 28, "bits 27..29"),
        (0, 30, "PReLU"),
        (0, 31, "layer flush"),
        (1, 0, "kernel type"),
        (1, 3, "input type"),
        (1, 5, "output type"),
        (2, 7, "brick mode"),
        (4, 14, "rounding mode"),
        (4, 15, "rounding mode"),
        (15, 0, "border mode"),
        (15, 10, "border constant 256"),
        (15, 17, "border constant 32768"),
        (15, 19, "element types"),
        (15, 21, "element types"),
        (18, 26, "multiplier per channel"),
    ],
)
def test_fields_that_ask_for_what_is_not_modelled(
    engine: NnEngine, word: int, bit: int, text: str
) -> None:
    fields = prepare(engine)
    fields.extra = {word: 1 << bit}
    refused(engine, fields, text)


def test_v7_has_no_depthwise_kernels(engine: NnEngine) -> None:
    fields = prepare(engine, generation=V7)
    fields.depthwise = 1
    refused(engine, fields, "depthwise, on V7")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kernel": (0, 3)}, "kernel x size is 0"),
        ({"kernel": (3, 0)}, "kernel y size is 0"),
        ({"channels": 0}, "kernel z size is 0"),
        ({"kernels": 0}, "output z size is 0"),
        ({"per_core": 0}, "kernels per core is 0"),
        ({"in_size": (0, 4)}, "input width is 0"),
        ({"in_size": (5, 0)}, "input height is 0"),
        ({"out_size": (0, 2)}, "output width is 0"),
        ({"out_size": (3, 0)}, "output height is 0"),
        ({"out_strides": (2, 2)}, "output x stride 2"),
        ({"out_strides": (3, 1)}, "output y stride 1"),
        ({"pooling": 2}, "bits 27..29"),
        ({"in_ring": (0x10000, 0x8000)}, "words 20, 21: ring"),
        ({"out_ring": (0x10000, 0x8000)}, "words 18, 19: ring"),
        ({"channels": 1 << 19}, "kernels of 4718592 weights"),
    ],
)
def test_sizes(engine: NnEngine, change: dict[str, object], text: str) -> None:
    fields = prepare(engine)
    for name, value in change.items():
        setattr(fields, name, value)
    refused(engine, fields, text)


def test_limits_of_work(engine: NnEngine) -> None:
    fields = prepare(engine)
    macs = 3 * 2 * 5 * 18
    engine.max_macs = macs
    assert run_fields(engine, fields) == (True, [])
    engine.max_macs = macs - 1
    refused(engine, fields, "30 outputs of 18 products are more")
    engine.max_macs = 1 << 36
    engine.max_elements = 50
    refused(engine, fields, "more than is emulated")
    engine.max_elements = 1 << 20
    engine.max_bytes = 500
    refused(engine, fields, "too large to emulate")


def test_largest_fields_are_refused_at_once(engine: NnEngine) -> None:
    # Products of all sizes at their largest pass 2^64.
    fields = prepare(engine)
    fields.kernel, fields.kernels, fields.channels = (15, 15), 0x3FFF, 0xFFFFF
    fields.out_size = fields.in_size = (8191, 8191)
    fields.out_strides = (0xFFFF, 0xFFFF)
    refused(engine, fields, "weights are more than is emulated")
    fields.channels = 1000
    refused(engine, fields, "products are more than is emulated")


def test_memory_that_is_not_there(engine: NnEngine) -> None:
    size = engine.memory.size
    for name, at in (("in_address", size - 16), ("out_address", size - 16), ("coefficients", size)):
        fields = prepare(engine)
        setattr(fields, name, at)
        ok, errors = run_fields(engine, fields)
        assert not ok and len(errors) == 1
        assert ("write" if name == "out_address" else "read") in errors[0]


def set_byte(at: int, value: int) -> Callable[[bytearray], None]:
    def patch(blob: bytearray) -> None:
        blob[at] = value

    return patch


def set_word(at: int, add: int) -> Callable[[bytearray], None]:
    def patch(blob: bytearray) -> None:
        value = int.from_bytes(blob[at : at + 4], "little") + add
        blob[at : at + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")

    return patch


def flip_kernel_count(blob: bytearray) -> None:
    # Another map of the same symbols turns all bytes into others.
    blob[20:24] = blob[20:24][::-1]


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        (set_byte(0, 0x11), "first byte 0x11"),
        (set_byte(1, 5), "run-length table of 5 entries"),
        (set_byte(20, 0), "symbol map"),
        (set_byte(20, 0xF8), "symbol map"),
        (set_byte(24, 1), "average bias 1"),
        (set_byte(26, 1), "bytes 26, 27"),
        (set_word(28, -8), "too early"),
        (set_word(28, 8), "left behind"),
        (set_word(28, 1 << 20), "its kernels take at most"),
        (flip_kernel_count, "core 0"),
    ],
)
def test_damaged_v8_coefficients(
    engine: NnEngine, patch: Callable[[bytearray], None], text: str
) -> None:
    refused(engine, prepare(engine, patch=patch), text)


def test_a_v8_stream_of_a_core_without_kernels(engine: NnEngine) -> None:
    # One kernel: core 0 has it, core 1 must have no bits.
    fields = NnFields(out_size=(5, 4))
    weights = np.full((1, 2, 1, 1), 3, np.uint8)
    fill_in(fields, IMAGE, weights)
    blob = bytearray(make_blob(fields, weights, [0]))
    blob[32] = 1
    store(engine, fields, IMAGE, bytes(blob))
    refused(engine, fields, "core 1 has 1 bits")


def test_v8_kernel_counts_must_match(engine: NnEngine) -> None:
    fields = prepare(engine)
    other = NnFields(out_size=(3, 2), per_core=2, shift=6)
    fill_in(other, IMAGE, WEIGHTS[:4])
    blob = make_blob(other, WEIGHTS[:4], [1, 2, 3, 4])
    store(engine, fields, IMAGE, blob)
    refused(engine, fields, "core 0")


def test_v8_run_past_the_end(engine: NnEngine) -> None:
    # All weights are zero points: longer runs than there are weights.
    fields = NnFields(out_size=(5, 4), weight_zero=2)
    weights = np.full((1, 2, 1, 1), 2, np.uint8)
    fill_in(fields, IMAGE, weights)
    blob = bytearray(make_blob(fields, weights, [0], table_size=4))
    blob[2:6] = bytes([200, 201, 202, 203])
    store(engine, fields, IMAGE, bytes(blob))
    refused(engine, fields, "a run passes the last weight")


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        (set_word(4, 1), "expected a multiple of 64"),
        (set_word(4, 1 << 24), "expected a multiple of 64 up to"),
        (set_word(4, 64), "core 1"),
        (set_byte(64, 9), "run lengths of more than 8 bits"),
        (set_byte(66, 0x40), "more kernels than the descriptor"),
    ],
)
def test_damaged_v7_coefficients(
    engine: NnEngine, patch: Callable[[bytearray], None], text: str
) -> None:
    def first_used(blob: bytearray) -> None:
        # Kernels are dealt out at random: core 1 is the first to have some.
        assert not any(blob[:4]) and blob[4]
        patch(blob)

    refused(engine, prepare(engine, patch=first_used, generation=V7), text)


def test_v7_planes_must_be_a_permutation(engine: NnEngine) -> None:
    fields = NnFields(generation=V7, out_size=(3, 2), per_core=2, shift=6)
    fill_in(fields, IMAGE, WEIGHTS)
    for planes in ([0, 1, 2, 3, 3], [0, 1, 2, 3, 5]):
        store(engine, fields, IMAGE, make_blob(fields, WEIGHTS, [0] * 5, planes=planes))
        refused(engine, fields, "no free plane of 6 bytes")


def place(engine: NnEngine, fields: NnFields, header: bytes, stream: BitWriter) -> None:
    """A blob of one core's stream and one kernel that starts with 0."""
    store(engine, fields, IMAGE[:1], header + stream.bytes() + bytes(4))


def single(generation: int = V8) -> NnFields:
    """One kernel of one weight."""
    fields = NnFields(generation=generation, out_size=(5, 4))
    fill_in(fields, IMAGE[:1], np.ones((1, 1, 1, 1), np.uint8))
    return fields


@pytest.mark.parametrize(("last", "text"), [(0, None), (5, "a weight behind the last one")])
def test_v8_symbol_behind_the_last_weight(engine: NnEngine, last: int, text: str | None) -> None:
    # 2 bytes of count and a block of 9: the 12th symbol fills up the last pair.
    coder = HuffmanCoder(random.Random(3), 0)
    stream = coder.stream(bytes([1, 0, 1, *[0] * 8, last]))
    fields = single()
    header = coder.header() + stream.length.to_bytes(4, "little")
    place(engine, fields, header.ljust(64, b"\0"), stream)
    if text is None:
        assert run_fields(engine, fields) == (True, [])
    else:
        refused(engine, fields, text)


@pytest.mark.parametrize(("run", "text"), [(0, None), (2, "a run passes the last weight")])
def test_v7_run_past_the_end(engine: NnEngine, run: int, text: str | None) -> None:
    bits = BitWriter()
    for value, count in ((3, 8), (1, 16), (run, 3), (7, 8), (0, 32), (0, 32)):
        bits.put(value, count)
    fields = single(V7)
    place(engine, fields, (64).to_bytes(4, "little").ljust(64, b"\0"), bits)
    if text is None:
        assert run_fields(engine, fields) == (True, [])
    else:
        refused(engine, fields, text)


def test_v7_with_too_few_kernels(engine: NnEngine) -> None:
    fields = prepare(engine, generation=V7)
    other = NnFields(generation=V7, out_size=(3, 2), per_core=2, shift=6)
    fill_in(other, IMAGE, WEIGHTS[:4])
    store(engine, fields, IMAGE, make_blob(other, WEIGHTS[:4], [1, 2, 3, 4]))
    refused(engine, fields, "the cores have 4 kernels, the descriptor 5")


def test_v8_biases_outside_the_memory(engine: NnEngine) -> None:
    fields = prepare(engine)
    blob = make_blob(fields, WEIGHTS, [0] * 5)
    fields.coefficients = engine.memory.size - len(blob) // 64 * 64
    start = fields.coefficients
    engine.memory[start:] = np.frombuffer(blob, np.uint8)[: engine.memory.size - start]
    refused(engine, fields, "read of")


def test_cores(engine: NnEngine) -> None:
    fields = prepare(engine)
    for cores, config, text in (
        (4, 3 << 8, "jobs on some of the 4 cores"),
        (0, 0, "0 cores are not modelled"),
        (17, 0, "17 cores are not modelled"),
    ):
        engine.errors.clear()
        ok, _ = engine.run(fields.words(), V8, cores, config)
        assert not ok and text in engine.errors[0]
    assert engine.run(fields.words(), V8, 4, 4 << 8)[0]


def damage(rng: random.Random, words: list[int], memory: np.ndarray, blob: int) -> None:
    """Flip some bits of the descriptor, the coefficients, or both."""
    for _ in range(rng.choice([0, 1, 1, 2])):
        words[rng.choice([0, 0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 18, 19, 20, 21, 22])] ^= (
            1 << rng.randrange(32)
        )
    for _ in range(rng.choice([0, 1, 3])):
        memory[blob + rng.choice([rng.randrange(64), rng.randrange(3000)])] ^= 1 << rng.randrange(8)


def test_damaged_jobs_are_computed_like_the_reference_or_refused(engine: NnEngine) -> None:
    engine.max_macs = 1 << 26
    engine.max_elements = 1 << 21
    counts = {True: 0, False: 0}
    for seed in range(FIRST, FIRST + COUNT):
        job = random_job(seed)
        rng = random.Random(seed)
        words = job.fields.words()
        damaged = job.memory.copy()
        damage(rng, words, damaged, job.fields.coefficients)
        engine.memory = damaged.copy()
        engine.errors.clear()
        ok, _ = engine.run(words, job.fields.generation, job.cores, job.nn_config)
        counts[ok] += 1
        if not ok:
            assert len(engine.errors) == 1, f"seed {seed}"
            continue
        memory = Memory()
        expected = memory.add(DRAM, 0, damaged.size)
        expected[:] = damaged
        try:
            run_nn_job(words, memory, job.fields.generation, job.cores, job.nn_config)
        except (ReferenceGuestError, ReferenceUnsupported) as error:
            pytest.fail(f"seed {seed}: only the reference refuses: {error}")
        np.testing.assert_array_equal(engine.memory, expected, f"seed {seed}")
    assert min(counts.values()) > COUNT // 8  # both kinds are met
