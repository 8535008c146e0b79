"""Graphs written again as other containers 1.x run as before.

Of containers 1.x the reference data has 1.0.9. What the others differ in is published:
fields and records that exist since a version, places of tables, patches with the offset
in the word or beside it. FWGEN_NBG=all takes every graph.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from nbg_cases import nbg_cases
from nbg_repack import Style, repack

from fwgen.accel.registry import family
from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check.nbg_player import NbgPlayer
from fwgen.errors import ModelError
from fwgen.model.nbg.model import NbgModel, read_model
from fwgen.program.program import Program, Relocation

NAMES = ("leaky", "concat_x", "dw3x3_c33", "net_pyramid", "net_big_a", "dw_pw_88", "net_lenet_82")

STYLES = {
    0: Style(),
    2: Style(literal=True),
    3: Style(wide=True, end=False),
    4: Style(in_place=False, seed=1),
    7: Style(spare=2, seed=5),
    9: Style(seed=3),
    11: Style(wide=True, spare=1),
    13: Style(seed=9),
    15: Style(end=False, seed=2),
    20: Style(in_place=False, wide=True, literal=True, spare=3, seed=4),
}


Job = tuple[bytes, list[Relocation]]


def _jobs(model: NbgModel, program: Program) -> list[Job]:
    """Of each descriptor the words with a meaning, and the addresses in it."""
    (buffer,) = [b for b in program.buffers if b.name == "descriptors"]
    assert buffer.data is not None
    found = []
    at = 0
    for job in model.container.jobs():
        end = at + model.container.descriptor(job).size
        inside = [
            replace(r, offset=r.offset - at) for r in buffer.relocations if at <= r.offset < end
        ]
        found.append((buffer.data[at : at + 128], inside))
        at = end
    assert at == len(buffer.data)
    return found


@pytest.mark.parametrize("minor", STYLES)
def test_other_containers_hold_the_same_graph(
    testdata: Path, model_library: Path, minor: int
) -> None:
    every = os.environ.get("FWGEN_NBG") == "all"
    cases = [
        case
        for case in nbg_cases(testdata)
        if case.container == "2.0.5" and case.kind != "negative" and (every or case.name in NAMES)
    ]
    if not cases:
        pytest.skip("reference data has no network binary graphs")
    for case in cases:
        config = BY_TARGET[case.target].name
        original = read_model(case.path.read_bytes(), case.name, case.path.name)
        file = repack(original.container, minor, STYLES[minor])
        model = read_model(file, case.name, case.path.name)
        assert model.container.version == (1, 0, minor)
        before, after = (_jobs(m, family("vip").lower(m, config)) for m in (original, model))
        assert before == after, case.name
        player = NbgPlayer(model_library, config, model.container)
        try:
            outputs = player.run(case.tensors("in")).outputs
            assert [bytes(o) for o in outputs] == case.tensors("out"), case.name
        finally:
            player.close()


def test_an_unknown_size_of_descriptors_is_refused(testdata: Path) -> None:
    cases = [case for case in nbg_cases(testdata) if case.name == "leaky"]
    if not cases:
        pytest.skip("reference data has no network binary graphs")
    model = read_model(cases[0].path.read_bytes(), "leaky", "leaky.nb")
    file = bytearray(repack(model.container, 9))
    file[92] |= 8  # bits 3:2 of the features: 0 or 1 are published
    with pytest.raises(ModelError, match="NN descriptors have the size 2") as caught:
        read_model(bytes(file), "leaky", "leaky.nb")
    assert caught.value.where == "leaky.nb, byte 0x5c"
