"""Whether the jobs of a graph fill its outputs."""

from __future__ import annotations

from collections import Counter

from fwgen.accel.vip.fields import OUTPUT, TP_OUTPUT, descriptor_words, places
from fwgen.accel.vip.reach import tiles_of
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.nn import decode_nn
from fwgen.model.nbg.records import NbgOperation, OperationType, PatchSource
from fwgen.model.nbg.tp import decode_tp


def _values(container: Container, operation: NbgOperation) -> int:
    """Values that a job writes."""
    if operation.type is OperationType.NN:
        nn = decode_nn(container, operation)
        width, height = nn.stored_size()
        return width * height * nn.output_channels
    tp = decode_tp(container, operation)
    if tp.is_fully_connected:
        return tp.counts[4]
    tiles = tiles_of(tp)
    return tp.input_planes * sum(tiles.rows) * sum(tiles.values)


def outputs_reasons(container: Container) -> tuple[str, ...]:
    """The jobs write at least as many values into an output as it has bytes."""
    written: Counter[int] = Counter()
    for operation in container.jobs():
        found, _ = places(container, operation, descriptor_words(container, operation))
        place = found[OUTPUT if operation.type is OperationType.NN else TP_OUTPUT]
        if place.source is PatchSource.OUTPUT:
            written[place.index] += _values(container, operation)
    return tuple(
        f"output {tensor.name} has {tensor.size} bytes, the jobs write {written[tensor.index]}"
        for tensor in container.outputs
        if written[tensor.index] < tensor.size
    )
