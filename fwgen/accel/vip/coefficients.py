"""Checks of the blobs that hold weights, biases and look-up tables.

Facts: Mesa's etnaviv driver and reference data. Kernel streams are walked over
(streams.py); look-up tables must have entries of 21 bits.
"""

from __future__ import annotations

import struct

from fwgen.accel.vip.configurations import Configuration
from fwgen.accel.vip.streams import (
    DenseShape,
    HuffmanCoder,
    kernels_of_cores,
    walk_huffman,
    walk_runs,
)
from fwgen.model.nbg.nn import NnJob

TABLE_BYTES = 4104
"""A look-up table: 1024 values of 32 bits and two words behind them."""

_HEADER = 0x10
_RUN_TABLES = (0, 4, 6, 10, 18)
_BLOCK = 9
_CHANNELS_TOGETHER = 6
_ENTRY_BITS = 21
_FC_LENGTH_BITS = 14


def _up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def nn_reason(data: bytes, job: NnJob, config: Configuration, *, zero_skipping: bool) -> str | None:
    """What is wrong with the coefficients of a convolution.

    Args:
        zero_skipping: whether the job runs with ZDP (GL_NN_CONFIG), which changes the
            order of 1x1 kernels on V7.
    """
    if config.generation == 8:
        return _v8(data, job, config)
    return _v7(data, job, config, zero_skipping)


def _symbol_lengths(data: bytes) -> tuple[int, ...]:
    return tuple(data[20 + s // 2] >> 4 * (s % 2) & 15 for s in range(8))


def _head(data: bytes) -> str | None:
    """The part that convolutions of V8 and fully connected layers share."""
    if len(data) < 64:
        return f"they have {len(data)} bytes, less than their header of 64"
    if data[0] != _HEADER:
        return f"their first byte is {data[0]:#04x}, not {_HEADER:#04x}"
    if data[1] not in _RUN_TABLES:
        return f"their run-length table has {data[1]} entries, not one of {_RUN_TABLES}"
    lengths = _symbol_lengths(data)
    limit = 8 if data[1] else 7
    if len(set(lengths)) != 8 or max(lengths) > limit:
        return f"the bit lengths of their symbols are {list(lengths)}"
    if data[26:28] != b"\0\0":
        return "their header's reserved bytes are not zero"
    return None


def _v8(data: bytes, job: NnJob, config: Configuration) -> str | None:
    reason = _head(data)
    if reason:
        return reason
    if data[24:26] != b"\0\0":
        return "they have an average bias"
    channels = job.output_channels
    kernels = kernels_of_cores(channels, config.nn_cores, job.kernels_per_core, bool(job.depthwise))
    weights = _up(job.kernel_x * job.kernel_y * (1 if job.depthwise else job.kernel_z), _BLOCK)
    coder = HuffmanCoder(_symbol_lengths(data), data[2 : 2 + data[1]])
    at = 64
    for core, bits in enumerate(struct.unpack_from(f"<{config.nn_cores}I", data, 28)):
        if (bits > 0) is not (core < len(kernels)):
            return f"core {core} has {bits} bits of kernels, {len(kernels)} cores have any"
        size = -(-bits // 8)
        if at + size > len(data):
            return f"the stream of core {core} ends at byte {at + size} of {len(data)}"
        if bits:
            stated = kernels[core]
            found = walk_huffman(coder, data[at : at + size], bits, 2 + stated * weights)
            if isinstance(found, str):
                return f"core {core}: {found}"
            if found != stated:
                return f"core {core} has {found} kernels, not {stated}"
        at += _up(size, 64)
    if at + 4 * channels > len(data):
        return f"their streams and biases need {at + 4 * channels} bytes of {len(data)}"
    return None


def _v7(data: bytes, job: NnJob, config: Configuration, zero_skipping: bool) -> str | None:
    at = _up(4 * config.nn_cores, 64)
    if len(data) < at:
        return f"they have {len(data)} bytes, less than their header of {at}"
    area = job.kernel_x * job.kernel_y
    together = _CHANNELS_TOGETHER if zero_skipping and area == 1 else 1
    shape = DenseShape(job.kernel_z, area, job.kernels_per_core, together)
    places: list[int] = []
    for core, size in enumerate(struct.unpack_from(f"<{config.nn_cores}I", data)):
        if size % 64 or at + size > len(data):
            return f"the stream of core {core} has {size} bytes of {len(data) - at}"
        if size:
            found = walk_runs(data[at : at + size], shape)
            if isinstance(found, str):
                return f"core {core}: {found}"
            places += found
        at += size
    plane = job.output_row * job.output_rows
    if sorted(places) != [plane * number for number in range(job.output_channels)]:
        return (
            f"their {len(places)} kernels do not fill {job.output_channels} output planes "
            f"of {plane} bytes"
        )
    return None


def fc_reason(data: bytes, inputs: int, outputs: int) -> str | None:
    """What is wrong with the coefficients of a fully connected layer on the TP engine."""
    reason = _head(data)
    if reason:
        return reason
    table = _up(28 + -(-inputs * _FC_LENGTH_BITS // 8), 64)
    at = table + _up(4 * outputs, 64)
    if at > len(data):
        return f"their tables need {at} bytes of {len(data)}"
    lengths = int.from_bytes(data[28:table], "little")
    coder = HuffmanCoder(_symbol_lengths(data), data[2 : 2 + data[1]])
    for number in range(inputs):
        bits = lengths >> _FC_LENGTH_BITS * number & ((1 << _FC_LENGTH_BITS) - 1)
        size = -(-bits // 8)
        if at + size > len(data):
            return f"the stream of input {number} ends at byte {at + size} of {len(data)}"
        found = walk_huffman(coder, data[at : at + size], bits, outputs)
        if isinstance(found, str):
            return f"input {number}: {found}"
        at += _up(size, 64)
    return None


def table_reason(data: bytes) -> str | None:
    """What is wrong with a look-up table."""
    if len(data) < TABLE_BYTES:
        return f"the look-up table has {len(data)} bytes of {TABLE_BYTES}"
    for number, entry in enumerate(struct.unpack_from("<1026I", data)):
        if entry >> _ENTRY_BITS:
            return f"entry {number} of the look-up table, {entry:#x}, has more than 21 bits"
    return None
