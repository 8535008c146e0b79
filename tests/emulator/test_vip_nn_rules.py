"""Rules of the VIP's NN engine, one by one, with results computed by hand.

With multiplier 2^23 and shift 0 a V8 job passes sums on unchanged: a weight of 1 and a start
of 128 give out_zero + pixel, since V8 counts pixels from 128.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fwgen.check.random_vip_nn import V7, V8, NnFields

from .vip_nn import NnEngine
from .vip_nn_jobs import convolve, fill_in, make_blob, run_fields, store

ONE_V7 = 15  # shift that makes V7's multiplier 1


@pytest.fixture
def engine(model_library: Path) -> Iterator[NnEngine]:
    made = NnEngine(model_library)
    yield made
    made.force_kernels(None)


def line(*pixels: int) -> np.ndarray:
    return np.array(pixels, np.uint8).reshape(1, 1, -1)


def one_weight(value: int) -> np.ndarray:
    return np.array([[[[value]]]], np.uint8)


def test_v8_counts_pixels_from_128(engine: NnEngine) -> None:
    fields = NnFields(out_size=(4, 1), weight_zero=9)
    out = convolve(engine, fields, line(0, 5, 200, 255), one_weight(10), [128])
    assert out.tolist() == [[[0, 5, 200, 255]]]
    fields = NnFields(out_size=(4, 1), weight_zero=9)
    out = convolve(engine, fields, line(0, 5, 200, 255), one_weight(10), [0])
    assert out.tolist() == [[[0, 0, 72, 127]]]


def test_v7_counts_pixels_from_0(engine: NnEngine) -> None:
    fields = NnFields(generation=V7, out_size=(4, 1), weight_zero=9, shift=ONE_V7)
    out = convolve(engine, fields, line(0, 5, 200, 255), one_weight(10), [-5])
    assert out.tolist() == [[[0, 0, 195, 250]]]


# Sums -5 ... 5 in halves: -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5
HALVES = [-2, -2, -2, -1, 0, 0, 0, 1, 2, 2, 2]


@pytest.mark.parametrize("out_zero", [100, 101])
def test_ties_go_to_even_before_the_zero_point_is_added(engine: NnEngine, out_zero: int) -> None:
    fields = NnFields(out_size=(11, 1), out_zero=out_zero, shift=1)
    out = convolve(engine, fields, line(*range(123, 134)), one_weight(1), [0])
    assert out[0, 0].tolist() == [out_zero + q for q in HALVES]


def test_sums_too_large_for_doubles_are_rounded_exactly(engine: NnEngine) -> None:
    # (2^31 - 1) * (2^24 - 1) = 2^55 - 2^31 - 2^24 + 1; over 2^48 that is 127.9999...
    fields = NnFields(out_size=(2, 1), multiplier=(1 << 23) - 1, shift=25)
    out = convolve(engine, fields, line(128, 129), one_weight(1), [(1 << 31) - 1])
    assert out[0, 0].tolist() == [128, 128]
    # A tie that a double would miss: odd * 2^23 / 2^48 with odd = 2^25 * 5 / 2 is 2.5 exactly.
    fields = NnFields(out_size=(3, 1), shift=25)
    out = convolve(engine, fields, line(127, 128, 129), one_weight(1), [(1 << 24) * 5])
    assert out[0, 0].tolist() == [2, 2, 3]


def test_relu_clamps_at_the_zero_point(engine: NnEngine) -> None:
    pixels = line(100, 127, 128, 129, 200)
    fields = NnFields(out_size=(5, 1), out_zero=50, relu=1)
    out = convolve(engine, fields, pixels, one_weight(1), [0])
    assert out[0, 0].tolist() == [50, 50, 50, 51, 122]
    fields = NnFields(out_size=(5, 1), out_zero=50)
    out = convolve(engine, fields, pixels, one_weight(1), [0])
    assert out[0, 0].tolist() == [22, 49, 50, 51, 122]


def test_negative_shifts_multiply(engine: NnEngine) -> None:
    fields = NnFields(out_size=(5, 1), out_zero=100, shift=-4)  # 124 of 7 bits
    out = convolve(engine, fields, line(110, 126, 128, 131, 160), one_weight(1), [0])
    assert out[0, 0].tolist() == [0, 68, 100, 148, 255]
    fields = NnFields(generation=V7, out_size=(3, 1), out_zero=7, shift=-64)
    out = convolve(engine, fields, line(0, 1, 2), one_weight(1), [-1])
    assert out[0, 0].tolist() == [0, 7, 255]


def test_negative_shifts_of_sums_too_large_for_doubles(engine: NnEngine) -> None:
    # Stored shifts of -23 and -30 are shifts by 0 and by 7 to the left.
    weights = np.ones((4, 1, 1, 1), np.uint8)
    for shift in (-23, -30):
        fields = NnFields(out_size=(1, 1), out_zero=9, shift=shift)
        starts = [(1 << 31) - 1, -(1 << 31), 0, 1]
        out = convolve(engine, fields, line(128), weights, starts)
        assert out[:, 0, 0].tolist() == [255, 0, 9, 255]


def test_largest_shift_leaves_the_zero_point(engine: NnEngine) -> None:
    fields = NnFields(out_size=(2, 1), out_zero=77, shift=63, multiplier=(1 << 23) - 1)
    out = convolve(engine, fields, line(0, 255), one_weight(255), [-(1 << 31)])
    assert out[0, 0].tolist() == [77, 77]


@pytest.mark.parametrize(("generation", "reach"), [(V8, 16), (V7, 8)])
def test_offsets_use_all_their_bits(engine: NnEngine, generation: int, reach: int) -> None:
    image = np.arange(1, 61, dtype=np.uint8).reshape(1, 6, 10)
    shift = ONE_V7 if generation == V7 else 0
    for offset in range(-reach, reach):
        for x, y in ((offset, 0), (0, offset)):
            fields = NnFields(
                generation=generation, out_size=(10, 6), offset=(x, y), border=77, shift=shift
            )
            start = 128 if generation == V8 else 0
            out = convolve(engine, fields, image, one_weight(1), [start])
            padded = np.pad(image[0], 16, constant_values=77)
            expected = padded[16 + y : 22 + y, 16 + x : 26 + x]
            assert out[0].tolist() == expected.tolist(), (x, y)


def test_taps_go_right_and_down(engine: NnEngine) -> None:
    # Weights 1, 2, 3 / 4, 5, 6 over a single bright pixel show the kernel turned around.
    image = np.zeros((1, 3, 3), np.uint8)
    image[0, 1, 1] = 1
    weights = np.arange(1, 7, dtype=np.uint8).reshape(1, 1, 2, 3)
    fields = NnFields(out_size=(3, 2), offset=(-1, 0))
    out = convolve(engine, fields, image, weights, [128 * 21])
    assert out[0].tolist() == [[6, 5, 4], [3, 2, 1]]


def test_channels_and_kernels_keep_their_order(engine: NnEngine) -> None:
    # Kernel k passes channel k on; 37 of them fill no vector and no superblock.
    image = np.arange(37 * 2, dtype=np.uint8).reshape(37, 1, 2)
    weights = np.eye(37, dtype=np.uint8).reshape(37, 37, 1, 1)
    for table_size in (0, 4, 6, 10, 18):
        fields = NnFields(out_size=(2, 1), per_core=2)
        out = convolve(engine, fields, image, weights, [128] * 37, table_size=table_size)
        assert out.tolist() == image.tolist()


def test_depthwise_kernels_see_their_own_channel(engine: NnEngine) -> None:
    image = np.full((11, 1, 3), 130, np.uint8)
    weights = np.arange(1, 12, dtype=np.uint8).reshape(11, 1, 1, 1)
    fields = NnFields(out_size=(3, 1), depthwise=1)
    out = convolve(engine, fields, image, weights, [10 * k for k in range(11)])
    assert out[:, 0, 1].tolist() == [2 * (k + 1) + 10 * k for k in range(11)]


def test_v7_has_several_superblocks_and_free_planes(engine: NnEngine) -> None:
    # 50 kernels on 8 cores with 2 kernels a superblock; kernel k goes to plane 49 - k.
    image = np.full((3, 2, 2), 10, np.uint8)
    weights = np.zeros((50, 3, 1, 1), np.uint8)
    weights[:, 1, 0, 0] = np.arange(50) % 25
    fields = NnFields(generation=V7, out_size=(2, 2), per_core=2, shift=ONE_V7)
    out = convolve(
        engine, fields, image, weights, [k // 25 for k in range(50)],
        planes=[49 - k for k in range(50)],  # type: ignore[arg-type]
    )  # fmt: skip
    assert out[:, 1, 1].tolist() == [10 * (k % 25) + k // 25 for k in reversed(range(50))]


@pytest.mark.parametrize(
    ("pooling", "expected"), [(1, [[9, 7, 5], [8, 3, 6]]), (3, [[1, 7, 5], [8, 1, 6]])]
)
def test_pooling_of_odd_sizes(engine: NnEngine, pooling: int, expected: list[list[int]]) -> None:
    image = np.array([[[1, 9, 7, 2, 5], [4, 3, 6, 0, 1], [8, 2, 1, 3, 6]]], np.uint8)
    fields = NnFields(out_size=(5, 3), pooling=pooling)
    out = convolve(engine, fields, image, one_weight(1), [128])
    assert out[0].tolist() == expected


@pytest.mark.parametrize("kernels", ["plain", "plain-bytes", "plain-signed"])
def test_a_kernel_of_more_products_than_32_bits_sum(engine: NnEngine, kernels: str) -> None:
    assert engine.force_kernels(kernels)
    # 70000 products of 255 * 127 are 2^31.07; scaled by 2^-24 that is 135.09.
    image = np.full((70000, 1, 1), 255, np.uint8)
    weights = np.full((1, 70000, 1, 1), 255, np.uint8)
    fields = NnFields(out_size=(1, 1), shift=24, in_address=0x10000, coefficients=0x80000)
    out = convolve(engine, fields, image, weights, [0])
    assert 70000 * 255 * 127 / 2**24 == pytest.approx(135.12, abs=0.01)
    assert out.tolist() == [[[135]]]


def test_reads_go_around_the_input_ring(engine: NnEngine) -> None:
    # Rows of 10 pixels from 20 bytes before the end of a ring of 64 bytes.
    fields = NnFields(out_size=(10, 4), in_address=0x1000 - 20, in_ring=(64, 0x1000))
    image = np.arange(40, dtype=np.uint8).reshape(1, 4, 10)
    fill_in(fields, image, one_weight(1))
    store(engine, fields, np.zeros((1, 1, 1), np.uint8), make_blob(fields, one_weight(1), [128]))
    engine.memory[0xFC0:0x1000] = 250
    engine.memory[0x1000 - 20 : 0x1000] = np.arange(20)
    engine.memory[0xFC0 : 0xFC0 + 20] = np.arange(20, 40)
    assert run_fields(engine, fields) == (True, [])
    out = engine.memory[fields.out_address : fields.out_address + 40]
    assert out.tolist() == list(range(40))


def test_every_store_stays_inside_the_output_ring(engine: NnEngine) -> None:
    # Two planes of 3 rows with gaps, from row 1 of a ring on: the last rows wrap.
    fields = NnFields(out_size=(10, 3), out_address=0x2000 - 50, out_ring=(128, 0x2000), per_core=1)
    image = np.arange(60, dtype=np.uint8).reshape(2, 3, 10)
    weights = np.eye(2, dtype=np.uint8).reshape(2, 2, 1, 1)
    fill_in(fields, image, weights)
    fields.out_strides = (12, 4)
    store(engine, fields, image, make_blob(fields, weights, [128, 128]))
    engine.memory[0x1F00:0x2100] = 99
    assert run_fields(engine, fields) == (True, [])
    expected = np.full(0x200, 99, np.uint8)
    for z, y, x in np.ndindex(2, 3, 10):
        address = 0x2000 - 50 + (z * 4 + y) * 12 + x
        address -= 128 if address >= 0x2000 else 0
        expected[address - 0x1F00] = image[z, y, x]
    assert engine.memory[0x1F00:0x2100].tolist() == expected.tolist()
    assert all(0x2000 - 128 <= w.address <= 0x2000 - w.size for w in engine.writes)


def test_coefficients_that_change_in_memory_are_decoded_again(engine: NnEngine) -> None:
    # The same descriptor and address; only the last bytes differ. A stale copy would show.
    fields = NnFields(out_size=(2, 1))
    for start in (128, 130, 128):
        out = convolve(engine, fields, line(1, 2), one_weight(1), [start])
        assert out[0, 0].tolist() == [start - 127, start - 126]
