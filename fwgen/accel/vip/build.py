"""A graph that `check` admits becomes a Program.

Addresses are known when the image is built, so that descriptors and command buffers
are constants: the target cleans the inputs' cache lines, tells the front end where the
commands lie, and waits for their event. By default one command buffer holds the whole
network; where every operation shall be waited for by itself there is one for each group
of jobs that run together.
"""

from __future__ import annotations

from collections.abc import Sequence

from fwgen.accel.vip.configurations import Configuration
from fwgen.accel.vip.extents import nn_input, nn_output, tp_input, tp_output
from fwgen.accel.vip.fields import (
    FIELDS,
    INPUT,
    OUTPUT,
    TP_INPUT,
    TP_OUTPUT,
    VIP_SRAM_BASE,
    Place,
    descriptor_words,
    places,
)
from fwgen.accel.vip.loads import StateLoad, state_loads
from fwgen.accel.vip.memory import Memory, make_memory
from fwgen.accel.vip.registers import (
    COMMAND_ADDRESS,
    COMMAND_CONTROL,
    COMMAND_ENABLE,
    NN_GROUP_END,
    SEC_COMMAND_CONTROL,
    SRAM_REMAP,
)
from fwgen.accel.vip.stream import EVENT_BIT, FETCH_LIMIT, Stream, make_stream
from fwgen.errors import ModelError
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.describe import summary
from fwgen.model.nbg.model import NbgModel, quantisation
from fwgen.model.nbg.nn import decode_nn
from fwgen.model.nbg.records import NbgOperation, NbgTensor, OperationType, PatchSource
from fwgen.model.nbg.tp import decode_tp
from fwgen.program.commands import (
    AddressOf,
    Cache,
    CacheAction,
    Command,
    End,
    Mark,
    Wait,
    Write,
)
from fwgen.program.program import (
    Operation,
    Program,
    Role,
    Step,
    Tensor,
    TensorDirection,
)

Loads = tuple[StateLoad, ...]


def operation_name(container: Container, operation: NbgOperation, number: int) -> str:
    """A unique label: "op3_nn_ConvolutionReluPoolingLayer2"."""
    layer = container.layer_name(operation).replace(" ", "_")
    return f"op{number}_{operation.type.name.lower()}_{layer}"


def _operation(container: Container, operation: NbgOperation, number: int) -> Operation:
    macs = 0
    if operation.type is OperationType.NN:
        nn = decode_nn(container, operation)
        macs, read, written = nn.macs(), nn_input(nn), nn_output(nn)
    else:
        tp = decode_tp(container, operation)
        if tp.is_fully_connected:
            macs = tp.input_planes * tp.counts[4]
        (low, high), (first, end) = tp_input(tp), tp_output(tp)
        read, written = high - low, end - first
    return Operation(
        number,
        operation.type.name,
        operation_name(container, operation, number),
        summary(container, operation),
        macs,
        read,
        written,
    )


def _groups(
    jobs: Sequence[NbgOperation], loads: dict[int, Loads], per_operation: bool
) -> list[list[int]]:
    """Numbers of the jobs of each command buffer: all, or those that run together."""
    if not per_operation:
        return [list(range(len(jobs)))]
    groups: list[list[int]] = [[]]
    for number, job in enumerate(jobs):
        groups[-1].append(number)
        if any(load.state == NN_GROUP_END for load in loads[job.index]):
            groups.append([])
    return [group for group in groups if group]


def _tensor(tensor: NbgTensor, buffer: int) -> Tensor:
    scale, zero_point = quantisation(tensor)
    row, plane = tensor.shape[3], tensor.shape[3] * tensor.shape[2]
    return Tensor(
        tensor.name,
        TensorDirection(tensor.direction),
        tensor.index,
        tensor.shape,
        tensor.dtype,
        "NCHW",
        1,
        (tensor.element, tensor.element * row, tensor.element * plane),
        buffer,
        0,
        tensor.size,
        scale,
        zero_point,
    )


def _commands(memory: Memory, stream: Stream, groups: Sequence[Sequence[int]]) -> list[Command]:
    out: list[Command] = [
        Cache(CacheAction.CLEAN, buffer.id)
        for buffer in memory.buffers
        if buffer.role is Role.INPUT
    ]
    for group, (offset, size) in zip(groups, stream.buffers, strict=True):
        control = COMMAND_ENABLE | size // 8
        if len(groups) > 1:
            out.append(Mark(group[0]))
        out += [
            Write(COMMAND_ADDRESS, AddressOf(memory.commands, offset)),
            Write(COMMAND_CONTROL, control),
            Write(SEC_COMMAND_CONTROL, control),
            Wait(EVENT_BIT, operations=tuple(group)),
        ]
    out += [
        Cache(CacheAction.INVALIDATE, buffer.id)
        for buffer in memory.buffers
        if buffer.role is Role.OUTPUT
    ]
    out.append(End())
    return out


def _touched(
    container: Container, jobs: Sequence[NbgOperation], memory: Memory
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Buffers that jobs read and write."""
    reads: set[int] = {memory.descriptors, memory.commands}
    writes: set[int] = set()
    for job in jobs:
        found, _ = places(container, job, descriptor_words(container, job))
        for field in FIELDS[job.type]:
            place = found.get(field.word)
            buffer = None if place is None else _buffer_of(memory, place)
            if buffer is None:
                continue
            if field.word == (OUTPUT if job.type is OperationType.NN else TP_OUTPUT):
                writes.add(buffer)
            elif field.word in (INPUT, TP_INPUT) or memory.buffers[buffer].role is Role.CONSTANT:
                reads.add(buffer)
    return tuple(sorted(reads)), tuple(sorted(writes))


def _buffer_of(memory: Memory, place: Place) -> int | None:
    return memory.ids.get((place.source, place.index), memory.ids.get((place.source, 0)))


def build_program(
    model: NbgModel, config: Configuration, *, per_operation: bool = False
) -> Program:
    """The program of a graph that the rules admit.

    Args:
        per_operation: one submission for each group of jobs instead of one for all.

    Raises:
        ModelError: it has more commands than the front end can be told to fetch.
    """
    container = model.container
    jobs = container.jobs()
    init = container.operations[0]
    loads = {job.index: state_loads(container, job)[0] for job in (init, *jobs)}
    groups = _groups(jobs, loads, per_operation)
    parts = [[(jobs[n].index, loads[jobs[n].index]) for n in group] for group in groups]
    parts[0].insert(0, (init.index, loads[init.index]))
    stream = make_stream(parts)
    for _, size in stream.buffers:
        if size // 8 > FETCH_LIMIT:
            raise ModelError(
                f"the network's commands have {size} bytes",
                where=model.name,
                expected=f"at most {8 * FETCH_LIMIT}, what the front end fetches at once",
                hints=("Build with --each-operation.",),
            )
    memory = make_memory(container, config, jobs, stream, len(groups))
    steps = []
    for group in groups:
        reads, writes = _touched(container, [jobs[n] for n in group], memory)
        steps.append(Step(tuple(group), reads, writes))
    window = any(load.state == SRAM_REMAP for load in loads[init.index])
    return Program(
        family="vip",
        config=config.name,
        model_name=model.name,
        model_sha256=model.sha256,
        address_bits=32,
        buffers=memory.buffers,
        tensors=(
            *(_tensor(t, memory.ids[PatchSource.INPUT, t.index]) for t in container.inputs),
            *(_tensor(t, memory.ids[PatchSource.OUTPUT, t.index]) for t in container.outputs),
        ),
        operations=tuple(_operation(container, job, n) for n, job in enumerate(jobs)),
        steps=tuple(steps),
        commands=tuple(_commands(memory, stream, groups)),
        interrupt_mask=EVENT_BIT,
        shadows=((VIP_SRAM_BASE, VIP_SRAM_BASE + config.vip_sram),) if window else (),
    )
