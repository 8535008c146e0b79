"""The legacy image header of U-Boot, with which `bootm` starts the firmware.

U-Boot: include/image.h, `struct legacy_img_hdr`: 64 bytes, big endian, with a CRC-32
of itself (its own field zero) and one of the data. The firmware is announced as a
Linux kernel for Arm: for that type `bootm` switches off interrupts, caches and MMU
before it jumps. The time is zero, so that equal firmware gives equal bytes.
"""

from __future__ import annotations

import struct
import zlib

HEADER_SIZE = 64
NAME = "firmware.uimg"

_MAGIC = 0x27051956
_OS_LINUX = 5
_ARCH_ARM = 2
_TYPE_KERNEL = 2
_UNCOMPRESSED = 0
_NAME_SIZE = 32


def legacy_image(data: bytes, load: int, entry: int, name: str) -> bytes:
    """Header and data.

    Args:
        data: the flat binary.
        load: address that `bootm` moves the data to; 32 bits.
        entry: address that it jumps to.
        name: shown by `iminfo` and `bootm`; cut to 32 bytes.
    """
    header = struct.pack(
        ">7I4B32s",
        _MAGIC,
        0,
        0,
        len(data),
        load,
        entry,
        zlib.crc32(data),
        _OS_LINUX,
        _ARCH_ARM,
        _TYPE_KERNEL,
        _UNCOMPRESSED,
        name.encode("ascii", "replace")[:_NAME_SIZE],
    )
    checksum = struct.pack(">I", zlib.crc32(header))
    return header[:4] + checksum + header[8:] + data
