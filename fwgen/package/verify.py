"""The checks of a package, as the firmware makes them, on the host.

rtos/nvmem/package.c makes the same checks in the same order; a package that is good here
is accepted there, and a bad one is refused for the same reason.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from fwgen.package import format
from fwgen.package.faults import Fault
from fwgen.package.format import HEADER_SIZE, Header, Table

TENSOR_LIMIT = 16
"""FWGEN_SLOT_TENSORS."""

Verifier = Callable[[bytes, bytes], bool]
"""(signature, message) -> whether it is the key owner's."""


@dataclass(frozen=True, slots=True)
class Device:
    """What a device asks of a package.

    Attributes:
        board, accelerators: names; accelerators as "family/config", by index.
        layout_hash: 8 bytes.
        room: bytes of a slot (or of the memory that it is copied to).
        base: address at which the package runs.
        tensors: (address, bytes) where all its tensors lie.
        operations, pipeline: FWGEN_MAX_OPERATIONS, FWGEN_PIPELINE of the firmware.
        kernels: bit per CPU kernel in the image.
        oldest: smallest version that is accepted.
        verifier: of signatures; None: unsigned packages are accepted.
    """

    board: str
    accelerators: tuple[str, ...]
    layout_hash: bytes
    room: int
    base: int
    tensors: tuple[int, int]
    operations: int
    pipeline: int
    kernels: int
    oldest: int = 0
    verifier: Verifier | None = None


def verify_header(data: bytes, device: Device) -> Fault:
    """Check the first 512 bytes."""
    if len(data) < HEADER_SIZE or data[:8] != format.MAGIC:
        return Fault.EMPTY
    (crc,) = struct.unpack_from("<I", data, HEADER_SIZE - 4)
    if zlib.crc32(data[: HEADER_SIZE - 4]) != crc:
        return Fault.HEADER_CRC
    if struct.unpack_from("<HH", data, 8) != (format.FORMAT, HEADER_SIZE):
        return Fault.FORMAT
    try:
        header = format.decode_header(data)
    except ValueError:
        return Fault.FORMAT
    if header.board != device.board:
        return Fault.BOARD
    if header.accelerator not in device.accelerators:
        return Fault.ACCELERATOR
    if header.layout_hash != device.layout_hash:
        return Fault.LAYOUT
    if not HEADER_SIZE < header.length <= device.room:
        return Fault.LENGTH
    (count,) = struct.unpack_from("<I", data, 172)
    table = _table_for(header, device) if count <= format.VARIANT_LIMIT else 0
    if not _is_payload(header, table, format.TABLE_SIZE):
        return Fault.VARIANT
    if header.version < device.oldest:
        return Fault.VERSION
    if header.kernels & ~device.kernels:
        return Fault.KERNEL
    if device.verifier is not None:
        if header.signature is None:
            return Fault.UNSIGNED
        if not device.verifier(header.signature, data[: format.SIGNED_SIZE]):
            return Fault.SIGNATURE
    return Fault.GOOD


def verify(data: bytes, device: Device) -> Fault:
    """Check a whole package; a file that is longer or shorter than it says is refused."""
    fault = verify_header(data, device)
    if fault is not Fault.GOOD:
        return fault
    header = format.decode_header(data)
    payload = data[HEADER_SIZE:]
    if len(data) != header.length:
        return Fault.LENGTH
    if zlib.crc32(payload) != header.crc:
        return Fault.CRC
    if hashlib.sha256(payload).digest() != header.digest:
        return Fault.DIGEST
    return _verify_table(data, header, device)


def _table_for(header: Header, device: Device) -> int:
    return next((v.table for v in header.variants if v.base == device.base), 0)


def _is_payload(header: Header, offset: int, size: int) -> bool:
    return HEADER_SIZE <= offset and offset % 4 == 0 and offset + size <= header.length


def _is_tensor(device: Device, address: int, size: int) -> bool:
    base, length = device.tensors
    return base <= address and address + size <= base + length


def _verify_table(data: bytes, header: Header, device: Device) -> Fault:
    offset = _table_for(header, device)
    inputs, outputs = struct.unpack_from("<HH", data, offset + 20)
    banks = data[offset + 29]
    count = (inputs + outputs) * banks
    if not 1 <= banks <= 2 or count > TENSOR_LIMIT:
        return Fault.LIMIT
    operations, accelerator = struct.unpack_from("<HH", data, offset + 24)
    if operations > device.operations or data[offset + 28] > device.pipeline:
        return Fault.LIMIT
    programs = struct.unpack_from("<4I", data, offset)
    clear = struct.unpack_from("<II", data, offset + 40)
    if (
        accelerator >= len(device.accelerators)
        or programs[1] == 0
        or not _is_payload(header, programs[0], 4 * programs[1])
        or (programs[3] != 0 and not _is_payload(header, programs[2], 4 * programs[3]))
        or not _is_tensor(device, *clear)
        or not _is_payload(header, offset, format.TABLE_SIZE + format.TENSOR_SIZE * count)
    ):
        return Fault.TABLE
    return _verify_tensors(data, header, format.decode_table(data, offset), device)


def _verify_tensors(data: bytes, header: Header, table: Table, device: Device) -> Fault:
    for tensor in table.tensors:
        name = data[tensor.name : tensor.name + format.NAME_SIZE]
        if (
            not _is_payload(header, tensor.name, format.NAME_SIZE)
            or b"\0" not in name
            or not _is_tensor(device, tensor.address, tensor.size)
        ):
            return Fault.TABLE
    if header.self_test:
        if not _is_payload(header, header.self_test, format.SELF_TEST_SIZE):
            return Fault.TABLE
        (length,) = struct.unpack_from("<I", data, header.self_test)
        if not _is_payload(header, header.self_test + format.SELF_TEST_SIZE, length):
            return Fault.TABLE
    return Fault.GOOD
