"""Checks of the blobs that hold weights, biases and look-up tables.

Facts: Mesa's etnaviv driver and reference data. The streams themselves are the
hardware's to decode; what is checked here is that they lie inside their entry.
"""

from __future__ import annotations

import struct

from fwgen.accel.vip.configurations import Configuration

TABLE_BYTES = 4104
"""A look-up table: 1024 values of 32 bits and two words behind them."""

_HEADER = 0x10
_RUN_LENGTHS = 18
_FC_LENGTH_BITS = 14


def _up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def nn_reason(data: bytes, channels: int, config: Configuration) -> str | None:
    """What is wrong with the coefficients of a convolution with so many output channels."""
    return _v8(data, channels, config) if config.generation == 8 else _v7(data, channels, config)


def _head(data: bytes) -> str | None:
    """The part that convolutions of V8 and fully connected layers share."""
    if len(data) < 64:
        return f"they have {len(data)} bytes, less than their header of 64"
    if data[0] != _HEADER:
        return f"their first byte is {data[0]:#04x}, not {_HEADER:#04x}"
    if data[1] > _RUN_LENGTHS:
        return f"their run-length table has {data[1]} entries, more than {_RUN_LENGTHS}"
    lengths = [data[20 + s // 2] >> 4 * (s % 2) & 15 for s in range(8)]
    limit = 8 if data[1] else 7
    if len(set(lengths)) != 8 or max(lengths) > limit:
        return f"the bit lengths of their symbols are {lengths}"
    if data[26:28] != b"\0\0":
        return "their header's reserved bytes are not zero"
    return None


def _v8(data: bytes, channels: int, config: Configuration) -> str | None:
    reason = _head(data)
    if reason:
        return reason
    if data[24:26] != b"\0\0":
        return "they have an average bias"
    bits = struct.unpack_from(f"<{config.nn_cores}I", data, 28)
    used = min(channels, config.nn_cores)
    at = 64
    for core, length in enumerate(bits):
        if (length > 0) is not (core < used):
            return f"core {core} has {length} bits of kernels, {used} cores have any"
        at += _up(-(-length // 8), 64)
    if at + 4 * channels > len(data):
        return f"their streams and biases need {at + 4 * channels} bytes of {len(data)}"
    return None


def _v7(data: bytes, channels: int, config: Configuration) -> str | None:
    at = _up(4 * config.nn_cores, 64)
    if len(data) < at:
        return f"they have {len(data)} bytes, less than their header of {at}"
    kernels = 0
    for core, size in enumerate(struct.unpack_from(f"<{config.nn_cores}I", data)):
        if size % 64:
            return f"the stream of core {core} has {size} bytes, no multiple of 64"
        if at + size > len(data):
            return f"the stream of core {core} ends at byte {at + size} of {len(data)}"
        if size:
            kernels += int.from_bytes(data[at + 1 : at + 3], "little")
        at += size
    if kernels != channels:
        return f"their streams hold {kernels} kernels, the job has {channels} output channels"
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
    for number in range(inputs):
        bits = lengths >> _FC_LENGTH_BITS * number & ((1 << _FC_LENGTH_BITS) - 1)
        at += _up(-(-bits // 8), 64)
    if at > len(data):
        return f"their streams end at byte {at} of {len(data)}"
    return None


def table_reason(data: bytes) -> str | None:
    """What is wrong with a look-up table."""
    if len(data) < TABLE_BYTES:
        return f"the look-up table has {len(data)} bytes of {TABLE_BYTES}"
    return None
