"""The link's client against a target in a thread, over a socket pair and a pty."""

from __future__ import annotations

import os
import pty
import socket
import time
import tty
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from fwgen.errors import DeviceError, RunTimeout, UsageError
from fwgen.machine.inference import Target, run_inference
from fwgen.machine.link import Link, LinkError
from fwgen.machine.transport import (
    FileTransport,
    LineClosed,
    SocketTransport,
    WatchedTransport,
    open_transport,
)

Mangle = Callable[[int, bytes], bytes]


@pytest.fixture
def connect(fake_target_module: ModuleType) -> Iterator[Callable[..., tuple[Link, Any]]]:
    made: list[tuple[Any, socket.socket, SocketTransport]] = []

    def make(mangle: Mangle | None = None, **options: Any) -> tuple[Link, Any]:
        ours, theirs = socket.socketpair()
        target = fake_target_module.FakeTarget(theirs.fileno(), mangle)
        target.start()
        transport = SocketTransport(ours, "test line")
        made.append((target, theirs, transport))
        return Link(transport, **{"timeout": 0.1, **options}), target

    yield make
    for target, theirs, transport in made:
        target.stop()
        transport.close()
        theirs.close()


def test_everything_once(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, target = connect()
    info = link.info()
    assert (info.board, info.models, info.kernel_version) == ("board", 1, "V9.0.0")
    assert info.build_id == bytes(range(16)).hex()
    assert (info.profile, info.shell, info.canaries, info.test_build) == (True, True, False, True)
    model = link.model(0)
    assert (model.name, model.family, model.operations) == ("net", "nvdla", 3)
    (tensor,) = link.tensors(model, "input")
    assert (tensor.name, tensor.scale, tensor.zero_point) == ("in", 0.5, -3)
    assert (tensor.dtype, tensor.layout, tensor.strides) == ("int8", "NCHW", (1, 100, 1000))
    (output,) = link.tensors(model, "output")
    assert output.scale is None
    data = bytes(i % 251 for i in range(3000))
    link.write_tensor(tensor, data)
    assert bytes(target.tensors[0]) == data
    run = link.run(0)
    assert (run.seconds, run.interrupts, run.kernel_ticks) == (5000.0, 4, 17)
    assert link.read_tensor(output) == bytes((b + 1) & 0xFF for b in data)
    status = link.status()
    assert (status.errors, status.last_failed_operation, status.overruns) == (4, None, 10)
    assert link.profile() == (10, 20, 30)
    assert [(t.name, t.priority, t.stack_words) for t in link.tasks()] == [("dla", 5, 512)]
    assert link.resends == 0


def drop(*indices: int) -> Mangle:
    return lambda index, wire: b"" if index in indices else wire


def test_lost_responses_are_asked_for_again_and_nothing_runs_twice(
    connect: Callable[..., tuple[Link, Any]],
) -> None:
    link, target = connect(drop(1, 2, 4))
    link.info()
    model = link.model()
    tensor = link.tensor(0, "input", 0)
    link.fill_tensor(tensor, 7)
    assert link.resends == 3
    assert target.executed == [1, 2, 3, 10]
    assert model.name == "net"


def test_lost_info_is_executed_again(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, target = connect(drop(0))
    assert link.info().board == "board"
    assert target.executed == [1, 1]


def test_duplicates_and_stale_responses_are_ignored(
    connect: Callable[..., tuple[Link, Any]],
) -> None:
    link, _ = connect(lambda index, wire: wire * 3)
    link.info()
    tensor = link.tensor(0, "input", 0)
    for value in range(20):
        link.fill_tensor(tensor, value)
        assert link.read_tensor(tensor) == bytes((value,)) * 3000
    assert link.resends == 0


def test_corrupt_responses(connect: Callable[..., tuple[Link, Any]]) -> None:
    def corrupt(index: int, wire: bytes) -> bytes:
        if index % 3 == 1:
            place = 2 + index % (len(wire) - 4)
            return wire[:place] + bytes((wire[place] ^ 0x10,)) + wire[place + 1 :]
        return wire

    link, target = connect(corrupt, timeout=0.05)
    link.info()
    tensor = link.tensor(0, "input", 0)
    data = os.urandom(3000)
    link.write_tensor(tensor, data)
    assert link.read_tensor(tensor) == data
    assert link.resends > 0


def test_text_between_frames(connect: Callable[..., tuple[Link, Any]]) -> None:
    text: list[bytes] = []
    link, _ = connect(
        lambda index, wire: b"before \xc3\xa9\r\n" + wire + b"after\r\n", on_text=text.append
    )
    link.info()
    link.model()
    link.drain(0.05)
    assert b"".join(text) == b"before \xc3\xa9\r\nafter\r\n" * 2
    assert link.bad_frames == 0


def test_no_answer(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, target = connect(lambda index, wire: b"", timeout=0.05)
    start = time.monotonic()
    with pytest.raises(DeviceError, match="no answer to INFO after 4 attempts"):
        link.info()
    assert 0.15 < time.monotonic() - start < 2
    assert len(target.requests) == 4


def test_deadline(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, _ = connect(lambda index, wire: b"", timeout=30, deadline=time.monotonic() + 0.2)
    with pytest.raises(RunTimeout):
        link.info()


def test_error_status_becomes_words(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, target = connect()
    with pytest.raises(LinkError, match="no such model, tensor or operation") as caught:
        link.model(9)
    assert caught.value.status == 4
    target.run_status = 7
    with pytest.raises(LinkError, match="did not raise its interrupt in time, in operation 2"):
        link.run()


def test_changed_bytes_are_noticed(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, target = connect()
    tensor = link.tensor(0, "input", 0)
    target.tensors[0] = bytearray(b"x" * 2999)  # its CRC will be another
    with pytest.raises(DeviceError):
        link.read_tensor(tensor)


def test_closed_line(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, _ = connect()
    ours, theirs = socket.socketpair()
    theirs.close()
    link.transport = SocketTransport(ours, "gone")
    with pytest.raises(LineClosed, match="closed"):
        link.info()
    link.transport.close()
    with pytest.raises(LineClosed):
        link.info()


def test_sequence_numbers_wrap_around_zero(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, target = connect()
    link._sequence = 0xFFFE
    for _ in range(3):
        link.status()
    assert [sequence for _, sequence in target.requests] == [0xFFFF, 1, 2]


def test_over_a_pty(fake_target_module: ModuleType) -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)
    target = fake_target_module.FakeTarget(master)
    target.start()
    transport = open_transport(os.ttyname(slave))
    try:
        link = Link(transport)
        link.info()
        tensor = link.tensor(0, "input", 0)
        data = bytes(range(256)) * 11 + bytes(184)
        link.write_tensor(tensor, data)
        assert link.read_tensor(tensor) == data
    finally:
        target.stop()
        transport.close()
        os.close(master)
        os.close(slave)


def test_watched_line_serves_the_other(fake_target_module: ModuleType) -> None:
    ours, theirs = socket.socketpair()
    console, firmware = socket.socketpair()
    target = fake_target_module.FakeTarget(theirs.fileno())
    target.start()
    seen: list[bytes] = []
    transport = WatchedTransport(
        SocketTransport(ours, "link"), SocketTransport(console, "console"), seen.append
    )
    try:
        firmware.sendall(b"booting\r\n")
        Link(transport).info()
        firmware.sendall(b"ready\r\n")
        Link(transport).drain(0.1)
        assert b"".join(seen) == b"booting\r\nready\r\n"
    finally:
        target.stop()
        transport.close()
        theirs.close()
        firmware.close()


def test_inference_and_comparison(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, target = connect()
    data = bytes(i % 256 for i in range(3000))
    good = bytes((b + 1) & 0xFF for b in data)
    bad = good[:17] + bytes((good[17] ^ 0xFF,)) + good[18:]
    results = run_inference(link, {0: data}, {0: good}, repeats=3)
    assert [r.passed for r in results] == [True] * 3
    assert [r.bytes_compared for r in results] == [3000] * 3
    assert results[0].cycles is None
    (result,) = run_inference(link, {0: data}, {0: bad})
    assert not result.passed
    (comparison,) = result.comparisons
    assert comparison.different == 1
    assert comparison.first[0].offset == 17
    assert comparison.first[0].actual == good[17]


def test_inference_refuses_what_does_not_fit(connect: Callable[..., tuple[Link, Any]]) -> None:
    link, _ = connect()
    with pytest.raises(UsageError, match="no model 4"):
        Target(link, model=4)
    with pytest.raises(UsageError, match="runs build 0001"):
        Target(link, build_id="ff" * 16)
    target = Target(link)
    with pytest.raises(UsageError, match="2 bytes for input 'in'"):
        target.infer({0: b"ab"})
    with pytest.raises(UsageError, match="no output 1"):
        target.infer({}, {1: b""})


@pytest.mark.parametrize("address", ["socket://", "socket://host", "socket://h:port", "tcp://:1"])
def test_bad_addresses(address: str) -> None:
    with pytest.raises(UsageError, match="not an address"):
        open_transport(address)


@pytest.mark.parametrize("address", ["/dev/no-such-port", "unix:/no/such", "socket://127.0.0.1:1"])
def test_lines_that_cannot_be_opened(address: str) -> None:
    with pytest.raises(DeviceError) as caught:
        open_transport(address)
    assert caught.value.where == address


def test_full_line_is_bounded() -> None:
    ours, theirs = socket.socketpair()
    transport = FileTransport(ours.fileno(), "full", owner=ours)
    assert not transport.send(bytes(10_000_000), time.monotonic() + 0.1)
    transport.close()
    theirs.close()
