"""The bound tensors of a loadable as the program's tensors."""

from __future__ import annotations

from fwgen.accel.nvdla.access import BadStride, blocks, cube_runs
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.model.nvdla.model import DATA_TYPES, NvdlaModel, NvdlaTensor
from fwgen.program.program import Tensor, TensorDirection

BYTE_TYPES = ("int8", "uint8")


def _reason(tensor: NvdlaTensor, config: Configuration) -> str | None:
    desc = tensor.desc
    dtype = DATA_TYPES.get(desc.data_type, f"type {desc.data_type}")
    if dtype not in BYTE_TYPES:
        return f"its elements are {dtype}, {config.name} computes only int8"
    if desc.n != 1:
        return f"its batch is {desc.n}"
    element, line, surface = desc.strides[:3]
    if element != 1:
        return f"its elements are {element} bytes apart"
    if tensor.is_image:
        shape = (1, desc.h, desc.w * desc.c, line, 0)
    else:
        surfaces = blocks(desc.c, config.atom)
        shape = (surfaces, desc.h, desc.w * config.atom, line, surface)
    try:
        runs, _ = cube_runs(0, *shape)
    except BadStride as error:
        return str(error)
    if runs[-1][1] > desc.size:
        return f"it needs {runs[-1][1]} bytes and has {desc.size}"
    return None


def tensor_reasons(model: NvdlaModel, config: Configuration) -> tuple[str, ...]:
    """Why bound tensors are not supported; empty if they are.

    Tensors are int8 with batch 1, pitch-linear pixels or feature cubes in blocks
    of the configuration's atom.
    """
    found = []
    for tensor in model.bound:
        reason = _reason(tensor, config)
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
            strides=(t.desc.strides[0], t.desc.strides[1], 0 if t.is_image else t.desc.strides[2]),
            buffer=bound[t.memory],
            offset=t.desc.offset,
            size=t.desc.size,
        )
        for t in model.bound
    )
