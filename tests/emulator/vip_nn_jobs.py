"""Small NN jobs written by hand: fields, weights, what sums start with, and pixels."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fwgen.check.random_vip_nn import V8, NnFields
from fwgen.check.vip_coefficients import encode_v7, encode_v8

from .vip_nn import NnEngine

Bytes = npt.NDArray[np.uint8]

CORES = {7: 8, 8: 4}
DISABLE_ZDP = 4


def make_blob(
    fields: NnFields,
    weights: Bytes,
    start: Sequence[int],
    table_size: int = 0,
    planes: Sequence[int] | None = None,
) -> bytes:
    """Coefficients; weights are (kernels, channels, rows, columns)."""
    starts = np.array(start, np.int64)
    if fields.generation == V8:
        return encode_v8(
            random.Random(1), weights, starts, cores=CORES[8], per_core=fields.per_core,
            weight_zero=fields.weight_zero, table_size=table_size,
            depthwise=bool(fields.depthwise),
        )  # fmt: skip
    plane = fields.out_strides[0] * fields.out_strides[1]
    order = planes if planes is not None else range(fields.kernels)
    return encode_v7(
        random.Random(1), weights, starts, np.array(order, np.int64) * plane, cores=CORES[7],
        per_core=fields.per_core, weight_zero=fields.weight_zero, run_bits=3,
    )  # fmt: skip


def fill_in(fields: NnFields, image: Bytes, weights: Bytes) -> None:
    """Sizes and strides that follow from the arrays; the output has no gaps."""
    channels, height, width = image.shape
    fields.kernels = weights.shape[0]
    fields.channels = channels
    fields.kernel = (weights.shape[3], weights.shape[2])
    fields.in_size = fields.in_strides = (width, height)
    pooled = [(n + 1) // 2 if fields.pooling else n for n in fields.out_size]
    fields.out_strides = (pooled[0], pooled[1])


def store(engine: NnEngine, fields: NnFields, image: Bytes, blob: bytes) -> None:
    """Image and coefficients to where the descriptor looks for them."""
    size = image.size
    engine.memory[fields.in_address : fields.in_address + size] = image.reshape(-1)
    at = fields.coefficients
    engine.memory[at : at + len(blob)] = np.frombuffer(blob, np.uint8)


def run_fields(engine: NnEngine, fields: NnFields) -> tuple[bool, list[str]]:
    """Run the descriptor as it is: (whether it ran, errors)."""
    engine.errors.clear()
    engine.writes.clear()
    ok, _ = engine.run(fields.words(), fields.generation, CORES[fields.generation], DISABLE_ZDP)
    return ok, list(engine.errors)


def convolve(
    engine: NnEngine,
    fields: NnFields,
    image: Bytes,
    weights: Bytes,
    start: Sequence[int],
    **options: int,
) -> Bytes:
    """Run a job that must succeed; the output as (kernels, rows, columns)."""
    fill_in(fields, image, weights)
    store(engine, fields, image, make_blob(fields, weights, start, **options))
    ok, errors = run_fields(engine, fields)
    assert ok, errors
    width, height = fields.out_strides
    size = fields.kernels * width * height
    out = engine.memory[fields.out_address : fields.out_address + size]
    return out.reshape(fields.kernels, height, width).copy()
