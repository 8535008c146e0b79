"""Reading and writing loadables: the published files, damaged files, contradictions."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from nvdla_cases import all_cases

from fwgen.accel import family
from fwgen.errors import ExitCode, FwgenError, ModelError
from fwgen.model.nvdla.loadable import Loadable, MemoryFlags, read_loadable, write_loadable
from fwgen.model.nvdla.model import from_loadable, read_model
from fwgen.program.commands import AddressOf, Cpu, Write
from fwgen.program.program import Program

NVDLA = family("nvdla")


def test_published_files_are_read_as_their_facts_say(testdata: Path) -> None:
    for case in all_cases(testdata):
        model, facts = case.model(), case.facts
        assert model.sha256 == facts["sha256"]
        assert list(model.loadable.version or ()) == facts["loadable_version"]
        assert [list(model.version)] == facts["dla_interface_version"]
        task = model.tasks[0]
        assert len(model.tasks) == len(facts["tasks"])
        if "ops" not in facts:
            continue
        for operation, entry in zip(task.operations, facts["ops"], strict=True):
            assert operation.type.name == entry["type"]
            common = operation.common  # type: ignore[union-attr]
            assert common.dependency_count == entry["dependency_count"]
            assert common.fused_parent.index == entry["fused_parent"]
            edges = {
                unit: [e.index, e.event]
                for unit, e in zip(
                    ("BDMA", "CONV", "SDP", "PDP", "CDP", "RUBIK"), common.consumers, strict=True
                )
                if e.index >= 0
            }
            assert edges == entry["consumers"]
        memories = {e["memory_id"]: e for e in (*facts["inputs"], *facts["outputs"])}
        for bound in model.bound:
            assert memories[bound.memory]["bind_id"] == bound.bind_index


def test_written_files_read_back_equal(testdata: Path) -> None:
    for case in all_cases(testdata):
        loadable = read_loadable(case.data, case.name)
        written = write_loadable(loadable)
        assert written[4:8] == b"NVDA"
        assert read_loadable(written, "again") == loadable, case.name
        assert write_loadable(loadable) == written


def small_file(testdata: Path, name: str) -> bytes:
    return next(c.data for c in all_cases(testdata) if c.name == name)


SMALL = ("SDP_X1_L0_0_small", "resblock.nv_small.int8.nhwc")


@pytest.mark.parametrize("name", SMALL)
def test_truncated_files_are_model_errors(testdata: Path, name: str) -> None:
    data = small_file(testdata, name)
    cuts = [*range(0, min(len(data), 700)), *range(700, len(data), 97)]
    for cut in cuts:
        with pytest.raises(ModelError) as caught:
            NVDLA.lower(read_model(data[:cut], "cut", "cut.nvdla"), "nv_small")
        assert caught.value.exit_code is ExitCode.MODEL
        assert "cut" in str(caught.value)


def check_inside(program: Program, loadable: Loadable) -> None:
    """Every buffer lies inside its memory, every address inside its buffer."""
    for buffer in program.buffers:
        _, memory, _, offset = buffer.origin.split()
        assert int(offset, 16) + buffer.size <= loadable.memories[int(memory)].size
        assert buffer.data is None or len(buffer.data) == buffer.size
    values = [c.value for c in program.commands if isinstance(c, Write)]
    values += [a for c in program.commands if isinstance(c, Cpu) for a in c.arguments]
    for value in values:
        if isinstance(value, AddressOf):
            assert 0 <= value.offset < program.buffers[value.buffer].size
    for tensor in program.tensors:
        assert tensor.offset + tensor.size <= program.buffers[tensor.buffer].size


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A copy with a few bytes or words replaced."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(len(out))
        kind = chance.randrange(4)
        if kind == 0:
            out[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            out[at] = chance.randrange(256)
        elif kind == 2:
            out[at : at + 4] = chance.choice((b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\xff" * 4))
        else:
            source = chance.randrange(len(out))
            out[at : at + 8] = out[source : source + 8]
    return bytes(out[: len(data)])


def lower_or_fail(data: bytes) -> bool:
    """Whether a damaged file is still accepted; anything but FwgenError escapes."""
    try:
        model = read_model(data, "bad", "bad.nvdla")
        model.to_json()
        program = NVDLA.lower(model, "nv_small")
    except FwgenError as error:
        assert error.exit_code is ExitCode.MODEL
        assert error.message
        return False
    check_inside(program, model.loadable)
    return True


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_refused_or_stay_inside_their_memories(testdata: Path, seed: int) -> None:
    chance = random.Random(seed)
    files = [small_file(testdata, name) for name in (*SMALL, "CDP_L0_0_small", "PDP_L0_0_small")]
    accepted = sum(lower_or_fail(mutated(chance.choice(files), chance)) for _ in range(300))
    assert 0 < accepted < 300


@pytest.mark.parametrize("seed", range(4))
def test_damaged_descriptors_are_refused_or_stay_inside_their_memories(
    testdata: Path, seed: int
) -> None:
    """Damage where it hurts: in the lists of the task, not in the weights."""
    chance = random.Random(100 + seed)
    data = small_file(testdata, "lenet5_softmax.nv_small.int8.nhwc")
    loadable = read_loadable(data, "x")
    lists = [i for i, b in enumerate(loadable.blobs) if b.name.startswith("task")]
    accepted = 0
    for _ in range(120):
        blobs = list(loadable.blobs)
        which = chance.choice(lists)
        blobs[which] = replace(blobs[which], data=mutated(blobs[which].data, chance))
        changed = replace(loadable, blobs=tuple(blobs))
        try:
            model = from_loadable(changed, "bad", "0" * 64, "bad.nvdla")
            program = NVDLA.lower(model, "nv_small")
        except FwgenError as error:
            assert error.exit_code is ExitCode.MODEL
            continue
        check_inside(program, changed)
        accepted += 1
    assert accepted < 120


Change = Callable[[Loadable], Loadable]


def _memory(index: int, **changes: object) -> Change:
    def change(loadable: Loadable) -> Loadable:
        memories = list(loadable.memories)
        memories[index] = replace(memories[index], **changes)  # type: ignore[arg-type]
        return replace(loadable, memories=tuple(memories))

    return change


def _first(field: str, **changes: object) -> Change:
    def change(loadable: Loadable) -> Loadable:
        entries = list(getattr(loadable, field))
        entries[0] = replace(entries[0], **changes)
        return replace(loadable, **{field: tuple(entries)})

    return change


CONTRADICTIONS: dict[str, tuple[Change, str]] = {
    "no version": (lambda x: replace(x, version=None), "no loadable version"),
    "other version": (lambda x: replace(x, version=(0, 8, 0)), "unknown loadable version 0.8.0"),
    "no task": (lambda x: replace(x, tasks=(), submits=()), "no task entry"),
    "no submit": (lambda x: replace(x, submits=()), "no submit entry"),
    "task id": (_first("tasks", id=1), "its id is 1"),
    "memory id": (_memory(0, id=3), "its id is 3"),
    "address id": (_first("addresses", id=9), "its id is 9"),
    "address memory": (_first("addresses", mem_id=99), "memory 99 does not exist"),
    "address end": (_first("addresses", size=1 << 40), "beyond the end of memory"),
    "task address": (_first("tasks", address_list=(200,)), "address 200 does not exist"),
    "no addresses": (_first("tasks", address_list=()), "it has 0 addresses"),
    "task interface": (_first("tasks", interface=7), "unknown interface 7"),
    "submit task": (_first("submits", task_id=(5,)), "task 5 does not exist"),
    "submit twice": (_first("submits", task_id=(0, 0)), "submitted twice"),
    "domain": (_memory(0, domain=4), "unknown memory domain 4"),
    "huge memory": (_memory(2, size=1 << 50), "bytes"),
    "missing blob": (_memory(5, contents=("nothing",)), "0 blobs are named 'nothing'"),
    "blob end": (_memory(5, size=8), "beyond its end"),
    "offsets": (_memory(5, offsets=()), "contents but 0 offsets"),
    "bind ids": (_memory(3, bind_id=1), "the input bind ids are [1]"),
    "in and out": (_memory(3, flags=13), "input and output at the same time"),
    "tensor": (_memory(3, tensor_desc_id=8), "tensor 8 does not exist"),
    "blob size": (_first("blobs", size=3), "it states 3 bytes"),
    "tensor size": (_first("tensors", size=1 << 20), "beyond the end of memory"),
    "tensor shape": (_first("tensors", h=-1), "its shape is"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_named(testdata: Path, name: str) -> None:
    loadable = read_loadable(small_file(testdata, "resblock.nv_small.int8.nhwc"), "x")
    from_loadable(loadable, "good", "0" * 64, "good.nvdla")
    change, message = CONTRADICTIONS[name]
    with pytest.raises(ModelError) as caught:
        from_loadable(change(loadable), "bad", "0" * 64, "bad.nvdla")
    assert message in caught.value.message
    assert (caught.value.where or "").startswith("bad.nvdla, ")


@pytest.mark.parametrize("minor", [9, 13, 99])
def test_unknown_interface_versions_are_refused(testdata: Path, minor: int) -> None:
    loadable = read_loadable(small_file(testdata, "resblock.nv_small.int8.nhwc"), "x")
    blobs = tuple(replace(b, version=(0, minor, 0)) for b in loadable.blobs)
    with pytest.raises(ModelError, match=f"interface version 0.{minor}.0"):
        from_loadable(replace(loadable, blobs=blobs), "bad", "0" * 64, "bad.nvdla")


def test_flags_keep_their_numbers() -> None:
    assert [int(f) for f in MemoryFlags] == [1, 2, 4, 8]
