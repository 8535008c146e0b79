"""Pipelined runs: the same outputs in any order that the hardware may choose, no hazards."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from nvdla_cases import Case, all_cases
from nvdla_execution import Target
from nvdla_pipeline import ENABLES, PipelineTarget

from fwgen.accel import family
from fwgen.accel.nvdla import build
from fwgen.accel.nvdla.builder import LoadableBuilder
from fwgen.accel.nvdla.configurations import CONFIGURATIONS
from fwgen.accel.nvdla.schedule import Groups
from fwgen.model.nvdla.loadable import write_loadable
from fwgen.model.nvdla.model import read_model
from fwgen.program import pipeline
from fwgen.program.decode import Opcode
from fwgen.program.program import Program
from fwgen.program.simulate import Pause, Player, RegisterWrite

NVDLA = family("nvdla")
DEPTHS = (2, 4)


def supported(testdata: Path) -> list[Case]:
    return [case for case in all_cases(testdata) if not case.refused]


def play(
    program: Program,
    inputs: list[list[bytes]],
    expected: list[list[bytes]],
    plan: list[tuple[int, int | None]],
    **options: object,
) -> PipelineTarget:
    """Runs as (bank, bank of the run that is queued behind it or None), inputs in turn."""
    target = PipelineTarget(program, **options)  # type: ignore[arg-type]
    held: dict[int, int] = {}
    for number, (bank, following) in enumerate(plan):
        if bank not in held:
            held[bank] = number % len(inputs)
            target.fill(bank, inputs[held[bank]])
        if following is not None and following != bank:
            held[following] = (number + 1) % len(inputs)
            target.fill(following, inputs[held[following]])
        target.run(bank, following)
        assert target.outputs(bank) == expected[held[bank]], f"run {number}"
        if following != bank:
            # the application may do as it likes with a bank whose run is over
            done = held.pop(bank)
            noise = [bytes(random.Random(number).randbytes(len(x))) for x in inputs[done]]
            target.fill(bank, noise)
    return target


ALTERNATE: list[tuple[int, int | None]] = [(0, 1), (1, 0), (0, 1), (1, 0), (0, None)]
MIXED: list[tuple[int, int | None]] = [(1, None), (0, 1), (1, 1), (1, 0), (0, None), (0, 0), (0, 1)]


def built(builder: LoadableBuilder, depth: int = 1) -> Program:
    data = write_loadable(builder.build())
    return NVDLA.lower(read_model(data, "built", "built.nvdla"), builder.config.name, depth)


def chain(layers: int) -> LoadableBuilder:
    """Small convolutions one after the other, some of odd number a unit."""
    rng = np.random.default_rng(layers)
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    x = builder.input_feature("in", width=5, height=5, channels=8)
    for layer in range(layers):
        weights = rng.integers(-40, 41, (8, 8, 3, 3), np.int8)
        bias = rng.integers(-500, 500, 8, np.int16)
        x = builder.conv(x, weights, bias if layer % 3 else None, scale=12, shift=11, pad=1)
        if layer % 4 == 2:
            x = builder.pool(x, kernel=3, stride=1, pad=1)
    builder.output("out", x)
    return builder


def branches(length: int = 3) -> LoadableBuilder:
    """Two branches on different units, joined by a residual; the last layer is a pool."""
    rng = np.random.default_rng(length)
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    x = builder.input_feature("in", width=6, height=6, channels=16)
    left = right = builder.scale(x, scale=3, shift=2)
    for _ in range(length):
        weights = rng.integers(-40, 41, (16, 16, 1, 1), np.int8)
        left = builder.conv(left, weights, scale=21, shift=11)
        right = builder.pool(right, kernel=3, stride=1, pad=1)
    weights = rng.integers(-40, 41, (16, 16, 1, 1), np.int8)
    x = builder.conv(left, weights, scale=21, shift=11, residual=right)
    x = builder.pool(x, kernel=2)
    x = builder.pool(x, kernel=3)
    builder.output("out", x)
    return builder


def skip() -> LoadableBuilder:
    """What the first layer writes is read by the last one but one."""
    rng = np.random.default_rng(5)
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    x = builder.input_feature("in", width=6, height=6, channels=8)
    first = builder.conv(x, rng.integers(-40, 41, (8, 8, 1, 1), np.int8), scale=30, shift=11)
    y = first
    for _ in range(3):
        y = builder.conv(y, rng.integers(-40, 41, (8, 8, 3, 3), np.int8), scale=12, shift=11, pad=1)
    y = builder.scale(y, scale=1, residual=first)
    builder.output("out", builder.pool(y, kernel=2))
    return builder


BUILDERS: dict[str, Callable[[], LoadableBuilder]] = {
    "chain of 24": lambda: chain(24),
    "chain of 7": lambda: chain(7),
    "one": lambda: chain(1),
    "branches": branches,
    "skip": skip,
}


def cases(program: Program, count: int = 3) -> tuple[list[list[bytes]], list[list[bytes]]]:
    """Random inputs, and what runs one after the other make of them."""
    rng = random.Random(count)
    inputs = [[rng.randbytes(t.size) for t in program.inputs()] for _ in range(count)]
    return inputs, [Target(program).run(data) for data in inputs]


ALTERNATE: list[tuple[int, int | None]] = [(0, 1), (1, 0), (0, 1), (1, 0), (0, None)]
MIXED: list[tuple[int, int | None]] = [
    (1, None), (0, 1), (1, 1), (1, 0), (0, None), (0, 0), (0, 1), (1, None),
]  # fmt: skip


@pytest.mark.parametrize("depth", [1, *DEPTHS])
@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("policy", ["soon", "late", "random"])
@pytest.mark.parametrize("optimised", [True, False])
def test_built_networks_in_any_order(name: str, depth: int, policy: str, optimised: bool) -> None:
    serial = built(BUILDERS[name]())
    inputs, expected = cases(serial)
    program = built(BUILDERS[name](), max(depth, 2))
    for seed in range(3 if policy == "random" else 1):
        target = play(
            program,
            inputs,
            expected,
            MIXED,
            policy=policy,
            seed=seed,
            pipelined=depth > 1,
            optimised=optimised,
        )
        pairs, across = target.check_hazards()
        if depth < 4:
            assert (pairs, across) == (0, 0)


def test_depth_4_overlaps_branches_and_inferences() -> None:
    found = {}
    for depth in DEPTHS:
        program = built(branches(), depth)
        inputs, expected = cases(built(branches()))
        target = play(program, inputs, expected, ALTERNATE, policy="late")
        found[depth] = target.check_hazards()
    assert found[2] == (0, 0)
    pairs, across = found[4]
    # every inference but the last starts the next one, beside its last pools
    assert across >= len(ALTERNATE) - 1
    assert pairs - across >= 3 * len(ALTERNATE)


def test_depth_2_programs_ahead() -> None:
    """Between a wait and the next start there are only the enables."""
    program = built(chain(24), 2)
    target = PipelineTarget(program)
    enables = 0
    waited = False
    for event in Player().run(target.words, 0, 1):
        if isinstance(event, Pause):
            waited = event.opcode is Opcode.WAIT
        elif waited and event.register in ENABLES:
            enables += 1
        elif waited and enables:
            waited, enables = False, 0
        else:
            assert not waited, f"register 0x{event.register:x} is written after a wait"


def test_what_the_run_before_programmed_is_not_written_again() -> None:
    program = built(chain(7), 2)
    words = PipelineTarget(program).words
    player = Player()

    def count(following: int | None) -> int:
        return sum(isinstance(e, RegisterWrite) for e in player.run(words, 0, following))

    alone = count(None)
    first, middle, last = count(0), count(0), count(None)
    assert alone < first
    assert middle < first
    assert last < alone
    assert player.parity == 0 and not player.ahead


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("policy", ["soon", "late", "random"])
def test_given_loadables_give_the_published_outputs(
    testdata: Path, depth: int, policy: str
) -> None:
    for case in supported(testdata):
        program = NVDLA.lower(case.model(), case.facts["config"], depth)
        assert program.pipeline_depth == depth
        if "lenet5" in case.name and policy != "late":
            continue  # takes long; the smaller ones go through all policies
        order = ALTERNATE[-2:] if "lenet5" in case.name else ALTERNATE
        target = play(
            program, [case.bound("inputs")], [case.bound("outputs")], order, policy=policy
        )
        target.check_hazards()


# What the tests above would find: each of these breaks one rule.


def test_a_missing_dependency_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "conflict", lambda first, second: False)
    monkeypatch.setattr(build, "_awaited", lambda steps, step_of: [set() for _ in steps])
    program = built(chain(7), 4)
    inputs, expected = cases(built(chain(7)))
    with pytest.raises(AssertionError):
        play(program, inputs, expected, ALTERNATE, policy="late").check_hazards()


def test_lifetimes_of_one_operation_at_a_time_are_found_too_short() -> None:
    program = built(branches(), 4)
    serial = {b.id: b for b in built(branches()).buffers}
    short = dataclasses.replace(
        program,
        buffers=tuple(
            dataclasses.replace(
                b, first_step=serial[b.id].first_step, last_step=serial[b.id].last_step
            )
            if b.id in serial
            else b
            for b in program.buffers
        ),
    )
    inputs, expected = cases(built(branches()))
    with pytest.raises(AssertionError):
        play(short, inputs, expected, ALTERNATE, policy="late").check_hazards()


def test_a_group_that_is_in_use_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Groups, "advance", lambda self, operation: None)
    program = built(chain(7), 2)
    with pytest.raises(AssertionError):
        PipelineTarget(program, policy="late").run(0, None)
