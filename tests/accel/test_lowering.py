"""Lowered programs against NVIDIA's firmware and against the published outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nvdla_cases import Case, all_cases
from nvdla_execution import Target

from fwgen.accel import family
from fwgen.accel.nvdla.schedule import PAIRS
from fwgen.errors import ExitCode, ModelError
from fwgen.program.commands import (
    AddressOf,
    Cache,
    CacheAction,
    Cpu,
    Mark,
    Poll,
    SelectGroup,
    Value,
    Wait,
    Write,
    WritePort,
)
from fwgen.program.program import Program, Role

NVDLA = family("nvdla")


def supported(testdata: Path) -> list[Case]:
    """Cases that have a program."""
    return [case for case in all_cases(testdata) if not case.refused]


def lower(case: Case) -> Program:
    """The case's program for the configuration that it was compiled for."""
    return NVDLA.lower(case.model(), case.facts["config"])


def original_address(program: Program, value: AddressOf, bases: dict[int, int]) -> int:
    """Where a byte lies when the loadable's memories are not cut into buffers."""
    _, memory, _, offset = program.buffers[value.buffer].origin.split()
    return bases[int(memory)] + int(offset, 16) + value.offset


def register_stream(program: Program, bases: dict[int, int]) -> list[tuple[int | str, int]]:
    """Writes and waits in the format of the published streams."""

    def number(value: Value) -> int:
        if isinstance(value, AddressOf):
            address = original_address(program, value, bases)
            return address >> 32 if value.high else address & 0xFFFFFFFF
        return value

    out: list[tuple[int | str, int]] = []
    for command in program.commands:
        if isinstance(command, Write):
            out.append((command.register, number(command.value)))
        elif isinstance(command, WritePort):
            out += [(command.register, value) for value in command.values]
        elif isinstance(command, SelectGroup):
            out.append((command.register, command.group))
        elif isinstance(command, Wait):
            out.append(("wait", command.mask))
    return out


def published_stream(path: Path) -> list[tuple[int | str, int]]:
    out: list[tuple[int | str, int]] = []
    for line in path.read_text().splitlines():
        if line.startswith("# wait"):
            out.append(("wait", int(line.split()[2], 16)))
        elif not line.startswith("#"):
            register, value = line.split()
            out.append((int(register, 16), int(value, 16)))
    return out


def test_register_writes_equal_the_firmware(testdata: Path) -> None:
    compared = 0
    for case in supported(testdata):
        path = case.folder / f"{case.name}.regs.txt"
        if not path.exists():
            continue
        bases = {int(k): int(v, 16) for k, v in case.facts["memory_bases_used"].items()}
        got, expected = register_stream(lower(case), bases), published_stream(path)
        for index, (ours, theirs) in enumerate(zip(got, expected, strict=False)):
            assert ours == theirs, f"{case.name}, write {index}"
        assert len(got) == len(expected), case.name
        compared += len(expected)
    assert compared > 4000


def test_schedule_and_groups_equal_the_published_ones(testdata: Path) -> None:
    for case in supported(testdata):
        program = lower(case)
        chains = [list(step.operations) for step in program.steps]
        if any(isinstance(c, Cpu) for c in program.commands):
            chains.pop()
        assert chains == case.facts["schedule"], case.name
        groups: dict[int, int] = {}
        current = -1
        for command in program.commands:
            if isinstance(command, Mark):
                current = command.operation
            elif isinstance(command, SelectGroup) and current not in groups:
                groups[current] = command.group
        assert [groups[i] for i in sorted(groups)] == [op["group"] for op in case.facts["ops"]], (
            case.name
        )


@pytest.mark.parametrize("seed", [1, 2])
def test_programs_give_the_published_outputs_three_times(testdata: Path, seed: int) -> None:
    compared = 0
    for case in supported(testdata):
        target = Target(lower(case), seed)
        expected = case.bound("outputs")
        runs = 1 if "lenet5" in case.name and seed == 2 else 3
        for _ in range(runs):
            assert target.run(case.bound("inputs")) == expected, case.name
            compared += sum(map(len, expected))
    assert compared > 0


def test_refused_models_are_model_errors(testdata: Path) -> None:
    refused = [case for case in all_cases(testdata) if case.refused]
    assert refused
    for case in refused:
        for config in NVDLA.configurations:
            with pytest.raises(ModelError) as caught:
                NVDLA.lower(case.model(), config)
            assert caught.value.exit_code is ExitCode.MODEL
            assert config in str(caught.value)
            assert not NVDLA.check(case.model(), config).ok


def test_a_model_for_another_atom_names_both_configurations(testdata: Path) -> None:
    for case in supported(testdata):
        wrong = "nv_large" if case.facts["config"] == "nv_small" else "nv_small"
        with pytest.raises(ModelError) as caught:
            NVDLA.lower(case.model(), wrong)
        assert case.facts["config"] in caught.value.message, case.name
        assert wrong in caught.value.message, case.name


def test_reports_say_where_everything_runs(testdata: Path) -> None:
    for case in supported(testdata):
        report = NVDLA.check(case.model(), case.facts["config"])
        assert report.ok
        units = [op["type"] for op in case.facts["ops"]]
        assert [e.unit for e in report.operations[: len(units)]] == units
        rest = report.operations[len(units) :]
        assert all((e.unit, e.runs_on) == ("CPU", "cpu") for e in rest)
        json.dumps(report.to_json())


def test_tensors_are_the_published_ones(testdata: Path) -> None:
    for case in supported(testdata):
        program = lower(case)
        for kind, tensors in (("inputs", program.inputs()), ("outputs", program.outputs())):
            assert len(tensors) == len(case.facts[kind])
            for tensor, entry in zip(tensors, case.facts[kind], strict=True):
                facts = entry["tensor"]
                assert tensor.name == facts["name"]
                assert tensor.shape == (facts["n"], facts["c"], facts["h"], facts["w"])
                assert tensor.size == facts["size"]
                assert tensor.strides[:2] == tuple(facts["strides"][:2])
                buffer = program.buffers[tensor.buffer]
                assert buffer.size == entry["memory_size"]
                assert buffer.role is (Role.INPUT if kind == "inputs" else Role.OUTPUT)


def test_convolutions_poll_the_flush_and_cpu_kernels_maintain_the_cache(testdata: Path) -> None:
    for case in supported(testdata):
        program = lower(case)
        polls = sum(isinstance(c, Poll) for c in program.commands)
        assert polls == sum(op["type"] == "CONV" for op in case.facts["ops"])
        for at, command in enumerate(program.commands):
            if isinstance(command, Cpu):
                before, after = program.commands[at - 1], program.commands[at + 1]
                assert isinstance(before, Cache) and before.action is CacheAction.INVALIDATE
                assert isinstance(after, Cache) and after.action is CacheAction.CLEAN
        inputs = {t.buffer for t in program.inputs()}
        cleaned = {
            c.buffer
            for c in program.commands
            if isinstance(c, Cache) and c.action is CacheAction.CLEAN
        }
        assert inputs <= cleaned


def test_convolution_loads_toggle_with_their_convolution(testdata: Path) -> None:
    for case in supported(testdata):
        end = lower(case).commands[-1]
        toggled = end.toggled_pairs  # type: ignore[union-attr]
        odd = sum(op["type"] == "CONV" for op in case.facts["ops"]) & 1
        for unit in ("CONV", "CDMA_DAT", "CDMA_WT"):
            assert toggled >> PAIRS[unit] & 1 == odd, case.name
