"""Removes register writes that change nothing, and brings the rest into runs.

The lowering produces every write that NVIDIA's kernel firmware would make. Most
of them repeat what the register holds already. This pass knows, block by
block and ping-pong group by group, what has been written earlier in the same
run. At the start of a run it assumes nothing: a register is always written
once, whatever an earlier run, another model or a reset left behind. The parity of
repeated runs exchanges both groups of a unit for a whole run, so what holds for
group 0 and 1 of the first run holds for the exchanged groups of the second.
Commands that are made by the run before, where one follows directly, are the same as
those of a cold start: behind them is known what a cold start writes, no more.

Configuration registers only store a value until their unit is enabled. Between two
commands that are not such writes ("barriers") their order is therefore free, and
only the last value of a register counts. Everything else keeps its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from fwgen.plan.layout import Layout
from fwgen.program.commands import (
    Command,
    Condition,
    End,
    Only,
    SelectGroup,
    Value,
    Write,
)
from fwgen.program.program import Program
from fwgen.program.resolve import Key, value_key
from fwgen.program.runs import REGISTER_STRIDE, SET_LIMIT, plan_chunks
from fwgen.program.traits import RegisterTraits


def optimise(program: Program, traits: RegisterTraits, layout: Layout | None = None) -> Program:
    """The same program with fewer and better ordered writes.

    Args:
        program: as the lowering made it.
        traits: of the accelerator configuration.
        layout: where given, addresses are compared as numbers, which finds more
            equal values (the upper halves of all addresses, say).

    Returns:
        A program that leaves the same values in all registers whenever a unit is
        enabled.
    """
    second = dict(program.banks)

    def key(value: Value) -> Key:
        return value_key(value, layout, second)

    def better(commands: tuple[Command, ...]) -> tuple[Command, ...]:
        return tuple(_optimised(commands, traits, key, _Held(traits)))

    return replace(program, commands=better(program.commands), pipelined=better(program.pipelined))


class _Held:
    """What is known about registers at one point of the run."""

    def __init__(self, traits: RegisterTraits) -> None:
        self._traits = traits
        self._group: dict[int, int] = {}
        self._values: dict[tuple[int, int], tuple[Value, Key]] = {}
        self._pointers: dict[int, tuple[int, int]] = {}

    def copy(self) -> _Held:
        """The same knowledge, independent from now on."""
        other = _Held(self._traits)
        other._group = dict(self._group)
        other._values = dict(self._values)
        other._pointers = dict(self._pointers)
        return other

    def keep_common(self, other: _Held) -> None:
        """Forget what does not hold in both."""
        self._group = dict(self._group.items() & other._group.items())
        self._pointers = dict(self._pointers.items() & other._pointers.items())
        self._values = {
            place: known
            for place, known in self._values.items()
            if place in other._values and other._values[place][1] == known[1]
        }

    def forget(self) -> None:
        """Know nothing, as at the start of a run."""
        self._group.clear()
        self._values.clear()
        self._pointers.clear()

    def group_of(self, register: int) -> int | None:
        """The group that a write to this register goes to; None while unknown."""
        return self._group.get(self._traits.block(register))

    def select(self, command: SelectGroup) -> bool:
        """Note a pointer write; False if the pointer holds that value already."""
        wanted = (command.group, command.pair)
        if self._pointers.get(command.register) == wanted:
            return False
        self._pointers[command.register] = wanted
        self._group[self._traits.block(command.register)] = command.group
        return True

    def store(self, register: int, value: Value, key: Key) -> None:
        """Note a configuration write."""
        group = self.group_of(register)
        if group is not None:
            self._values[register, group] = (value, key)

    def holds(self, register: int) -> tuple[Value, Key] | None:
        """Value and key that the register is known to hold, or None."""
        group = self.group_of(register)
        return None if group is None else self._values.get((register, group))


def _optimised(
    commands: Iterable[Command],
    traits: RegisterTraits,
    key: Callable[[Value], Key],
    held: _Held,
) -> Iterable[Command]:
    pending: dict[int, dict[int, Value]] = {}  # block -> register -> last value
    for command in commands:
        if isinstance(command, Write) and _is_free(command.register, held, traits):
            block = pending.setdefault(traits.block(command.register), {})
            block[command.register] = command.value
            continue
        for writes in pending.values():
            yield from _flush(writes, held, key)
        pending.clear()
        if isinstance(command, SelectGroup):
            if held.select(command):
                yield command
            continue
        if isinstance(command, Only):
            before = held.copy()
            inner = tuple(_optimised(command.commands, traits, key, held))
            # Where a run does not begin cold, the run before has made the same writes.
            if command.condition is not Condition.COLD:
                held.keep_common(before)
            if inner:
                yield Only(command.condition, inner)
            continue
        if isinstance(command, End):
            held.forget()
        yield command
    for writes in pending.values():
        yield from _flush(writes, held, key)


def _is_free(register: int, held: _Held, traits: RegisterTraits) -> bool:
    """Whether a write only stores a value, in a group that is known."""
    return (
        traits.is_group_register(register)
        and not traits.is_ordered(register)
        and held.group_of(register) is not None
    )


def _flush(writes: dict[int, Value], held: _Held, key: Callable[[Value], Key]) -> Iterable[Command]:
    """The writes of one block between two barriers, ascending, without the useless ones."""
    values: dict[int, Value] = {}
    for register, value in sorted(writes.items()):
        known = held.holds(register)
        if known is None or known[1] != key(value):
            values[register] = value

    def is_small(register: int) -> bool:
        number = key(values[register])
        return isinstance(number, int) and 0 <= number < SET_LIMIT

    def is_known(register: int) -> bool:
        return held.holds(register) is not None

    # A register in a gap is either held with the value it will have, or not touched.
    for chunk in plan_chunks(list(values), is_small, is_known):
        for index in range(chunk.count):
            register = chunk.register + index * REGISTER_STRIDE
            known = held.holds(register)
            if register in values:
                value = values[register]
            else:
                assert known is not None
                value = known[0]
            yield Write(register, value)
    for register, value in values.items():
        held.store(register, value, key(value))
