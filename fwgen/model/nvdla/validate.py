"""What a loadable must satisfy before anyone believes its lists (NVDLA loadable format).

The runtime of NVIDIA indexes the lists by position, so an id must equal its
position. Descriptors are found through the tasks alone: neither blob names nor
blob interfaces are the same in all writers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, Protocol

from fwgen.errors import ModelError
from fwgen.model.nvdla.loadable import (
    Blob,
    Interface,
    Loadable,
    MemoryDomain,
    MemoryEntry,
    MemoryFlags,
    Version,
)

MAX_ADDRESSES = 6144
# Larger memories cannot be addressed by the smallest configuration; the limit
# also keeps sums of damaged sizes far from any overflow.
MAX_MEMORY = 1 << 32

OLD_MINORS = (10, 11)
NEW_MINOR = 12


class _WithId(Protocol):
    @property
    def id(self) -> int: ...


def fail(source: str, place: str, message: str, expected: str | None = None) -> NoReturn:
    """Raise the ModelError for a contradiction in the file."""
    raise ModelError(
        message,
        where=f"{source}, {place}",
        expected=expected,
        hints=("The file may be damaged, or come from a compiler that fwgen does not know.",),
    )


def _check_ids(source: str, what: str, entries: Iterable[_WithId]) -> None:
    for index, entry in enumerate(entries):
        if entry.id != index:
            fail(source, f"{what} {index}", f"its id is {entry.id}", f"id {index}")


def _check_range(source: str, place: str, what: str, value: int, count: int) -> None:
    if not 0 <= value < count:
        fail(source, place, f"{what} {value} does not exist", f"less than {count}")


def interface_version(loadable: Loadable, source: str) -> Version:
    """The firmware interface version: the highest of all blobs that are not for the CPU.

    Raises ModelError unless it is 0.10, 0.11 or 0.12.
    """
    versions = [
        blob.version
        for blob in loadable.blobs
        if blob.interface != Interface.EMU1 and blob.version is not None and any(blob.version)
    ]
    if not versions:
        fail(source, "blobs", "no blob states the firmware interface version", "0.10 to 0.12")
    version = max(versions)
    if version[0] != 0 or version[1] not in (*OLD_MINORS, NEW_MINOR):
        fail(
            source,
            "blobs",
            "unknown firmware interface version " + ".".join(map(str, version)),
            "0.10 to 0.12",
        )
    return version


def blobs_by_name(loadable: Loadable) -> dict[str, Blob]:
    """Every blob by its name (names in use are unique in a validated file)."""
    return {blob.name: blob for blob in loadable.blobs}


def _check_memory(
    source: str, memory: MemoryEntry, loadable: Loadable, counts: dict[str, int]
) -> None:
    place = f"memory {memory.id}"
    if memory.size > MAX_MEMORY:
        fail(source, place, f"it has {memory.size} bytes", f"at most {MAX_MEMORY}")
    if memory.domain not in (MemoryDomain.SYSTEM, MemoryDomain.SRAM):
        fail(source, place, f"unknown memory domain {memory.domain}", "0 or 1")
    bound = memory.flags & (MemoryFlags.INPUT | MemoryFlags.OUTPUT)
    if bound == MemoryFlags.INPUT | MemoryFlags.OUTPUT:
        fail(source, place, "it is input and output at the same time")
    if bound:
        _check_range(source, place, "tensor", memory.tensor_desc_id, len(loadable.tensors))
    if not memory.flags & MemoryFlags.SET:
        return
    if len(memory.contents) != len(memory.offsets):
        fail(
            source,
            place,
            f"{len(memory.contents)} contents but {len(memory.offsets)} offsets",
        )
    by_name = blobs_by_name(loadable)
    for name, offset in zip(memory.contents, memory.offsets, strict=True):
        if not name:
            continue
        if counts.get(name, 0) != 1:
            fail(source, place, f"{counts.get(name, 0)} blobs are named {name!r}", "exactly one")
        if offset + by_name[name].size > memory.size:
            fail(
                source,
                place,
                f"blob {name!r} at offset 0x{offset:x} reaches beyond its end",
                f"at most {memory.size} bytes",
            )


def _check_bind_ids(source: str, loadable: Loadable) -> None:
    for flag, what in ((MemoryFlags.INPUT, "input"), (MemoryFlags.OUTPUT, "output")):
        ids = sorted(m.bind_id for m in loadable.memories if m.flags & flag)
        if ids != list(range(len(ids))):
            fail(source, "memory list", f"the {what} bind ids are {ids}", f"0 to {len(ids) - 1}")


def _check_tasks(source: str, loadable: Loadable) -> None:
    for task in loadable.tasks:
        place = f"task {task.id}"
        if task.interface not in (Interface.DLA1, Interface.EMU1):
            fail(source, place, f"unknown interface {task.interface}", "1 (DLA) or 2 (CPU)")
        if not 0 < len(task.address_list) <= MAX_ADDRESSES:
            fail(
                source,
                place,
                f"it has {len(task.address_list)} addresses",
                f"1 to {MAX_ADDRESSES}",
            )
        for address in task.address_list:
            _check_range(source, place, "address", address, len(loadable.addresses))
        for event in (*task.pre_actions, *task.post_actions):
            _check_range(source, place, "event", event, len(loadable.events))
    submitted = [task for submit in loadable.submits for task in submit.task_id]
    for task_id in submitted:
        _check_range(source, "submit list", "task", task_id, len(loadable.tasks))
    if len(set(submitted)) != len(submitted):
        fail(source, "submit list", "a task is submitted twice")


def validate(loadable: Loadable, source: str) -> Version:
    """Check all lists of a loadable and return its firmware interface version.

    `source` names the file in errors. Raises ModelError at the first contradiction.
    """
    if loadable.version is None:
        fail(source, "root table", "it states no loadable version", "0.7")
    if loadable.version[:2] != (0, 7):
        fail(
            source,
            "root table",
            "unknown loadable version " + ".".join(map(str, loadable.version)),
            "0.7",
        )
    for what, count in (
        ("task", len(loadable.tasks)),
        ("memory", len(loadable.memories)),
        ("submit", len(loadable.submits)),
    ):
        if count == 0:
            fail(source, "root table", f"it has no {what} entry", "at least one")
    _check_ids(source, "task", loadable.tasks)
    _check_ids(source, "memory", loadable.memories)
    _check_ids(source, "address", loadable.addresses)
    _check_ids(source, "event", loadable.events)
    _check_ids(source, "tensor", loadable.tensors)
    _check_ids(source, "submit", loadable.submits)
    counts: dict[str, int] = {}
    for index, blob in enumerate(loadable.blobs):
        counts[blob.name] = counts.get(blob.name, 0) + 1
        if blob.size != len(blob.data):
            fail(
                source,
                f"blob {index} ({blob.name!r})",
                f"it states {blob.size} bytes and holds {len(blob.data)}",
            )
    version = interface_version(loadable, source)
    for memory in loadable.memories:
        _check_memory(source, memory, loadable, counts)
    for address in loadable.addresses:
        place = f"address {address.id}"
        _check_range(source, place, "memory", address.mem_id, len(loadable.memories))
        if address.offset + address.size > loadable.memories[address.mem_id].size:
            fail(source, place, f"it reaches beyond the end of memory {address.mem_id}")
    for tensor in loadable.tensors:
        _check_range(source, f"tensor {tensor.id}", "memory", tensor.mem_id, len(loadable.memories))
    for index, reloc in enumerate(loadable.relocs):
        place = f"relocation {index}"
        _check_range(source, place, "address", reloc.address_id, len(loadable.addresses))
        _check_range(source, place, "memory", reloc.write_id, len(loadable.memories))
    _check_bind_ids(source, loadable)
    _check_tasks(source, loadable)
    return version
