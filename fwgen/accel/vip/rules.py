"""Supported-operator rules of the VIP: what they look like, and those for all jobs.

A rule is a function of a job in its context; its docstring is the text that users
read in the documentation. It returns None if the job keeps the rule, else what is
wrong with it. `check` reports what the rules say and `lower` refuses what they refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fwgen.accel.vip.configurations import Configuration, describe_target
from fwgen.accel.vip.extents import Access
from fwgen.accel.vip.fields import Place, descriptor_words, places
from fwgen.accel.vip.loads import StateLoad, state_loads
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.nn import NnJob
from fwgen.model.nbg.records import DATA_FORMATS, NbgOperation, OperationType, PatchSource
from fwgen.model.nbg.tp import TpJob

J = TypeVar("J", NnJob, TpJob)


@dataclass(frozen=True, slots=True)
class Context(Generic[J]):
    """A job with everything that a rule may look at."""

    config: Configuration
    container: Container
    operation: NbgOperation
    job: J
    places: Mapping[int, Place]
    loads: tuple[StateLoad, ...] = ()


Rule = Callable[[Context[J]], str | None]


def rounded(size: int, config: Configuration) -> int:
    """Bytes that are reserved for an input or output of `size` bytes."""
    return -(-size // config.buffer_alignment) * config.buffer_alignment


def memory_size(container: Container, config: Configuration, place: Place) -> int:
    """Bytes of the memory that a place lies in."""
    match place.source:
        case PatchSource.INPUT | PatchSource.OUTPUT:
            return rounded(tensor_size(container, place) or 0, config)
        case PatchSource.POOL:
            return rounded(container.pool_size, config)
        case PatchSource.AXI_SRAM:
            return container.axi_sram
        case PatchSource.COEFFICIENT:
            return container.coefficients[place.index].size
        case _:
            return config.vip_sram


def tensor_size(container: Container, place: Place) -> int | None:
    """Bytes of the input or output that a place lies in; None elsewhere."""
    match place.source:
        case PatchSource.INPUT:
            return container.inputs[place.index].size
        case PatchSource.OUTPUT:
            return container.outputs[place.index].size
        case _:
            return None


def coefficients(container: Container, place: Place) -> bytes:
    """The bytes of a coefficient entry from a place on."""
    return container.cursor.bytes_of(container.coefficients[place.index])[place.offset :]


def access_reason(c: Context[J], accesses: Sequence[Access]) -> str | None:
    """The first access that leaves its memory."""
    for access in accesses:
        reason = access.reason(
            memory_size(c.container, c.config, access.start),
            tensor_size(c.container, access.start),
        )
        if reason is not None:
            return reason
    return None


def job_reasons(container: Container, operation: NbgOperation) -> tuple[str, ...]:
    """The address fields of a descriptor are patched as expected, each at most once; its
    state buffer loads known states and starts the job exactly once.
    """
    wrong = state_loads(container, operation)[1]
    if operation.type in (OperationType.NN, OperationType.TP):
        words = descriptor_words(container, operation)
        wrong += places(container, operation, words)[1]
    return wrong


def model_reasons(container: Container, config: Configuration) -> tuple[str, ...]:
    """A graph runs on the NPU identity that it was compiled for and on no other, because
    coefficients are laid out for the number of cores; containers 1.0.0 to 1.0.20 and
    2.0.5; inputs and outputs of uint8; no more SRAM than the NPU has.
    """
    if container.target != config.target:
        return (
            f"the graph is compiled for the NPU {describe_target(container.target)}, "
            f"{config.name} is {describe_target(config.target)}",
        )
    if container.refusal:
        return (container.refusal,)
    if not config.runnable:
        return (f"graphs for {describe_target(config.target)} are read but not run",)
    reasons: list[str] = []
    for tensor in (*container.inputs, *container.outputs):
        if tensor.dtype != "uint8":
            reasons.append(
                f"{tensor.direction} {tensor.name} has the type "
                f"{DATA_FORMATS[tensor.data_format][0]}, only uint8 is supported"
            )
    for name, wanted, has in (
        ("VIP SRAM", container.vip_sram, config.vip_sram),
        ("AXI SRAM", container.axi_sram, config.axi_sram),
    ):
        if wanted > has:
            reasons.append(f"the graph counts on {wanted} bytes of {name}, there are {has}")
    jobs = container.jobs()
    first = container.operations[0].type if container.operations else None
    if not jobs:
        reasons.append("the graph has no operations")
    elif first is not OperationType.INIT:
        reasons.append("the graph does not begin with an init operation")
    elif config.generation == 8 and not any(
        load.state == 0x3938 for load in state_loads(container, container.operations[0])[0]
    ):
        reasons.append("the graph's init operation does not place the VIP's SRAM")
    for operation in container.operations:
        if operation.type in (OperationType.INIT, OperationType.END):
            reasons += [
                f"{operation.type.name.lower()} operation: {reason}"
                for reason in job_reasons(container, operation)
            ]
    return tuple(reasons)
