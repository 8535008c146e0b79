"""Replays a network binary graph whose inputs and outputs lie beside it.

NAME.nb with NAME.in0.bin, NAME.in1.bin ... is played on the emulated VIP that the graph
was compiled for, or on the references of its engines, and every output is compared with
NAME.out0.bin ... in full.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check.nbg_player import NbgPlayer
from fwgen.check.nbg_reference import NbgReference
from fwgen.check.result import CheckResult, ReplayResult
from fwgen.errors import FwgenError, ModelError, UsageError
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.model import read_container

GRAPH_SUFFIX = ".nb"
_TARGET_AT = 8


class GraphNotRunError(ModelError):
    """The graph is of a kind that no emulated VIP runs."""


def graph_config(path: Path) -> str | None:
    """Name of the configuration that a graph is for; None where it is not known."""
    with path.open("rb") as file:
        head = file.read(_TARGET_AT + 4)
    if len(head) < _TARGET_AT + 4:
        return None
    found = BY_TARGET.get(struct.unpack_from("<I", head, _TARGET_AT)[0])
    return found.name if found else None


def _tensors(path: Path, direction: str, count: int) -> list[bytes]:
    files = [path.with_name(f"{path.stem}.{direction}{i}.bin") for i in range(count)]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise GraphNotRunError(f"no {missing[0]} beside the graph", where=str(path))
    return [file.read_bytes() for file in files]


def _compare(index: int, name: str, got: bytes, expected: bytes) -> CheckResult:
    if len(got) != len(expected):
        detail = f"output {name} has {len(got)} bytes, its file has {len(expected)}"
        return CheckResult(index, "output", 0, False, detail)
    differs = np.flatnonzero(np.frombuffer(got, np.uint8) != np.frombuffer(expected, np.uint8))
    detail = f"output {name}, {len(got)} bytes"
    if differs.size:
        at = int(differs[0])
        detail += (
            f": {differs.size} differ, first byte {at}: 0x{got[at]:02x} instead of "
            f"0x{expected[at]:02x}"
        )
    return CheckResult(index, "output", len(got), not differs.size, detail)


def _run(
    path: Path, container: Container, config: str, library: Path | None, inputs: list[bytes]
) -> tuple[tuple[bytes, ...], str, tuple[str, ...]]:
    """(outputs, what is wrong with the run, guest errors)."""
    try:
        player = NbgPlayer(library, config, container) if library else NbgReference(container)
    except ModelError as error:
        raise GraphNotRunError(error.message, where=str(path)) from error
    try:
        result = player.run(inputs)
    except ModelError:
        raise
    except FwgenError as error:
        errors = player.accelerator.guest_errors() if isinstance(player, NbgPlayer) else []
        return (), str(error), tuple(errors)
    finally:
        if isinstance(player, NbgPlayer):
            player.close()
    outputs = result if isinstance(result, tuple) else result.outputs
    wrong = "" if player.guards_intact() else "bytes outside the buffers were written"
    return outputs, wrong, ()


def replay_graph(path: Path, config: str, library: Path | None, model: str) -> ReplayResult:
    """Play one graph on the emulator, or on the references of the engines.

    Raises:
        UsageError: the emulator's library is missing.
        ModelError: damaged.
        GraphNotRunError: it has shader jobs, or no inputs and outputs beside it.
    """
    if model == "emulator" and library is None:
        raise UsageError("the emulator needs its library", where=str(path))
    container = read_container(path.read_bytes(), str(path))
    inputs = _tensors(path, "in", len(container.inputs))
    expected = _tensors(path, "out", len(container.outputs))
    outputs, wrong, errors = _run(
        path, container, config, library if model == "emulator" else None, inputs
    )
    checks = tuple(
        _compare(i, tensor.name, got, wanted)
        for i, (tensor, got, wanted) in enumerate(
            zip(container.outputs, outputs, expected, strict=False)
        )
    )
    reasons = [wrong] if wrong else []
    reasons += [check.detail for check in checks if not check.passed]
    return ReplayResult(
        name=path.stem,
        path=path,
        config=config,
        model=model,
        passed=not reasons,
        reason="; ".join(reasons),
        checks=checks,
        guest_errors=errors,
    )
