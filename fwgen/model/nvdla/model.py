"""NvdlaModel: a loadable with its descriptors decoded (NVDLA loadable format)."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass

from fwgen.model.model import ModelTensor
from fwgen.model.nvdla.decode import decode_dla_task, decode_emu_task
from fwgen.model.nvdla.loadable import (
    Interface,
    Loadable,
    MemoryFlags,
    TensorDesc,
    Version,
    read_loadable,
)
from fwgen.model.nvdla.tasks import DlaTask, EmuTask
from fwgen.model.nvdla.validate import fail, validate

DATA_TYPES = {
    1: "float32",
    2: "float16",
    3: "int16",
    4: "int8",
    5: "uint8",
    6: "uint16",
}
DATA_FORMATS = {1: "NCHW", 2: "NHWC", 3: "NCxHWx"}
FIRST_FEATURE_FORMAT = 36


@dataclass(frozen=True, slots=True)
class NvdlaTensor:
    """A bound memory and the tensor in it."""

    direction: str
    memory: int
    bind_index: int
    desc: TensorDesc

    @property
    def is_image(self) -> bool:
        """True for pitch-linear pixels, False for a feature cube."""
        return self.desc.pixel_format < FIRST_FEATURE_FORMAT


@dataclass(frozen=True, slots=True)
class NvdlaModel:
    """A validated loadable.

    Attributes:
        name: file name without its last suffix.
        sha256: of the file.
        loadable: the file's lists.
        version: firmware interface version that the descriptors follow.
        tasks: in the order in which they run.
        bound: inputs by bind index, then outputs by bind index.
    """

    name: str
    sha256: str
    loadable: Loadable
    version: Version
    tasks: tuple[DlaTask | EmuTask, ...]
    bound: tuple[NvdlaTensor, ...]

    @property
    def family(self) -> str:
        """See Model."""
        return "nvdla"

    @property
    def tensors(self) -> tuple[ModelTensor, ...]:
        """See Model."""
        return tuple(
            ModelTensor(
                t.desc.name,
                t.direction,
                t.bind_index,
                (t.desc.n, t.desc.c, t.desc.h, t.desc.w),
                DATA_TYPES.get(t.desc.data_type, "unknown"),
                ("NHWC" if t.is_image else "NCxHWx"),
                (t.desc.strides[0], t.desc.strides[1], t.desc.strides[2]),
                t.desc.size,
            )
            for t in self.bound
        )

    def to_json(self) -> dict[str, object]:
        """See Model. Descriptors appear with all their fields."""
        loadable = self.loadable
        return {
            "family": self.family,
            "name": self.name,
            "sha256": self.sha256,
            "loadable_version": list(loadable.version or ()),
            "dla_interface_version": list(self.version),
            "tensors": [dataclasses.asdict(t) for t in self.tensors],
            "memories": [dataclasses.asdict(m) for m in loadable.memories],
            "addresses": [dataclasses.asdict(a) for a in loadable.addresses],
            "blobs": [
                {
                    "name": b.name,
                    "size": b.size,
                    "interface": b.interface,
                    "sub_interface": b.sub_interface,
                    "version": list(b.version) if b.version else None,
                    "sha256": hashlib.sha256(b.data).hexdigest(),
                }
                for b in loadable.blobs
            ],
            "relocs": len(loadable.relocs),
            "tasks": [task.to_json() for task in self.tasks],
        }


def _bound(loadable: Loadable, source: str) -> tuple[NvdlaTensor, ...]:
    found = []
    for flag, direction in ((MemoryFlags.INPUT, "input"), (MemoryFlags.OUTPUT, "output")):
        memories = sorted((m for m in loadable.memories if m.flags & flag), key=lambda m: m.bind_id)
        for memory in memories:
            desc = loadable.tensors[memory.tensor_desc_id]
            place = f"tensor {desc.id} ({desc.name!r})"
            if min(desc.n, desc.c, desc.h, desc.w) < 1:
                fail(source, place, f"its shape is {desc.n}x{desc.c}x{desc.h}x{desc.w}")
            if desc.offset + desc.size > memory.size:
                fail(source, place, f"it reaches beyond the end of memory {memory.id}")
            if desc.mem_id != memory.id:
                fail(source, place, f"it names memory {desc.mem_id}, memory {memory.id} names it")
            found.append(NvdlaTensor(direction, memory.id, memory.bind_id, desc))
    return tuple(found)


def from_loadable(loadable: Loadable, name: str, sha256: str, source: str) -> NvdlaModel:
    """Validate a loadable and decode its tasks. Raises ModelError."""
    version = validate(loadable, source)
    order = [task for submit in loadable.submits for task in submit.task_id]
    tasks: list[DlaTask | EmuTask] = []
    for task_id in order:
        entry = loadable.tasks[task_id]
        if entry.interface == Interface.DLA1:
            tasks.append(decode_dla_task(loadable, entry, version, source))
        else:
            tasks.append(decode_emu_task(loadable, entry, version, source))
    return NvdlaModel(name, sha256, loadable, version, tuple(tasks), _bound(loadable, source))


def read_model(data: bytes, name: str, source: str) -> NvdlaModel:
    """Read a loadable file's bytes; `source` names the file in errors. Raises ModelError."""
    loadable = read_loadable(data, source)
    return from_loadable(loadable, name, hashlib.sha256(data).hexdigest(), source)
