"""A fully connected TP job (tile sequence 3).

    sum[n] = start[n] + sum over inputs of (pixel - in_zero) * (weight - weight_zero)
    byte   = clamp(sum * (2^15 + multiplier) / 2^(15 + shift) + out_zero, 0, 255),
             to nearest, ties to even

The blob has a header as those of NN jobs, but with an average that is added to every
weight and a table of stream lengths of 14 bits, one for each input; then the starts, then
the streams, one for each input, a weight for each output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from fwgen.reference.nvdla.memory import DRAM, Memory
from fwgen.reference.vip.bits import BitReader
from fwgen.reference.vip.coefficients_v8 import Coder, decode_stream

_LENGTHS = 28
_LENGTH_BITS = 14


def _align(value: int) -> int:
    return (value + 63) // 64 * 64


def run_fc(
    words: Sequence[int],
    memory: Memory,
    load: Callable[[int], int],
    store: Callable[[int, int], None],
    shift: int,
) -> None:
    """Run one job.

    Args:
        words: the descriptor.
        memory: holds the blob.
        load, store: access with the ring rule of input and output.
        shift: the output post shift.
    """

    def blob(offset: int, size: int) -> bytes:
        return memory.gather(DRAM, words[11] + offset + np.arange(size)).tobytes()

    inputs, outputs = words[1] >> 16, words[22] & 0xFFFF
    in_zero, weight_zero = words[29] >> 24, words[29] >> 16 & 0xFF
    multiplier, out_zero = words[30] >> 8 & 0x7FFF, words[30] & 0xFF
    head = blob(0, _LENGTHS)
    average = int.from_bytes(head[24:26], "little")
    coder = Coder(head[:24] + bytes(4))
    table_bytes = (inputs * _LENGTH_BITS + 7) // 8
    table = BitReader(blob(_LENGTHS, table_bytes), 8 * table_bytes)
    at = _align(_LENGTHS + table_bytes)
    sums = np.frombuffer(blob(at, 4 * outputs), "<i4").astype(object)
    at = _align(at + 4 * outputs)
    for z in range(inputs):
        length = table.take(_LENGTH_BITS)
        stream = BitReader(blob(at, (length + 7) // 8), length)
        at += _align((length + 7) // 8)
        weights = np.frombuffer(decode_stream(coder, stream, outputs), np.uint8).astype(int)
        weights = (weights + average) % 256 - weight_zero
        sums += (load(words[10] + z * words[3]) - in_zero) * weights
    scale = Fraction((1 << 15) + multiplier, 1 << 15) * Fraction(2) ** -shift
    for n in range(outputs):
        value = round(int(sums[n]) * scale + out_zero)
        store(words[13] + n * words[20], min(max(value, 0), 255))
