"""Supported-operator rules: what they look like and how they are applied.

A rule is a function of an operation in its context; its docstring is the text
that users read in `fwgen check` and in the documentation. It returns None if
the operation keeps the rule, else what is wrong with it. `check` reports what
the rules say and `lower` refuses what they refuse: there is no second list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from fwgen.accel.nvdla.access import BadStride, accesses, blocks
from fwgen.accel.nvdla.configurations import Configuration, names_with_atom
from fwgen.accel.nvdla.lower import lower_rows
from fwgen.accel.nvdla.registers import FieldOverflow
from fwgen.model.nvdla.descriptors import (
    FEATURE_FORMAT,
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    Cube,
    CubeType,
    OpDesc,
    OpType,
    PdpOp,
    PdpSurface,
    RubikOp,
    SdpOp,
    SdpSurface,
    Surface,
)
from fwgen.model.nvdla.loadable import Loadable, MemoryDomain
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask

IN_MEMORY = (CubeType.MC, CubeType.CV)
PRECISIONS = ("int8", "int16", "fp16")

D = TypeVar("D", bound=OpDesc)
S = TypeVar("S", bound=Surface)


@dataclass(frozen=True, slots=True)
class Context(Generic[D, S]):
    """An operation with everything that a rule may look at."""

    config: Configuration
    loadable: Loadable
    task: DlaTask
    operation: DlaOperation
    op: D
    surface: S

    def partner(self, index: int) -> DlaOperation:
        """Another operation of the same task."""
        return self.task.operations[index]


AnyContext = Context[OpDesc, Surface]
Rule = Callable[[Context[D, S]], str | None]
AnyRule = Callable[[AnyContext], str | None]


def memory_cubes(operation: DlaOperation) -> list[tuple[str, Cube]]:
    """Feature cubes of an operation that lie in memory, with their roles."""
    surface, op = operation.surface, operation.op
    cubes: list[tuple[str, Cube]] = []
    if isinstance(surface, ConvSurface) and isinstance(op, ConvOp):
        if op.data_format == FEATURE_FORMAT:
            cubes.append(("source", surface.src_data))
    elif isinstance(surface, (SdpSurface, PdpSurface, CdpSurface)):
        cubes += [("source", surface.src_data), ("destination", surface.dst_data)]
    return [(role, cube) for role, cube in cubes if cube.type != CubeType.HW]


def fits_atom(cube: Cube, atom: int) -> bool:
    """Whether a cube's size says that it has blocks of `atom` channels."""
    return cube.size == blocks(cube.channel, atom) * cube.surf_stride


def _precisions(op: OpDesc) -> tuple[int, ...]:
    if isinstance(op, (ConvOp, CdpOp)):
        return (op.in_precision, op.out_precision)
    if isinstance(op, SdpOp):
        return (op.src_precision, op.dst_precision)
    if isinstance(op, (PdpOp, RubikOp)):
        return (op.precision,)
    return ()


def _wrong_precision(precisions: Iterable[int]) -> str | None:
    """The name of a precision other than int8 among those given."""
    worst = max(precisions, default=0)
    if not worst:
        return None
    return PRECISIONS[worst] if worst < len(PRECISIONS) else f"precision {worst}"


def only_int8(c: Context[D, S]) -> str | None:
    """What is wrong with an operation's precision."""
    wrong = _wrong_precision(_precisions(c.op))
    return wrong and f"it computes {wrong}, {c.config.name} only int8"


def from_memory_or_parent(c: Context[D, S], source: Cube, unit: OpType, name: str) -> str | None:
    """What is wrong with the input of a `unit` that the operation `name` may feed on the fly."""
    parent = c.operation.common.fused_parent.index
    if source.type == CubeType.HW:
        if parent == -1:
            return f"its input comes from no {name}"
        consumer = c.partner(parent).common.consumers[unit].index
        if consumer != c.operation.index:
            return f"{name} {parent} gives its output to operation {consumer}"
        return None
    if source.type not in IN_MEMORY:
        return f"its input has the unknown type {source.type}"
    return None if parent == -1 else "its input lies in memory although it names a parent"


def model_reasons(model: NvdlaModel, config: Configuration) -> tuple[str, ...]:
    """A model must be compiled for int8 and for the configuration's memory atom.

    No field of a loadable names its configuration, but the size of every feature
    cube tells the atom, and 16-bit types exist only on nv_full.
    """
    operations = [
        operation
        for task in model.tasks
        if isinstance(task, DlaTask)
        for operation in task.operations
    ]
    name = _wrong_precision(p for o in operations for p in _precisions(o.op))
    if name:
        return (f"the model is compiled for {name} (nv_full), {config.name} computes only int8",)
    cubes = [cube for operation in operations for _, cube in memory_cubes(operation)]
    wrong = sum(not fits_atom(cube, config.atom) for cube in cubes)
    if not wrong:
        return ()
    for atom in (8, 16, 32):
        if all(fits_atom(cube, atom) for cube in cubes):
            names = ", ".join(names_with_atom(atom))
            return (
                f"the model is compiled for a memory atom of {atom} bytes ({names}), "
                f"{config.name} has {config.atom} bytes",
            )
    return (
        f"{wrong} of {len(cubes)} feature cubes are not laid out for the memory atom of "
        f"{config.name}, {config.atom} bytes",
    )


def rule_unit(c: AnyContext) -> str | None:
    """CONV, SDP, PDP and CDP run on the accelerator; BDMA and RUBIK exist only on nv_full."""
    if c.operation.type in (OpType.BDMA, OpType.RUBIK):
        return f"{c.config.name} has no {c.operation.type.name} unit"
    return None


def rule_runs(c: AnyContext) -> str | None:
    """Lines and surfaces of a cube must not overlap."""
    try:
        accesses(c.operation, c.config)
    except BadStride as error:
        return str(error)
    return None


def rule_memory(c: AnyContext) -> str | None:
    """Every byte that is read or written must lie inside the memory that the address names."""
    for access in accesses(c.operation, c.config):
        what = access.role
        if not 0 <= access.index < len(c.task.addresses):
            return f"{what} has address index {access.index} of {len(c.task.addresses)}"
        address = c.task.addresses[access.index]
        memory = c.loadable.memories[address.memory]
        end = address.offset + access.runs[-1][1]
        if access.role == "weights":
            # Only the round-up to whole buffer entries may pass the memory's end.
            assert isinstance(c.surface, ConvSurface)
            end = address.offset + access.start + c.surface.weight_data.size
        if end > memory.size:
            return f"{what} ends at byte {end} of memory {memory.id}, which has {memory.size}"
    return None


def rule_port(c: AnyContext) -> str | None:
    """Cubes in CVSRAM need a configuration with that port, and a memory of that domain."""
    for access in accesses(c.operation, c.config):
        if access.sram and not c.config.cvsram:
            return f"{access.role} lies in CVSRAM, which {c.config.name} lacks"
        memory = c.loadable.memories[c.task.addresses[access.index].memory]
        if access.sram != (memory.domain == MemoryDomain.SRAM):
            return f"{access.role} names another memory port than memory {memory.id} has"
    return None


def rule_alignment(c: AnyContext) -> str | None:
    """Addresses and strides must be multiples of the memory atom."""
    atom = c.config.atom
    for access in accesses(c.operation, c.config):
        start = c.task.addresses[access.index].offset + access.start
        if start % atom:
            return f"{access.role} starts at byte {start}, no multiple of {atom}"
    surface = c.surface
    assert isinstance(surface, (ConvSurface, SdpSurface, PdpSurface, CdpSurface))
    cubes = [surface.src_data, surface.dst_data]
    if isinstance(surface, SdpSurface):
        cubes += [surface.x1_data, surface.x2_data, surface.y_data]
    for cube in cubes:
        if cube.type != CubeType.HW and (cube.line_stride % atom or cube.surf_stride % atom):
            return f"strides {cube.line_stride} and {cube.surf_stride} are no multiples of {atom}"
    return None


def rule_atom(c: AnyContext) -> str | None:
    """A feature cube's size must be its number of channel blocks times its surface stride."""
    for role, cube in memory_cubes(c.operation):
        if not fits_atom(cube, c.config.atom):
            return (
                f"the {role} has {cube.size} bytes; {cube.channel} channels with an "
                f"atom of {c.config.atom} and a surface stride of {cube.surf_stride} need "
                f"{blocks(cube.channel, c.config.atom) * cube.surf_stride}"
            )
    return None


def rule_registers(c: AnyContext) -> str | None:
    """Every value must fit its register field; sizes and strides must not be 0."""
    try:
        lower_rows(c.operation, c.task.luts, c.config, lambda role: (0, 0))
    except FieldOverflow as error:
        return str(error)
    return None
