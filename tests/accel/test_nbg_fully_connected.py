"""Fully connected layers on the TP engine, which only older compilers emit.

The one published graph with such layers is for an NPU that is not run, so that the
graph here is put together: two jobs, each computing half of the outputs.
"""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nbg_cases import nbg_cases
from nbg_mutants import mutants
from nbg_repack import Style, repack

from fwgen.accel.registry import family
from fwgen.check.nbg_player import NbgPlayer
from fwgen.check.random_vip_tp import fc_blob, fc_fields
from fwgen.errors import ModelError
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.cursor import Cursor, Span
from fwgen.model.nbg.model import read_container, read_model
from fwgen.model.nbg.records import NbgPatch, OperationType, PatchSource

B5 = "vip8000nanosi_pid0xb5"
INPUTS, OUTPUTS = 64, 10
IN_ZERO, OUT_ZERO, WEIGHT_ZERO = 7, 30, 120
HALF = OUTPUTS // 2


@pytest.fixture(scope="module")
def base(testdata: Path) -> Container:
    """A graph of one layer with 64 inputs and 10 outputs."""
    cases = [case for case in nbg_cases(testdata) if case.name == "fc_64_10"]
    if not cases:
        pytest.skip("reference data has no network binary graphs")
    return read_container(cases[0].path.read_bytes(), "fc_64_10.nb")


def _weights() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 256, (INPUTS, OUTPUTS), np.uint8)
    return weights, rng.integers(-40000, 40000, OUTPUTS)


def _graph(base: Container, minor: int, step: int = 1) -> bytes:
    """The file; `step`: bytes from output to output."""
    weights, start = _weights()
    data = bytearray(base.cursor.data)

    def append(more: bytes) -> Span:
        span = Span(len(data), len(more))
        data.extend(more)
        return span

    init, job = base.operations
    states, tp, blobs, operations, patches = [base.states[init.state]], [], [], [init], []
    for number in range(2):
        part = slice(number * HALF, (number + 1) * HALF)
        last = number == 1
        words = (0x08010E53, 0, 0x08010E4C, 0x04000000, 0x08010E54, 0 if last else 8)
        words += (0x0801042E, 0 if last else 0x1F, *((0x08010429, 0) if last else ()))
        states.append(append(struct.pack(f"<{len(words)}I", *words)))
        fields = fc_fields(INPUTS, HALF, WEIGHT_ZERO, in_zero=IN_ZERO, out_zero=OUT_ZERO)
        fields.multiplier, fields.shift = 1234, 12
        fields.increments = (0, 1, 0, 0, step, 0, 0)
        tp.append(append(struct.pack("<32I", *fields.words())))
        blobs.append(append(fc_blob(random.Random(number), weights[:, part], start[part], 9)))
        at = len(patches)
        for kind, offset, source, index, offset_in in (
            (0, 28, PatchSource.COMMAND, 0, 0),
            (1, 40, PatchSource.INPUT, 0, 0),
            (1, 52, PatchSource.OUTPUT, 0, number * HALF * step),
            (1, 44, PatchSource.COEFFICIENT, number, 0),
        ):
            patches.append(NbgPatch(kind, offset, source, index, offset_in, kind == 0, 0))
        operations.append(
            replace(
                job,
                index=number + 1,
                type=OperationType.TP,
                descriptor=number,
                state=number + 1,
                patches=range(at, at + 4),
            )
        )
    graph = replace(
        base,
        cursor=Cursor(bytes(data), "made"),
        operations=tuple(operations),
        nn=(),
        tp=tuple(tp),
        states=tuple(states),
        coefficients=tuple(blobs),
        patches=tuple(patches),
    )
    return repack(graph, minor, Style())


def test_two_jobs_compute_all_outputs(base: Container, model_library: Path) -> None:
    model = read_model(_graph(base, 9), "fc", "fc.nb")
    assert family("vip").check(model, B5).ok
    program = family("vip").lower(model, B5)
    assert [op.macs for op in program.operations] == [INPUTS * HALF] * 2
    pixels = np.random.default_rng(4).integers(0, 256, INPUTS, np.uint8)
    weights, start = _weights()
    sums = start + (pixels.astype(int) - IN_ZERO) @ (weights.astype(int) - WEIGHT_ZERO)
    exact = [int(s) * (32768 + 1234) / (32768 << 12) + OUT_ZERO for s in sums]
    expected = bytes(min(max(round(e), 0), 255) for e in exact)
    assert len(set(expected)) > 4
    player = NbgPlayer(model_library, B5, model.container)
    try:
        assert bytes(player.run([pixels.tobytes()]).outputs[0]) == expected
    finally:
        player.close()


def test_outputs_behind_the_tensor_are_refused(base: Container) -> None:
    """10 outputs, 2 bytes apart, have no place in 10 bytes."""
    with pytest.raises(ModelError, match="ends at byte 0x13 of a tensor of 0xa"):
        family("vip").lower(read_model(_graph(base, 9, step=2), "fc", "fc.nb"), B5)


def test_damage_is_refused_or_harmless(base: Container, model_library: Path) -> None:
    refused = 0
    for note, data in mutants(_graph(base, 9), 150, 5):
        try:
            model = read_model(data, "fc", "fc.nb")
            family("vip").lower(model, B5)
        except ModelError as error:
            assert error.where and error.expected, note
            refused += 1
            continue
        player = NbgPlayer(model_library, B5, model.container)
        try:
            player.run([bytes(tensor.size) for tensor in model.container.inputs])
            assert player.guards_intact(), note
        finally:
            player.close()
    assert refused > 0
