"""Container: a network binary graph's tables, whatever the file's version."""

from __future__ import annotations

from dataclasses import dataclass, field

from fwgen.model.nbg.cursor import Cursor, Span
from fwgen.model.nbg.records import (
    NbgLayer,
    NbgOperation,
    NbgPatch,
    NbgTensor,
    OperationType,
)

STATE_LIMIT = 4096
"""Bytes of a state buffer; those of real files have at most 72."""

NN_WORDS = TP_WORDS = 32
"""Words of a descriptor that have a meaning; newer files pad descriptors to 48."""


@dataclass(frozen=True, slots=True)
class Container:
    """The tables of a file.

    Attributes:
        cursor: the file; spans refer to its bytes.
        version: of the container.
        target: customer id of the NPU that the file was compiled for.
        network: name of the network.
        nn, tp: descriptors of the engines.
        shaders: records in the table of shader operations.
        states: state buffers, by the state index of operations.
        coefficients: entries of the coefficient block, by the index of patches.
        coefficient_block: all coefficients and look-up tables.
        pool_size, pool_alignment: of the memory pool for tensors, bytes.
        axi_sram, vip_sram: bytes of SRAM that the file counts on.
        refusal: why this version reads the file but does not run it, or None.
    """

    cursor: Cursor = field(repr=False)
    version: tuple[int, int, int]
    target: int
    network: str
    inputs: tuple[NbgTensor, ...]
    outputs: tuple[NbgTensor, ...]
    layers: tuple[NbgLayer, ...]
    operations: tuple[NbgOperation, ...] = ()
    nn: tuple[Span, ...] = ()
    tp: tuple[Span, ...] = ()
    shaders: int = 0
    patches: tuple[NbgPatch, ...] = ()
    states: tuple[Span, ...] = ()
    coefficients: tuple[Span, ...] = ()
    coefficient_block: Span = Span(0, 0)  # noqa: RUF009 - a frozen value
    pool_size: int = 0
    pool_alignment: int = 64
    axi_sram: int = 0
    vip_sram: int = 0
    refusal: str | None = None

    @property
    def version_text(self) -> str:
        """The version as people write it, "1.0.9"."""
        return ".".join(map(str, self.version))

    @property
    def is_v1(self) -> bool:
        """Whether the init operation's patches count (container 1.x)."""
        return self.version[0] == 1

    def jobs(self) -> tuple[NbgOperation, ...]:
        """The operations that do work, in the order in which they run."""
        ends = (OperationType.INIT, OperationType.END)
        return tuple(o for o in self.operations if o.type not in ends)

    def patches_of(self, operation: NbgOperation) -> tuple[NbgPatch, ...]:
        """The patches that are applied for an operation."""
        if operation.type is OperationType.INIT and not self.is_v1:
            return ()  # those belong to the warm-up jobs
        return tuple(self.patches[i] for i in operation.patches)

    def layer_name(self, operation: NbgOperation) -> str:
        """Name of an operation's layer; its engine where the file states none."""
        if operation.layer is None:
            return operation.type.name
        return self.layers[operation.layer].name or f"layer {operation.layer}"

    def descriptor(self, operation: NbgOperation) -> Span:
        """Where the descriptor of an NN or TP operation lies."""
        table = self.nn if operation.type is OperationType.NN else self.tp
        return table[operation.descriptor]

    def engine_mix(self) -> str:
        """One letter an operation: N, T or S."""
        return "".join(o.type.name[0] for o in self.jobs())


def check_operations(container: Container) -> Container:
    """Check what refers to what; the same container.

    Raises:
        ModelError: an operation names a descriptor, state buffer, layer or patch that
            does not exist, or a patch lies outside what it patches.
    """
    fail = container.cursor.fail
    tables = {
        OperationType.NN: len(container.nn),
        OperationType.TP: len(container.tp),
        OperationType.SH: container.shaders,
    }
    last = len(container.operations) - 1
    for operation in container.operations:
        at, name = operation.offset, f"operation {operation.index}"
        if operation.type is OperationType.INIT and operation.index != 0:
            fail(at, f"{name} is an init operation", "one, at the start")
        if operation.type is OperationType.END and operation.index != last:
            fail(at, f"{name} is an end operation", "one, at the end")
        count = tables.get(operation.type)
        if count is not None and operation.descriptor >= count:
            fail(
                at + 4,
                f"{name} uses {operation.type.name} descriptor {operation.descriptor}",
                f"an index below {count}",
            )
        if operation.state >= len(container.states):
            fail(
                at + 12,
                f"{name} uses state buffer {operation.state}",
                f"an index below {len(container.states)}",
            )
        if operation.patches and operation.patches.stop > len(container.patches):
            fail(
                at + 16,
                f"{name} uses patches {operation.patches.start} to {operation.patches.stop}",
                f"at most {len(container.patches)}, the size of the table",
            )
        _check_state(container, operation, name)
        for patch in container.patches_of(operation):
            _check_patch(container, operation, patch, name)
    return container


def _check_state(container: Container, operation: NbgOperation, name: str) -> None:
    state = container.states[operation.state]
    if operation.type is not OperationType.SH and (
        state.size % 8 or not 0 < state.size <= STATE_LIMIT
    ):
        container.cursor.fail(
            operation.offset + 12,
            f"the state buffer of {name} has {state.size} bytes",
            f"a multiple of 8, at most {STATE_LIMIT}",
        )


def _check_patch(container: Container, operation: NbgOperation, patch: NbgPatch, name: str) -> None:
    fail = container.cursor.fail
    in_state = patch.type == 0 or operation.type not in (OperationType.NN, OperationType.TP)
    room = container.states[operation.state].size if in_state else 4 * NN_WORDS
    if operation.type is OperationType.SH:
        return  # what shader operations patch is not known, and they are not run
    if patch.type not in (0, 1):
        fail(patch.at, f"a patch of {name} has type {patch.type}", "0 or 1")
    if patch.offset % 4 or patch.offset + 4 > room:
        where = "state buffer" if in_state else "descriptor"
        fail(
            patch.at + 4,
            f"a patch of {name} writes at byte {patch.offset} of its {where}",
            f"a multiple of 4 below {room}",
        )
    limit = {
        1: len(container.inputs),
        2: len(container.outputs),
        5: len(container.coefficients),
    }.get(int(patch.source))
    if limit is not None and not 0 <= patch.index < limit:
        fail(
            patch.at + 12,
            f"a patch of {name} uses {patch.source.name.lower()} {patch.index}",
            f"an index below {limit}",
        )
