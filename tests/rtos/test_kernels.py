"""CPU kernels against the rules of the operators, written again in Python.

Single precision comes from NumPy's float32, exp and pow from the C library's expf and
powf, and the half conversion from exact integers, so that nothing of the code under test
is in the expectation.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import mmap
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

KERNELS = Path(__file__).resolve().parent.parent.parent / "rtos" / "kernels"
INT8, INT8_8, FP16 = 0, 1, 3
BLOCK = {INT8: 32, INT8_8: 8, FP16: 16}
OK, NOT_SUPPORTED, PROGRAM = 0, 9, 19
MAP_32BIT = 0x40
F32 = np.float32


@pytest.fixture(scope="module")
def library(host_build: Callable[..., Path]) -> ctypes.CDLL:
    sources = [KERNELS / name for name in ("real.c", "softmax.c", "power.c")]
    loaded = ctypes.CDLL(str(host_build("kernels.so", sources, "-shared", "-fPIC")))
    loaded.fwgen_half_to_float.restype = ctypes.c_float
    loaded.fwgen_half_to_float.argtypes = [ctypes.c_uint16]
    loaded.fwgen_float_to_half.restype = ctypes.c_uint16
    loaded.fwgen_float_to_half.argtypes = [ctypes.c_float]
    for name, count in (("fwgen_expf", 1), ("fwgen_powf", 2)):
        function = getattr(loaded, name)
        function.restype = ctypes.c_float
        function.argtypes = [ctypes.c_float] * count
    return loaded


def _libm() -> ctypes.CDLL:
    loaded = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
    for name, count in (("expf", 1), ("powf", 2)):
        function = getattr(loaded, name)
        function.restype = ctypes.c_float
        function.argtypes = [ctypes.c_float] * count
    return loaded


LIBM = _libm()


@pytest.fixture
def memory() -> Iterator[tuple[int, mmap.mmap]]:
    """1 MiB below 4 GiB, where the 32-bit argument words can point."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        pytest.skip("needs anonymous memory maps")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_32BIT
    area = mmap.mmap(-1, 1 << 20, flags=flags)
    view = ctypes.c_uint8.from_buffer(area)
    address = ctypes.addressof(view)
    if address >> 32:
        pytest.skip("the kernel gives no memory below 4 GiB")
    yield address, area
    del view
    area.close()


# ---- the rules ----


def half_value(half: int) -> Fraction | float:
    """The value of a binary16, exactly."""
    sign = -1 if half & 0x8000 else 1
    exponent, fraction = half >> 10 & 31, half & 1023
    if exponent == 31:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * Fraction(fraction, 1 << 24)
    return sign * Fraction(1024 + fraction) * Fraction(2) ** (exponent - 25)


# the finite magnitudes in order, and where infinity begins to be nearest
MAGNITUDES = [half_value(h) for h in range(0x7C00)] + [Fraction(65536)]


def to_half(value: np.float32) -> int:
    """Nearest, ties away from zero, by search in the list of all halves."""
    x = float(value)
    sign = 0x8000 if math.copysign(1, x) < 0 else 0
    if math.isnan(x):
        return 0x7E00
    if math.isinf(x) or abs(x) >= 65536:
        return sign | 0x7C00
    exact = Fraction(abs(x))
    low, high = 0, 0x7C00
    while high - low > 1:
        middle = (low + high) // 2
        if MAGNITUDES[middle] <= exact:
            low = middle
        else:
            high = middle
    below = MAGNITUDES[low]
    return sign | (low if exact - below < (MAGNITUDES[high] - below) / 2 else high)


def from_half(half: int) -> np.float32:
    value = half_value(half)
    result = F32(float(value))
    return -result if half == 0x8000 else result


def to_int8(value: np.float32) -> int:
    if np.isnan(value):
        return 0  # what the conversion of a NaN leaves in the low byte
    return math.trunc(float(np.clip(value, F32(-128), F32(127))))


def softmax(values: list[int], form: int, scale_in: np.float32, scale_out: np.float32) -> list[int]:
    with np.errstate(all="ignore"):
        if form == FP16:
            x = [from_half(v) for v in values]
        else:
            x = [from_half(to_half(F32(v) * scale_in)) for v in values]
        e = [F32(LIBM.expf(float(a - max(x)))) for a in x]
        total = F32(0)
        for value in e:
            total = F32(total + value)
        halves = [to_half(F32(value / total)) for value in e]
        if form == FP16:
            return halves
        return [to_int8(F32(from_half(h) / scale_out)) for h in halves]


def power(value: int, form: int, p: list[np.float32]) -> int:
    exponent, scale, shift, scale_in, scale_out = p
    with np.errstate(all="ignore"):
        x = from_half(value) if form == FP16 else F32(F32(value) * scale_in)
        base = F32(shift + F32(scale * x))
        y = F32(LIBM.powf(float(base), float(exponent)))
        return to_half(y) if form == FP16 else to_int8(F32(y / scale_out))


def bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def call(kernel: object, *words: int) -> int:
    return int(kernel((ctypes.c_uint32 * len(words))(*words), len(words)))  # type: ignore[operator]


# ---- conversions and functions ----


def test_every_half_is_exact(library: ctypes.CDLL) -> None:
    for half in range(0x10000):
        value = library.fwgen_half_to_float(half)
        expected = half_value(half)
        if expected != expected:
            assert value != value
        else:
            assert value == expected and math.copysign(1, value) == (-1 if half & 0x8000 else 1)
            assert library.fwgen_float_to_half(value) == half


def test_rounding_to_half(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(0, 1 << 32, 20000, dtype=np.uint64).astype(np.uint32)
    values = list(words.view(np.float32))
    for half in [*range(0, 40), *range(0x3F0, 0x440), *range(0x7BF0, 0x7C00)]:
        middle = (MAGNITUDES[half] + MAGNITUDES[half + 1]) / 2  # type: ignore[operator]
        tie = F32(float(middle))
        values += [tie, -tie, np.nextafter(tie, F32(0)), np.nextafter(tie, F32(1e30))]
    for value in values:
        got = library.fwgen_float_to_half(float(value))
        if np.isnan(value):
            assert got & 0x7FFF > 0x7C00
        else:
            assert got == to_half(value), value


def nearest(exact: np.longdouble) -> np.float32:
    """A longdouble rounds to single twice at worst one time in 2^40."""
    return F32(exact)


def test_exp_is_the_nearest_single(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate(
        [rng.uniform(-110, 95, 20000), rng.normal(0, 1, 20000), [0.0, -0.0, 88.8, -103.9, -87.4]]
    ).astype(F32)
    with np.errstate(all="ignore"):
        expected = np.exp(values.astype(np.longdouble)).astype(F32)
    wrong = sum(
        library.fwgen_expf(float(v)) != float(e) for v, e in zip(values, expected, strict=True)
    )
    assert wrong == 0
    assert library.fwgen_expf(math.inf) == math.inf
    assert library.fwgen_expf(-math.inf) == 0.0
    assert math.isnan(library.fwgen_expf(math.nan))


def test_pow_is_the_nearest_single(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(3)
    x = np.abs(rng.normal(0, 3, 20000)).astype(F32)
    y = rng.choice([0.5, -0.5, 1, 2, 3, -1, 0.75, 1.7, -2.3], 20000).astype(F32)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.longdouble), y.astype(np.longdouble)).astype(F32)
    got = np.array([library.fwgen_powf(float(a), float(b)) for a, b in zip(x, y, strict=True)], F32)
    # exact results on a tie (squares) may go either way
    wrong = int(np.count_nonzero(got != expected))
    assert wrong <= 2, wrong
    for a in x[:2000]:
        assert library.fwgen_powf(float(a), 1.0) == float(a)


def test_pow_has_the_special_cases_of_c(library: ctypes.CDLL) -> None:
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 2.0, -2.0, 3.0]
    special += [-3.0, 1e-40, -1e-40, 3e38, 8388609.0, 16777216.0, 2.5, -2.5]
    for x in special:
        for y in special:
            got, expected = library.fwgen_powf(x, y), LIBM.powf(x, y)
            if math.isnan(expected):
                assert math.isnan(got), (x, y)
            else:
                assert got == expected, (x, y)
                assert math.copysign(1, got) == math.copysign(1, expected), (x, y)


# ---- kernels ----


@pytest.mark.parametrize("form", [INT8, INT8_8, FP16])
@pytest.mark.parametrize("seed", range(6))
def test_softmax(library: ctypes.CDLL, memory: tuple[int, mmap.mmap], form: int, seed: int) -> None:
    rng = np.random.default_rng(100 * form + seed)
    channels = int(rng.choice([1, 2, 10, 100, 1000]))
    scale_in, scale_out = F32(rng.uniform(0.01, 0.3)), F32(rng.uniform(0.004, 0.01))
    address, area = memory
    if form == FP16:
        data = rng.normal(0, 4, channels).astype(np.float16)
        values = [int(v) for v in data.view(np.uint16)]
    else:
        data = rng.integers(-128, 128, channels).astype(np.int8)
        values = [int(v) for v in data]
    area[: data.nbytes] = data.tobytes()
    for destination in (4096, 0):  # apart, and in place
        area[4096 : 4096 + data.nbytes + 4] = b"\xaa" * (data.nbytes + 4)
        words = [address, address + destination, channels, form, bits(scale_in), bits(scale_out)]
        assert call(library.fwgen_kernel_softmax, *words) == OK
        raw = area[destination : destination + data.nbytes]
        got = np.frombuffer(raw, np.uint16 if form == FP16 else np.int8)
        assert [int(v) for v in got] == softmax(values, form, scale_in, scale_out)
        if destination:
            assert area[4096 + data.nbytes : 4100 + data.nbytes] == b"\xaa" * 4


@pytest.mark.parametrize("form", [INT8, INT8_8, FP16])
@pytest.mark.parametrize("seed", range(6))
def test_power(library: ctypes.CDLL, memory: tuple[int, mmap.mmap], form: int, seed: int) -> None:
    rng = np.random.default_rng(200 * form + seed)
    width, height, channels = (int(n) for n in rng.integers(1, 9, 3) * [1, 1, 9])
    size, x = (2 if form == FP16 else 1), BLOCK[form]
    line = width * x * size + 64
    surface = line * height + 128
    line_out, surface_out = line + 32, (line + 32) * height
    exponent = F32(rng.choice([1, 2, 0.5, -1, 1.5]))
    p = [exponent, F32(rng.uniform(0.1, 2)), F32(rng.uniform(-1, 3))]
    p += [F32(rng.uniform(0.01, 0.2)), F32(rng.uniform(0.01, 0.2))]
    address, area = memory
    span, out = 1 << 18, 1 << 19
    area[:span] = bytes(rng.integers(0, 124, span, dtype=np.uint8))
    area[out : out + span] = b"\xaa" * span
    expected = bytearray(area[out : out + span])
    for c in range(channels):
        for h in range(height):
            for w in range(width):
                inside = (w * x + c % x) * size
                at = c // x * surface + h * line + inside
                to = c // x * surface_out + h * line_out + inside
                if form == FP16:
                    value = power(int.from_bytes(area[at : at + 2], "little"), form, p)
                    expected[to : to + 2] = value.to_bytes(2, "little")
                else:
                    value = power(int.from_bytes(area[at : at + 1], "little", signed=True), form, p)
                    expected[to : to + 1] = value.to_bytes(1, "little", signed=True)
    words = [address, address + out, form, width, height, channels, line, surface]
    words += [line_out, surface_out, *(bits(v) for v in p)]
    assert call(library.fwgen_kernel_power, *words) == OK
    assert _same(bytes(area[out : out + span]), bytes(expected), form)


def _same(got: bytes, expected: bytes, form: int) -> bool:
    """Equal, but for which NaN."""
    if form != FP16:
        return got == expected
    a, b = np.frombuffer(got, np.uint16), np.frombuffer(expected, np.uint16)
    nan = (a & 0x7FFF > 0x7C00) & (b & 0x7FFF > 0x7C00)
    return bool(np.all((a == b) | nan))


def test_kernels_refuse_what_they_are_not_for(
    library: ctypes.CDLL, memory: tuple[int, mmap.mmap]
) -> None:
    address, _ = memory
    one = bits(1.0)
    assert call(library.fwgen_kernel_softmax, address, address, 4, 2, one, one) == NOT_SUPPORTED
    assert call(library.fwgen_kernel_softmax, address, address, 0, 1, one, one) == NOT_SUPPORTED
    assert call(library.fwgen_kernel_softmax, address, address, 4, 1, one) == PROGRAM
    words = [address, address, 4, 1, 1, 1, 8, 8, 8, 8, one, one, one, one, one]
    assert call(library.fwgen_kernel_power, *words) == NOT_SUPPORTED
    assert call(library.fwgen_kernel_power, *words[:-1]) == PROGRAM
