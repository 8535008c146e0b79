"""Network binary graphs are read as their published index says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nbg_cases import nbg_cases

from fwgen.errors import ModelError
from fwgen.model import load_model
from fwgen.model.nbg.model import NbgModel, read_container
from fwgen.model.nbg.nn import decode_nn
from fwgen.model.nbg.records import PatchSource
from fwgen.model.nbg.states import decode_states

PUBLIC = [
    # file, container, target, engines (NN, TP, SH), first input innermost first, its type
    ("alike_a311d.nb", "1.0.9", 0x88, (26, 17, 1), (640, 384, 3, 1), "int8"),
    ("zerodce_a311d.nb", "1.0.9", 0x88, (22, 9, 40), (256, 256, 3, 1), "int8"),
    ("superpoint_a311d.nb", "1.0.9", 0x88, (100, 0, 0), (640, 400, 1, 1), "int8"),
    ("yolov8n_uint8_vim3.nb", "1.0.15", 0x88, (132, 784, 11), (640, 640, 3, 1), "uint8"),
    ("mobilenet_vim3_201110.nb", "1.0.9", 0xB9, (30, 9, 0), (3, 224, 224, 1), "uint8"),
]


@pytest.fixture(scope="session")
def public(testdata: Path) -> Path:
    folder = testdata / "vip" / "public"
    if not folder.is_dir():
        pytest.skip(f"reference data not found: {folder}")
    return folder


def test_every_graph_reads_as_its_description_says(testdata: Path) -> None:
    cases = nbg_cases(testdata)
    if not cases:
        pytest.skip("reference data has no network binary graphs")
    for case in cases:
        model = load_model(case.path)
        assert isinstance(model, NbgModel)
        container = model.container
        facts = json.loads(case.path.with_suffix(".json").read_text())
        assert container.version_text == case.container == facts["container_version"]
        assert container.target == case.target
        assert container.engine_mix() == case.engines
        for tensors, stated in (
            (container.inputs, facts["inputs"]),
            (container.outputs, facts["outputs"]),
        ):
            assert [list(t.dims) for t in tensors] == [
                s["shape_whcn"][: len(t.dims)] for t, s in zip(tensors, stated, strict=True)
            ]
            assert [(t.dtype, t.scale, t.zero_point) for t in tensors] == [
                (s["type"], s["scale"], s["zero_point"]) for s in stated
            ]
        if case.container == "2.0.5":
            names = [layer.name for layer in container.layers]
            assert names == facts["layers"]
        assert [t.size for t in container.inputs] == [len(d) for d in case.tensors("in")]
        assert [t.size for t in container.outputs] == [len(d) for d in case.tensors("out")]


@pytest.mark.parametrize(("file", "version", "target", "engines", "dims", "dtype"), PUBLIC)
def test_public_graphs(
    public: Path,
    file: str,
    version: str,
    target: int,
    engines: tuple[int, int, int],
    dims: tuple[int, ...],
    dtype: str,
) -> None:
    model = load_model(public / file)
    assert isinstance(model, NbgModel)
    container = model.container
    assert (container.version_text, container.target) == (version, target)
    assert tuple(container.engine_mix().count(c) for c in "NTS") == engines
    assert container.inputs[0].dims == dims
    assert container.inputs[0].dtype == dtype
    assert json.dumps(model.to_json())


def test_a_newer_container_shows_tensors_and_layers_only(public: Path) -> None:
    model = load_model(public / "timvx_conv2d_relu_maxpool2d_fp32.nbg")
    assert isinstance(model, NbgModel)
    container = model.container
    assert container.version == (1, 0, 30)
    assert container.target == 0xBA
    assert [(t.name, t.dims, t.dtype) for t in container.inputs] == [
        ("input[0]", (64, 64, 3, 1), "float32")
    ]
    assert container.outputs[0].dims == (32, 32, 8, 1)
    assert len(container.layers) == 3
    assert container.operations == ()
    assert container.refusal is not None and "1.0.30" in container.refusal


def test_a_descriptor_by_hand(testdata: Path) -> None:
    """The convolution 12x12x4 -> 10x10x8, its words taken apart by hand."""
    cases = {case.name: case for case in nbg_cases(testdata)}
    if "conv3x3_valid" not in cases:
        pytest.skip("reference data has no network binary graphs")
    data = cases["conv3x3_valid"].path.read_bytes()
    container = read_container(data, "conv3x3_valid")
    operation = container.jobs()[0]
    assert container.descriptor(operation).offset == 0x548
    job = decode_nn(container, operation)
    assert (job.kernel_x, job.kernel_y, job.kernel_z, job.output_channels) == (3, 3, 4, 8)
    assert (job.input_width, job.input_height) == (12, 12)
    assert (job.output_width, job.output_height) == (10, 10)
    assert (job.input_row, job.input_rows, job.output_row, job.output_rows) == (12, 12, 10, 10)
    # 1 | 49 << 1 | 118 << 7 | 143 << 15
    assert (job.multiplier, job.shift) == (0x47BB63, 10)
    assert (job.border, job.weight_zero, job.output_zero) == (125, 131, 118)
    assert (job.input_ring * 64, job.output_ring * 64) == (768, 1024)
    patches = container.patches_of(operation)
    assert [(p.type, p.offset, p.source, p.base) for p in patches] == [
        (0, 20, PatchSource.COMMAND, 0),
        (1, 24, PatchSource.INPUT, 0),
        (1, 84, PatchSource.INPUT, 768),
        (1, 28, PatchSource.OUTPUT, 0),
        (1, 76, PatchSource.OUTPUT, 1024),
        (1, 20, PatchSource.COEFFICIENT, 0),
    ]
    assert decode_states(container, container.operations[0]) == (
        (0x0A28, 0x11),
        (0x384C, 2),
        (0x3938, 0x400000),
        (0x393C, 0),
        (0x3940, 0),
    )


def test_unknown_versions_are_refused() -> None:
    for version in (0, 0x00010100, 0x00020004, 0x00020006, 0x7FFFFFFF):
        with pytest.raises(ModelError, match="container version"):
            read_container(b"VPMN" + version.to_bytes(4, "little") + bytes(600), "x.nb")
