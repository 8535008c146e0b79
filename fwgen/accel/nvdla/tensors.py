"""The bound tensors of a loadable as the program's tensors."""

from __future__ import annotations

from fwgen.accel.nvdla.access import BadStride, blocks, cube_runs
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.rules import memory_cubes
from fwgen.model.nvdla.model import DATA_TYPES, NvdlaModel, NvdlaTensor
from fwgen.model.nvdla.tasks import DlaTask
from fwgen.program.program import Tensor, TensorDirection

BYTE_TYPES = ("int8", "uint8")


def _hardware_strides(model: NvdlaModel, tensor: NvdlaTensor) -> tuple[int, int] | None:
    """Line and surface stride of the cube through which the hardware sees a tensor."""
    desc = tensor.desc
    for task in model.tasks:
        if not isinstance(task, DlaTask):
            continue
        for operation in task.operations:
            for _, cube in memory_cubes(operation):
                if not 0 <= cube.address < len(task.addresses):
                    continue
                address = task.addresses[cube.address]
                if (address.memory, address.offset + cube.offset) == (
                    tensor.memory,
                    desc.offset,
                ) and (cube.channel, cube.height, cube.width) == (desc.c, desc.h, desc.w):
                    return cube.line_stride, cube.surf_stride
    return None


def _strides(model: NvdlaModel, tensor: NvdlaTensor) -> tuple[int, int, int]:
    """Element, line and surface stride. Where description and hardware differ, hardware counts."""
    element, line, surface = tensor.desc.strides[:3]
    if tensor.is_image:
        return element, line, 0
    line, surface = _hardware_strides(model, tensor) or (line, surface)
    return element, line, surface


def _extent(model: NvdlaModel, tensor: NvdlaTensor, config: Configuration) -> int:
    """Bytes from the tensor's start to its end. Raises BadStride."""
    desc = tensor.desc
    _, line, surface = _strides(model, tensor)
    if tensor.is_image:
        runs, _ = cube_runs(0, 1, desc.h, desc.w * desc.c, line, 0)
    else:
        surfaces = blocks(desc.c, config.atom)
        runs, _ = cube_runs(0, surfaces, desc.h, desc.w * config.atom, line, surface)
    return runs[-1][1]


def _reason(model: NvdlaModel, tensor: NvdlaTensor, config: Configuration) -> str | None:
    desc = tensor.desc
    dtype = DATA_TYPES.get(desc.data_type, f"type {desc.data_type}")
    if dtype not in BYTE_TYPES:
        return f"its elements are {dtype}, {config.name} computes only int8"
    if desc.n != 1:
        return f"its batch is {desc.n}"
    if desc.strides[0] != 1:
        return f"its elements are {desc.strides[0]} bytes apart"
    try:
        end = desc.offset + _extent(model, tensor, config)
    except BadStride as error:
        return str(error)
    size = model.loadable.memories[tensor.memory].size
    return None if end <= size else f"it ends at byte {end}, its memory has {size}"


def tensor_reasons(model: NvdlaModel, config: Configuration) -> tuple[str, ...]:
    """Why bound tensors are not supported; empty if they are.

    Tensors are int8 with batch 1, pitch-linear pixels or feature cubes in blocks
    of the configuration's atom.
    """
    found = []
    for tensor in model.bound:
        reason = _reason(model, tensor, config)
        if reason is not None:
            found.append(f"{tensor.direction} {tensor.desc.name!r}: {reason}")
    return tuple(found)


def make_tensors(
    model: NvdlaModel, config: Configuration, bound: dict[int, int]
) -> tuple[Tensor, ...]:
    """The program's tensors; `bound` maps memories to buffers."""
    return tuple(
        Tensor(
            name=t.desc.name or f"{t.direction}{t.bind_index}",
            direction=TensorDirection(t.direction),
            bind_index=t.bind_index,
            shape=(t.desc.n, t.desc.c, t.desc.h, t.desc.w),
            dtype=DATA_TYPES[t.desc.data_type],
            layout="NHWC" if t.is_image else "NCxHWx",
            atom=t.desc.c if t.is_image else config.atom,
            strides=_strides(model, t),
            buffer=bound[t.memory],
            offset=t.desc.offset,
            size=max(t.desc.size, _extent(model, t, config)),
        )
        for t in model.bound
    )
