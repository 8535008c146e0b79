"""Executor and NVDLA driver on the host, against an interpreter of docs/program.md."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator

import pytest
from executor_harness import (
    CACHE,
    CACHE_AT,
    CACHE_SIZE,
    CANCELLED,
    DEVICE,
    FOREVER,
    KERNEL_COUNT,
    LOGGED,
    NOT_SUPPORTED,
    NOW,
    OK,
    OPERATION,
    PARITY,
    POINTERS,
    PROGRAM,
    RESETS,
    STATUS,
    TIMEOUT,
    Harness,
    Interpreter,
    cache,
    command_words,
    cpu,
    end,
    group,
    mark,
    poll,
    port,
    put,
    run,
    spread,
    wait,
)


@pytest.fixture
def harness(executor_library: ctypes.CDLL) -> Iterator[Harness]:
    executor_library.harness_log.restype = ctypes.c_void_p
    made = Harness(executor_library)
    made.reset()
    yield made
    made.library.harness_reset(None, None)


def random_program(rng: random.Random) -> list[int]:
    program: list[int] = []
    for step in range(rng.randrange(1, 30)):
        register = rng.randrange(0x3000, 0x12000, 4)
        values = [rng.getrandbits(32) for _ in range(rng.choice((1, 2, 7, 40, 255)))]
        program += rng.choice(
            (
                run(register, *values),
                port(register, *values),
                put(register, rng.randrange(256)),
                group(rng.randrange(16), rng.randrange(2), register),
                wait(rng.getrandbits(32) | 1, rng.choice((0, 1, 5000))),
                cache(rng.choice((1, 2)), 0x20000000, 64),
                cpu(1, *values[:2]),
                mark(step),
            )
        )
    return program + end(rng.getrandbits(16))


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_write_what_the_encoding_says(harness: Harness, seed: int) -> None:
    rng = random.Random(seed)
    program = random_program(rng)
    interpreter = Interpreter()
    for _ in range(3):  # the parity goes on from run to run
        before = interpreter.parity
        writes, masks = interpreter.play(program)
        remaining = list(masks)

        def deliver(ticks: int, remaining: list[int] = remaining) -> int:
            # the bits of the current wait, in two interrupts
            half = remaining[0] & 0x55555555
            if harness.get(STATUS) & half == half:
                harness.library.harness_deliver(remaining[0])
            else:
                harness.library.harness_deliver(half)
            if harness.get(STATUS) & remaining[0] == remaining[0]:
                remaining.pop(0)
            return 0

        harness.on_wait = deliver
        first = harness.get(LOGGED)
        assert harness.get(PARITY) == spread(before)
        assert harness.run(program) == OK
        assert harness.log(first) == writes
        assert remaining == [], "a wait did not wait for its bits"
        assert harness.get(STATUS) == 0, "bits that were waited for are forgotten"
        assert harness.get(PARITY) == spread(interpreter.parity)


def test_waits_forget_only_their_bits(harness: Harness) -> None:
    harness.library.harness_deliver(0x31)
    assert harness.run(wait(0x11) + end()) == OK
    assert harness.get(STATUS) == 0x20


@pytest.mark.parametrize("seed", range(5))
def test_truncated_programs_are_errors(harness: Harness, seed: int) -> None:
    rng = random.Random(1000 + seed)
    program = random_program(rng)
    harness.on_wait = lambda ticks: harness.library.harness_deliver(0xFFFFFFFF) or 0
    starts = set()  # where commands begin
    at = 0
    while at < len(program):
        starts.add(at)
        at += command_words(program[at])
    for words in {1, len(program) - 1, *(rng.randrange(1, len(program)) for _ in range(60))}:
        # memory behind the words cannot be read: harness.c
        first = harness.get(LOGGED)
        assert harness.run(program[:words]) == PROGRAM
        # what does not end in something like END is not begun, nor are commands that are cut
        whole = max(start for start in starts if start <= words)
        if program[words - 1] >> 28:
            whole = 0
        assert harness.log(first) == Interpreter().play(program[:whole] + end())[0]


@pytest.mark.parametrize("code", range(10, 16))
def test_reserved_opcodes_are_errors(harness: Harness, code: int) -> None:
    assert harness.run(mark(3) + [code << 28 | 1, 0, 0] + end()) == PROGRAM
    assert harness.get(OPERATION) == 3
    assert harness.get(LOGGED) == 0


@pytest.mark.parametrize(
    "words",
    [run(0x9000), port(0x9000), cache(0, 0, 4), cache(3, 0, 4), [9 << 28 | 1]],
    ids=["run of none", "port of none", "cache 0", "cache 3", "no end"],
)
def test_contradictions_are_errors(harness: Harness, words: list[int]) -> None:
    assert harness.run(words + ([] if words[0] >> 28 == 9 else end())) == PROGRAM


def test_a_repeated_interrupt_does_not_end_the_next_wait(harness: Harness) -> None:
    """The same done bit twice: the second one comes after its wait is over."""
    once = group(0, 0) + put(0x9038, 1) + wait(1)
    deliveries = []

    def deliver(ticks: int) -> int:
        deliveries.append(ticks)
        harness.library.harness_deliver(1)
        return 1

    harness.on_wait = deliver

    def again(offset: int, value: int) -> None:
        if offset == 0x9FF0:  # between the operations
            harness.library.harness_deliver(1)

    harness.on_write = again
    assert harness.run(once + put(0x9FF0, 1) + once + end(1)) == OK
    assert len(deliveries) == 2
    # the unit's next group is the other one, and so is its bit
    harness.on_wait = lambda ticks: ticks
    assert harness.run(put(0x9FF0, 1) + once + end(1)) == TIMEOUT


def test_timeout_tells_the_operation_and_keeps_the_parity(harness: Harness) -> None:
    program = mark(0) + put(0x9038, 1) + mark(7) + wait(3, 20) + end(1)
    assert harness.run(end(1)) == OK
    before = harness.get(NOW)
    assert harness.run(program) == TIMEOUT
    assert harness.get(OPERATION) == 7
    assert harness.get(PARITY) == 1
    assert 20 <= (harness.get(NOW) - before) % (1 << 32) <= 21


def test_default_timeout_and_bound_of_the_run(harness: Harness) -> None:
    for timeout, expected in ((FOREVER, 100), (30, 30), (0, 0)):
        before = harness.get(NOW)
        assert harness.run(wait(1) + end(), timeout) == TIMEOUT
        assert (harness.get(NOW) - before) % (1 << 32) == expected


def test_bits_that_come_in_time_need_no_time(harness: Harness) -> None:
    harness.library.harness_deliver(1)
    assert harness.run(wait(1) + end(), 0) == OK


def test_notifications_without_bits_do_not_end_a_wait(harness: Harness) -> None:
    calls = []

    def other_job(ticks: int) -> int:
        calls.append(ticks)
        if len(calls) == 5:
            harness.library.harness_deliver(2)
        return 3

    harness.on_wait = other_job
    assert harness.run(wait(2) + end()) == OK
    assert calls == [100, 97, 94, 91, 88]


def test_cancel(harness: Harness) -> None:
    harness.library.harness_cancel()
    assert harness.run(mark(1) + wait(1) + end()) == CANCELLED
    assert harness.run(poll(0x300C, 1, 1) + end()) == CANCELLED


def test_poll(harness: Harness) -> None:
    harness.library.harness_set(0x300C, 0xF1)
    assert harness.run(poll(0x300C, 0x0F, 1) + end()) == OK
    before = harness.get(NOW)
    assert harness.run(poll(0x300C, 0x0F, 2) + end()) == TIMEOUT
    assert (harness.get(NOW) - before) % (1 << 32) == 100


def test_kernels(harness: Harness) -> None:
    assert harness.run(cpu(1, 11, 22) + end()) == OK
    assert harness.get(KERNEL_COUNT) == 2
    assert [harness.library.harness_argument(i) for i in range(2)] == [11, 22]
    assert harness.run(cpu(1, 1, 2, 3) + end()) == NOT_SUPPORTED  # the kernel's own
    assert harness.run(cpu(0) + end()) == NOT_SUPPORTED
    assert harness.run(cpu(2) + end()) == NOT_SUPPORTED
    assert harness.run(cpu(255) + end()) == NOT_SUPPORTED


def test_cache_maintenance(harness: Harness) -> None:
    assert harness.run(cache(2, 0x20001000, 256) + end()) == OK
    assert [harness.get(w) for w in (CACHE, CACHE_AT, CACHE_SIZE)] == [2, 0x20001000, 256]


# ---- the NVDLA driver ----

MASK, INTERRUPTS = 0x1004, 0x100C
USES_ALL = group(0, 0) + group(5, 0) + group(2, 0) + group(10, 0) + end()


def test_interrupt_acknowledges_what_it_read(harness: Harness) -> None:
    harness.library.harness_set(INTERRUPTS, 0x100011)
    assert harness.library.harness_interrupt() == 0x100011
    assert harness.library.harness_read(INTERRUPTS) == 0
    assert harness.log() == [(INTERRUPTS, 0x100011)]
    assert harness.get(STATUS) == 0x100011
    assert harness.library.harness_interrupt() == 0


def test_prepare_lets_the_models_interrupts_through(harness: Harness) -> None:
    harness.library.harness_set(INTERRUPTS, 1)
    harness.library.harness_deliver(4)
    harness.library.harness_prepare()
    assert harness.library.harness_read(MASK) & 0xFFFFFFFF == ~0x00300033 & 0xFFFFFFFF
    assert harness.library.harness_read(INTERRUPTS) == 0
    assert harness.get(STATUS) == 0


@pytest.mark.parametrize("consumers", range(16))
def test_recovery_reads_the_parity_back(harness: Harness, consumers: int) -> None:
    harness.install(USES_ALL)
    harness.run(end(1 << 3 | 1 << 0))  # pair 3 is no unit of this model
    expected = spread(1 << 3)
    for place, (pair, register) in enumerate(POINTERS.items()):
        if consumers >> place & 1:
            harness.library.harness_set(register, 1 << 16 | 1)
            expected |= spread(1 << pair)
            if pair == 10:
                expected |= spread(1 << 8 | 1 << 9)  # CDMA goes with CACC
    assert harness.library.harness_recover() == OK
    assert harness.get(PARITY) == expected
    assert harness.library.harness_read(MASK) & 0xFFFFFFFF == 0xFFFFFFFF


def test_recovery_waits_for_units_that_still_run(harness: Harness) -> None:
    harness.install(USES_ALL)
    harness.library.harness_set(0xB000, 1)
    harness.library.harness_set(INTERRUPTS, 0x10)
    waited = []

    def finish(ticks: int) -> int:
        waited.append(ticks)
        if len(waited) == 7:
            harness.library.harness_set(0xB000, 0)
            harness.library.harness_set(0xB004, 1 << 16)
        return 0

    harness.on_wait = finish
    assert harness.library.harness_recover() == OK
    assert len(waited) == 7
    assert harness.get(PARITY) == spread(1 << 2)
    assert harness.library.harness_read(INTERRUPTS) == 0 and harness.get(STATUS) == 0


@pytest.mark.parametrize("status", [1, 2, 1 << 16, 2 << 16, 1 | 2 << 16])
def test_units_that_stay_busy_are_a_device_error(harness: Harness, status: int) -> None:
    harness.install(USES_ALL)
    harness.library.harness_set(0x9000, status)
    before = harness.get(NOW)
    assert harness.library.harness_recover() == DEVICE
    assert 100 <= (harness.get(NOW) - before) % (1 << 32) <= 101


def test_the_boards_reset_brings_busy_units_back(harness: Harness) -> None:
    harness.install(USES_ALL)
    harness.run(end(0xFFFF))
    harness.library.harness_set(0x9000, 1)
    harness.library.harness_set(0x7004, 1 << 16)
    harness.library.harness_allow_reset()
    assert harness.library.harness_recover() == OK
    assert harness.get(RESETS) == 1
    assert harness.get(PARITY) == 0


def test_units_of_a_pair_that_disagree_are_a_device_error(harness: Harness) -> None:
    harness.install(group(10, 0) + group(10, 0, 0x3004) + end())
    harness.library.harness_set(0x3004, 1 << 16)
    assert harness.library.harness_recover() == DEVICE
    harness.library.harness_set(0x7004, 1 << 16)
    assert harness.library.harness_recover() == OK


@pytest.mark.parametrize("version", [0, 0x00303030])
def test_wrong_identity_is_a_device_error(harness: Harness, version: int) -> None:
    harness.library.harness_set(0x1000, version)
    assert harness.library.harness_recover() == DEVICE
