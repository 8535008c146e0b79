"""Words against docs/program.md, computed by hand, and the way back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fwgen.errors import FitError, ModelError
from fwgen.plan.layout import Layout
from fwgen.program.commands import (
    AddressOf,
    Cache,
    CacheAction,
    Command,
    Condition,
    Cpu,
    End,
    Kernel,
    Mark,
    Only,
    Poll,
    SelectGroup,
    Wait,
    Write,
    WritePort,
)
from fwgen.program.decode import Opcode, decode
from fwgen.program.disassemble import disassemble
from fwgen.program.encode import all_words, encode
from fwgen.program.program import Buffer, Operation, Program, Role, Space
from fwgen.program.simulate import Pause, Player, RegisterWrite, swap_pairs
from fwgen.program.traits import RegisterTraits


def program(*commands: Command, address_bits: int = 40) -> Program:
    buffers = tuple(
        Buffer(i, f"b{i}", 0x40, 64, Role.INTERNAL, None, 0, 0, False, Space.DRAM, f"b{i}")
        for i in range(3)
    )
    operations = (Operation(0, "A", "op0_a", "first"), Operation(1, "B", "op1_b", "second"))
    return Program(
        "test", "two", "m", "0" * 64, address_bits, buffers, (), operations, (), commands
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Write(0x1010, 255), [0x3FF00404]),
        (Write(0x1010, 256), [0x10100404, 256]),
        (Write(0x1010, -1), [0x10100404, 0xFFFFFFFF]),
        (Write(0x1010, AddressOf(1, 4)), [0x10100404, 0x20000104]),
        (Write(0x1010, AddressOf(2, 0, high=True)), [0x30100404]),
        (Write(0x1010, AddressOf(2)), [0x10100404, 0x80000040]),
        (WritePort(0x1008, (1, -2)), [0x20200402, 1, 0xFFFFFFFE]),
        (SelectGroup(0x1004, 1, 5), [0x40B00401]),
        (Wait(0x00300003, 7), [0x50000007, 0x00300003]),
        (Poll(0x300C, 1, 1), [0x60000C03, 1, 1]),
        (Cpu(Kernel.SOFTMAX, (AddressOf(0, 8), 3)), [0x70100002, 0x20000008, 3]),
        (Cache(CacheAction.INVALIDATE, 0), [0x80200000, 0x20000000, 0x100]),
        (Mark(1), [0x90000001]),
        (End(0x8001), [0x00008001]),
    ],
)
def test_each_command(
    command: Command, words: list[int], traits: RegisterTraits, layout: Layout
) -> None:
    (line,) = encode(program(command), layout, traits)
    assert list(line.words) == words


def test_consecutive_registers_share_a_run(traits: RegisterTraits, layout: Layout) -> None:
    writes = [Write(0x1010 + 4 * index, 1000 + index) for index in range(300)]
    lines = encode(program(*writes, End()), layout, traits)
    assert sorted(line.words[0] >> 20 & 0xFF for line in lines[:-1]) == [45, 255]
    played = [e for e in Player().run(all_words(lines)) if isinstance(e, RegisterWrite)]
    assert played == [RegisterWrite(w.register, int(str(w.value))) for w in writes]


def test_long_ports_are_split(traits: RegisterTraits, layout: Layout) -> None:
    values = tuple(range(600))
    lines = encode(program(WritePort(0x1008, values), End()), layout, traits)
    assert [len(line.words) for line in lines] == [256, 256, 91, 1]
    played = [e for e in Player().run(all_words(lines)) if isinstance(e, RegisterWrite)]
    assert [write.value for write in played] == list(values)


def test_descending_and_repeated_writes_keep_their_order(
    traits: RegisterTraits, layout: Layout
) -> None:
    writes = [Write(0x1014, 500), Write(0x1010, 600), Write(0x1010, 7), Write(0x1014, 8)]
    words = all_words(encode(program(*writes, End()), layout, traits))
    played = [e for e in Player().run(words) if isinstance(e, RegisterWrite)]
    assert [(w.register, w.value) for w in played] == [
        (0x1014, 500),
        (0x1010, 600),
        (0x1010, 7),
        (0x1014, 8),
    ]


def test_lines_know_their_operation(traits: RegisterTraits, layout: Layout) -> None:
    lines = encode(
        program(Write(0x1010, 1), Mark(0), Write(0x1010, 2), Mark(1), End()), layout, traits
    )
    assert [line.operation for line in lines] == [None, 0, 0, 1, 1]
    assert [line.starts_operation for line in lines] == [False, True, False, True, False]
    assert "A.R010" in lines[0].text


def test_addresses_beyond_the_accelerator(traits: RegisterTraits, layout: Layout) -> None:
    with pytest.raises(FitError, match="b2") as caught:
        encode(program(End(), address_bits=32), layout, traits)
    assert "32 bits" in str(caught.value)
    low = replace(layout, placements=layout.placements[:2])
    encode(program(End(), address_bits=32), low, traits)


@pytest.mark.parametrize(
    "command", [Write(0x1011, 0), Write(0x400000, 0), SelectGroup(0x1004, 2, 0), Mark(1 << 20)]
)
def test_what_the_encoding_cannot_hold(
    command: Command, traits: RegisterTraits, layout: Layout
) -> None:
    with pytest.raises(ValueError):
        encode(program(command), layout, traits)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "without END"),
        ([0x30100404], "without END"),
        ([0xB0000000, 0], "reserved opcode 11"),
        ([0x10000404, 0], "without values"),
        ([0x10200404, 1], "beyond the end"),
        ([0, 0], "words after END"),
        ([0x70100005, 1, 2], "beyond the end"),
        ([0xA0100001, 0], "conditional block"),
        ([0xA0100003, 0x30100404, 0x30100404, 0], "conditional block"),
        ([0xA0100001, 0x10100404, 1, 0], "conditional block"),
        ([0xA0100002, 0xA0200002, 0x30100404, 0x30100404, 0], "conditional block"),
    ],
)
def test_damaged_words(words: list[int], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        list(decode(words))


def test_disassembly_names_registers(traits: RegisterTraits, layout: Layout) -> None:
    source = program(
        Mark(1), SelectGroup(0x1004, 1, 2), Write(0x1010, 300), Write(0x1014, 400), End(4)
    )
    text = "\n".join(
        disassemble(all_words(encode(source, layout, traits)), traits, source.operations)
    )
    for part in ("MARK", "second", "A.R004 = 1 (pair 2)", "A.R014 = 0x00000190", "END"):
        assert part in text


def test_parity_turns_groups_and_bits() -> None:
    words = [0x40500401, 0x50000000, 0x00000014, 0x00000004]  # pair 2: group 1, bits 2 and 4
    player = Player()
    first = list(player.run(words))
    assert first[0] == RegisterWrite(0x1004, 1, is_pointer=True)
    assert first[1] == Pause(Opcode.WAIT, (0, 0x14))
    assert player.parity == 4
    second = list(player.run(words))
    assert second[0] == RegisterWrite(0x1004, 0, is_pointer=True)
    assert second[1] == Pause(Opcode.WAIT, (0, 0x24))
    assert player.parity == 0


def test_swap_exchanges_only_named_pairs() -> None:
    assert swap_pairs(0b0110, 0b00) == 0b0110
    assert swap_pairs(0b0110, 0b01) == 0b0101
    assert swap_pairs(0b0110, 0b11) == 0b1001
    assert swap_pairs(0x80000001, 0x8001) == 0x40000002


def test_banks_differ_only_where_they_must(traits: RegisterTraits, layout: Layout) -> None:
    """One program for both banks: the second one's values follow under a condition."""
    commands = (
        SelectGroup(0x1004, 0, 0),
        Write(0x1010, 300),
        Write(0x1014, AddressOf(0)),
        Write(0x1018, AddressOf(0, following=True)),
        Write(0x101C, AddressOf(0, high=True)),
        Cache(CacheAction.CLEAN, 0),
        Cache(CacheAction.CLEAN, 0, following=True),
        Only(Condition.COLD, (Write(0x1014, AddressOf(0, 4)),)),
        End(),
    )
    source = replace(program(*commands), banks=((0, 1),))
    words = all_words(encode(source, layout, traits))

    def play(bank: int, following: int | None) -> list[tuple[int, int]]:
        events = Player().run(words, bank, following)
        return [(e.register, e.value) for e in events if isinstance(e, RegisterWrite)]

    first, second = 0x2000_0000, 0x2000_0100
    for bank, base in ((0, first), (1, second)):
        final = dict(play(bank, None))
        assert final[0x1010] == 300
        assert final[0x1014] == base + 4
        assert final[0x101C] == 0
    maintained = [
        [e.operands[2] for e in Player().run(words, bank) if isinstance(e, Pause) and e.operands]
        for bank in (0, 1)
    ]
    assert maintained == [[first], [second]]


def test_the_following_run_has_its_own_bank(traits: RegisterTraits, layout: Layout) -> None:
    ahead = (Write(0x1010, AddressOf(0, following=True)), Write(0x1014, AddressOf(0)))
    source = replace(
        program(SelectGroup(0x1004, 0, 0), Only(Condition.NEXT, ahead), End()), banks=((0, 1),)
    )
    words = all_words(encode(source, layout, traits))
    addresses = (0x2000_0000, 0x2000_0100)
    for bank in (0, 1):
        for following in (0, 1):
            final = {
                e.register: e.value
                for e in Player().run(words, bank, following)
                if isinstance(e, RegisterWrite)
            }
            assert (final[0x1010], final[0x1014]) == (addresses[following], addresses[bank])
        alone = [e for e in Player().run(words, bank) if isinstance(e, RegisterWrite)]
        assert [e.register for e in alone] == [0x1004]
