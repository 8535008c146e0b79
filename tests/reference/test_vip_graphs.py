"""The NumPy references of the VIP's engines against the vendor simulator's outputs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from nbg_cases import nbg_cases

from fwgen.check.nbg_reference import NbgReference
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.model import read_container
from fwgen.model.nbg.records import OperationType

# The TP reference takes some 20 microseconds a pixel.
LIMIT = int(os.environ.get("FWGEN_VIP_REFERENCE_PIXELS", "20000"))


def tp_pixels(container: Container) -> int:
    """About how many pixels the TP jobs of a graph read."""
    total = 0
    for operation in container.jobs():
        if operation.type is OperationType.TP:
            w = container.cursor.words(container.descriptor(operation).offset, 32, "descriptor")
            total += (w[0] & 0xFFFF) * (w[1] & 0xFFFF) * (w[1] >> 16)
    return total


@pytest.mark.parametrize("engines", ["N", "T", "NT"])
def test_graphs(testdata: Path, engines: str) -> None:
    compared = 0
    for case in nbg_cases(testdata):
        container = read_container(case.path.read_bytes(), case.path.name)
        mix = "".join(sorted(set(container.engine_mix())))
        if mix != engines or tp_pixels(container) > LIMIT:
            continue
        outputs = NbgReference(container).run(case.tensors("in"))
        assert outputs == tuple(case.tensors("out")), case.name
        compared += 1
    if compared == 0:
        pytest.skip("no graphs among the reference data")
    assert compared >= {"N": 35, "T": 12, "NT": 5}[engines]
