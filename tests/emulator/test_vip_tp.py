"""TP jobs made by hand: every rule that graphs rarely exercise, with expected bytes.

Expected values are worked out in the comments or with NumPy indexing; random jobs are
compared with the plain reference (fwgen.reference.vip).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fwgen.check.random_vip_tp import TpFields, fc_blob, fc_fields, random_table, random_tp_job
from fwgen.reference.nvdla.memory import DRAM, Memory, ReferenceGuestError
from fwgen.reference.vip.tp import run_tp_job

from .vip_device import BASE, DESCRIPTOR, EVENT, SIZE, SOURCE, TABLE, TARGET, Vip, tp_job

DONE = 1 << EVENT
AXI_ERROR = 1 << 31
ONE = 15 << 15  # 1.0 in a look-up table
FUZZ = int(os.environ.get("FWGEN_VIP_TP_CASES", "60"))


@pytest.fixture
def vip(model_library: Path) -> Iterator[Vip]:
    """A B5."""
    device = Vip(model_library)
    yield device
    device.accelerator.close()


@pytest.fixture
def pixels(vip: Vip) -> Callable[[int, int, int], np.ndarray]:
    """Stores random planes at SOURCE and returns them, (z, y, x)."""

    def make(planes: int, height: int, width: int) -> np.ndarray:
        data = np.random.default_rng(width * height).integers(
            0, 256, (planes, height, width), np.uint8
        )
        vip.put(SOURCE, data.tobytes())
        return data

    return make


def output(vip: Vip, *shape: int) -> np.ndarray:
    return vip.view(TARGET, int(np.prod(shape))).reshape(shape)


def one(vip: Vip, job: TpFields, value: int) -> int:
    """The value function at one byte."""
    vip.put(SOURCE, bytes([value]))
    assert vip.run_tp(replace(job, width=1, height=1).words()) == DONE
    assert vip.errors() == []
    return int(vip.view(TARGET, 1)[0])


def test_copy(vip: Vip, pixels) -> None:
    data = pixels(3, 4, 8)
    vip.view(TARGET, 4 * 8 * 3 + 1)[:] = 0xEE
    job = tp_job(planes=3, increments=(0, 1, 8, 0, 0, 0, 32), counts=(1, 8, 4, 1, 1, 1))
    assert vip.run_tp(job.words()) == DONE
    assert np.array_equal(output(vip, 3, 4, 8), data)
    assert vip.view(TARGET + 96, 1)[0] == 0xEE
    (operation,) = vip.operations()
    assert (operation.unit, operation.bytes_read, operation.bytes_written) == ("TP", 96, 96)


def test_border_constant_is_the_input_zero_point(vip: Vip, pixels) -> None:
    data = pixels(1, 4, 8)
    # Zero points 7 and 9: pixels move by 2, the border becomes 9.
    job = tp_job(window=(-1, -2, 8, 4), in_zero=7, out_zero=9)
    assert vip.run_tp(job.words()) == DONE
    expected = np.full((7, 10), 9)
    expected[2:6, 1:9] = np.clip(data[0].astype(int) + 2, 0, 255)
    assert np.array_equal(output(vip, 7, 10), expected)


def test_border_replicates_the_edge(vip: Vip, pixels) -> None:
    data = pixels(1, 4, 8)
    job = tp_job(window=(-3, -1, 10, 5), replicate=True)
    assert vip.run_tp(job.words()) == DONE
    assert np.array_equal(output(vip, 7, 14), np.pad(data[0], ((1, 2), (3, 3)), mode="edge"))


@pytest.mark.parametrize("start", [-4, 9])
def test_window_wholly_beside_the_image(vip: Vip, pixels, start: int) -> None:
    data = pixels(1, 4, 8)
    job = tp_job(window=(start, 0, start + 1, 3), replicate=True)
    assert vip.run_tp(job.words()) == DONE
    edge = data[0][:, 0 if start < 0 else 7]
    assert np.array_equal(output(vip, 4, 2), np.stack([edge, edge], 1))
    assert vip.run_tp(replace(job, replicate=False, in_zero=3, out_zero=3).words()) == DONE
    assert (output(vip, 8) == 3).all()


def test_maximum_with_stride_2(vip: Vip, pixels) -> None:
    data = pixels(1, 5, 7)[0]
    job = tp_job(width=7, height=5, process=(3, 3), taps=(3, 3))
    assert vip.run_tp(job.words()) == DONE
    expected = [[data[y : y + 3, x : x + 3].max() for x in (0, 2, 4)] for y in (0, 2)]
    assert np.array_equal(output(vip, 2, 3), expected)


def test_a_tile_with_fewer_rows_than_taps_is_not_run(vip: Vip, pixels) -> None:
    """Five rows in tiles of 3, step 2: tiles at 0 and 2; at 4 one row is left."""
    data = pixels(1, 5, 6)[0]
    vip.view(TARGET, 64)[:] = 0xEE
    job = tp_job(
        width=6, height=5, process=(1, 1), taps=(3, 3), tile=(6, 3), step=(6, 2),
        increments=(0, 1, 4, 0, 0, 0, 0),
    )  # fmt: skip
    assert vip.run_tp(job.words()) == DONE
    expected = [[data[y : y + 3, x : x + 3].max() for x in range(4)] for y in (0, 2)]
    assert np.array_equal(output(vip, 2, 4), expected)
    assert (vip.view(TARGET + 8, 56) == 0xEE).all()


def test_a_tile_that_is_not_run_counts_for_no_loop(vip: Vip, pixels) -> None:
    """Two planes of two tiles: loop 3 counts four tiles, not six."""
    data = pixels(2, 5, 6)
    vip.view(TARGET, 96)[:] = 0xEE
    job = tp_job(
        width=6, height=5, planes=2, process=(1, 1), taps=(3, 3), tile=(6, 3), step=(6, 2),
        increments=(0, 1, 4, 16, 0, 0, 0), counts=(1, 0, 0, 0, 1, 1),
        resets=(True, True, False),
    )  # fmt: skip
    assert vip.run_tp(job.words()) == DONE
    for tile in range(4):
        plane, y = data[tile // 2], tile % 2 * 2
        row = [int(plane[y : y + 3, x : x + 3].max()) for x in range(4)]
        assert vip.view(TARGET + 16 * tile, 16).tolist() == [*row, *[0xEE] * 12]
    assert (vip.view(TARGET + 64, 32) == 0xEE).all()


def test_a_tile_with_fewer_columns_than_taps_is_not_run(vip: Vip, pixels) -> None:
    """Seven columns in tiles of 4, step 3, 3 taps: tiles at 0 and 3; at 6 one is left."""
    data = pixels(1, 3, 7)[0]
    vip.view(TARGET, 64)[:] = 0xEE
    job = tp_job(width=7, height=3, process=(1, 0), taps=(3, 1), tile=(4, 3), step=(3, 3))
    assert vip.run_tp(job.words()) == DONE
    expected = [data[y, x : x + 3].max() for t in (0, 3) for y in range(3) for x in (t, t + 1)]
    assert vip.view(TARGET, 12).tolist() == [int(v) for v in expected]
    assert (vip.view(TARGET + 12, 52) == 0xEE).all()


def test_the_first_tile_is_visited_even_if_too_small(vip: Vip, pixels) -> None:
    pixels(1, 2, 4)
    vip.view(TARGET, 64)[:] = 0xEE
    job = tp_job(width=4, height=2, process=(1, 1), taps=(3, 3))
    assert vip.run_tp(job.words()) == DONE
    assert vip.errors() == []
    assert (vip.view(TARGET, 64) == 0xEE).all()


def test_output_ring_holds_every_store(vip: Vip, pixels) -> None:
    data = pixels(1, 8, 64)[0]
    vip.memory[TARGET - BASE - 4096 : TARGET - BASE + 4096] = 0xEE
    end = TARGET + 128
    job = tp_job(width=64, height=8, target=TARGET + 64, out_ring=(128 >> 6, end >> 6))
    assert vip.run_tp(job.words()) == DONE
    # Row r goes to 64 + 64 r, taken modulo the ring of two rows: the last ones stay.
    assert np.array_equal(vip.view(TARGET, 64), data[7])
    assert np.array_equal(vip.view(TARGET + 64, 64), data[6])
    assert (vip.view(TARGET - 4096, 4096) == 0xEE).all()
    assert (vip.view(end, 3968) == 0xEE).all()


def test_input_ring_breaks_a_row(vip: Vip) -> None:
    ring = np.arange(128, dtype=np.uint8)
    vip.put(SOURCE, ring.tobytes())
    end = SOURCE + 128
    job = tp_job(width=100, height=3, source=SOURCE + 90, in_ring=(128 >> 6, end >> 6))
    assert vip.run_tp(job.words()) == DONE
    assert output(vip, 300).tolist() == [int(ring[(90 + i) % 128]) for i in range(300)]


def test_transpose_by_increments(vip: Vip, pixels) -> None:
    data = pixels(2, 4, 8)  # z, y, x -> x, y, z
    job = tp_job(planes=2, increments=(0, 8, 2, 0, 0, 0, 1), counts=(1, 8, 4, 1, 1, 1))
    assert vip.run_tp(job.words()) == DONE
    assert np.array_equal(output(vip, 8, 4, 2), data.transpose(2, 1, 0))


def test_negative_increments(vip: Vip, pixels) -> None:
    data = pixels(1, 4, 8)[0]
    job = tp_job(target=TARGET + 31, increments=(0, -1 & 0xFFFFFFFF, 0, 0, 0, 0, 0))
    assert vip.run_tp(job.words()) == DONE
    assert np.array_equal(output(vip, 32), data.reshape(-1)[::-1])


def test_space_to_depth_with_resets(vip: Vip, pixels) -> None:
    data = pixels(2, 4, 8)
    job = tp_job(
        planes=2,
        increments=(8, 1, 16, 4, 0, 0, 32),
        counts=(2, 4, 2, 2, 1, 1),
        resets=(True, False, True),
    )
    assert vip.run_tp(job.words()) == DONE
    parts = [data[z, py::2, px::2] for z in (0, 1) for py in (0, 1) for px in (0, 1)]
    assert np.array_equal(output(vip, 8, 2, 4), np.stack(parts))


# ---- the value function ----


def test_rounding_comes_after_the_zero_point(vip: Vip) -> None:
    """1 / 2 + 1 = 1.5, to even: 2. Rounded before the zero point it would be 0 + 1."""
    assert one(vip, tp_job(shift=1, out_zero=1), 1) == 2


def test_a_sum_has_15_fraction_bits(vip: Vip) -> None:
    """1.498993 + 128 lies nearer to 129.5 than to any other multiple of 2^-8, then 130."""
    assert one(vip, tp_job(multiplier=16351, out_zero=128), 1) == 130


def test_negative_shift(vip: Vip) -> None:
    assert one(vip, tp_job(shift=-5 & 0x7F), 3) == 96
    assert one(vip, tp_job(shift=-64 & 0x7F, in_zero=3, out_zero=9), 3) == 9
    assert one(vip, tp_job(shift=-64 & 0x7F, in_zero=3), 4) == 255
    assert one(vip, tp_job(shift=-64 & 0x7F, in_zero=3, out_zero=200), 2) == 0
    assert one(vip, tp_job(shift=63, out_zero=200), 255) == 200


def table(vip: Vip, entries: dict[int, int]) -> int:
    words = [0] * 1026
    for index, entry in entries.items():
        words[index] = entry
    vip.put_words(TABLE, words)
    return TABLE


def test_table_value_is_cut_not_rounded(vip: Vip) -> None:
    """255 is 0x5bf8: entry 367, fraction 56/64, from 1 to 1 + 2^-15: cut to 1.

    Half of it is 0.5, to even 0; a rounded value would give 1."""
    at = table(vip, {367: ONE, 368: ONE | 1})
    assert one(vip, tp_job(table=at, sign_support=True, shift=1), 255) == 0
    # The same with a value that is exact: 1 + 2^-15.
    at = table(vip, {367: ONE | 1, 368: ONE | 1})
    assert one(vip, tp_job(table=at, sign_support=True, shift=1), 255) == 1


def test_table_entries_can_be_denormal(vip: Vip) -> None:
    """3 * 2^-29 * 2^28 = 1.5, to even: 2."""
    at = table(vip, {367: 3, 368: 3})
    assert one(vip, tp_job(table=at, sign_support=True, shift=-28 & 0x7F), 255) == 2


def test_table_exponent_31_is_a_number(vip: Vip) -> None:
    """2^16 / 2^9 = 128."""
    at = table(vip, {367: 31 << 15, 368: 31 << 15})
    assert one(vip, tp_job(table=at, sign_support=True, shift=9), 255) == 128


def test_table_interpolates_exactly_across_magnitudes(vip: Vip) -> None:
    """From 2^-29 to 2^16 at 56/64: 57344 and a little, / 2^8 = 224."""
    at = table(vip, {367: 1, 368: 31 << 15})
    assert one(vip, tp_job(table=at, sign_support=True, shift=8), 255) == 224


def test_table_with_sign_has_negative_inputs_in_its_second_half(vip: Vip) -> None:
    """-1 is 0xbc00: entry 752."""
    at = table(vip, {240: ONE, 752: ONE + (1 << 15)})
    job = tp_job(table=at, sign_support=True, in_zero=10)
    assert one(vip, job, 9) == 2
    assert one(vip, job, 11) == 1


def test_table_without_sign_is_odd(vip: Vip) -> None:
    """1 is 0x3c00: entry 480. -1 gives the negative of it."""
    at = table(vip, {480: ONE + (1 << 15)})
    job = tp_job(table=at, in_zero=10, out_zero=100)
    assert one(vip, job, 11) == 102
    assert one(vip, job, 9) == 98
    assert one(vip, job, 10) == 100


# ---- what is refused ----


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (tp_job(patches={(6, 0, 2): 1}), "tile sequence"),
        (tp_job(patches={(6, 2, 1): 1}), "tile list in memory"),
        (tp_job(patches={(6, 28, 1): 1}), "multiplication"),
        (tp_job(patches={(6, 6, 3): 2}), "horizontal processing"),
        (tp_job(patches={(6, 16, 2): 2}), "vertical processing"),
        (tp_job(patches={(12, 29, 1): 1}), "relu"),
        (tp_job(patches={(12, 18, 1): 1}), "uint8 only"),
        (tp_job(patches={(24, 5, 5): 4}), "pre-shift"),
        (tp_job(patches={(24, 15, 9): 6}), "reordering"),
        (tp_job(patches={(24, 24, 2): 2}), "border mode"),
        (tp_job(patches={(29, 0, 16): 1}), "border constant"),
        (tp_job(patches={(6, 27, 1): 1}), "not loaded"),
        (tp_job(window=(5, 0, 4, 3)), "no columns"),
        (tp_job(window=(0, 3, 7, 2)), "no rows"),
        (tp_job(width=0, window=(0, 0, 1, 1)), "no columns"),
        (tp_job(tile=(0, 1), step=(1, 1)), "tiles of 0 columns"),
        (tp_job(tile=(1, 1), step=(1, 0)), "step 0"),
        (
            tp_job(window=(-32768, -32768, 32767, 32767), tile=(64, 64)),
            "too much to emulate",
        ),
        (
            tp_job(planes=9, window=(0, 0, 32767, 4), tile=(32767, 4), step=(1, 1)),
            "too much to emulate",
        ),
    ],
)
def test_what_is_not_modelled_is_refused(vip: Vip, job: TpFields, text: str) -> None:
    before = vip.memory.copy()
    assert vip.run_tp(job.words()) == AXI_ERROR
    assert text in vip.errors()[0] and f"TP job at 0x{DESCRIPTOR:08x}" in vip.errors()[0]
    vip.memory[: SOURCE - BASE] = before[: SOURCE - BASE]
    assert np.array_equal(vip.memory, before)


def test_table_entries_have_21_bits(vip: Vip) -> None:
    assert vip.run_tp(tp_job(table=table(vip, {5: 1 << 21})).words()) == AXI_ERROR
    assert "entry 5 of the look-up table" in vip.errors()[0]


@pytest.mark.parametrize(
    ("job", "status", "text"),
    [
        (tp_job(source=0x20000000), 0x200, "read of 8 bytes at 0x20000000 is outside the memory"),
        (tp_job(target=BASE + SIZE - 8), 0x100, "outside the memory"),
        (tp_job(table=0x20000000), 0x200, "read of 4100 bytes"),
        (tp_job(source=0xFFFFFFFC), 0x200, "outside the memory"),
    ],
)
def test_leaving_memory_is_a_bus_error(vip: Vip, job: TpFields, status: int, text: str) -> None:
    assert vip.run_tp(job.words()) == AXI_ERROR
    assert vip.read("HI.AXI_STATUS") == status
    assert text in vip.errors()[0]


# ---- fully connected ----


def run_fc(
    vip: Vip, pixels: list[int], weights: np.ndarray, start: list[int], **fields: int
) -> list[int]:
    """Outputs of a job; in_zero, weight_zero and so on by name."""
    vip.put(SOURCE, bytes(pixels))
    blob = fc_blob(random.Random(len(start)), weights, np.array(start), average=77)
    vip.put(TABLE + 0x1000, blob)
    zero = fields.pop("weight_zero", 0)
    job = fc_fields(len(pixels), len(start), zero, source=SOURCE, target=TARGET, **fields)
    job.patches[(11, 0, 32)] = TABLE + 0x1000
    assert vip.run_tp(job.words()) == DONE, vip.errors()
    return vip.view(TARGET, len(start)).tolist()


def test_fc_sums(vip: Vip) -> None:
    """5 (9 - 2) + 7 (1 - 2) + 100 = 128 and 5 (0 - 2) + 7 (3 - 2) + 20 = 17."""
    weights = np.array([[9, 0], [1, 3]])
    assert run_fc(vip, [5, 7], weights, [100, 20], weight_zero=2) == [128, 17]
    # Less an input zero point of 3: 2 * 7 + 4 * -1 + 100 = 110, 2 * -2 + 4 * 1 + 20 = 20.
    assert run_fc(vip, [5, 7], weights, [100, 20], weight_zero=2, in_zero=3) == [110, 20]
    (_, operation) = vip.operations()
    assert operation.macs == 4


def test_fc_rounds_to_even_after_the_zero_point(vip: Vip) -> None:
    """Sums 1, 3, -1, -3 halved: 1.5, 2.5, 0.5 and -0.5 with zero point 1."""
    weights = np.zeros((1, 4), int)
    assert run_fc(vip, [0], weights, [1, 3, -1, -3], shift=1, out_zero=1) == [2, 2, 0, 0]
    assert run_fc(vip, [0], weights, [1, 3, -1, -3], shift=1, out_zero=2) == [2, 4, 2, 0]


def test_fc_saturates_and_vanishes(vip: Vip) -> None:
    start = [1, -1, 0, 2**31 - 1, -(2**31)]
    weights = np.zeros((1, 5), int)
    assert run_fc(vip, [0], weights, start, shift=-64 & 0x7F, out_zero=9) == [255, 0, 9, 255, 0]
    assert run_fc(vip, [0], weights, start, shift=63, out_zero=9) == [9] * 5


def test_fc_sums_are_exact(vip: Vip) -> None:
    """A sum of 2^24 + 1: a float of 24 bits would lose the 1, which decides the tie."""
    weights = np.zeros((1, 2), int)
    start = [(1 << 24) + 1, 1 << 24]
    assert run_fc(vip, [0], weights, start, shift=25) == [1, 0]


def test_fc_through_rings(vip: Vip) -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 256, (3, 70))
    fields = fc_fields(3, 70, 0, source=SOURCE + 62, target=TARGET + 32)
    fields.in_ring, fields.out_ring = (1, (SOURCE >> 6) + 1), (1, (TARGET >> 6) + 1)
    words = fields.words()
    words[11] = TABLE + 0x1000
    vip.put(words[11], fc_blob(random.Random(1), weights, np.zeros(70, int), 5))
    vip.put(SOURCE, bytes([2, 9, 9, 0]))
    vip.put(SOURCE + 62, bytes([1, 0]))
    assert vip.run_tp(words) == DONE
    sums = np.clip(weights[0] + 2 * weights[2], 0, 255)
    # Output n lies at (32 + n) % 64; the last six replace the first.
    expected = [int(sums[p + 32 if p < 38 else p - 32]) for p in range(64)]
    assert vip.view(TARGET, 64).tolist() == expected


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ({(0, 0, 16): 2}, "wants a vector"),
        ({(1, 16, 16): 0}, "wants a vector"),
        ({(22, 0, 16): 0}, "wants a vector"),
        ({(22, 0, 16): 5}, "FC coefficients: input 0"),
        ({(11, 0, 32): 0x30000000}, "outside the memory"),
        ({(11, 0, 32): SOURCE}, "coefficients"),
    ],
)
def test_fc_that_is_wrong(vip: Vip, patch: dict[tuple[int, int, int], int], text: str) -> None:
    weights = np.zeros((2, 4), int)
    vip.put(TABLE + 0x1000, fc_blob(random.Random(1), weights, np.zeros(4, int), 5))
    fields = fc_fields(2, 4, 0, source=SOURCE, target=TARGET)
    fields.patches |= {(11, 0, 32): TABLE + 0x1000} | patch
    assert vip.run_tp(fields.words()) == AXI_ERROR
    assert text in vip.errors()[0]


# ---- random jobs against the reference ----


def agrees(vip: Vip, words: list[int], what: object) -> int:
    """Runs words on the model and the reference; bytes stored, 0 if it leaves memory."""
    memory = Memory()
    memory.add(DRAM, BASE, SIZE)[:] = vip.memory
    try:
        run_tp_job(words, memory)
    except ReferenceGuestError:
        return 0
    assert vip.run_tp(words) == DONE, (what, vip.errors())
    got = vip.memory[TABLE - BASE :]
    expected = memory.gather(DRAM, np.arange(TABLE, BASE + SIZE))
    assert np.array_equal(got, expected), (what, words, np.flatnonzero(got != expected)[:5])
    return vip.operations()[0].bytes_written


def test_random_jobs_match_the_reference(vip: Vip) -> None:
    rng = np.random.default_rng(20240607)
    stores = 0
    for number in range(FUZZ):
        vip.memory[:] = rng.integers(0, 256, SIZE, np.uint8)
        words = random_tp_job(rng, SOURCE, TARGET, TABLE).words()
        vip.put(TABLE, random_table(rng).tobytes())
        stores += agrees(vip, words, number)
    assert stores > FUZZ * 20


def test_random_fc_jobs_match_the_reference(vip: Vip) -> None:
    rng = np.random.default_rng(77)
    for number in range(max(10, FUZZ // 4)):
        inputs, outputs = int(rng.integers(1, 40)), int(rng.integers(1, 300))
        vip.memory[:] = rng.integers(0, 256, SIZE, np.uint8)
        weights = rng.integers(0, 256, (inputs, outputs))
        weights[rng.random(weights.shape) < 0.5] = 100
        start = rng.integers(-(2**20), 2**20, outputs)
        average = int(rng.choice([100, rng.integers(0, 256)]))
        vip.put(TABLE + 0x1000, fc_blob(random.Random(number), weights, start, average))
        fields = fc_fields(
            inputs, outputs, int(rng.integers(0, 256)), source=SOURCE, target=TARGET,
            in_zero=int(rng.integers(0, 256)), out_zero=int(rng.integers(0, 256)),
            multiplier=int(rng.integers(0, 1 << 15)), shift=int(rng.integers(8, 16)),
        )  # fmt: skip
        fields.patches[(11, 0, 32)] = TABLE + 0x1000
        assert agrees(vip, fields.words(), number) == outputs
