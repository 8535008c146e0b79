"""Random jobs of the VIP's NN engine, with everything that memory must hold for them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fwgen.check.vip_coefficients import RUN_TABLES, encode_v7, encode_v8

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

V7, V8 = 7, 8
MEMORY_SIZE = 1 << 20
_INPUT, _OUTPUT, _COEFFICIENTS = 0x10000, 0x70000, 0xD0000
_MOST = 0x50000  # bytes of a tensor
_DISABLE_ZDP = 4


@dataclass
class NnFields:
    """Fields of a descriptor by name; defaults make the smallest job.

    Sizes in pixels, strides in bytes (rows) or rows (planes), shift as it is
    stored (7 bits, two's complement), multiplier without its leading one.
    """

    generation: int = V8
    depthwise: int = 0
    kernel: tuple[int, int] = (1, 1)  # width, height
    channels: int = 1
    kernels: int = 1
    per_core: int = 1
    pooling: int = 0
    relu: int = 0
    in_size: tuple[int, int] = (1, 1)
    offset: tuple[int, int] = (0, 0)
    out_size: tuple[int, int] = (1, 1)
    border: int = 0
    in_address: int = _INPUT
    in_strides: tuple[int, int] = (1, 1)
    in_ring: tuple[int, int] = (0, 0)  # size, end
    out_address: int = _OUTPUT
    out_strides: tuple[int, int] = (1, 1)
    out_ring: tuple[int, int] = (0, 0)
    coefficients: int = _COEFFICIENTS
    multiplier: int = 0
    shift: int = 0
    weight_zero: int = 0
    out_zero: int = 0
    extra: dict[int, int] = field(default_factory=dict)  # word -> bits to flip

    def words(self) -> list[int]:
        """The 32 words of the descriptor."""
        v8 = int(self.generation == V8)
        x, y = self.offset
        m, s = self.multiplier, self.shift
        words = [0] * 32
        words[0] = (
            v8 << 1
            | self.kernel[0] << 2
            | (self.channels & 0x3FFF) << 6
            | self.per_core << 20
            | self.pooling << 27
            | int(self.pooling == 0) << 29
            | 1 << 31
        )
        words[1] = self.in_size[0] << 6 | self.in_size[1] << 19
        words[2] = (x & 7) | (y & 7) << 3 | self.relu << 24 | (m & 1) << 26 | (s & 31) << 27
        words[3] = v8 << 3 | self.out_size[0] << 6 | self.out_size[1] << 19
        words[4] = self.kernels | 1 << 14 | (x >> 3 & 1) << 16 | (y >> 3 & 1) << 17
        words[5] = self.coefficients >> 6 | self.channels >> 14 << 26
        words[6], words[7] = self.in_address, self.out_address
        words[8] = self.kernel[1] << 12 | self.out_strides[1] << 16
        words[15] = self.border << 2 | (m >> 1 & 63) << 22 | (s >> 5 & 3) << 28
        words[16] = self.in_strides[0] | self.in_strides[1] << 16
        words[17] = self.out_strides[0] | (m >> 7 & 255) << 24
        words[18] = self.out_ring[0] >> 6 | v8 << 28
        if v8:
            words[18] |= (x >> 4 & 1) << 29 | (y >> 4 & 1) << 30
        words[19] = self.out_ring[1] >> 6
        words[20], words[21] = self.in_ring[0] >> 6, self.in_ring[1] >> 6
        words[22] = (
            self.weight_zero | self.out_zero << 8 | self.depthwise << 17 | (m >> 15 & 255) << 18
        )
        for word, bits in self.extra.items():
            words[word] ^= bits
        return words


@dataclass(frozen=True)
class NnJob:
    """A job: descriptor and memory.

    Attributes:
        fields: what the descriptor says.
        cores: NN cores of the configuration.
        nn_config: the state GL_NN_CONFIG.
        memory: MEMORY_SIZE bytes, random where nothing else is.
        out_span: addresses that the job may write to, from and behind the last.
    """

    fields: NnFields
    cores: int
    nn_config: int
    memory: Bytes
    out_span: tuple[int, int]


def _pooled(size: tuple[int, int], pooling: int) -> tuple[int, int]:
    return ((size[0] + 1) // 2, (size[1] + 1) // 2) if pooling else size


def _ring(rng: random.Random, base: int, span: int, wide: bool) -> tuple[int, tuple[int, int]]:
    """(address of a tensor, ring) such that the tensor wraps; wide: the ring holds all of it."""
    size = -(-span // 64) * 64 + rng.randrange(3) * 64
    if not wide:
        size = rng.randrange(64, size + 1, 64)
    return base + rng.randrange(size), (size, base + size)


def _scale(rng: random.Random, fields: NnFields, products: int) -> None:
    """Multiplier and shift that spread results over the bytes, or any others."""
    bits = 23 if fields.generation == V8 else 15
    spread = math.log2(75 * 75 * math.sqrt(products) / 60)
    fields.multiplier = rng.choice([0, 0, rng.getrandbits(bits), rng.getrandbits(bits)])
    shift = round(spread) + rng.randint(-2, 2) + (bits if fields.generation == V7 else 0)
    if rng.random() < 0.1:
        shift = rng.choice([0, 1, 2, rng.randint(-64, 63)])
    fields.shift = max(-64, min(63, shift))


def _weights(rng: random.Random, noise: np.random.Generator, shape: tuple[int, ...]) -> Bytes:
    weights = noise.integers(0, 256, shape, dtype=np.uint8)
    kind = rng.randrange(4)
    if kind == 0:  # narrow
        weights = (128 + noise.integers(-5, 6, shape)).astype(np.uint8)
    elif kind == 1:
        weights = np.clip(noise.normal(120, 30, shape), 0, 255).astype(np.uint8)
    return weights


def _shape(rng: random.Random, fields: NnFields, cores: int) -> None:
    fields.depthwise = int(fields.generation == V8 and rng.random() < 0.3)
    sides = [1, 1, 2, 3, 3, 3, 4, 5, 7, rng.randint(1, 15)]
    fields.kernel = (rng.choice(sides), rng.choice(sides))
    fields.channels = rng.choice([1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 40, 65])
    fields.kernels = rng.choice([1, 2, 3, 5, 8, 9, 12, 16, 17, 31, 33, 64, 65, 70, 130])
    if fields.depthwise:
        fields.channels = rng.choice([0, 1, fields.kernels])
    while fields.kernel[0] * fields.kernel[1] * fields.channels * fields.kernels > 30000:
        fields.kernels = max(1, fields.kernels // 2)
        fields.channels = max(1, fields.channels // 2)
    fields.per_core = rng.randint(1, min(127, -(-fields.kernels // min(cores, fields.kernels)) + 1))
    fields.in_size = (rng.randint(1, 40), rng.randint(1, 24))
    if rng.random() < 0.15:
        fields.in_size = (rng.randint(100, 300), rng.randint(1, 3))
    reach = 16 if fields.generation == V8 else 8
    x, y = (
        rng.choice([0, -(side // 2), -(side // 2), rng.randint(-reach, reach - 1)])
        for side in fields.kernel
    )
    fields.offset = (max(x, -reach), max(y, -reach))
    fields.out_size = tuple(
        max(1, size + rng.choice([0, 0, 1 - side, rng.randint(-5, 5)]))
        for size, side in zip(fields.in_size, fields.kernel, strict=True)
    )  # type: ignore[assignment]
    fields.pooling = rng.choice([0, 0, 0, 1, 3])


def _place(rng: random.Random, fields: NnFields) -> None:
    """Strides, addresses and rings."""
    channels = fields.kernels if fields.depthwise else fields.channels
    width, height = fields.in_size
    fields.in_strides = (
        width + rng.choice([0, 0, rng.randrange(9), rng.randrange(200)]),
        height + rng.choice([0, 0, rng.randrange(9)]),
    )
    if math.prod(fields.in_strides) * channels > _MOST:
        fields.in_strides = fields.in_size
    fields.in_address += rng.randrange(64)
    span = fields.in_strides[0] * fields.in_strides[1] * channels
    if rng.random() < 0.2:
        fields.in_address, fields.in_ring = _ring(rng, _INPUT, span, False)
    width, height = _pooled(fields.out_size, fields.pooling)
    fields.out_strides = (
        width + rng.choice([0, 0, rng.randrange(9)]),
        height + rng.choice([0, 0, rng.randrange(9)]),
    )
    if math.prod(fields.out_strides) * fields.kernels > _MOST:
        fields.out_strides = (width, height)
    fields.out_address += rng.randrange(64)
    span = fields.out_strides[0] * fields.out_strides[1] * fields.kernels
    if rng.random() < 0.2:
        fields.out_address, fields.out_ring = _ring(rng, _OUTPUT, span, True)


def random_job(seed: int) -> NnJob:
    """The job of that number, the same one whenever it is asked for."""
    rng = random.Random(seed)
    noise = np.random.default_rng(seed)
    fields = NnFields(generation=rng.choice([V8, V8, V7]))
    v8 = fields.generation == V8
    cores = rng.choice([1, 2, 4, 4, 6, 8] if v8 else [8, 10, 3])
    _shape(rng, fields, cores)
    _place(rng, fields)
    fields.weight_zero = rng.choice([0, 128, 131, 255, rng.randrange(256)])
    fields.out_zero = rng.choice([0, 128, 255, rng.randrange(256)])
    fields.border = rng.choice([0, 255, rng.randrange(256)])
    fields.relu = rng.getrandbits(1)
    depth = 1 if fields.depthwise else fields.channels
    shape = (fields.kernels, depth, fields.kernel[1], fields.kernel[0])
    weights = _weights(rng, noise, shape)
    share = rng.choice([0, 0, 0.3, 0.9, 1])
    weights[noise.random(shape) < share] = fields.weight_zero
    products = math.prod(shape[1:])
    _scale(rng, fields, products)
    start = noise.integers(-9000, 9001, fields.kernels)
    if rng.random() < 0.1:
        start = noise.integers(-(1 << 31), 1 << 31, fields.kernels)
    memory = np.frombuffer(noise.bytes(MEMORY_SIZE), np.uint8).copy()
    zdp = not v8 and rng.getrandbits(1) == 1
    if v8:
        blob = encode_v8(
            rng, weights, start, cores=cores, per_core=fields.per_core,
            weight_zero=fields.weight_zero, table_size=rng.choice(RUN_TABLES),
            depthwise=bool(fields.depthwise),
        )  # fmt: skip
    else:
        start = start - 128 * (weights.astype(np.int64) - fields.weight_zero).sum((1, 2, 3))
        start = (start + (1 << 31)) % (1 << 32) - (1 << 31)
        planes = np.arange(fields.kernels) * fields.out_strides[0] * fields.out_strides[1]
        noise.shuffle(planes)
        blob = encode_v7(
            rng, weights, start, planes, cores=cores, per_core=fields.per_core,
            weight_zero=fields.weight_zero, run_bits=rng.choice([0, 0, 2, 4, 8]), zdp=zdp,
        )  # fmt: skip
    assert len(blob) <= MEMORY_SIZE - _COEFFICIENTS
    memory[_COEFFICIENTS : _COEFFICIENTS + len(blob)] = np.frombuffer(blob, np.uint8)
    span = fields.out_strides[0] * fields.out_strides[1] * fields.kernels
    out_span = (fields.out_address, fields.out_address + span)
    if fields.out_ring[0]:
        out_span = (fields.out_ring[1] - fields.out_ring[0], fields.out_ring[1])
    return NnJob(fields, cores, 0 if zdp else _DISABLE_ZDP, memory, out_span)
