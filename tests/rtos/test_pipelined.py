"""The executor of a build that pipelines: conditional commands, choice of the program."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator

import pytest
from executor_harness import OK, PROGRAM, Harness, Interpreter, command_words, end, put, run, wait

CONDITIONS = range(7)
NEXT, AHEAD = 3, 6


def only(condition: int, body: list[int]) -> list[int]:
    return [10 << 28 | condition << 20 | len(body), *body]


@pytest.fixture
def harness(pipelined_library: ctypes.CDLL) -> Iterator[Harness]:
    pipelined_library.harness_log.restype = ctypes.c_void_p
    made = Harness(pipelined_library)
    made.reset()
    yield made
    made.library.harness_reset(None, None)


def flat(tree: list[object], holds: set[int], with_next: set[int]) -> list[int]:
    """The commands that are left when every condition is decided, in the order of playing."""
    out: list[int] = []
    for part in tree:
        if isinstance(part, tuple):
            condition, body = part
            if condition == NEXT:
                holds |= with_next
            inner = flat(body, holds, with_next) if condition in holds else []
            out += inner
        else:
            assert isinstance(part, list)
            out += part
    return out


def words(tree: list[object]) -> list[int]:
    out: list[int] = []
    for part in tree:
        if isinstance(part, tuple):
            out += only(part[0], words(part[1]))
        else:
            assert isinstance(part, list)
            out += part
    return out


def random_tree(rng: random.Random, depth: int = 0) -> list[object]:
    tree: list[object] = []
    for _ in range(rng.randrange(1, 8)):
        if depth < 3 and rng.random() < 0.4:
            tree.append((rng.choice(CONDITIONS), random_tree(rng, depth + 1)))
        else:
            register = rng.randrange(0x3000, 0x12000, 4)
            values = [rng.getrandbits(32) for _ in range(rng.choice((1, 2, 9)))]
            tree.append(rng.choice((run(register, *values), put(register, 7))))
    return tree


@pytest.mark.parametrize("seed", range(40))
def test_only_what_holds_is_played(harness: Harness, seed: int) -> None:
    rng = random.Random(seed)
    tree = random_tree(rng)
    holds = {c for c in (0, 1, 2) if rng.random() < 0.5}
    with_next = {3, 6, rng.choice((4, 5))} if rng.random() < 0.6 else set()
    harness.library.harness_conditions(sum(1 << c for c in holds), sum(1 << c for c in with_next))
    assert harness.run(words(tree) + end()) == OK
    expected, _ = Interpreter().play(flat(tree, set(holds), with_next) + end())
    assert harness.log() == expected


def test_next_is_asked_where_it_stands(harness: Harness) -> None:
    harness.library.harness_conditions(0, 1 << NEXT | 1 << AHEAD)
    early = only(AHEAD, put(0x9010, 1))
    late = only(AHEAD, put(0x9010, 2))
    assert harness.run(early + only(NEXT, put(0x9014, 3)) + late + end()) == OK
    assert harness.log() == [(0x9014, 3), (0x9010, 2)]
    assert harness.library.harness_asked() == 1


@pytest.mark.parametrize("length", [1, 2, 3, 0xFFFFF])
def test_skipping_never_leaves_the_program(harness: Harness, length: int) -> None:
    harness.library.harness_conditions(0, 0)
    program = [10 << 28 | 1 << 20 | length, *put(0x9010, 1), *end()]
    assert harness.run(program) == (OK if length == 1 else PROGRAM)
    assert harness.log() == []


@pytest.mark.parametrize("condition", [7, 31, 32, 255])
def test_unknown_conditions_are_errors(harness: Harness, condition: int) -> None:
    harness.library.harness_conditions(0xFFFFFFFF, 0)
    assert harness.run([10 << 28 | condition << 20 | 1, *put(0x9010, 1), *end()]) == PROGRAM


def test_the_job_chooses_the_program(harness: Harness) -> None:
    array = ctypes.c_uint32 * 2
    serial, pipelined = array(*put(0x9010, 1), *end()), array(*put(0x9010, 2), *end())
    for which, value in ((True, 2), (False, 1)):
        first = harness.get(3)
        assert harness.library.harness_run_pipelined(serial, pipelined, 2, which) == OK
        assert harness.log(first) == [(0x9010, value)]


def test_recovery_sees_pointers_in_conditional_commands(harness: Harness) -> None:
    """A unit whose pointer is only written under a condition is read back too."""
    pointer = [4 << 28 | (0 << 1) << 20 | 0x9004 >> 2]
    program = only(2, pointer) + wait(1) + end()
    assert sum(map(command_words, program[:1])) == 1
    harness.install(program)
    harness.library.harness_set(0x9004, 1 << 16)
    assert harness.library.harness_recover() == OK
    assert harness.get(1) == 1
