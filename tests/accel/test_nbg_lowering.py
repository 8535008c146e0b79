"""What a graph becomes: buffers, relocations, command streams, refusals."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from nbg_cases import nbg_cases
from nbg_mutants import seal

from fwgen.accel.registry import family
from fwgen.accel.vip.configurations import BY_TARGET, CONFIGURATIONS
from fwgen.board.profile import list_boards, load_board
from fwgen.errors import ModelError, UsageError
from fwgen.model import load_model
from fwgen.model.nbg.model import NbgModel, read_model
from fwgen.plan.layout import Layout, Placement
from fwgen.program.commands import AddressOf, Cache, Mark, Wait, Write
from fwgen.program.program import Program, Role
from fwgen.program.relocation import contents

B5 = "vip8000nanosi_pid0xb5"


def _load(testdata: Path, name: str) -> NbgModel:
    for case in nbg_cases(testdata):
        if case.name == name:
            model = load_model(case.path)
            assert isinstance(model, NbgModel)
            return model
    pytest.skip("reference data has no network binary graphs")


def _layout(program: Program) -> Layout:
    """Buffers at 0x60000000, 0x60100000, ..."""
    return Layout(
        "board",
        tuple(
            Placement(b.id, "ram", 0x60000000 + 0x100000 * b.id, b.size) for b in program.buffers
        ),
        (),
    )


def _words(program: Program, name: str) -> list[int]:
    buffer = next(b for b in program.buffers if b.name == name)
    data = contents(buffer, _layout(program))
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def _address(program: Program, name: str) -> int:
    buffer = next(b for b in program.buffers if b.name == name)
    return 0x60000000 + 0x100000 * buffer.id


def test_a_convolution_word_by_word(testdata: Path) -> None:
    """Commands and patched descriptor of the 3x3 convolution, written down by hand."""
    program = family("vip").lower(_load(testdata, "conv3x3_valid"), B5)
    at = {b.name: _address(program, b.name) for b in program.buffers}
    commands = _words(program, "commands")
    assert commands == [
        *(0x0801028A, 0x11, 0x08010E13, 2, 0x08010E4E, 0x400000, 0x08010E4F, 0, 0x08010E50, 0),
        *(0x08010E4C, 0x04822050, 0x080169A6, 0xF00, 0x08010428, at["descriptors"]),
        *(0x08010429, 0),
        *(0x08010E03, 0xC23, 0x08010E02, 0x0701, 0x48000000, 0x0701, 0x08010E01, 0x40),
        *(0x10000000, 0),
    ]
    words = _words(program, "descriptors")
    assert len(words) == 48  # as in the file: 192 bytes
    assert words[35] == 0x03FFFFFF
    assert words[0] == 0xA020010E
    assert words[5] == at["coefficients"] >> 6
    assert words[6] == at["input0"]
    assert words[7] == at["output0"]
    assert words[19] == (at["output0"] + 1024) >> 6
    assert words[21] == (at["input0"] + 768) >> 6
    sizes = {b.name: b.size for b in program.buffers}
    assert (sizes["input0"], sizes["output0"]) == (768, 1024)  # 576 and 800, rounded to 256
    assert program.shadows == ((0x400000, 0x440000),)


def test_the_target_submits_once(testdata: Path) -> None:
    program = family("vip").lower(_load(testdata, "net_lenet"), B5)
    names = {b.id: b.name for b in program.buffers}
    size = len(_words(program, "commands")) * 4
    kinds = [type(c) for c in program.commands]
    assert kinds.count(Wait) == 1 and kinds.count(Cache) == 2 and Mark not in kinds
    writes = [c for c in program.commands if isinstance(c, Write)]
    assert [(w.register, w.value) for w in writes[1:]] == [
        (0x658, 0x10000 | size // 8),
        (0x3A4, 0x10000 | size // 8),
    ]
    assert writes[0].register == 0x654
    assert isinstance(writes[0].value, AddressOf)
    assert names[writes[0].value.buffer] == "commands"


def test_each_operation_by_itself(testdata: Path) -> None:
    """Jobs of a group start together; each group has its own commands and its own wait."""
    model = _load(testdata, "net_pyramid")
    whole = family("vip").lower(model, B5)
    split = family("vip").lower(model, B5, per_operation=True)
    marks = [c.operation for c in split.commands if isinstance(c, Mark)]
    waits = [c for c in split.commands if isinstance(c, Wait)]
    assert len(marks) == len(waits) == len(split.steps) > 10
    assert [n for w in waits for n in w.operations] == list(range(len(whole.operations)))
    for step in split.steps:
        engines = {split.operations[n].unit for n in step.operations}
        assert len(engines) == 1
        assert engines == {"TP"} or len(step.operations) == 1
    starts = [c for c in split.commands if isinstance(c, Write) and c.register == 0x654]
    for start in starts:
        assert isinstance(start.value, AddressOf) and start.value.offset % 64 == 0


def test_every_relocation_points_into_its_buffer(testdata: Path) -> None:
    cases = [c for c in nbg_cases(testdata) if c.kind != "negative"]
    if not cases:
        pytest.skip("reference data has no network binary graphs")
    for case in cases:
        config = BY_TARGET[case.target].name
        program = family("vip").lower(load_model(case.path), config)
        for buffer in program.buffers:
            for relocation in buffer.relocations:
                target = program.buffers[relocation.value.buffer]
                assert 0 <= relocation.value.offset <= target.size, case.name
                assert buffer.role is Role.CONSTANT


def test_quantisation_reaches_the_application(testdata: Path) -> None:
    program = family("vip").lower(_load(testdata, "conv3x3_valid"), B5)
    (tensor,) = program.inputs()
    assert (tensor.dtype, tensor.layout, tensor.shape) == ("uint8", "NCHW", (1, 4, 12, 12))
    assert tensor.zero_point == 125
    assert tensor.scale == pytest.approx(0.02)


def test_a_graph_for_another_chip_is_refused(testdata: Path) -> None:
    model = _load(testdata, "net_lenet_9F")
    for name, config in CONFIGURATIONS.items():
        if config.target == 0x9F:
            continue
        with pytest.raises(ModelError, match=r"compiled for the NPU 0x9f \(i.MX 8M Plus\)"):
            family("vip").lower(model, name)


def test_shader_operations_are_refused_by_name(testdata: Path) -> None:
    negatives = [c for c in nbg_cases(testdata) if c.kind == "negative"]
    if not negatives:
        pytest.skip("reference data has no network binary graphs")
    for case in negatives:
        model = load_model(case.path)
        report = family("vip").check(model, B5)
        assert [e.unit[0] for e in report.operations] == list(case.engines)
        bad = [e for e in report.operations if not e.ok]
        assert bad and all(e.unit == "SH" and "shader" in e.reasons[0] for e in bad)
        with pytest.raises(ModelError, match="is a shader operation"):
            family("vip").lower(model, B5)


def test_no_deeper_pipeline(testdata: Path) -> None:
    with pytest.raises(UsageError, match="pipeline depth of 2"):
        family("vip").lower(_load(testdata, "conv1x1"), B5, 2)


# Offsets of the 3x3 convolution's file; its descriptor is at 0x548, its patches at 0x608.
DAMAGE = [
    (0x548 + 4 * 4, 0x14284007, "coefficients are damaged"),  # 7 output channels
    (0x548 + 4, 0x01E00300, "the input at input 0"),  # 60 rows
    (0x548 + 4, 0x00600302, "its kernel has type 2 (int8)"),
    (0x548 + 4 * 17, 0x76000009, "output rows have 9 bytes"),
    (0x548 + 4 * 8, 0x01003004, "the output at output 0"),  # 256 rows a plane
    (0x548 + 4 * 15, 0x0C4005F4, "border is 381"),
    (0x548 + 4 * 18, 0x10000020, "the ring of the output"),  # 2048 bytes
    (0x7AC + 28 * 2 + 16, 0x400, "the ring of the input"),
    (0x7AC + 28 * 3 + 8, 1, "the output would be in input"),
    (0x7AC + 28 * 5 + 4, 24, "the address of the input"),
    (0x3E0, 11, "ends at byte 0x240 of a tensor of 0x210"),  # input of 11x12x4
    (0x548 + 4 * 4, 0x14284009, "ends at byte 0x384 of a tensor of 0x320"),  # 9 channels
    (0x450, 11, "has 880 bytes, the jobs write 800"),  # output of 11x10x8
    (0x1914, 0x500000, "SRAM at 0x500000"),
    (0x1928, 0x08010248, "CL.KICKER"),
    (0x1928 + 4 * 4, 0x08010429, "the address of command into state 0x10a4"),
    (0x1600, 0x20, "first byte is 0x20"),
    (0x1614, 0x67452311, "bit lengths"),
]


@pytest.mark.parametrize(("at", "word", "reason"), DAMAGE, ids=[d[2] for d in DAMAGE])
def test_contradictions_are_named(testdata: Path, at: int, word: int, reason: str) -> None:
    for case in nbg_cases(testdata):
        if case.name == "conv3x3_valid":
            data = bytearray(case.path.read_bytes())
            break
    else:
        pytest.skip("reference data has no network binary graphs")
    struct.pack_into("<I", data, at, word)
    model = read_model(seal(bytes(data)), "damaged", "damaged.nb")
    with pytest.raises(ModelError) as caught:
        family("vip").lower(model, B5)
    assert reason in caught.value.message


def test_profiles_name_the_driver_of_their_soc() -> None:
    """The vendor's driver version is that of the NPU's configuration, on every board."""
    checked = 0
    for name in list_boards():
        for accelerator in load_board(name).accelerators:
            if accelerator.family == "vip":
                config = CONFIGURATIONS[accelerator.config]
                assert accelerator.driver_version == config.driver_version, name
                checked += 1
    assert checked >= 8
