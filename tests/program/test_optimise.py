"""The optimised program does the same: random programs and real ones, several runs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwgen.plan.layout import Layout
from fwgen.program.commands import (
    AddressOf,
    Command,
    End,
    Mark,
    SelectGroup,
    Wait,
    Write,
    WritePort,
)
from fwgen.program.encode import all_words, encode
from fwgen.program.optimise import optimise
from fwgen.program.program import Buffer, Program, Role, Space
from fwgen.program.simulate import GroupedRegisters, Pause, Player, RegisterWrite
from fwgen.program.traits import RegisterTraits

UNITS = (0x1000, 0x2000)


def program(commands: list[Command]) -> Program:
    buffers = tuple(
        Buffer(i, f"b{i}", 0x40, 64, Role.INTERNAL, None, 0, 0, False, Space.DRAM, f"b{i}")
        for i in range(3)
    )
    return Program("test", "two", "m", "0" * 64, 40, buffers, (), (), (), tuple(commands))


def history(
    words: list[int], traits: RegisterTraits, runs: int, seed: int
) -> list[tuple[object, dict[int, dict[int, int]]]]:
    """Every act that is not a stored value or a pointer, with all registers as it sees them."""
    registers = GroupedRegisters(traits)
    noise = random.Random(seed)
    # Whatever an earlier program left: nothing of it may be relied on.
    for unit in UNITS:
        for group in (0, 1):
            registers.write(RegisterWrite(unit + 4, group, is_pointer=True))
            for index in range(16):
                registers.write(RegisterWrite(unit + 0x10 + 4 * index, noise.randrange(1 << 32)))
    player = Player()
    acts: list[tuple[object, dict[int, dict[int, int]]]] = []
    for _ in range(runs):
        for event in player.run(words):
            if isinstance(event, RegisterWrite) and (
                event.is_pointer or not traits.is_ordered(event.register)
            ):
                registers.write(event)
                continue
            seen = {unit: registers.seen_by(unit) for unit in UNITS}
            acts.append((event, seen))
    return acts


@st.composite
def commands(draw: st.DrawFn) -> list[Command]:
    units = st.sampled_from(UNITS)
    value = st.one_of(
        st.integers(0, 2),
        st.integers(250, 260),
        st.just(0xFFFFFFFF),
        st.builds(AddressOf, st.integers(0, 2), st.sampled_from([0, 4]), st.booleans()),
    )
    register = st.builds(lambda unit, index: unit + 0x10 + 4 * index, units, st.integers(0, 11))
    one: st.SearchStrategy[Command] = st.one_of(
        st.builds(Write, register, value),
        st.builds(Write, register, value),
        st.builds(Write, register, value),
        st.builds(
            lambda unit, group: SelectGroup(unit + 4, group, unit >> 12), units, st.integers(0, 1)
        ),
        st.builds(lambda unit: Write(unit + 12, 1), units),
        st.builds(lambda unit, v: WritePort(unit + 8, v), units, st.just((1, 2))),
        st.builds(Wait, st.sampled_from([4, 8, 20])),
        st.builds(Mark, st.integers(0, 3)),
    )
    body = draw(st.lists(one, max_size=60))
    return [*body, End(draw(st.integers(0, 7)))]


@settings(max_examples=120, deadline=None)
@given(commands(), st.integers(0, 1000), st.booleans())
def test_random_programs_act_the_same(
    traits: RegisterTraits, layout: Layout, body: list[Command], seed: int, with_layout: bool
) -> None:
    plain = program(body)
    better = optimise(plain, traits, layout if with_layout else None)
    before = all_words(encode(plain, layout, traits))
    after = all_words(encode(better, layout, traits))
    assert history(after, traits, 3, seed) == history(before, traits, 3, seed)
    assert len(after) <= len(before)


def test_repeated_values_are_dropped_per_group(traits: RegisterTraits, layout: Layout) -> None:
    one = [Write(0x1010, 7), Write(0x1014, 8), Write(0x100C, 1)]
    select = [SelectGroup(0x1004, 0, 0), SelectGroup(0x1004, 1, 0)]
    body = [select[0], *one, select[1], *one, select[0], *one, select[1], *one, End()]
    kept = optimise(program(body), traits, layout).commands
    assert kept.count(Write(0x1010, 7)) == 2
    assert kept.count(Write(0x100C, 1)) == 4


def test_nothing_is_dropped_before_the_group_is_known(
    traits: RegisterTraits, layout: Layout
) -> None:
    body: list[Command] = [Write(0x1010, 7), Write(0x1010, 7), End()]
    assert optimise(program(body), traits, layout).commands == tuple(body)


def test_a_second_run_in_one_program_assumes_nothing(
    traits: RegisterTraits, layout: Layout
) -> None:
    once: list[Command] = [SelectGroup(0x1004, 0, 0), Write(0x1010, 7), End()]
    assert optimise(program(once + once), traits, layout).commands == tuple(once + once)


def test_only_the_last_value_between_barriers_counts(
    traits: RegisterTraits, layout: Layout
) -> None:
    body: list[Command] = [
        SelectGroup(0x1004, 0, 0),
        Write(0x1018, 3),
        Write(0x1010, 1),
        Write(0x1018, 4),
        End(),
    ]
    kept = optimise(program(body), traits, layout).commands
    assert kept[1:-1] == (Write(0x1010, 1), Write(0x1018, 4))


def test_equal_addresses_are_found_with_a_layout(traits: RegisterTraits, layout: Layout) -> None:
    body: list[Command] = [
        SelectGroup(0x1004, 0, 0),
        Write(0x1010, AddressOf(0, 0, high=True)),
        Write(0x100C, 1),
        Write(0x1010, AddressOf(1, 0, high=True)),
        Write(0x100C, 1),
        End(),
    ]
    assert len(optimise(program(body), traits, layout).commands) == 5
    assert len(optimise(program(body), traits).commands) == 6


LOADABLES = [
    ("nv_small", "mps2-an385"),
    ("_small", "mps2-an385"),
    ("nv_large", "mps3-an547-nv-large"),
]


def test_given_loadables_act_the_same(testdata: Path) -> None:
    from fwgen.accel.registry import family
    from fwgen.board.profile import load_board
    from fwgen.model import load_model
    from fwgen.plan.planner import plan

    checked = 0
    for path in sorted((testdata / "nvdla" / "loadables").iterdir()):
        board_name = next((b for part, b in LOADABLES if part in path.name), None)
        if path.suffix not in (".nvdla", ".fbuf") or board_name is None:
            continue
        board = load_board(board_name)
        config = board.accelerators[0].config
        plain = family("nvdla").lower(load_model(path), config)
        traits = family("nvdla").register_traits(config)
        layout = plan(plain, board)
        before = all_words(encode(plain, layout, traits))
        after = all_words(encode(optimise(plain, traits, layout), layout, traits))
        assert acts(before, traits) == acts(after, traits), path.name
        assert len(after) < len(before)
        checked += 1
    if not checked:
        pytest.skip("no loadables in the reference data")


def acts(words: list[int], traits: RegisterTraits) -> list[tuple[object, object]]:
    """Three runs in a row: each act with the registers of the unit it is in."""
    registers = GroupedRegisters(traits)
    player = Player()
    found: list[tuple[object, object]] = []
    for _ in range(3):
        for event in player.run(words):
            if isinstance(event, Pause):
                found.append((event, None))
            elif event.is_pointer or not traits.is_ordered(event.register):
                registers.write(event)
            else:
                found.append((event, registers.seen_by(event.register)))
    return found
