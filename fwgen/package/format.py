"""The bytes of a package: header, table, tensors, self-test (docs/update.md, "The package").

Everything is little endian. The offsets stand in rtos/nvmem/package.c too; tests hold
both to the document.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass, replace

MAGIC = b"FWGENPKG"
FORMAT = 1
HEADER_SIZE = 512
SIGNED_SIZE = 384
"""Bytes of the header that a signature covers."""

SIGNATURE_SIZE = 64
NAME_SIZE = 32
VARIANT_LIMIT = 2
ALIGNMENT = 64
FLAG_SIGNED = 1

_FIXED = struct.Struct("<8sHHIII8s32s32s32s32sIIII")
_VARIANT = struct.Struct("<II")
_TABLE = struct.Struct("<5I4HBBH8sII")
_TENSOR = struct.Struct("<3I4I3Ifi2BH")
TABLE_SIZE = _TABLE.size
TENSOR_SIZE = _TENSOR.size
SELF_TEST_SIZE = 36
"""Bytes in front of the inputs: length and expected digest."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Where the package can run: the address of its first byte, and the table for it."""

    base: int
    table: int


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a package.

    Attributes:
        layout_hash: 8 bytes of `fwgen.package.layout`.
        board: name of the board.
        accelerator: "family/config".
        name: of the model.
        length: bytes of header and payload.
        version: counter for the anti-rollback check.
        digest, crc: SHA-256 and CRC-32 of the payload.
        kernels: bit per number of a CPU kernel.
        self_test: offset in the package, 0: none.
        signature: 64 bytes, or None.
    """

    layout_hash: bytes
    board: str
    accelerator: str
    name: str
    length: int
    version: int
    digest: bytes
    crc: int
    kernels: int
    self_test: int
    variants: tuple[Variant, ...]
    signature: bytes | None = None

    def signed_part(self) -> bytes:
        """What a signature covers: the first 384 bytes with the flag set."""
        return self._first(signed=True)

    def encode(self) -> bytes:
        """The 512 bytes."""
        part = self._first(signed=self.signature is not None)
        part += (self.signature or b"").ljust(HEADER_SIZE - SIGNED_SIZE - 4, b"\0")
        return part + struct.pack("<I", zlib.crc32(part))

    def _first(self, *, signed: bool) -> bytes:
        fixed = _FIXED.pack(
            MAGIC,
            FORMAT,
            HEADER_SIZE,
            FLAG_SIGNED if signed else 0,
            self.length,
            self.version,
            self.layout_hash,
            name_field(self.board),
            name_field(self.accelerator),
            name_field(self.name),
            self.digest,
            self.crc,
            self.kernels,
            self.self_test,
            len(self.variants),
        )
        fixed += b"".join(_VARIANT.pack(v.base, v.table) for v in self.variants)
        return fixed.ljust(SIGNED_SIZE, b"\0")


def decode_header(data: bytes) -> Header:
    """Take a header apart; whether it is right is for `verify` to say.

    Raises:
        ValueError: fewer than 512 bytes, no package, or names that are no text.
    """
    if len(data) < HEADER_SIZE or data[:8] != MAGIC:
        raise ValueError("no package")
    fields = _FIXED.unpack_from(data)
    count = min(fields[14], VARIANT_LIMIT)
    variants = tuple(
        Variant(*_VARIANT.unpack_from(data, _FIXED.size + i * _VARIANT.size)) for i in range(count)
    )
    board, accelerator, name = (_text(field) for field in fields[7:10])
    return Header(
        layout_hash=fields[6],
        board=board,
        accelerator=accelerator,
        name=name,
        length=fields[4],
        version=fields[5],
        digest=fields[10],
        crc=fields[11],
        kernels=fields[12],
        self_test=fields[13],
        variants=variants,
        signature=data[SIGNED_SIZE : SIGNED_SIZE + SIGNATURE_SIZE]
        if fields[3] & FLAG_SIGNED
        else None,
    )


def _text(field: bytes) -> str:
    text, end, _ = field.partition(b"\0")
    if not end:
        raise ValueError("a name without an end")
    return text.decode("utf-8", "replace")


def name_field(text: str) -> bytes:
    """A name in 32 bytes with its end; what is too long is cut at a whole character."""
    data = text.encode()[: NAME_SIZE - 1]
    return data.decode("utf-8", "ignore").encode().ljust(NAME_SIZE, b"\0")


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """One tensor of a table; fields as struct fwgen_tensor, `name` an offset."""

    name: int
    address: int
    size: int
    shape: tuple[int, int, int, int]
    strides: tuple[int, int, int]
    scale: float
    zero_point: int
    dtype: int
    layout: int
    atom: int

    def encode(self) -> bytes:
        return _TENSOR.pack(
            self.name,
            self.address,
            self.size,
            *self.shape,
            *self.strides,
            self.scale,
            self.zero_point,
            self.dtype,
            self.layout,
            self.atom,
        )


@dataclass(frozen=True, slots=True)
class Table:
    """What a model is made of at one address; offsets count from the package's start.

    Attributes:
        program, pipelined: (offset, words); (0, 0): no pipelined program.
        inputs, outputs: of one bank.
        clear: (address, bytes) of the tensors, zeroed at start.
        tensors: inputs of all banks, then outputs of all banks.
    """

    program: tuple[int, int]
    pipelined: tuple[int, int]
    interrupt_mask: int
    inputs: int
    outputs: int
    operations: int
    accelerator: int
    pipeline_depth: int
    banks: int
    layout_hash: bytes
    clear: tuple[int, int]
    tensors: tuple[TensorRecord, ...]

    def encode(self) -> bytes:
        fixed = _TABLE.pack(
            *self.program,
            *self.pipelined,
            self.interrupt_mask,
            self.inputs,
            self.outputs,
            self.operations,
            self.accelerator,
            self.pipeline_depth,
            self.banks,
            0,
            self.layout_hash,
            *self.clear,
        )
        return fixed + b"".join(tensor.encode() for tensor in self.tensors)


def decode_table(data: bytes, offset: int) -> Table:
    """The table at an offset of a package.

    Raises:
        struct.error: it does not lie within the package.
    """
    f = _TABLE.unpack_from(data, offset)
    banks = f[10]
    tensors = []
    for number in range((f[5] + f[6]) * banks):
        t = _TENSOR.unpack_from(data, offset + TABLE_SIZE + number * TENSOR_SIZE)
        tensors.append(
            TensorRecord(t[0], t[1], t[2], t[3:7], t[7:10], t[10], t[11], t[12], t[13], t[14])
        )
    return Table(
        program=(f[0], f[1]),
        pipelined=(f[2], f[3]),
        interrupt_mask=f[4],
        inputs=f[5],
        outputs=f[6],
        operations=f[7],
        accelerator=f[8],
        pipeline_depth=f[9],
        banks=banks,
        layout_hash=f[12],
        clear=(f[13], f[14]),
        tensors=tuple(tensors),
    )


def self_test_block(inputs: bytes, expected: bytes) -> bytes:
    """Input bytes and the expected output bytes of a self-test, as the package holds them."""
    return struct.pack("<I", len(inputs)) + hashlib.sha256(expected).digest() + inputs


def seal(header: Header, payload: bytes) -> bytes:
    """A package: the header with length, CRC-32 and digest of the payload in front of it."""
    full = replace(
        header,
        length=HEADER_SIZE + len(payload),
        digest=hashlib.sha256(payload).digest(),
        crc=zlib.crc32(payload),
    )
    return full.encode() + payload
