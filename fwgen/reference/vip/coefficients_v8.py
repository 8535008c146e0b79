"""Coefficients of V8 cores: Huffman-coded bytes in one stream for each core.

The coding is the one that Mesa's etnaviv driver writes. A blob has a header
of 64 bytes, the streams, each padded to 64 bytes, and the biases.
"""

from __future__ import annotations

import math

import numpy as np

from fwgen.reference.nvdla.memory import ReferenceGuestError, ReferenceUnsupported
from fwgen.reference.nvdla.rounding import Ints
from fwgen.reference.vip.bits import BitReader
from fwgen.reference.vip.coefficients import BlobReader, Coefficients
from fwgen.reference.vip.nn_descriptor import NnDescriptor

_LENGTHS = 28  # offset of the table of stream lengths
_BLOCK = 9  # weights of one kernel that follow each other

# Code of 3 bits -> symbol, lowest bit of its value or None.
_CODES: dict[int, tuple[int, int | None]] = {
    0: (0, 0),
    4: (0, 1),
    1: (1, 0),
    5: (1, 1),
    7: (2, None),
    3: (3, None),
    6: (4, None),
}
# The same for the 2 bits that follow the code 2.
_SUFFIXES: dict[int, tuple[int, int | None]] = {1: (5, 0), 3: (5, 1), 2: (6, None), 0: (7, None)}
_LONG = 2

Symbol = tuple[int, int | None]


def _align(value: int) -> int:
    return (value + 63) // 64 * 64


class Coder:
    """Turns symbols into bytes, by the header of a blob."""

    def __init__(self, header: bytes) -> None:
        if header[0] != 0x10 or any(header[24:28]):
            raise ReferenceUnsupported("coefficient header: version or average bias")
        self.table = header[2 : 2 + header[1]]
        if header[1] not in (0, 4, 6, 10, 18):
            raise ReferenceUnsupported(f"run-length table of {header[1]} entries")
        symbols = int.from_bytes(header[20:24], "little")
        self.lengths = [symbols >> (4 * s) & 15 for s in range(8)]
        if len(set(self.lengths)) != 8 or max(self.lengths) > (8 if self.table else 7):
            raise ReferenceGuestError(f"symbol map 0x{symbols:08x}")

    def value_bits(self, length: int) -> int:
        """Bits of the value of a symbol of that length."""
        if self.table and length == 7:
            return 8
        if self.table and length == 8:
            return math.ceil(math.log2(len(self.table) - 2))
        return max(length, 1)

    def value(self, symbol: Symbol, stream: BitReader) -> bytes:
        """The bytes that a symbol stands for; its value's bits come from the stream."""
        length = self.lengths[symbol[0]]
        count = self.value_bits(length)
        if symbol[1] is None:
            value = stream.take(count)
        else:
            value = stream.take(count - 1) << 1 | symbol[1]
        if self.table and length == 0:
            return bytes(self.table[value] + 1)
        if self.table and length == 8:
            if value + 2 >= len(self.table):
                raise ReferenceGuestError("run length outside its table")
            return bytes(self.table[value + 2] + 1)
        if self.table and length == 7:
            return bytes([value])
        magnitude = value >> 1 | (1 << (length - 1) if length else 0)
        if not value & 1:
            return bytes([magnitude])
        return bytes([(-magnitude if self.table else ~magnitude) & 0xFF])


def decode_stream(coder: Coder, stream: BitReader, wanted: int) -> bytes:
    """The first `wanted` bytes of a stream, which must end with them.

    Codes, suffixes and values of a pair of symbols are two steps apart: in
    each step come the codes of one pair, the suffixes of the pair before it
    and the values of the pair before that.

    Raises:
        ReferenceGuestError: the stream is longer or shorter, or a run passes its end.
    """
    codes: list[tuple[int, int]] = []
    symbols: list[list[Symbol]] = []
    out = bytearray()
    while len(out) < wanted:
        codes.append((stream.take(3), stream.take(3)))
        if len(codes) >= 2:
            pair = codes[-2]
            symbols.append([_SUFFIXES[stream.take(2)] if c == _LONG else _CODES[c] for c in pair])
        if len(codes) >= 3:
            for symbol in symbols[len(codes) - 3]:
                complete = len(out) == wanted
                emitted = coder.value(symbol, stream)
                if complete and emitted != b"\0":
                    raise ReferenceGuestError("a symbol behind the last weight")
                out += b"" if complete else emitted
    if len(out) > wanted:
        raise ReferenceGuestError("a run passes the last weight")
    if stream.position != stream.length:
        raise ReferenceGuestError(f"{stream.length - stream.position} bits are left over")
    return bytes(out)


def _owners(job: NnDescriptor, used: int) -> list[list[list[int]]]:
    """Kernels of each core, by superblock: owners[core][superblock] = kernels.

    Depthwise kernels of a core are superblocks of one kernel each.
    """
    owners: list[list[list[int]]] = [[] for _ in range(used)]
    if job.depthwise:
        for first in range(0, job.kernels, used):
            members = min(used, job.kernels - first)
            for core in range(members):
                owners[core].append([first + members - 1 - core])
        return owners
    if job.kernels_per_core == 0:
        raise ReferenceGuestError("no kernels per core")
    whole = job.kernels_per_core * used
    for first in range(0, job.kernels, whole):
        members = min(whole, job.kernels - first)
        start = first
        for core in range(used):
            count = members // used + (core < members % used)
            owners[core].append(list(range(start, start + count)))
            start += count
    return owners


def decode_v8(read: BlobReader, job: NnDescriptor, cores: int) -> Coefficients:
    """Decode the blob of a job.

    Args:
        read: gives its bytes.
        job: the descriptor.
        cores: NN cores of the configuration.

    Raises:
        ReferenceGuestError: damaged.
        ReferenceUnsupported: a coding that no known blob has.
    """
    header_size = _align(_LENGTHS + 4 * cores)
    header = read(0, header_size)
    coder = Coder(header)
    used = min(job.kernels, cores)
    lengths = [
        int.from_bytes(header[_LENGTHS + 4 * c : _LENGTHS + 4 * c + 4], "little")
        for c in range(cores)
    ]
    if any(lengths[used:]):
        raise ReferenceGuestError("an unused core has a stream")
    channels = 1 if job.depthwise else job.channels
    size = job.kernel_width * job.kernel_height * channels
    blocks = math.ceil(size / _BLOCK)
    flat: Ints = np.zeros((job.kernels, blocks * _BLOCK), np.int64)
    at = header_size
    for core, owned in enumerate(_owners(job, used)):
        count = sum(len(kernels) for kernels in owned)
        stored = (lengths[core] + 7) // 8
        stream = BitReader(read(at, stored), lengths[core])
        data = decode_stream(coder, stream, 2 + count * blocks * _BLOCK)
        at += _align(stored)
        if int.from_bytes(data[:2], "little") != count:
            raise ReferenceGuestError(f"core {core}: {data[:2].hex()} is not {count} kernels")
        weights = np.frombuffer(data[2:], np.uint8).astype(np.int64).reshape(-1, _BLOCK)
        row = 0
        for kernels in owned:
            for block in range(blocks):
                for kernel in kernels:
                    flat[kernel, block * _BLOCK : (block + 1) * _BLOCK] = weights[row]
                    row += 1
    flat = (flat[:, :size] + job.weight_zero) % 256
    start = np.frombuffer(read(at, 4 * job.kernels), "<i4").astype(np.int64)
    shape = (job.kernels, channels, job.kernel_height, job.kernel_width)
    return Coefficients(flat.reshape(shape), start, None)
