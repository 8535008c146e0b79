"""COBS, CRC-32 and the receiver on the host; requests under the sanitizers."""

from __future__ import annotations

import ctypes
import random
import re
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
LINK = HERE.parent.parent / "rtos" / "link"
NOTHING, FRAME, LINE = range(3)


class Receiver(ctypes.Structure):
    """struct fwgen_receiver of fwgen_link.h."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("overflow", ctypes.c_bool),
        ("in_frame", ctypes.c_bool),
        ("complete", ctypes.c_bool),
        ("frames", ctypes.c_uint32),
        ("bad", ctypes.c_uint32),
        ("data", ctypes.c_uint8 * 1041),
    ]


@pytest.fixture(scope="module", params=[0, 1], ids=["bitwise", "table"])
def library(request: pytest.FixtureRequest, host_build: Callable[..., Path]) -> ctypes.CDLL:
    sources = [LINK / name for name in ("cobs.c", "crc32.c", "receiver.c")]
    path = host_build(
        f"link{request.param}.so", sources, "-shared", "-fPIC", f"-DFWGEN_CRC_TABLE={request.param}"
    )
    loaded = ctypes.CDLL(str(path))
    loaded.fwgen_crc32.restype = ctypes.c_uint32
    loaded.fwgen_crc32.argtypes = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    loaded.fwgen_cobs_decode.restype = ctypes.c_size_t
    return loaded


def reference_encode(data: bytes) -> bytes:
    """From the definition: groups end at a zero or after 254 bytes."""
    out, group = bytearray(), bytearray()
    ended_full = False
    for byte in data:
        ended_full = False
        if byte == 0:
            out += bytes([len(group) + 1]) + group
            group.clear()
        else:
            group.append(byte)
            if len(group) == 254:
                out += b"\xff" + group
                group.clear()
                ended_full = True
    if not ended_full:
        out += bytes([len(group) + 1]) + group
    return bytes(out)


def encode(library: ctypes.CDLL, data: bytes) -> bytes:
    out = bytearray()
    put = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t)(
        lambda bytes_, count: out.extend(bytes_[:count])
    )
    library.fwgen_cobs_encode(ctypes.c_char_p(data), ctypes.c_size_t(len(data)), put)
    return bytes(out)


def samples() -> list[bytes]:
    rng = random.Random(3)
    fixed = [b"\0", b"\0\0", b"\1", b"\1\0", b"\0\1"]
    for size in (253, 254, 255, 508, 509):
        fixed += [b"\7" * size, b"\7" * size + b"\0", b"\0" + b"\7" * size]
    return fixed + [
        bytes(rng.choice((0, 1, 255, rng.randrange(256))) for _ in range(rng.randrange(1, 1036)))
        for _ in range(200)
    ]


def test_cobs_both_ways(library: ctypes.CDLL) -> None:
    for data in samples():
        encoded = encode(library, data)
        assert encoded == reference_encode(data)
        assert 0 not in encoded
        buffer = ctypes.create_string_buffer(encoded, len(encoded))
        size = library.fwgen_cobs_decode(buffer, ctypes.c_size_t(len(encoded)))
        assert buffer.raw[:size] == data


@pytest.mark.parametrize(
    "wrong", [b"\0", b"\2", b"\5abc", b"\3a\0", b"\2a\0", b"\xff" + b"a" * 253]
)
def test_cobs_refuses(library: ctypes.CDLL, wrong: bytes) -> None:
    buffer = ctypes.create_string_buffer(wrong, len(wrong))
    assert library.fwgen_cobs_decode(buffer, ctypes.c_size_t(len(wrong))) == 0


def test_crc(library: ctypes.CDLL) -> None:
    assert library.fwgen_crc32(0, b"123456789", 9) == 0xCBF43926
    for data in samples():
        assert library.fwgen_crc32(0, data, len(data)) == zlib.crc32(data)
        begun = library.fwgen_crc32(0, data, len(data) // 2)
        rest = data[len(data) // 2 :]
        assert library.fwgen_crc32(begun, rest, len(rest)) == zlib.crc32(data)


def frame(payload: bytes, kind: int = 1) -> bytes:
    body = struct.pack("<BBHBBH", 1, kind, 7, 0, 0, len(payload)) + payload
    return body + struct.pack("<I", zlib.crc32(body))


def feed(library: ctypes.CDLL, receiver: Receiver, data: bytes) -> list[tuple[int, bytes]]:
    out = []
    for byte in data:
        what = library.fwgen_receiver_take(ctypes.byref(receiver), ctypes.c_uint8(byte))
        if what != NOTHING:
            out.append((what, bytes(receiver.data[: receiver.length])))
    return out


def wire(body: bytes) -> bytes:
    return b"\0" + reference_encode(body) + b"\0"


def test_frames_and_lines_share_a_line(library: ctypes.CDLL) -> None:
    receiver = Receiver()
    first, second = frame(b"\n\r\0a"), frame(bytes(1024))
    got = feed(
        library, receiver, b"help\r" + wire(first) + b"status\n" + wire(second) + wire(first)
    )
    assert got == [
        (LINE, b"help"),
        (FRAME, first),
        (LINE, b"status"),
        (FRAME, second),
        (FRAME, first),
    ]
    assert (receiver.frames, receiver.bad) == (3, 0)


def test_damage_costs_one_frame(library: ctypes.CDLL) -> None:
    receiver = Receiver()
    good = frame(b"abcdef")
    damaged = bytearray(wire(good))
    damaged[8] ^= 0x10
    assert feed(library, receiver, bytes(damaged) + wire(good)) == [(FRAME, good)]
    assert (receiver.frames, receiver.bad) == (1, 1)


def test_lost_opening_zero_and_shared_zero(library: ctypes.CDLL) -> None:
    receiver = Receiver()
    good = frame(b"abcdef")
    assert feed(library, receiver, wire(good)[1:]) == [(FRAME, good)]
    assert feed(library, receiver, reference_encode(good) + b"\0") == [(FRAME, good)]


def test_longer_than_a_frame(library: ctypes.CDLL) -> None:
    receiver = Receiver()
    good = frame(b"x")
    data = b"\0" + b"\1" * 5000 + b"\0" + wire(good) + b"y" * 5000 + b"\n" + wire(good)
    assert feed(library, receiver, data) == [(FRAME, good), (LINE, b""), (FRAME, good)]
    assert receiver.bad == 1
    assert feed(library, receiver, wire(frame(bytes(1024)))) != []
    assert feed(library, receiver, wire(frame(bytes(1025)))) == []


def test_empty_pieces_and_short_frames(library: ctypes.CDLL) -> None:
    receiver = Receiver()
    short = struct.pack("<I", zlib.crc32(b""))
    assert feed(library, receiver, b"\0\0\0" + wire(short) + wire(b"1234" + short)) == []


@pytest.mark.parametrize("seed", range(4))
def test_requests_never_touch_foreign_memory(host_build: Any, seed: int) -> None:
    sources = [LINK / name for name in ("answer.c", "cobs.c", "crc32.c", "receiver.c")]
    path = host_build(
        f"link_fuzz{seed}",
        [HERE / "host/link_fuzz.c", *sources],
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-Wno-conversion",
    )
    done = subprocess.run(
        [str(path), str(seed), "4000"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    counts = [int(n) for n in re.findall(r"\d+", done.stdout)]
    assert counts[0] > 2000 and counts[1] > 1000 and counts[2] > 100, done.stdout
