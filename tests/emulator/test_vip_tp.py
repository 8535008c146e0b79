"""TP jobs made by hand: every rule that graphs rarely exercise, with expected bytes.

Expected values are worked out in the comments or with NumPy indexing; random jobs are
compared with the plain reference (fwgen.reference.vip).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fwgen.reference.nvdla.memory import DRAM, Memory, ReferenceGuestError
from fwgen.reference.vip.tp import run_tp_job

from .vip_device import BASE, DESCRIPTOR, EVENT, SIZE, SOURCE, TABLE, TARGET, TpJob, Vip

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


def one(vip: Vip, job: TpJob, value: int) -> int:
    """The value function at one byte."""
    vip.put(SOURCE, bytes([value]))
    assert vip.run_tp(replace(job, width=1, height=1).words()) == DONE
    assert vip.errors() == []
    return int(vip.view(TARGET, 1)[0])


def test_copy(vip: Vip, pixels) -> None:
    data = pixels(3, 4, 8)
    vip.view(TARGET, 4 * 8 * 3 + 1)[:] = 0xEE
    job = TpJob(planes=3, increments=(0, 1, 8, 0, 0, 0, 32), counts=(1, 8, 4, 1, 1, 1))
    assert vip.run_tp(job.words()) == DONE
    assert np.array_equal(output(vip, 3, 4, 8), data)
    assert vip.view(TARGET + 96, 1)[0] == 0xEE
    (operation,) = vip.operations()
    assert (operation.unit, operation.bytes_read, operation.bytes_written) == ("TP", 96, 96)


def test_border_constant_is_the_input_zero_point(vip: Vip, pixels) -> None:
    data = pixels(1, 4, 8)
    # Zero points 7 and 9: pixels move by 2, the border becomes 9.
    job = TpJob(window=(-1, -2, 8, 4), in_zero=7, out_zero=9)
    assert vip.run_tp(job.words()) == DONE
    expected = np.full((7, 10), 9)
    expected[2:6, 1:9] = np.clip(data[0].astype(int) + 2, 0, 255)
    assert np.array_equal(output(vip, 7, 10), expected)


def test_border_replicates_the_edge(vip: Vip, pixels) -> None:
    data = pixels(1, 4, 8)
    job = TpJob(window=(-3, -1, 10, 5), replicate=True)
    assert vip.run_tp(job.words()) == DONE
    assert np.array_equal(output(vip, 7, 14), np.pad(data[0], ((1, 2), (3, 3)), mode="edge"))


@pytest.mark.parametrize("start", [-4, 9])
def test_window_wholly_beside_the_image(vip: Vip, pixels, start: int) -> None:
    data = pixels(1, 4, 8)
    job = TpJob(window=(start, 0, start + 1, 3), replicate=True)
    assert vip.run_tp(job.words()) == DONE
    edge = data[0][:, 0 if start < 0 else 7]
    assert np.array_equal(output(vip, 4, 2), np.stack([edge, edge], 1))
    assert vip.run_tp(replace(job, replicate=False, in_zero=3, out_zero=3).words()) == DONE
    assert (output(vip, 8) == 3).all()


def test_maximum_with_stride_2(vip: Vip, pixels) -> None:
    data = pixels(1, 5, 7)[0]
    job = TpJob(width=7, height=5, process=(3, 3), taps=(3, 3))
    assert vip.run_tp(job.words()) == DONE
    expected = [[data[y : y + 3, x : x + 3].max() for x in (0, 2, 4)] for y in (0, 2)]
    assert np.array_equal(output(vip, 2, 3), expected)


def test_a_tile_with_fewer_rows_than_taps_is_not_run(vip: Vip, pixels) -> None:
    """Five rows in tiles of 3, step 2: tiles at 0 and 2; at 4 one row is left."""
    data = pixels(1, 5, 6)[0]
    vip.view(TARGET, 64)[:] = 0xEE
    job = TpJob(
        width=6, height=5, process=(1, 1), taps=(3, 3), tile=(6, 3), step=(6, 2),
        increments=(0, 1, 4, 0, 0, 0, 0),
    )  # fmt: skip
    assert vip.run_tp(job.words()) == DONE
    expected = [[data[y : y + 3, x : x + 3].max() for x in range(4)] for y in (0, 2)]
    assert np.array_equal(output(vip, 2, 4), expected)
    assert (vip.view(TARGET + 8, 56) == 0xEE).all()


def test_a_tile_with_fewer_columns_than_taps_is_not_run(vip: Vip, pixels) -> None:
    """Seven columns in tiles of 4, step 3, 3 taps: tiles at 0 and 3; at 6 one is left."""
    data = pixels(1, 3, 7)[0]
    vip.view(TARGET, 64)[:] = 0xEE
    job = TpJob(width=7, height=3, process=(1, 0), taps=(3, 1), tile=(4, 3), step=(3, 3))
    assert vip.run_tp(job.words()) == DONE
    expected = [data[y, x : x + 3].max() for t in (0, 3) for y in range(3) for x in (t, t + 1)]
    assert vip.view(TARGET, 12).tolist() == [int(v) for v in expected]
    assert (vip.view(TARGET + 12, 52) == 0xEE).all()


def test_the_first_tile_is_visited_even_if_too_small(vip: Vip, pixels) -> None:
    pixels(1, 2, 4)
    vip.view(TARGET, 64)[:] = 0xEE
    job = TpJob(width=4, height=2, process=(1, 1), taps=(3, 3))
    assert vip.run_tp(job.words()) == DONE
    assert vip.errors() == []
    assert (vip.view(TARGET, 64) == 0xEE).all()


def test_output_ring_holds_every_store(vip: Vip, pixels) -> None:
    data = pixels(1, 8, 64)[0]
    vip.memory[TARGET - BASE - 4096 : TARGET - BASE + 4096] = 0xEE
    end = TARGET + 128
    job = TpJob(width=64, height=8, target=TARGET + 64, out_ring=(128 >> 6, end >> 6))
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
    job = TpJob(width=100, height=3, source=SOURCE + 90, in_ring=(128 >> 6, end >> 6))
    assert vip.run_tp(job.words()) == DONE
    assert output(vip, 300).tolist() == [int(ring[(90 + i) % 128]) for i in range(300)]


def test_transpose_by_increments(vip: Vip, pixels) -> None:
    data = pixels(2, 4, 8)  # z, y, x -> x, y, z
    job = TpJob(planes=2, increments=(0, 8, 2, 0, 0, 0, 1), counts=(1, 8, 4, 1, 1, 1))
    assert vip.run_tp(job.words()) == DONE
    assert np.array_equal(output(vip, 8, 4, 2), data.transpose(2, 1, 0))


def test_negative_increments(vip: Vip, pixels) -> None:
    data = pixels(1, 4, 8)[0]
    job = TpJob(target=TARGET + 31, increments=(0, -1 & 0xFFFFFFFF, 0, 0, 0, 0, 0))
    assert vip.run_tp(job.words()) == DONE
    assert np.array_equal(output(vip, 32), data.reshape(-1)[::-1])


def test_space_to_depth_with_resets(vip: Vip, pixels) -> None:
    data = pixels(2, 4, 8)
    job = TpJob(
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
    assert one(vip, TpJob(shift=1, out_zero=1), 1) == 2


def test_a_sum_has_15_fraction_bits(vip: Vip) -> None:
    """1.498993 + 128 lies nearer to 129.5 than to any other multiple of 2^-8, then 130."""
    assert one(vip, TpJob(multiplier=16351, out_zero=128), 1) == 130


def test_negative_shift(vip: Vip) -> None:
    assert one(vip, TpJob(shift=-5 & 0x7F), 3) == 96
    assert one(vip, TpJob(shift=-64 & 0x7F, in_zero=3, out_zero=9), 3) == 9
    assert one(vip, TpJob(shift=-64 & 0x7F, in_zero=3), 4) == 255
    assert one(vip, TpJob(shift=-64 & 0x7F, in_zero=3, out_zero=200), 2) == 0
    assert one(vip, TpJob(shift=63, out_zero=200), 255) == 200


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
    assert one(vip, TpJob(table=at, sign_support=True, shift=1), 255) == 0
    # The same with a value that is exact: 1 + 2^-15.
    at = table(vip, {367: ONE | 1, 368: ONE | 1})
    assert one(vip, TpJob(table=at, sign_support=True, shift=1), 255) == 1


def test_table_entries_can_be_denormal(vip: Vip) -> None:
    """3 * 2^-29 * 2^28 = 1.5, to even: 2."""
    at = table(vip, {367: 3, 368: 3})
    assert one(vip, TpJob(table=at, sign_support=True, shift=-28 & 0x7F), 255) == 2


def test_table_exponent_31_is_a_number(vip: Vip) -> None:
    """2^16 / 2^9 = 128."""
    at = table(vip, {367: 31 << 15, 368: 31 << 15})
    assert one(vip, TpJob(table=at, sign_support=True, shift=9), 255) == 128


def test_table_interpolates_exactly_across_magnitudes(vip: Vip) -> None:
    """From 2^-29 to 2^16 at 56/64: 57344 and a little, / 2^8 = 224."""
    at = table(vip, {367: 1, 368: 31 << 15})
    assert one(vip, TpJob(table=at, sign_support=True, shift=8), 255) == 224


def test_table_with_sign_has_negative_inputs_in_its_second_half(vip: Vip) -> None:
    """-1 is 0xbc00: entry 752."""
    at = table(vip, {240: ONE, 752: ONE + (1 << 15)})
    job = TpJob(table=at, sign_support=True, in_zero=10)
    assert one(vip, job, 9) == 2
    assert one(vip, job, 11) == 1


def test_table_without_sign_is_odd(vip: Vip) -> None:
    """1 is 0x3c00: entry 480. -1 gives the negative of it."""
    at = table(vip, {480: ONE + (1 << 15)})
    job = TpJob(table=at, in_zero=10, out_zero=100)
    assert one(vip, job, 11) == 102
    assert one(vip, job, 9) == 98
    assert one(vip, job, 10) == 100


# ---- what is refused ----


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (TpJob(patches={(6, 0, 2): 1}), "tile sequence"),
        (TpJob(patches={(6, 2, 1): 1}), "tile list in memory"),
        (TpJob(patches={(6, 28, 1): 1}), "multiplication"),
        (TpJob(patches={(6, 6, 3): 2}), "horizontal processing"),
        (TpJob(patches={(6, 16, 2): 2}), "vertical processing"),
        (TpJob(patches={(12, 29, 1): 1}), "relu"),
        (TpJob(patches={(12, 18, 1): 1}), "uint8 only"),
        (TpJob(patches={(24, 5, 5): 4}), "pre-shift"),
        (TpJob(patches={(24, 15, 9): 6}), "reordering"),
        (TpJob(patches={(24, 24, 2): 2}), "border mode"),
        (TpJob(patches={(29, 0, 16): 1}), "border constant"),
        (TpJob(patches={(6, 27, 1): 1}), "not loaded"),
        (TpJob(window=(5, 0, 4, 3)), "no columns"),
        (TpJob(window=(0, 3, 7, 2)), "no rows"),
        (TpJob(width=0, window=(0, 0, 1, 1)), "no columns"),
        (TpJob(tile=(0, 1), step=(1, 1)), "tiles of 0 columns"),
        (TpJob(tile=(1, 1), step=(1, 0)), "step 0"),
        (
            TpJob(9, 9, 9, window=(-32768, -32768, 32767, 32767), tile=(64, 64)),
            "too much to emulate",
        ),
        (
            TpJob(planes=9, window=(0, 0, 32767, 4), tile=(32767, 4), step=(1, 1)),
            "too much to emulate",
        ),
    ],
)
def test_what_is_not_modelled_is_refused(vip: Vip, job: TpJob, text: str) -> None:
    before = vip.memory.copy()
    assert vip.run_tp(job.words()) == AXI_ERROR
    assert text in vip.errors()[0] and f"TP job at 0x{DESCRIPTOR:08x}" in vip.errors()[0]
    vip.memory[: SOURCE - BASE] = before[: SOURCE - BASE]
    assert np.array_equal(vip.memory, before)


def test_table_entries_have_21_bits(vip: Vip) -> None:
    assert vip.run_tp(TpJob(table=table(vip, {5: 1 << 21})).words()) == AXI_ERROR
    assert "entry 5 of the look-up table" in vip.errors()[0]


@pytest.mark.parametrize(
    ("job", "status", "text"),
    [
        (TpJob(source=0x20000000), 0x200, "read of 8 bytes at 0x20000000 is outside the memory"),
        (TpJob(target=BASE + SIZE - 8), 0x100, "outside the memory"),
        (TpJob(table=0x20000000), 0x200, "read of 4100 bytes"),
        (TpJob(source=0xFFFFFFFC), 0x200, "outside the memory"),
    ],
)
def test_leaving_memory_is_a_bus_error(vip: Vip, job: TpJob, status: int, text: str) -> None:
    assert vip.run_tp(job.words()) == AXI_ERROR
    assert vip.read("HI.AXI_STATUS") == status
    assert text in vip.errors()[0]


# ---- random jobs against the reference ----


def random_job(rng: np.random.Generator) -> TpJob:
    """A job of any kind whose accesses mostly stay in memory."""
    width, height = (int(v) for v in rng.integers(1, 24, 2))
    planes = int(rng.integers(1, 4))
    x0, y0 = (int(v) for v in rng.integers(-4, 5, 2))
    columns, rows = (int(v) for v in rng.integers(1, 26, 2))
    process = tuple(int(v) for v in rng.choice([0, 0, 1, 3], 2))
    tile = tuple(int(v) for v in rng.integers(1, 14, 2))
    step = tuple(max(1, t - int(d)) for t, d in zip(tile, rng.integers(0, 3, 2), strict=True))
    in_ring = out_ring = (0, 0x3FFFFFF)
    if rng.random() < 0.3:
        size = int(rng.integers(1, 8))
        in_ring = (size, (SOURCE >> 6) + size)
    if rng.random() < 0.3:
        size = int(rng.integers(1, 8))
        out_ring = (size, (TARGET >> 6) + size)
    return TpJob(
        width=width,
        height=height,
        planes=planes,
        stride=width + int(rng.integers(0, 4)),
        slice=int(rng.integers(0, 700)),
        window=(x0, y0, x0 + columns - 1, y0 + rows - 1),
        process=process,
        taps=tuple(int(v) for v in rng.integers(1, 5, 2)),
        tile=tile,
        step=step,
        source=SOURCE + int(rng.integers(0, 64)),
        target=TARGET + int(rng.integers(0, 64)),
        table=TABLE if rng.random() < 0.5 else None,
        sign_support=bool(rng.random() < 0.5),
        increments=tuple(int(v) for v in rng.integers(0, 40, 7)),
        counts=tuple(int(v) for v in rng.integers(0, 9, 6)),
        resets=tuple(bool(v) for v in rng.random(3) < 0.4),
        replicate=bool(rng.random() < 0.5),
        in_ring=in_ring,
        out_ring=out_ring,
        in_zero=int(rng.integers(0, 256)),
        out_zero=int(rng.integers(0, 256)),
        multiplier=int(rng.integers(0, 1 << 15)),
        shift=int(rng.integers(-8, 9)) & 0x7F,
    )


def random_table(rng: np.random.Generator) -> np.ndarray:
    """Entries of any sign and mantissa, exponents over the whole range at times."""
    low, high = (0, 32) if rng.random() < 0.3 else (12, 24)
    return (
        rng.integers(0, 2, 1026) << 20
        | rng.integers(low, high, 1026) << 15
        | rng.integers(0, 1 << 15, 1026)
    ).astype("<u4")


def test_random_jobs_match_the_reference(vip: Vip) -> None:
    rng = np.random.default_rng(20240607)
    stores = 0
    for number in range(FUZZ):
        words = random_job(rng).words()
        vip.memory[:] = rng.integers(0, 256, SIZE, np.uint8)
        vip.put(TABLE, random_table(rng).tobytes())
        memory = Memory()
        memory.add(DRAM, BASE, SIZE)[:] = vip.memory
        try:
            run_tp_job(words, memory)
        except ReferenceGuestError:
            continue
        vip.accelerator.guest_errors()
        assert vip.run_tp(words) == DONE, (number, vip.errors())
        got = vip.memory[TABLE - BASE :]
        expected = memory.gather(DRAM, np.arange(TABLE, BASE + SIZE))
        assert np.array_equal(got, expected), (number, np.flatnonzero(got != expected)[:5])
        stores += vip.operations()[0].bytes_written
    assert stores > FUZZ * 20
