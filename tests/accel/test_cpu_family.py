"""The CPU family: what it admits, and the programs it makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nvdla_cases import all_cases

from fwgen.accel.cpu.configurations import CONFIGURATIONS
from fwgen.accel.cpu.constants import reordered_weights
from fwgen.accel.nvdla.builder import LoadableBuilder
from fwgen.accel.nvdla.configurations import CONFIGURATIONS as HARDWARE
from fwgen.accel.protocol import AcceleratorFamily
from fwgen.accel.registry import families, family, has_hardware, runs_models_of
from fwgen.errors import ModelError, UsageError
from fwgen.model.nvdla.loadable import MemoryFlags, write_loadable
from fwgen.model.nvdla.model import NvdlaModel, read_model
from fwgen.program.commands import AddressOf, Cpu, End, Kernel, Mark
from fwgen.program.program import Program, Role

CPU = family("cpu")
ROOT = Path(__file__).resolve().parents[2]


def model(config: str = "nv_small", channels: int = 16) -> NvdlaModel:
    """CONV 3x3 with bias and ReLU, PDP 2x2."""
    rng = np.random.default_rng(3)
    builder = LoadableBuilder(HARDWARE[config])
    x = builder.input_feature("x", width=8, height=8, channels=channels)
    weights = rng.integers(-9, 9, (channels, channels, 3, 3), np.int8)
    y = builder.conv(x, weights, np.arange(channels, dtype=np.int16), pad=1, shift=4, relu=True)
    builder.output("y", builder.pool(y, kernel=2))
    return read_model(write_loadable(builder.build()), "base", "base.nvdla")


def lowered(config: str = "cpu_nv_small") -> Program:
    return CPU.lower(model(config.removeprefix("cpu_")), config)


def test_it_keeps_the_protocol() -> None:
    for name in families():
        kind = family(name)
        for member in vars(AcceleratorFamily):
            if not member.startswith("_"):
                assert hasattr(kind, member), f"{name} has no {member}"


def test_it_runs_what_was_compiled_for_nvdla() -> None:
    assert runs_models_of("cpu", "nvdla") and runs_models_of("nvdla", "nvdla")
    assert not runs_models_of("cpu", "vip") and not runs_models_of("nvdla", "cpu")
    assert has_hardware("nvdla") and not has_hardware("cpu")


@pytest.mark.parametrize("config", CONFIGURATIONS)
def test_a_program_has_kernels_only(config: str) -> None:
    program = lowered(config)
    assert {type(command) for command in program.commands} == {Mark, Cpu, End}
    kernels = [c.kernel for c in program.commands if isinstance(c, Cpu)]
    assert kernels == [Kernel.CONVOLUTION, Kernel.POOLING]
    assert program.kernels == ("convolution", "pooling")
    assert program.interrupt_mask == 0
    marks = [c.operation for c in program.commands if isinstance(c, Mark)]
    assert sorted(marks) == list(range(len(program.operations)))


def test_addresses_lie_in_buffers_that_live_in_their_step() -> None:
    program = lowered()
    for command in program.commands:
        if not isinstance(command, Cpu):
            continue
        for word in command.arguments:
            if isinstance(word, AddressOf):
                assert 0 <= word.offset < program.buffers[word.buffer].size
    for index, step in enumerate(program.steps):
        for number in (*step.reads, *step.writes):
            buffer = program.buffers[number]
            assert buffer.first_step <= index <= buffer.last_step
    scratch = [b for b in program.buffers if b.name.endswith(("_sums", "_stream"))]
    assert {b.role for b in scratch} == {Role.INTERNAL}
    assert all(b.first_step == b.last_step for b in scratch)


def test_weights_are_kept_once_and_in_the_order_of_the_kernel() -> None:
    program = lowered()
    weights = [b for b in program.buffers if b.name.endswith("_weights")]
    (buffer,) = weights
    assert buffer.role is Role.CONSTANT and buffer.data is not None
    expected = np.random.default_rng(3).integers(-9, 9, (16, 16, 3, 3), np.int8)
    assert buffer.data == expected.transpose(0, 2, 3, 1).tobytes()


def test_weights_of_merged_rows() -> None:
    # 3 kernels of 5 rows with 3 elements, two rows a step, groups of two kernels.
    config = replace(HARDWARE["nv_small"], atom_k=2)
    expected = np.arange(45, dtype=np.int8).reshape(3, 5, 3)
    stream = b"".join(
        expected[k, r : r + 2].tobytes() for g in ([0, 1], [2]) for r in (0, 2, 4) for k in g
    )
    found = reordered_weights(stream, config, (3, 5, 1, 3), 2)
    assert np.frombuffer(found, np.int8).reshape(3, 16)[:, :15].reshape(3, 5, 3).tolist() == (
        expected.tolist()
    )


def test_long_convolutions_are_cut_into_calls() -> None:
    builder = LoadableBuilder(HARDWARE["nv_large"])
    x = builder.input_feature("x", width=64, height=32, channels=64)
    weights = np.ones((64, 64, 3, 3), np.int8)
    builder.output("y", builder.conv(x, weights, np.zeros(64, np.int16), pad=1, shift=9))
    big = read_model(write_loadable(builder.build()), "big", "big.nvdla")
    calls = [c for c in CPU.lower(big, "cpu_nv_large").commands if isinstance(c, Cpu)]
    # 64 * 32 pixels * 64 kernels * 576 taps, at most 2**22 a call, whole rows each.
    assert len(calls) == 32
    rows = [call.arguments[24:26] for call in calls]
    assert rows == [(row, row + 1) for row in range(32)]


def test_a_deeper_pipeline_is_refused() -> None:
    with pytest.raises(UsageError, match="pipeline depth of 4") as caught:
        CPU.lower(model(), "cpu_nv_small", 4)
    assert caught.value.hints


def test_unknown_configurations_have_neighbours() -> None:
    with pytest.raises(UsageError, match="cpu_nv_smal") as caught:
        CPU.check(model(), "cpu_nv_smal")
    assert "cpu_nv_small" in str(caught.value.hints)


def test_a_model_for_other_hardware_is_refused_by_name() -> None:
    other = model("nv_large", channels=40)
    report = CPU.check(other, "cpu_nv_small")
    assert not report.ok and "nv_large" in report.reasons[0]
    with pytest.raises(ModelError, match="nv_large"):
        CPU.lower(other, "cpu_nv_small")


def test_a_model_of_another_family_is_refused() -> None:
    class Other:
        family = "vip"
        name = "graph"

    with pytest.raises(ModelError, match="model for vip"):
        CPU.check(Other(), "cpu_nv_small")  # type: ignore[arg-type]


def test_weights_must_be_in_the_file() -> None:
    base = model()
    memories = tuple(
        replace(m, flags=MemoryFlags.ALLOC) if m.flags & MemoryFlags.SET else m
        for m in base.loadable.memories
    )
    unset = replace(base, loadable=replace(base.loadable, memories=memories))
    report = CPU.check(unset, "cpu_nv_small")
    assert any("not in the file" in r for entry in report.operations for r in entry.reasons)


def test_rules_say_what_the_buffer_rule_does_not_forbid() -> None:
    names = [(rule.unit, rule.name) for rule in CPU.rules()]
    assert ("CONV", "constant_weights") in names and ("CONV", "taps") in names
    assert ("CONV", "buffer") not in names


def test_published_loadables_are_admitted_where_they_belong(testdata: Path) -> None:
    for case in all_cases(testdata):
        for config in ("nv_small", "nv_large"):
            report = CPU.check(case.model(), f"cpu_{config}")
            expected = not case.refused and case.facts["config"] == config
            assert report.ok == expected, (case.name, config, report.reasons)
