"""An NN job: convolution, requantisation and pooling of uint8 planes.

    sum  = start + sum over channels and taps of (weight - weight_zero) * pixel
    q    = sum * multiplier / 2^shift, to nearest, ties to even
    byte = clamp(q (at least 0 with relu) + out_zero, 0, 255)

V8 counts pixels from 128. Outside the image a pixel has the border's value.
Pooling works on the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fwgen.reference.nvdla.memory import DRAM, Memory, ReferenceGuestError
from fwgen.reference.nvdla.rounding import Ints
from fwgen.reference.vip.coefficients import Coefficients
from fwgen.reference.vip.coefficients_v7 import decode_v7
from fwgen.reference.vip.coefficients_v8 import decode_v8
from fwgen.reference.vip.nn_descriptor import (
    POOL_FIRST,
    POOL_MAX,
    V8,
    NnDescriptor,
    Ring,
    read_descriptor,
)


def _wrap(addresses: Ints, ring: Ring) -> Ints:
    if ring.size == 0:
        return addresses
    over = np.maximum(addresses - ring.end, 0) // ring.size + 1
    return np.where(addresses >= ring.end, addresses - over * ring.size, addresses)


def _read_input(job: NnDescriptor, memory: Memory) -> Ints:
    """Pixels that the kernels meet, borders included: (channels, rows, columns)."""
    rows = job.y_offset + np.arange(job.out_height + job.kernel_height - 1)
    columns = job.x_offset + np.arange(job.out_width + job.kernel_width - 1)
    image: Ints = np.full((job.channels, rows.size, columns.size), job.border, np.int64)
    inside_y = (rows >= 0) & (rows < job.in_height)
    inside_x = (columns >= 0) & (columns < job.in_width)
    if inside_y.any() and inside_x.any():
        z = np.arange(job.channels)[:, None, None] * job.in_plane_rows
        y = rows[inside_y][None, :, None]
        x = columns[inside_x][None, None, :]
        addresses = _wrap(job.in_address + (z + y) * job.in_row + x, job.in_ring)
        image[np.ix_(np.arange(job.channels), inside_y, inside_x)] = memory.gather(DRAM, addresses)
    return image - 128 if job.generation == V8 else image


def convolve(job: NnDescriptor, image: Ints, coefficients: Coefficients) -> Ints:
    """Exact sums, (kernels, rows, columns), before pooling."""
    weights = coefficients.weights - job.weight_zero
    sums = np.empty((job.kernels, job.out_height, job.out_width), np.int64)
    sums[:] = coefficients.start[:, None, None]
    for row in range(job.kernel_height):
        for column in range(job.kernel_width):
            part = image[:, row : row + job.out_height, column : column + job.out_width]
            taps = weights[:, :, row, column]
            if job.depthwise:
                sums += taps[:, :1, None] * part
            else:
                sums += np.tensordot(taps, part, 1)
    return sums


def requantise(job: NnDescriptor, sums: Ints) -> Ints:
    """Sums to bytes."""
    product = sums * job.multiplier
    if np.abs(product).max() >= 1 << 62:
        raise ReferenceGuestError("a sum is too large")
    if job.shift <= 0:
        # A result beyond 511 saturates however large it is.
        q = np.clip(product, -512, 512) * 2 ** min(-job.shift, 40)
    elif job.shift > 62:
        q = np.zeros_like(product)
    else:
        q = product >> job.shift
        rest = product - (q << job.shift)
        half = 1 << (job.shift - 1)
        q = q + ((rest > half) | ((rest == half) & (q % 2 == 1)))
    if job.relu:
        q = np.maximum(q, 0)
    result: Ints = np.clip(q + job.out_zero, 0, 255)
    return result


def pool(job: NnDescriptor, planes: Ints) -> Ints:
    """Blocks of 2 x 2 pixels to one each; at odd edges blocks are smaller."""
    if job.pooling == POOL_FIRST:
        return planes[:, ::2, ::2]
    if job.pooling == POOL_MAX:
        padded = np.pad(planes, ((0, 0), (0, planes.shape[1] % 2), (0, planes.shape[2] % 2)))
        result: Ints = np.maximum(
            np.maximum(padded[:, ::2, ::2], padded[:, ::2, 1::2]),
            np.maximum(padded[:, 1::2, ::2], padded[:, 1::2, 1::2]),
        )
        return result
    return planes


def run_nn_job(
    words: Sequence[int], memory: Memory, generation: int, cores: int, nn_config: int = 0
) -> None:
    """Run one job in a memory whose segments lie in the space DRAM.

    Args:
        words: the descriptor's 32 words.
        memory: read and written.
        generation: V7 or V8.
        cores: NN cores of the configuration.
        nn_config: the state GL_NN_CONFIG.

    Raises:
        ReferenceGuestError: the job is wrong.
        ReferenceUnsupported: it asks for what is not known.
    """
    job = read_descriptor(words, generation)

    def read(offset: int, size: int) -> bytes:
        return memory.gather(DRAM, job.kernel_address + offset + np.arange(size)).tobytes()

    if generation == V8:
        coefficients = decode_v8(read, job, cores)
    else:
        coefficients = decode_v7(read, job, cores, nn_config)
    image = _read_input(job, memory)
    planes = pool(job, requantise(job, convolve(job, image, coefficients)))
    offsets = coefficients.planes
    if offsets is None:
        offsets = np.arange(job.kernels) * job.out_plane_rows * job.out_row
    y = np.arange(planes.shape[1])[None, :, None]
    x = np.arange(planes.shape[2])[None, None, :]
    addresses = job.out_address + offsets[:, None, None] + y * job.out_row + x
    memory.scatter(DRAM, _wrap(addresses, job.out_ring), planes)
