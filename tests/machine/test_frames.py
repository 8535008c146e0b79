"""COBS and frames: round trips, limits, damaged and mixed streams."""

from __future__ import annotations

import random
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fwgen.machine import cobs
from fwgen.machine.frames import Frame, Receiver, decode_frame, status_words

# From the paper that introduced COBS, and the limits of a block.
KNOWN = [
    (b"", b"\x01"),
    (b"\x00", b"\x01\x01"),
    (b"\x11\x22\x00\x33", b"\x03\x11\x22\x02\x33"),
    (b"\x11\x00\x00\x00", b"\x02\x11\x01\x01\x01"),
    (bytes(range(1, 254)), b"\xfe" + bytes(range(1, 254))),
    (bytes(range(0, 255)), b"\x01\xff" + bytes(range(1, 255)) + b"\x01"),
]


@pytest.mark.parametrize(("plain", "encoded"), KNOWN)
def test_known_encodings(plain: bytes, encoded: bytes) -> None:
    assert cobs.encode(plain) == encoded
    assert cobs.decode(encoded) == plain


@given(st.binary(max_size=1200) | st.lists(st.sampled_from([0, 1]), max_size=1200).map(bytes))
def test_round_trip(data: bytes) -> None:
    encoded = cobs.encode(data)
    assert 0 not in encoded
    assert len(encoded) <= len(data) + len(data) // 254 + 1
    assert cobs.decode(encoded) == data


@given(st.binary(max_size=1200))
def test_other_encoder(fake_target_module: ModuleType, data: bytes) -> None:
    assert cobs.decode(fake_target_module.cobs_encode(data)) == data
    assert fake_target_module.cobs_decode(cobs.encode(data)) == data


@pytest.mark.parametrize("bad", [b"\x05abc", b"\x00", b"\x02\x00", b"\x03a\x00b"])
def test_bad_cobs(bad: bytes) -> None:
    assert cobs.decode(bad) is None


@given(st.binary(max_size=64))
def test_random_bytes_are_no_frame(data: bytes) -> None:
    decode_frame(data)  # never raises


def test_frame_on_the_wire() -> None:
    wire = Frame(0x05, 0x0201, payload=b"\x00ab").encode()
    assert wire[0] == wire[-1] == 0 and 0 not in wire[1:-1]
    body = cobs.decode(wire[1:-1])
    assert body is not None
    assert body[:8] == bytes((1, 5, 1, 2, 0, 0, 3, 0)) and body[8:11] == b"\x00ab"
    assert decode_frame(wire[1:-1]) == Frame(5, 0x0201, payload=b"\x00ab")


@given(st.integers(0, 255), st.integers(0, 0xFFFF), st.binary(max_size=1024))
def test_first_byte_of_a_frame(kind: int, sequence: int, payload: bytes) -> None:
    """What the receiver's text rule rests on."""
    assert 2 <= Frame(kind, sequence, payload=payload).encode()[1] <= 6


@given(st.data())
def test_mixed_stream_in_any_pieces(data: st.DataObject) -> None:
    text = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=40)
    frames = st.builds(
        Frame,
        st.integers(1, 255),
        st.integers(0, 0xFFFF),
        st.integers(0, 10),
        st.binary(max_size=90),
    )
    items = data.draw(st.lists(frames | text.map(lambda t: t.encode()), max_size=8))
    wire = b"".join(i.encode() if isinstance(i, Frame) else i for i in items)
    receiver = Receiver()
    got: list[Frame | bytes] = []
    while wire:
        cut = data.draw(st.integers(1, len(wire)))
        got += receiver.feed(wire[:cut])
        wire = wire[cut:]
    assert [g for g in got if isinstance(g, Frame)] == [i for i in items if isinstance(i, Frame)]
    assert b"".join(g for g in got if isinstance(g, bytes)) == b"".join(
        i for i in items if isinstance(i, bytes)
    )
    assert receiver.bad_frames == 0


def test_text_is_not_held_back() -> None:
    assert Receiver().feed(Frame(0x81, 0).encode() + b"$ ") == [Frame(0x81, 0), b"$ "]


def test_damaged_frames_are_counted_and_the_next_is_found() -> None:
    random_ = random.Random(5)
    for _ in range(200):
        wire = bytearray(Frame(0x81, 7, payload=bytes(random_.randbytes(40))).encode())
        place = random_.randrange(2, len(wire) - 1)
        wire[place] ^= 1 << random_.randrange(8)
        receiver = Receiver()
        got = receiver.feed(bytes(wire) + Frame(0x82, 8).encode())
        assert Frame(0x82, 8) in got
        assert all(f.sequence == 8 for f in got if isinstance(f, Frame))
        assert receiver.bad_frames >= 1


def test_endless_garbage_is_given_up() -> None:
    receiver = Receiver()
    receiver.feed(b"\0\x03" + b"\xee" * 100_000)
    assert receiver.bad_frames == 1
    assert receiver.feed(b"\0" + Frame(0x81, 1).encode()) == [Frame(0x81, 1)]


def test_status_words() -> None:
    assert "interrupt" in status_words(7)
    assert status_words(200) == "unknown status 200"
