"""The runtime on an emulated Cortex-M3 without an accelerator: link, timeouts, faults.

The project in fixture/ declares plain RAM as the accelerator's registers, so runs
that wait for its interrupt end by timeout.
"""

from __future__ import annotations

import random
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.qemu

INFO, MODEL, TENSOR, WRITE, READ, RUN, STATUS, PROFILE, TASKS, FILL, CRC = range(1, 12)
EXIT = 0x0F
OK, BAD_VERSION, BAD_TYPE, BAD_LENGTH, BAD_INDEX, BAD_RANGE, BUSY, TIMEOUT, DEVICE = range(9)
NOT_SUPPORTED, CANARY = 9, 10
LOST, PLAIN = 0, 1
STATUS_FORMAT = "<8IB3x3I"

Boot = Callable[..., Any]


def strings(data: bytes) -> list[str]:
    out = []
    while data:
        out.append(data[1 : 1 + data[0]].decode())
        data = data[1 + data[0] :]
    return out


def run(target: Any, model: int, timeout: int = 0) -> tuple[int, tuple[int, ...]]:
    response = target.request(RUN, struct.pack("<BBHI", model, 0, 0, timeout))
    return response.status, struct.unpack("<IQIII", response.payload)


def test_describes_itself(boot: Boot) -> None:
    target = boot()
    info = target.request(INFO, sequence=0)
    assert info.status == OK
    assert struct.unpack("<BBBBHH", info.payload[:8]) == (1, 2, 1, 0x08, 1024, 0)
    assert info.payload[8:24] == bytes(range(1, 17))
    board, version, kernel = strings(info.payload[24:])
    assert (board, version) == ("fixture", "0.0")
    assert re.match(r"V(9|10|11)\.", kernel)

    model = target.request(MODEL, bytes([PLAIN])).payload
    assert struct.unpack("<BBH", model[:4]) == (1, 1, 2)
    assert model[4:12] == bytes([2, 0, 0, 0, 0, 0, 0, 0])
    assert strings(model[12:]) == ["plain", "dla0", "nvdla", "nv_small"]

    tensor = target.request(TENSOR, bytes([PLAIN, 0, 0])).payload
    fields = struct.unpack("<I4I3IfiBBH", tensor[:44])
    assert fields == (16, 1, 16, 1, 1, 1, 16, 16, 0.5, -3, 1, 3, 8)
    assert strings(tensor[44:]) == ["in"]
    assert "FreeRTOS" in target.all_text()


def test_writes_runs_and_reads(boot: Boot) -> None:
    target = boot()
    # start-up code copied "fixture" into the input and cleared the output
    first = target.request(READ, struct.pack("<BBBBII", PLAIN, 0, 0, 0, 0, 16))
    assert first.payload == b"fixture" + bytes(9)
    data = bytes(range(100, 116))
    for at in (0, 7):
        part = data[at : at + 9]
        answer = target.request(WRITE, struct.pack("<BBBBI", PLAIN, 0, 0, 0, at) + part)
        assert (answer.status, answer.payload) == (OK, b"")
    status, (operation, duration, hertz, interrupts, ticks) = run(target, PLAIN)
    assert (status, operation, interrupts) == (OK, 0xFFFFFFFF, 0)
    assert hertz == 25_000_000 and 0 < duration < hertz // 100 and ticks <= 1
    output = target.request(READ, struct.pack("<BBBBII", PLAIN, 1, 0, 0, 0, 16))
    assert output.payload == data[::-1]
    crc = target.request(CRC, bytes([PLAIN, 1, 0, 0]))
    assert struct.unpack("<I", crc.payload) == (zlib.crc32(data[::-1]),)
    assert target.request(FILL, bytes([PLAIN, 0, 0, 0x5A])).status == OK
    assert run(target, PLAIN)[0] == OK
    output = target.request(READ, struct.pack("<BBBBII", PLAIN, 1, 0, 0, 3, 5))
    assert output.payload == b"\x5a" * 5


def test_lost_interrupt_ends_in_timeout_and_recovers(boot: Boot) -> None:
    target = boot()
    status, (operation, _, _, interrupts, ticks) = run(target, LOST)
    assert (status, operation, interrupts) == (TIMEOUT, 1, 0)
    assert 20 <= ticks <= 22
    # the caller's bound is shorter than the program's
    status, (operation, _, _, _, ticks) = run(target, LOST, 5)
    assert (status, operation) == (TIMEOUT, 1) and 5 <= ticks <= 7
    assert run(target, PLAIN)[0] == OK
    fields = struct.unpack(STATUS_FORMAT, target.request(STATUS).payload)
    _, rate, inferences, errors, interrupts, spurious, resets, last, code, frames, bad, lost = (
        fields
    )
    assert (rate, inferences, errors, interrupts, spurious) == (1000, 1, 2, 0, 0)
    assert (resets, last, code) == (2, 1, OK)
    assert (frames, bad, lost) == (4, 0, 0)


def test_repeated_request_is_not_executed_again(boot: Boot) -> None:
    target = boot()
    target.request(INFO, sequence=0)
    payload = struct.pack("<BBHI", PLAIN, 0, 0, 0)
    first = target.request(RUN, payload, sequence=77)
    again = target.request(RUN, payload, sequence=77)
    assert first.payload == again.payload
    target.request(RUN, payload, sequence=78)
    assert struct.unpack(STATUS_FORMAT, target.request(STATUS).payload)[2] == 2
    # sequence number 0 is always executed
    target.request(RUN, payload, sequence=0)
    target.request(RUN, payload, sequence=0)
    assert struct.unpack(STATUS_FORMAT, target.request(STATUS).payload)[2] == 4


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (0x7F, b"", BAD_TYPE),
        (0x10, b"", BAD_TYPE),
        (INFO, b"x", BAD_LENGTH),
        (MODEL, b"", BAD_LENGTH),
        (MODEL, bytes([2]), BAD_INDEX),
        (TENSOR, bytes([0, 2, 0]), BAD_INDEX),
        (TENSOR, bytes([0, 0, 1]), BAD_INDEX),
        (TENSOR, bytes([255, 0, 0]), BAD_INDEX),
        (WRITE, struct.pack("<BBBBI", 0, 0, 0, 0, 0), BAD_LENGTH),
        (WRITE, struct.pack("<BBBBI", 0, 0, 0, 0, 16) + b"x", BAD_RANGE),
        (WRITE, struct.pack("<BBBBI", 0, 0, 0, 0, 0xFFFFFFFF) + b"xy", BAD_RANGE),
        (WRITE, struct.pack("<BBBBI", 0, 0, 0, 0, 0) + bytes(17), BAD_RANGE),
        (READ, struct.pack("<BBBBII", 0, 0, 0, 0, 0, 0), BAD_RANGE),
        (READ, struct.pack("<BBBBII", 0, 0, 0, 0, 1, 16), BAD_RANGE),
        (READ, struct.pack("<BBBBII", 0, 0, 0, 0, 0xFFFFFFF8, 16), BAD_RANGE),
        (READ, struct.pack("<BBBBII", 0, 0, 0, 0, 0, 0xFFFFFFFF), BAD_RANGE),
        (RUN, struct.pack("<BBHI", 2, 0, 0, 0), BAD_INDEX),
        (PROFILE, bytes(4), NOT_SUPPORTED),
        (CRC, bytes([0, 1, 9, 0]), BAD_INDEX),
    ],
)
def test_wrong_requests_have_their_code(
    target: Any, kind: int, payload: bytes, expected: int
) -> None:
    assert target.request(kind, payload).status == expected


def test_noise_versions_and_wrong_crc(boot: Boot) -> None:
    target = boot()
    noise = random.Random(5)
    target.send(bytes(noise.randrange(1, 256) for _ in range(3000)))
    target.send(target.frame(STATUS, 1)[:-1] + b"\x01\x00")  # damaged
    # the damaged frame may have swallowed the next opening zero, never the frame
    answer = target.request(INFO, sequence=9)
    assert answer.status == OK
    target.send(target.frame(INFO, 10, version=2))
    answer = target.response()
    assert (answer.status, answer.payload, answer.sequence) == (BAD_VERSION, b"\x01", 10)
    target.send(target.frame(0x81, 11))  # a response: no answer
    assert target.request(STATUS, sequence=12).status == OK


def act(target: Any, damage: int) -> None:
    """Lets the kernel of the next run of "plain" do damage (project.c)."""
    payload = struct.pack("<BBBBIB", PLAIN, 0, 0, 0, 15, 0xF0 + damage)
    assert target.request(WRITE, payload).status == OK


RUN_PLAIN = struct.pack("<BBHI", PLAIN, 0, 0, 0)


def test_exit_code(boot: Boot) -> None:
    target = boot()
    assert target.request(EXIT, bytes([42])).status == OK
    assert target.exit_code() == 42


@pytest.mark.parametrize(
    ("damage", "exit_code", "pattern"),
    [
        (0, 70, r"kind=busfault pc=0x[0-9a-f]{8} lr=\S+ cfsr=0x00008200 hfsr=\S+ bfar=0xb0000000"),
        (1, 71, r"kind=stack task=dla0"),
        (2, 72, r"kind=assert pc=0x[0-9a-f]{8} file=project.c line=\d+ task=dla0"),
    ],
)
def test_fault_reports(boot: Boot, damage: int, exit_code: int, pattern: str) -> None:
    target = boot()
    act(target, damage)
    target.send_request(RUN, RUN_PLAIN)
    assert target.exit_code() == exit_code
    text = target.all_text()
    assert re.search(r"^\*\*\* FAULT " + pattern, text, re.MULTILINE), text
    assert text.rstrip("\r\n").endswith("*** END")


def test_canary(boot: Boot) -> None:
    target = boot("FWGEN_CANARIES=1")
    act(target, 4)
    target.send_request(RUN, RUN_PLAIN)
    assert target.exit_code() == 73
    assert re.search(
        r"^\*\*\* FAULT kind=canary word=0x2\S+ value=0x00000007 operation=1 task=dla0\r$",
        target.all_text(),
        re.MULTILINE,
    )


def test_canary_without_semihosting_is_a_result(boot: Boot) -> None:
    target = boot("FWGEN_CANARIES=1", "FWGEN_SEMIHOSTING=0")
    act(target, 4)
    status, (operation, *_) = run(target, PLAIN)
    assert (status, operation) == (CANARY, 1)
    assert target.request(EXIT, b"\0").status == NOT_SUPPORTED


def test_spurious_interrupt_is_counted(boot: Boot) -> None:
    target = boot()
    act(target, 3)
    status, (_, _, _, interrupts, _) = run(target, PLAIN)
    assert (status, interrupts) == (OK, 1)
    fields = struct.unpack(STATUS_FORMAT, target.request(STATUS).payload)
    assert fields[4:6] == (1, 1)


def test_shell_and_frames_on_one_line(boot: Boot) -> None:
    target = boot("FWGEN_SHELL=1", "FWGEN_PROFILE=1", "configUSE_TRACE_FACILITY=1")
    target.send(b"help\r\n")
    target.wait_text("models - ")
    assert run(target, PLAIN)[0] == OK
    target.send(b"run 2\nrun 1\nrun 999999999999\nrun lost\n")
    text = target.wait_text("lost: TIMEOUT at operation 1")
    assert "run - " in text
    assert "plain: OK" in text and text.count("no such model") == 2  # of two, number 1
    target.send(b"status\nmodels\nmem\ntasks\nprofile lost\nlog\nlog debug\nlog x\nnonsense\n")
    text = target.wait_text("nonsense: unknown command")
    assert "dla0: idle, waiting 0, inferences 2, errors 1" in text
    assert "last TIMEOUT, last failed operation 1" in text
    assert re.search(r"dla0: priority 5, stack 2048 words, least free \d+", text)
    shares = re.findall(r"^(\w+): .*, CPU (\d+)\.(\d)%", text, re.MULTILINE)
    assert {name for name, *_ in shares} == {"dla0", "link", "IDLE"}
    assert 90 <= sum(int(a) + int(b) / 10 for _, a, b in shares) <= 100.5
    assert re.search(r"1: timer ticks \d{6}", text)
    assert re.findall(r"log level (\w+)", text) == ["info", "debug"]
    assert "no such level" in text
    assert re.search(r"cleared 0x2\S+, bytes 16", text)
    profile = target.request(PROFILE, struct.pack("<BBH", LOST, 0, 0))
    total, count, first, second = struct.unpack("<HHII", profile.payload)
    assert (total, count) == (2, 2)
    assert second >= 20 * 25_000 > first  # operation 1 waited 20 ms
    tasks = target.request(TASKS).payload
    names = re.findall(rb"dla0|link|IDLE", tasks)
    assert struct.unpack("<H", tasks[:2]) == (3,) and sorted(names) == [b"IDLE", b"dla0", b"link"]


def test_client_of_the_interface(boot: Boot) -> None:
    target = boot("FIXTURE_API=1", "FWGEN_TEST_BUILD=0")
    assert "client: all as documented" in target.wait_text("client: end")
