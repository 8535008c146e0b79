"""Cutting memories into buffers, and the order of operations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nvdla_execution import Target

from fwgen.accel import family
from fwgen.accel.nvdla.access import MAX_RUNS, BadStride, cube_runs
from fwgen.accel.nvdla.builder import LoadableBuilder
from fwgen.accel.nvdla.configurations import CONFIGURATIONS
from fwgen.accel.nvdla.intervals import IntervalMap
from fwgen.errors import ModelError
from fwgen.model.nvdla.assemble import graph
from fwgen.model.nvdla.descriptors import CubeType, Edge, OpType
from fwgen.model.nvdla.loadable import write_loadable
from fwgen.model.nvdla.model import NvdlaModel, read_model
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask
from fwgen.program.commands import Cache, CacheAction, End, SelectGroup, Wait, Write
from fwgen.program.program import Program, Role

NVDLA = family("nvdla")
SIZE = 256  # bytes of a 4x4x16 cube on nv_small
ACTIVATIONS = 6


def copies(count: int) -> NvdlaModel:
    """`count` SDP operations on 4x4x16 cubes, each reading the one before."""
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    x = builder.input_feature("x", width=4, height=4, channels=16)
    for _ in range(count):
        x = builder.scale(x)
    builder.output("y", x)
    return read_model(write_loadable(builder.build()), "copies", "copies.nvdla")


def relocate(model: NvdlaModel, moves: dict[tuple[int, str], dict[str, Any]]) -> NvdlaModel:
    """Change cubes of operations of the first task."""
    task = model.tasks[0]
    assert isinstance(task, DlaTask)
    operations = list(task.operations)
    for (index, name), changes in moves.items():
        surface = operations[index].surface
        cube = replace(getattr(surface, name), **changes)
        new: Any = replace(surface, **{name: cube})  # type: ignore[arg-type]
        operations[index] = replace(operations[index], surface=new)
    return replace(model, tasks=(replace(task, operations=tuple(operations)),))


def internal(program: Program) -> dict[str, tuple[int, int, int]]:
    """(size, first step, last step) of internal buffers by name."""
    return {
        b.name: (b.size, b.first_step, b.last_step)
        for b in program.buffers
        if b.role is Role.INTERNAL
    }


def pattern(seed: int = 1) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, SIZE, np.uint8).tobytes()


def test_each_value_is_a_buffer_with_its_life() -> None:
    program = NVDLA.lower(copies(4), "nv_small")
    assert internal(program) == {
        "op0_sdp_out": (SIZE, 0, 1),
        "op1_sdp_out": (SIZE, 1, 2),
        "op2_sdp_out": (SIZE, 2, 3),
    }


def test_values_in_the_same_place_are_separate_buffers() -> None:
    # 0 -> A, 1: A -> B, 2: B -> A again, 3: A -> out.
    model = relocate(copies(4), {(2, "dst_data"): {"offset": 0}, (3, "src_data"): {"offset": 0}})
    program = NVDLA.lower(model, "nv_small")
    assert internal(program) == {
        "op0_sdp_out": (SIZE, 0, 1),
        "op2_sdp_out": (SIZE, 2, 3),
        "op1_sdp_out": (SIZE, 1, 2),
    }
    target = Target(program)
    for seed in (1, 2, 3):
        assert target.run([pattern(seed)]) == [pattern(seed)]


def test_in_place_operations_get_two_buffers() -> None:
    model = relocate(
        copies(3),
        {
            (1, "dst_data"): {"offset": 0},
            (2, "src_data"): {"offset": 0},
        },
    )
    program = NVDLA.lower(model, "nv_small")
    assert sorted(internal(program).values()) == [(SIZE, 0, 1), (SIZE, 1, 2)]
    assert Target(program).run([pattern()]) == [pattern()]


def test_a_read_across_two_writes_joins_them() -> None:
    """Two 4x4x16 results side by side are read as one 4x4x32 tensor."""
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    x = builder.input_feature("x", width=4, height=4, channels=16)
    z = builder.input_feature("z", width=4, height=4, channels=32)
    a = builder.scale(x)
    builder.scale(a)
    builder.output("y", builder.scale(z))
    model = read_model(write_loadable(builder.build()), "concat", "concat.nvdla")
    model = relocate(
        model,
        {
            (1, "dst_data"): {"offset": SIZE},
            (2, "src_data"): {"address": ACTIVATIONS, "offset": 0},
        },
    )
    program = NVDLA.lower(model, "nv_small")
    assert internal(program) == {"op0_sdp_out": (2 * SIZE, 0, 2)}
    assert Target(program).run([pattern(), bytes(2 * SIZE)]) == [pattern() * 2]


def test_bytes_that_nobody_writes_are_zeroed_for_ever() -> None:
    model = relocate(copies(3), {(1, "src_data"): {"offset": SIZE}, (1, "dst_data"): {"offset": 0}})
    model = relocate(model, {(2, "src_data"): {"offset": SIZE}})
    program = NVDLA.lower(model, "nv_small")
    zeroed = [b for b in program.buffers if b.zeroed]
    assert [b.size for b in zeroed] == [SIZE]
    assert (zeroed[0].first_step, zeroed[0].last_step) == (-1, len(program.steps))
    cleaned = {
        c.buffer for c in program.commands if isinstance(c, Cache) and c.action is CacheAction.CLEAN
    }
    assert zeroed[0].id in cleaned
    assert Target(program).run([pattern()]) == [bytes(SIZE)]


def test_contents_that_would_be_lost_are_refused() -> None:
    """Reading initial contents and overwriting them would tie an inference to the last."""
    model = relocate(
        copies(3),
        {
            (0, "src_data"): {"address": ACTIVATIONS, "offset": SIZE},
            (0, "dst_data"): {"offset": 0},
            (1, "src_data"): {"offset": 0},
            (1, "dst_data"): {"offset": SIZE},
            (2, "src_data"): {"offset": SIZE, "width": 4},
        },
    )
    # Without a read that joins them, the two values at SIZE are independent.
    assert NVDLA.check(model, "nv_small").ok
    program = NVDLA.lower(model, "nv_small")
    assert Target(program).run([pattern()]) == [bytes(SIZE)]
    # A read over both places joins initial and computed bytes.
    model = relocate(model, {(1, "src_data"): {"offset": 128}, (2, "src_data"): {"offset": 128}})
    with pytest.raises(ModelError, match="would depend on the inference before"):
        NVDLA.lower(model, "nv_small")


def test_constants_carry_exactly_their_blobs(seed: int = 4) -> None:
    rng = np.random.default_rng(seed)
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    x = builder.input_feature("x", width=4, height=4, channels=16)
    weights = rng.integers(-128, 128, (24, 16, 1, 1), np.int8)
    bias = rng.integers(-99, 99, 24, np.int16)
    builder.output("y", builder.conv(x, weights, bias))
    model = read_model(write_loadable(builder.build()), "m", "m.nvdla")
    constants = {
        b.name: b.data for b in NVDLA.lower(model, "nv_small").buffers if b.role is Role.CONSTANT
    }
    blobs = [b.data for b in model.loadable.blobs if b.name.startswith("tb-")]
    assert list(constants) == ["op0_conv_weights", "op1_sdp_x1"]
    assert list(constants.values()) == blobs


def test_file_contents_joined_with_computed_bytes_are_refused() -> None:
    """A bias list and a computed tensor behind it, read as one tensor."""
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    x = builder.input_feature("x", width=4, height=4, channels=16)
    a = builder.scale(x, np.arange(128, dtype=np.int16)[:16])
    builder.output("y", builder.scale(a))
    model = read_model(write_loadable(builder.build()), "m", "m.nvdla")
    weights = 5
    memories = tuple(
        replace(m, size=1024) if m.id == weights else m for m in model.loadable.memories
    )
    model = replace(model, loadable=replace(model.loadable, memories=memories))
    model = relocate(model, {(0, "dst_data"): {"address": weights, "offset": SIZE}})
    separate = relocate(model, {(1, "src_data"): {"address": weights, "offset": SIZE}})
    assert Target(NVDLA.lower(separate, "nv_small")).run([pattern()])
    joined = relocate(model, {(1, "src_data"): {"address": weights, "offset": 8}})
    with pytest.raises(ModelError, match="read as one tensor"):
        NVDLA.lower(joined, "nv_small")


def test_partly_written_outputs_are_zeroed() -> None:
    model = copies(1)
    memories = tuple(
        replace(m, size=m.size + 64) if m.flags & 8 else m for m in model.loadable.memories
    )
    larger = replace(model, loadable=replace(model.loadable, memories=memories))
    for case, zeroed in ((model, False), (larger, True)):
        output = NVDLA.lower(case, "nv_small").outputs()[0]
        assert NVDLA.lower(case, "nv_small").buffers[output.buffer].zeroed is zeroed


def three_chain() -> NvdlaModel:
    """CONV -> SDP -> PDP, all on the fly."""
    builder = LoadableBuilder(CONFIGURATIONS["nv_small"])
    weights = np.random.default_rng(2).integers(-128, 128, (16, 8, 1, 1), np.int8)
    x = builder.input_feature("x", width=4, height=4, channels=8)
    builder.output("y", builder.pool(builder.conv(x, weights, shift=8), kernel=2))
    model = read_model(write_loadable(builder.build()), "chain", "chain.nvdla")
    flying = {"type": CubeType.HW, "address": -1, "offset": 0}
    model = relocate(model, {(1, "dst_data"): flying, (2, "src_data"): flying})
    task = model.tasks[0]
    assert isinstance(task, DlaTask)
    sdp, pdp = task.operations[1], task.operations[2]
    edges = list(sdp.common.consumers)
    edges[OpType.PDP] = Edge(2, 2, 0)
    operations = (
        task.operations[0],
        replace(sdp, common=replace(sdp.common, consumers=tuple(edges), dependency_count=2)),
        replace(pdp, common=replace(pdp.common, fused_parent=Edge(1, 3, 0))),
    )
    return replace(model, tasks=(replace(task, operations=operations),))


def test_a_chain_of_three_starts_its_consumer_first() -> None:
    program = NVDLA.lower(three_chain(), "nv_small")
    names = [NVDLA.register_name(c.register) for c in program.commands if isinstance(c, Write)]
    enables = [n for n in names if n and n.endswith("D_OP_ENABLE")]
    assert enables[:2] == ["PDP.D_OP_ENABLE", "SDP.D_OP_ENABLE"]
    assert enables[-1] == "CDMA.D_OP_ENABLE"
    wait = next(c for c in program.commands if isinstance(c, Wait))
    assert wait.mask == 1 << 20 | 1 << 4 | 1 << 0
    assert wait.operations == (0, 1, 2)


def test_a_chain_of_three_runs() -> None:
    separate = copies(1)
    assert separate.tasks
    program = NVDLA.lower(three_chain(), "nv_small")
    data = np.random.default_rng(6).integers(0, 256, 128, np.uint8).tobytes()
    first = Target(program, 1).run([data])
    assert first == Target(program, 2).run([data])
    assert len(set(first[0])) > 8


def test_groups_alternate_by_unit_and_toggle_when_odd() -> None:
    for count in (1, 2, 3):
        program = NVDLA.lower(copies(count), "nv_small")
        pointers = [c for c in program.commands if isinstance(c, SelectGroup)]
        # Each operation selects SDP and SDP_RDMA twice: to program and to start.
        assert [p.group for p in pointers] == [n & 1 for n in range(count) for _ in range(4)]
        end = program.commands[-1]
        assert isinstance(end, End)
        assert end.toggled_pairs == (0b100001 if count & 1 else 0)


def test_a_circle_in_the_graph_is_refused() -> None:
    model = copies(2)
    task = model.tasks[0]
    assert isinstance(task, DlaTask)
    back = list(task.operations[1].common.consumers)
    back[OpType.SDP] = Edge(0, 1, 0)
    second = task.operations[1]
    operations: tuple[DlaOperation, ...] = (
        task.operations[0],
        replace(second, common=replace(second.common, consumers=tuple(back))),
    )
    model = replace(model, tasks=(replace(task, operations=operations),))
    with pytest.raises(ModelError, match="goes round in a circle"):
        NVDLA.lower(model, "nv_small")


def test_order_follows_the_graph_not_the_index() -> None:
    """The same two operations with their indices exchanged run in the same order."""
    model = copies(2)
    task = model.tasks[0]
    assert isinstance(task, DlaTask)
    first, second = task.operations
    edges = list(first.common.consumers)
    edges[OpType.SDP] = Edge(0, 1, 0)
    operations = (
        replace(second, index=0),
        replace(first, index=1, common=replace(first.common, consumers=tuple(edges))),
    )
    model = replace(model, tasks=(replace(task, operations=operations),))
    program = NVDLA.lower(model, "nv_small")
    assert [step.operations for step in program.steps] == [(1,), (0,)]
    assert Target(program).run([pattern()]) == [pattern()]


def test_graph_counts_its_edges() -> None:
    assert graph([]) == ([], (-1,) * 6)


@pytest.mark.parametrize(
    ("shape", "runs"),
    [
        ((2, 3, 8, 8, 24), ((0, 48),)),
        ((2, 3, 8, 8, 32), ((0, 24), (32, 56))),
        ((1, 2, 8, 16, 0), ((0, 8), (16, 24))),
        ((1, 1, 8, 0, 0), ((0, 8),)),
    ],
)
def test_runs_of_a_cube(shape: tuple[int, ...], runs: tuple[tuple[int, int], ...]) -> None:
    assert cube_runs(0, *shape) == (runs, True)  # type: ignore[arg-type]


def test_many_runs_become_one_range() -> None:
    runs, exact = cube_runs(0, 1, MAX_RUNS + 1, 8, 16, 0)
    assert not exact
    assert runs == ((0, MAX_RUNS * 16 + 8),)


@pytest.mark.parametrize("shape", [(1, 2, 8, 4, 0), (2, 2, 8, 8, 12)])
def test_overlapping_lines_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadStride):
        cube_runs(0, *shape)  # type: ignore[arg-type]


def test_interval_map_against_single_bytes() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        size = 40
        state = IntervalMap(size, frozenset((-1,)))
        plain: list[frozenset[int]] = [frozenset((-1,))] * size
        for number in range(12):
            low, high = sorted(int(v) for v in rng.integers(0, size + 1, 2))
            keep = bool(rng.integers(2))
            state.add(low, high, number, keep=keep)
            for at in range(low, high):
                plain[at] = plain[at] | {number} if keep else frozenset((number,))
            low, high = sorted(int(v) for v in rng.integers(0, size + 1, 2))
            seen = [v for a, b, v in state.overlap(low, high) for _ in range(a, b)]
            assert seen == plain[low:high]
