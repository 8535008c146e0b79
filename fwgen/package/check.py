"""What can be said of a package file without knowing the device."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

from fwgen.errors import ModelError, UsageError
from fwgen.package import format
from fwgen.package.faults import Fault, fault_words
from fwgen.package.format import HEADER_SIZE, Header


def read_package(path: Path) -> tuple[bytes, Header]:
    """Read a package file and check that it is whole.

    Raises:
        UsageError: no such file.
        ModelError: no package, or a damaged one.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read the package: {error.strerror}",
            where=str(path),
            expected="a file that `fwgen pack` wrote",
        ) from None
    fault = whole(data)
    if fault is Fault.LENGTH:
        length = format.decode_header(data).length
        raise ModelError(
            f"the file has {len(data)} bytes, its header says {length}: "
            + ("its end is missing" if len(data) < length else "something was appended"),
            where=str(path),
            expected="the file as `fwgen pack` wrote it",
            hints=("Copy it again; transfers in text mode and appended files have this effect.",),
        )
    if fault is not Fault.GOOD:
        raise ModelError(
            fault_words(fault), where=str(path), expected="a file that `fwgen pack` wrote"
        )
    return data, format.decode_header(data)


def whole(data: bytes) -> Fault:
    """Whether a package has all its bytes as they were written."""
    if len(data) < HEADER_SIZE or data[:8] != format.MAGIC:
        return Fault.EMPTY
    if zlib.crc32(data[: HEADER_SIZE - 4]) != int.from_bytes(
        data[HEADER_SIZE - 4 : HEADER_SIZE], "little"
    ):
        return Fault.HEADER_CRC
    try:
        header = format.decode_header(data)
    except ValueError:
        return Fault.FORMAT
    if header.length != len(data):
        return Fault.LENGTH
    if zlib.crc32(data[HEADER_SIZE:]) != header.crc:
        return Fault.CRC
    if hashlib.sha256(data[HEADER_SIZE:]).digest() != header.digest:
        return Fault.DIGEST
    return Fault.GOOD
