"""Coefficients of V7 cores: runs of zero points and raw bytes, one stream for each core.

Among the weights of a kernel lie its bias, after the first one, and the offset
of its output plane, after the last one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fwgen.reference.nvdla.memory import ReferenceGuestError, ReferenceUnsupported
from fwgen.reference.nvdla.rounding import Ints
from fwgen.reference.vip.bits import BitReader
from fwgen.reference.vip.coefficients import BlobReader, Coefficients
from fwgen.reference.vip.nn_descriptor import NnDescriptor

_DISABLE_ZDP = 1 << 2  # GL_NN_CONFIG
_ZDP_CHANNELS = 6
_MOST_RUN_BITS = 8


class _Weights:
    """The weights of a core's stream, one after the other."""

    def __init__(self, stream: BitReader, zero: int) -> None:
        self.stream = stream
        self._zero = zero
        self._run_bits = stream.take(8)
        if self._run_bits > _MOST_RUN_BITS:
            raise ReferenceUnsupported(f"runs of {self._run_bits} bits")
        self.kernels = stream.take(16)
        self.pending: list[int] = []

    def next(self) -> int:
        """The next weight."""
        if not self.pending:
            run = self.stream.take(self._run_bits) if self._run_bits else 0
            self.pending = [self._zero] * run + [self.stream.take(8)]
        return self.pending.pop(0)


def _order(kernels: int, channels: int, block: int) -> Iterator[tuple[int, int]]:
    """(kernel, channel) as they follow each other in a superblock."""
    for first in range(0, channels, block):
        for kernel in range(kernels):
            for channel in range(first, min(first + block, channels)):
                yield kernel, channel


def decode_v7(read: BlobReader, job: NnDescriptor, cores: int, nn_config: int) -> Coefficients:
    """Decode the blob of a job.

    Args:
        read: gives its bytes.
        job: the descriptor.
        cores: NN cores of the configuration.
        nn_config: the state GL_NN_CONFIG.

    Raises:
        ReferenceGuestError: damaged.
        ReferenceUnsupported: a coding that no known blob has.
    """
    table = read(0, 4 * cores)
    at = (4 * cores + 63) // 64 * 64
    area = job.kernel_width * job.kernel_height
    zdp = area == 1 and not nn_config & _DISABLE_ZDP
    weights: list[Ints] = []
    start: list[int] = []
    planes: list[int] = []
    if job.kernels_per_core == 0:
        raise ReferenceGuestError("no kernels per core")
    for core in range(cores):
        size = int.from_bytes(table[4 * core : 4 * core + 4], "little")
        if size % 64:
            raise ReferenceGuestError(f"core {core}: {size} bytes")
        if size == 0:
            continue
        source = _Weights(BitReader(read(at, size), size * 8), job.weight_zero)
        at += size
        for first in range(0, source.kernels, job.kernels_per_core):
            members = min(job.kernels_per_core, source.kernels - first)
            mine = np.zeros((members, job.channels, area), np.int64)
            biases = [0] * members
            offsets = [0] * members
            for kernel, channel in _order(members, job.channels, _ZDP_CHANNELS if zdp else 1):
                for tap in range(area):
                    mine[kernel, channel, tap] = source.next()
                    if channel == 0 and tap == 0:
                        biases[kernel] = source.stream.take(32)
                if channel == job.channels - 1:
                    offsets[kernel] = source.stream.take(32)
            weights.append(mine)
            start += biases
            planes += offsets
        if source.pending:
            raise ReferenceGuestError(f"core {core}: a run passes the last weight")
        if (source.stream.position + 511) // 512 * 64 != size:
            raise ReferenceGuestError(f"core {core}: {size} bytes are too many")
    if len(start) != job.kernels:
        raise ReferenceGuestError(f"{len(start)} kernels instead of {job.kernels}")
    plane = job.out_row * job.out_plane_rows
    if sorted(planes) != [k * plane for k in range(job.kernels)]:
        raise ReferenceGuestError("the output planes are no permutation")
    shape = (job.kernels, job.channels, job.kernel_height, job.kernel_width)
    return Coefficients(
        np.concatenate(weights).reshape(shape),
        np.array(start, np.uint32).view(np.int32).astype(np.int64),
        np.array(planes, np.int64),
    )
