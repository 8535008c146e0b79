"""Random requests to a device: none may crash it, hang it or take its model away.

Frames have right checksums, so that everything behind them is reached; the device is the
runtime's C under the sanitizers (host/target.c).
"""

from __future__ import annotations

import random
import struct
import time
from pathlib import Path

import pytest
from devices import HostDevice, build_host, connect, line_to, open_link, slots_of
from noisy_line import Noise
from packages import make_package

from fwgen.machine.frames import Frame, Request
from fwgen.machine.update import Updater
from fwgen.package.faults import fault_words

ROUNDS = 2000
PACKAGE = make_package("one", seed=1)
OTHER = make_package("two", seed=2)


def random_request(rng: random.Random) -> tuple[int, bytes]:
    """A type of the range for slots, with a payload that is often nearly right."""
    kind = rng.choice([*range(0x10, 0x30), *([0x12, 0x12, 0x1B, 0x1A, 0x19] * 2)])
    if kind == Request.RESET:
        kind = Request.SLOTS
    payload = rng.randbytes(rng.choice((0, 1, 2, 4, 5, 8, 31, 32, 40, 512, rng.randrange(1024))))
    match rng.randrange(5), kind:
        case ((0 | 1 | 2), Request.UPDATE_BEGIN):
            payload = bytearray((PACKAGE if rng.random() < 0.5 else OTHER)[:512])
            if rng.random() < 0.5:
                payload[rng.randrange(512)] ^= 1 << rng.randrange(8)
        case ((0 | 1 | 2 | 3), Request.UPDATE_DATA):
            offset = rng.choice((512, 1024, 1536, 2048, 2560, rng.getrandbits(32)))
            size = rng.choice((16, 512, 100, 1))
            payload = struct.pack("<I", offset) + OTHER[offset : offset + size]
        case ((0 | 1 | 2), Request.SETTING_SET):
            key = rng.choice((b"a", b"b", b"k" * 31))
            payload = bytes((len(key),)) + key + rng.randbytes(rng.randrange(257))
        case ((0 | 1), (Request.SETTING_GET | Request.SETTING_DELETE)):
            payload = rng.choice((b"a", b"b", b"k" * 31))
        case ((0 | 1 | 2), Request.PARTITION_ERASE):
            name = rng.choice((b"settings", b"state", b"slot_a", b"slot_b", b"x"))
            offset = rng.choice((0, 1024, 2048, 1, 16384, rng.getrandbits(32)))
            payload = struct.pack("<I", offset) + name
        case _:
            pass
    return kind, bytes(payload)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_requests(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    device = HostDevice(build_host(tmp_path_factory.mktemp("requests"), "target"), tmp_path / "f")
    rng = random.Random(seed)
    with line_to(device, Noise()) as line:
        Updater(lambda: connect(line), PACKAGE, words=fault_words).run()
        answered: dict[int, int] = {}
        with open_link(line) as link:
            for number in range(ROUNDS):
                kind, payload = random_request(rng)
                sequence = number % 0xFFFF + 1
                wire = Frame(kind, sequence, payload=payload).encode()
                assert link.transport.send(wire, time.monotonic() + 10.0)
                end, frames = time.monotonic() + 10.0, []
                while not frames or frames[-1].sequence != sequence:
                    assert time.monotonic() < end, f"no answer to {kind:#x} {payload.hex()}"
                    frames = link.answers(1.0)
                assert frames[-1].type == kind | 0x80
                answered[frames[-1].status] = answered.get(frames[-1].status, 0) + 1
        info = slots_of(line)
        assert (info.running, info.confirmed) == (0, 0)
        assert info.slots[0].digest == PACKAGE[128:136].hex()
        # Many kinds of answers, or the requests were not interesting.
        assert len(answered) >= 6 and answered[0] > ROUNDS / 20, answered
