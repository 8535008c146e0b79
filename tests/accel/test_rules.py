"""Each supported-operator rule: what it admits and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nvdla_execution import Target

from fwgen.accel import family
from fwgen.accel.nvdla.builder import LoadableBuilder
from fwgen.accel.nvdla.configurations import CONFIGURATIONS
from fwgen.errors import ModelError, UsageError
from fwgen.model.nvdla.descriptors import (
    CdpOp,
    CdpSurface,
    CommonOp,
    Converter,
    Edge,
    EmuBuffer,
    EmuOp,
    Lut,
    LutOffset,
    Network,
    OpType,
    RubikOp,
    RubikSurface,
    Slope,
)
from fwgen.model.nvdla.loadable import MemoryDomain, write_loadable
from fwgen.model.nvdla.model import NvdlaModel, read_model
from fwgen.model.nvdla.tasks import Address, DlaOperation, DlaTask, EmuOperation, EmuTask

NVDLA = family("nvdla")

CONV, SDP, PDP = 0, 1, 2


def base(config: str = "nv_small", pixels: bool = False) -> NvdlaModel:
    """CONV 3x3, SDP with bias and residual, PDP 2x2."""
    rng = np.random.default_rng(3)
    builder = LoadableBuilder(CONFIGURATIONS[config])
    if pixels:
        x = builder.input_pixels("x", width=8, height=8, channels=4)
        residual = None
    else:
        x = builder.input_feature("x", width=8, height=8, channels=16)
        residual = x
    weights = rng.integers(-9, 9, (16, 4 if pixels else 16, 3, 3), np.int8)
    y = builder.conv(
        x, weights, np.arange(16, dtype=np.int16), pad=1, shift=4, residual=residual, relu=True
    )
    builder.output("y", builder.pool(y, kernel=2))
    return read_model(write_loadable(builder.build()), "base", "base.nvdla")


def with_operation(model: NvdlaModel, index: int, change: Callable[[DlaOperation], Any]) -> Any:
    """The model with one operation replaced."""
    task = model.tasks[0]
    assert isinstance(task, DlaTask)
    operations = list(task.operations)
    operations[index] = change(operations[index])
    return replace(model, tasks=(replace(task, operations=tuple(operations)), *model.tasks[1:]))


def op(index: int, **changes: Any) -> Callable[[NvdlaModel], NvdlaModel]:
    """Change fields of an operation descriptor."""
    return lambda model: with_operation(
        model, index, lambda o: replace(o, op=replace(o.op, **changes))
    )


def cube(index: int, name: str, **changes: Any) -> Callable[[NvdlaModel], NvdlaModel]:
    """Change fields of one of an operation's cubes."""

    def change(o: DlaOperation) -> DlaOperation:
        new = replace(getattr(o.surface, name), **changes)
        return replace(o, surface=replace(o.surface, **{name: new}))  # type: ignore[arg-type]

    return lambda model: with_operation(model, index, change)


def stage(name: str, **changes: Any) -> Callable[[NvdlaModel], NvdlaModel]:
    """Change fields of an SDP stage."""

    def change(o: DlaOperation) -> DlaOperation:
        new = replace(getattr(o.op, name), **changes)
        return replace(o, op=replace(o.op, **{name: new}))  # type: ignore[arg-type]

    return lambda model: with_operation(model, SDP, change)


def common(index: int, **changes: Any) -> Callable[[NvdlaModel], NvdlaModel]:
    """Change an operation's node in the graph."""
    return lambda model: with_operation(
        model, index, lambda o: replace(o, common=replace(o.common, **changes))
    )


NO = Edge(-1, 1, 0)
ALONE = (NO,) * 6

# (operation, change, what the reason says)
REFUSED: dict[str, tuple[int, Callable[[NvdlaModel], NvdlaModel], str]] = {
    "conv precision": (CONV, op(CONV, in_precision=1), "computes int16"),
    "conv fp16": (CONV, op(CONV, in_precision=2, out_precision=2), "computes fp16"),
    "winograd": (CONV, op(CONV, conv_mode=1), "not direct"),
    "compressed": (CONV, op(CONV, weight_format=1), "compressed"),
    "no weights": (CONV, cube(CONV, "weight_data", address=-1), "no weights"),
    "conv batch": (CONV, op(CONV, batch=2), "batch is 2"),
    "conv source": (CONV, cube(CONV, "src_data", type=2), "does not lie in memory"),
    "pixel format": (CONV, op(CONV, data_format=4), "pixel format 4"),
    "planar": (CONV, op(CONV, data_format=28), "pixel format 28"),
    "mapping": (CONV, op(CONV, pixel_mapping=1), "pitch linear"),
    "csc size": (CONV, op(CONV, input_width_csc=9), "sequencer expects 9x8x16"),
    "kernel channels": (CONV, op(CONV, kernel_channel_csc=8), "kernels have 8 channels"),
    "extension": (CONV, op(CONV, post_extension=1), "row extension"),
    "cmac size": (CONV, op(CONV, input_width_cmac=7), "multipliers expect 7x8"),
    "conv geometry": (CONV, op(CONV, pad_x_right=0), "output width 8 does not follow"),
    "conv stride": (CONV, op(CONV, conv_stride_y=2), "output height 8 does not follow"),
    "kernel bytes": (CONV, op(CONV, bytes_per_kernel=145), "a kernel has 144 bytes"),
    "weight size": (CONV, cube(CONV, "weight_data", size=2296), "the kernels need 2304"),
    "no bank": (CONV, op(CONV, weight_bank=0), "no bank"),
    "banks": (CONV, op(CONV, weight_bank=32), "banks, nv_small has 32"),
    "entries": (CONV, op(CONV, entry_per_slice=17), "a line takes 16 buffer entries"),
    "accumulator": (CONV, cube(CONV, "dst_data", type=0), "does not go to an SDP"),
    "no consumer": (CONV, common(CONV, consumers=ALONE), "does not go to an SDP"),
    "sizes differ": (CONV, cube(SDP, "src_data", height=7), "differ in size"),
    "accumulator scale": (CONV, op(CONV, out_cvt=Converter(2, 0, 1, 0)), "converter has scale 2"),
    "stride 0": (CONV, op(CONV, dilation_x=0), "is 0"),
    "sdp precision": (SDP, op(SDP, dst_precision=1), "computes int16"),
    "sdp batch": (SDP, op(SDP, batch_num=0), "batch is 0"),
    "sdp mode": (SDP, op(SDP, conv_mode=1), "not direct"),
    "sdp no parent": (SDP, common(SDP, fused_parent=NO), "comes from no convolution"),
    "sdp parent": (SDP, cube(SDP, "src_data", type=0), "although it names a parent"),
    "sdp nowhere": (SDP, cube(SDP, "dst_data", type=2), "does not take its output"),
    "sdp size": (SDP, cube(SDP, "dst_data", width=7), "the output 7x8x16"),
    "stage type": (SDP, stage("x1_op", type=4), "unknown type 4"),
    "stage mode": (SDP, stage("x2_op", mode=3), "unknown mode 3"),
    "equality": (SDP, stage("x1_op", alu_type=3), "compares for equality"),
    "x lut": (SDP, stage("x1_op", act=2), "only stage Y has"),
    "operand": (SDP, cube(SDP, "x1_data", type=2), "operands of stage X1"),
    "stage y": (SDP, stage("y_op", enable=1), "stage Y, which nv_small lacks"),
    "sdp lut": (SDP, op(SDP, lut_index=0), "look-up table, which nv_small lacks"),
    "shift": (SDP, op(SDP, out_cvt=Converter(1, 64, 1, 0)), "SDP.D_CVT_SHIFT has 6 bits"),
    "pdp precision": (PDP, op(PDP, precision=2), "computes fp16"),
    "pdp source": (PDP, cube(PDP, "src_data", type=2), "comes from no SDP"),
    "pdp destination": (PDP, cube(PDP, "dst_data", type=2), "does not go to memory"),
    "pdp channels": (PDP, cube(PDP, "dst_data", channel=8), "16 channels, the output 8"),
    "pdp size": (PDP, cube(PDP, "src_data", width=0), "size of 0"),
    "pool mode": (PDP, op(PDP, pool_mode=3), "pooling mode 3"),
    "pool kernel": (PDP, op(PDP, pool_width=8), "kernel is 9x2"),
    "pool stride": (PDP, op(PDP, stride_x=9), "stride is 9x2"),
    "pool padding": (PDP, op(PDP, pad_left=2), "wholly in the padding"),
    "pool output": (PDP, op(PDP, pool_height=3), "output height 4 does not follow"),
    "pool split": (PDP, op(PDP, split_num=65), "split into 65 parts"),
    "pool parts": (PDP, op(PDP, split_num=2), "do not add up"),
    "cube size": (PDP, cube(PDP, "src_data", size=512), "source has 512 bytes"),
    "line stride": (PDP, cube(PDP, "src_data", line_stride=32), "less than the 64 bytes"),
    "address index": (PDP, cube(PDP, "src_data", address=77), "address index 77"),
    "no address": (PDP, cube(PDP, "src_data", address=-1), "address index -1"),
    "memory end": (PDP, cube(PDP, "src_data", offset=512), "ends at byte 1536"),
    "cvsram": (PDP, cube(PDP, "src_data", type=1), "CVSRAM, which nv_small lacks"),
    "alignment": (CONV, cube(CONV, "weight_data", offset=4), "no multiple of 8"),
    "strides": (SDP, cube(SDP, "x1_data", line_stride=12), "no multiples of 8"),
}


def test_the_base_is_supported() -> None:
    for pixels in (False, True):
        model = base(pixels=pixels)
        assert NVDLA.check(model, "nv_small").ok
        assert NVDLA.lower(model, "nv_small").operations


@pytest.mark.parametrize("name", REFUSED)
def test_what_breaks_a_rule_is_refused(name: str) -> None:
    index, change, text = REFUSED[name]
    model = change(base())
    report = NVDLA.check(model, "nv_small")
    entry = report.operations[index]
    assert not entry.ok
    assert entry.runs_on == "nothing"
    assert text in entry.reasons[0]
    with pytest.raises(ModelError):
        NVDLA.lower(model, "nv_small")


ADMITTED: dict[str, Callable[[NvdlaModel], NvdlaModel]] = {
    "more banks than needed": op(CONV, data_bank=16, weight_bank=16),
    "more weight bytes": cube(CONV, "weight_data", size=2304),
    "smaller output": op(CONV, pad_x_right=2),
    "largest shift": op(SDP, out_cvt=Converter(-1, 63, 1, -5)),
    "minimum": stage("x1_op", alu_type=1),
    "prelu": stage("x1_op", act=3, type=1),
    "disabled stage": stage("x2_op", enable=0, alu_type=3),
    "average": op(PDP, pool_mode=0, padding_value=(-1, -2, -3, -4, -5, -6, -7)),
    "two parts": op(
        PDP,
        split_num=2,
        partial_in_width_first=4,
        partial_in_width_last=4,
        partial_width_first=2,
        partial_width_last=2,
    ),
    "smallest window": op(PDP, pool_width=0, pool_height=0),
}


@pytest.mark.parametrize("name", ADMITTED)
def test_what_keeps_the_rules_is_lowered(name: str) -> None:
    model = ADMITTED[name](base())
    report = NVDLA.check(model, "nv_small")
    assert report.ok, report
    Target(NVDLA.lower(model, "nv_small")).run([bytes(range(256)) * 4])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (op(CONV, data_format=0), "format 1"),
        (op(CONV, kernel_width_csc=3), "3 wide"),
        (op(CONV, kernel_channel_csc=13), "13 elements"),
        (op(CONV, post_extension=1), "do not fit the row extension"),
        (op(CONV, entry_per_slice=3), "a line takes 5 buffer entries"),
    ],
)
def test_pixel_rules(change: Callable[[NvdlaModel], NvdlaModel], text: str) -> None:
    report = NVDLA.check(change(base(pixels=True)), "nv_small")
    assert text in report.operations[CONV].reasons[0]


def test_stage_y_is_admitted_where_it_exists() -> None:
    model = stage("y_op", enable=1, type=1, mul_operand=3)(base("nv_large"))
    assert NVDLA.check(model, "nv_large").ok
    model = stage("y_op", enable=1, act=2)(base("nv_large"))
    assert "names none" in NVDLA.check(model, "nv_large").operations[SDP].reasons[0]
    model = op(SDP, lut_index=1)(base("nv_large"))
    assert "look-up table 1 of 0" in NVDLA.check(model, "nv_large").operations[SDP].reasons[0]


def test_cvsram_needs_a_memory_there() -> None:
    model = cube(PDP, "src_data", type=1)(base("nv_large"))
    reasons = NVDLA.check(model, "nv_large").operations[PDP].reasons
    assert "another memory port" in reasons[0]
    memories = tuple(
        replace(m, domain=MemoryDomain.SRAM) if m.id == 6 else m for m in model.loadable.memories
    )
    model = replace(model, loadable=replace(model.loadable, memories=memories))
    model = cube(SDP, "dst_data", type=1)(model)
    assert NVDLA.check(model, "nv_large").ok
    spaces = {b.name: b.space.value for b in NVDLA.lower(model, "nv_large").buffers}
    assert spaces["op1_sdp_out"] == "sram"


LUT = Lut(
    tuple(range(65)),
    tuple(range(257)),
    LutOffset(0, 0),
    LutOffset(7, 0),
    0,
    1 << 16,
    0,
    1 << 15,
    *(Slope(0, 0, 0),) * 4,
    0,
    0,
    1,
    0,
)


def normalisation(**changes: Any) -> NvdlaModel:
    """The base with its pooling replaced by a normalisation of the same tensor."""
    model = base()
    task = model.tasks[0]
    assert isinstance(task, DlaTask)
    pool = task.operations[PDP]
    source = pool.surface.src_data  # type: ignore[union-attr]
    target = replace(source, address=pool.surface.dst_data.address, offset=0)  # type: ignore[union-attr]
    cdp = CdpOp(0, 0, 0, Converter(1, 0, 1, 0), Converter(2, 3, 1, 0), 3, 0, 0, 0)
    node = CommonOp(PDP, 0, OpType.CDP, 1, (0, 0, 0), ALONE, NO)
    operation = DlaOperation(PDP, node, replace(cdp, **changes), CdpSurface(source, target))
    edges = list(task.operations[SDP].common.consumers)
    edges[OpType.PDP], edges[OpType.CDP] = NO, Edge(PDP, 1, 0)
    sdp = task.operations[SDP]
    sdp = replace(sdp, common=replace(sdp.common, consumers=tuple(edges)))
    operations = (task.operations[CONV], sdp, operation)
    memories = tuple(
        replace(m, size=4096) if m.id == target_memory(task, target.address) else m
        for m in model.loadable.memories
    )
    loadable = replace(model.loadable, memories=memories)
    return replace(
        model, tasks=(replace(task, operations=operations, luts=(LUT,)),), loadable=loadable
    )


def target_memory(task: DlaTask, index: int) -> int:
    return task.addresses[index].memory


def test_normalisation_runs_on_nv_small() -> None:
    model = normalisation()
    report = NVDLA.check(model, "nv_small")
    assert report.ok, report
    Target(NVDLA.lower(model, "nv_small")).run([bytes(1024)])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"in_precision": 1}, "computes int16"),
        ({"local_size": 4}, "window has 4 channels"),
        ({"lut_index": -1}, "look-up table -1 of 1"),
        ({"lut_index": 1}, "look-up table 1 of 1"),
    ],
)
def test_normalisation_rules(changes: dict[str, Any], text: str) -> None:
    report = NVDLA.check(normalisation(**changes), "nv_small")
    assert text in report.operations[PDP].reasons[0]


def test_rubik_is_refused() -> None:
    model = base()
    task = model.tasks[0]
    assert isinstance(task, DlaTask)
    last = task.operations[PDP]
    cube_ = last.surface.src_data  # type: ignore[union-attr]
    rubik = DlaOperation(
        PDP,
        replace(last.common, op_type=OpType.RUBIK),
        RubikOp(0, 0, 1, 1),
        RubikSurface(cube_, cube_),
    )
    model = with_operation(model, PDP, lambda _: rubik)
    assert "no RUBIK unit" in NVDLA.check(model, "nv_large").operations[PDP].reasons[0]


def cpu_model(kind: int = 1, **changes: Any) -> NvdlaModel:
    """The base followed by a CPU operator on the pooled tensor, in place."""
    model = base()
    buffer = EmuBuffer(0, 0, 256, 1, 1, 1, 16, 8, 8)
    buffer = replace(buffer, **{k: v for k, v in changes.items() if hasattr(buffer, k)})
    op_ = EmuOp(kind, (0, 0, 0), 0.1, 0.2, 2.0, 1.0, 0.0)
    op_ = replace(
        op_, **{k: v for k, v in changes.items() if k in EmuOp.__slots__ and k != "scale"}
    )
    output = next(b.memory for b in model.bound if b.direction == "output")
    other = replace(buffer, **changes.get("destination", {}))
    task = EmuTask(1, (Address(output, 0),), (EmuOperation(0, op_, buffer, other),))
    return replace(model, tasks=(*model.tasks, task))


@pytest.mark.parametrize("kind", [0, 1], ids=["power", "softmax"])
def test_cpu_operators_are_admitted(kind: int) -> None:
    model = cpu_model(kind)
    report = NVDLA.check(model, "nv_small")
    assert report.ok, report
    program = NVDLA.lower(model, "nv_small")
    assert program.kernels == (("power", "softmax")[kind],)
    assert program.operations[-1].unit == "CPU"
    Target(program).run([bytes(1024)])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"format": 2}, "unknown format 2"),
        ({"destination": {"format": 0}}, "formats 1 and 0 differ"),
        ({"destination": {"channel": 15}}, "differ in size"),
        ({"width": 2}, "softmax over 2x1"),
        ({"channel": 0}, "size of 0"),
        ({"channel": 3000}, "ends at byte 3000"),
        ({"address": 3}, "address index 3 of 1"),
        ({"input_scale": float("nan")}, "not finite"),
        ({"output_scale": 0.0}, "output scale is 0"),
        ({"format": 3, "offset": 1}, "odd byte"),
    ],
)
def test_cpu_rules(changes: dict[str, Any], text: str) -> None:
    report = NVDLA.check(cpu_model(**changes), "nv_small")
    assert text in report.operations[-1].reasons[0]
    assert report.operations[-1].unit == "CPU"


def tensor(direction: str, **changes: Any) -> NvdlaModel:
    """The base with a changed description of its input or output."""
    model = base()
    bound = tuple(
        replace(t, desc=replace(t.desc, **changes)) if t.direction == direction else t
        for t in model.bound
    )
    return replace(model, bound=bound)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"data_type": 2}, "float16"),
        ({"n": 2}, "batch is 2"),
        ({"strides": (2, 64, 512, 0, 0, 0, 0, 0)}, "2 bytes apart"),
        ({"h": 9, "strides": (1, 8, 512, 0, 0, 0, 0, 0)}, "line stride 8"),
        ({"offset": 8}, "ends at byte 1032"),
    ],
)
def test_tensor_rules(changes: dict[str, Any], text: str) -> None:
    report = NVDLA.check(tensor("input", **changes), "nv_small")
    assert text in report.reasons[0]


def test_the_hardware_knows_the_strides_of_a_tensor() -> None:
    wrong = tensor("output", strides=(1, 4, 16, 0, 0, 0, 0, 0), size=100)
    output = NVDLA.lower(wrong, "nv_small").outputs()[0]
    assert output.strides == (1, 32, 128)
    assert output.size == 256


def test_unknown_names_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="nv_smal"):
        NVDLA.check(base(), "nv_smal")
    with pytest.raises(UsageError, match="unknown accelerator family"):
        family("nvdlaa")


def test_every_rule_is_documented() -> None:
    texts = NVDLA.rules()
    assert len(texts) > 35
    assert len({(t.unit, t.name) for t in texts}) == len(texts)
    for text in texts:
        assert text.text.endswith("."), text
        assert text.text[0].isupper(), text


def test_no_operations_is_an_empty_program() -> None:
    model = base()
    task = model.tasks[0]
    assert isinstance(task, DlaTask)
    network: Network = replace(task.network, num_operations=0)
    empty = replace(model, tasks=(replace(task, operations=(), network=network),))
    program = NVDLA.lower(empty, "nv_small")
    assert not program.steps and not program.operations
    assert all(b.zeroed for b in program.buffers if b.role.value == "output")
