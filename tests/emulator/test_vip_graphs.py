"""Whole graphs on the emulated VIP against the vendor simulator's outputs, all bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from nbg_cases import NbgCase, nbg_cases

from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check.nbg_player import NbgPlayer
from fwgen.errors import ModelError
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.model import read_container


def _cases(testdata: Path, negative: bool = False) -> list[NbgCase]:
    found = [c for c in nbg_cases(testdata) if (c.kind == "negative") is negative]
    if not found:
        pytest.skip("no graphs among the reference data")
    return found


def _container(case: NbgCase) -> Container:
    return read_container(case.path.read_bytes(), case.path.name)


def _play(library: Path, case: NbgCase) -> int:
    """Runs a case twice; the number of bytes compared."""
    container = _container(case)
    player = NbgPlayer(library, BY_TARGET[container.target].name, container)
    try:
        inputs, expected = case.tensors("in"), case.tensors("out")
        result = player.run(inputs)
        equal = [a == b for a, b in zip(result.outputs, expected, strict=True)]
        assert all(equal), f"{case.name}: outputs equal: {equal}"
        assert [o.unit[0] for o in result.operations] == list(container.engine_mix())[:256]
        assert player.guards_intact(), f"{case.name} wrote outside its buffers"
        # A second inference finds what the first one left behind.
        assert player.run(inputs).outputs == result.outputs
    finally:
        player.close()
    return sum(map(len, expected))


@pytest.mark.parametrize("target", [0xB5, 0x9F, 0x88, 0x82])
def test_graphs(model_library: Path, testdata: Path, target: int) -> None:
    cases = [c for c in _cases(testdata) if c.target == target]
    assert len(cases) >= {0xB5: 60, 0x9F: 2, 0x88: 2, 0x82: 1}[target]
    for case in cases:
        assert _play(model_library, case) > 0


def test_shader_graphs_are_refused(model_library: Path, testdata: Path) -> None:
    for case in _cases(testdata, negative=True):
        container = _container(case)
        with pytest.raises(ModelError, match="shader"):
            NbgPlayer(model_library, BY_TARGET[container.target].name, container)


def test_published_mobilenet(model_library: Path, testdata: Path) -> None:
    """A vendor-made file of 2020: container 1.0.9, stripes, rings, FC on the TP engine.

    Its NN job 7 is stored with the output offset 0x2760. The right place is row 20 of 56
    pixels, 0x460: with it all 1001 outputs are those of the vendor simulator.
    """
    folder = testdata / "vip" / "public"
    path = folder / "mobilenet_vim3_201110.nb"
    if not path.is_file():
        pytest.skip("the published MobileNet is not among the reference data")
    data = bytearray(path.read_bytes())
    where = read_container(bytes(data), path.name).nn[7].offset + 28
    assert struct.unpack_from("<I", data, where) == (0x2760,)
    struct.pack_into("<I", data, where, 0x460)
    container = read_container(bytes(data), path.name)
    player = NbgPlayer(model_library, "vip8000nanosi_plus_pid0xb9", container)
    try:
        result = player.run([path.with_suffix(".in0.bin").read_bytes()])
        assert result.outputs == (path.with_suffix(".out0.bin").read_bytes(),)
        assert len(result.operations) == 39
        assert player.guards_intact()
    finally:
        player.close()


def test_a_wrong_byte_is_noticed(model_library: Path, testdata: Path) -> None:
    """The comparison compares: another input gives other outputs."""
    case = next(c for c in _cases(testdata) if c.name == "conv3x3_valid")
    player = NbgPlayer(model_library, BY_TARGET[case.target].name, _container(case))
    inputs = [bytes(255 - b for b in data) for data in case.tensors("in")]
    assert player.run(inputs).outputs != tuple(case.tensors("out"))
    player.close()


def test_cycles_of_a_convolution(model_library: Path, testdata: Path) -> None:
    """12 x 12 x 4 pixels, 8 kernels of 3 x 3 x 4 at 100 places, 4 cores of 192 multipliers.

    28800 products take 37 cycles. Input 576, output 800 and 288 weights are 1664 bytes: 104
    cycles of a 16-byte bus, the longer of the two, and 100 for the job.
    """
    case = next(c for c in _cases(testdata) if c.name == "conv3x3_valid")
    player = NbgPlayer(model_library, BY_TARGET[case.target].name, _container(case))
    (operation,) = player.run(case.tensors("in")).operations
    player.close()
    assert operation.macs == 28800
    assert operation.bytes_written == 800
    assert operation.end_cycle - operation.start_cycle == 204
