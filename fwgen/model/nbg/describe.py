"""A network binary graph as JSON-ready data (docs/vip.md names the fields)."""

from __future__ import annotations

import hashlib

from fwgen.model.nbg.container import Container
from fwgen.model.nbg.cursor import Span
from fwgen.model.nbg.nn import decode_nn
from fwgen.model.nbg.records import QUANT_FORMATS, NbgOperation, NbgTensor, OperationType
from fwgen.model.nbg.states import decode_states
from fwgen.model.nbg.tp import decode_tp


def _tensor(tensor: NbgTensor) -> dict[str, object]:
    facts: dict[str, object] = {
        "name": tensor.name,
        "direction": tensor.direction,
        "dims_whcn": list(tensor.dims),
        "dtype": tensor.dtype,
        "quantisation": QUANT_FORMATS[tensor.quant_format],
        "size": tensor.size,
    }
    if tensor.quant_format == 1:
        facts["fixed_position"] = tensor.fixed_position
    if tensor.quant_format == 2:
        facts |= {"scale": tensor.scale, "zero_point": tensor.zero_point}
    return facts


def _operation(container: Container, operation: NbgOperation) -> dict[str, object]:
    facts: dict[str, object] = {
        "index": operation.index,
        "engine": operation.type.name,
        "layer": operation.layer,
        "name": container.layer_name(operation),
        "state": operation.state,
        "patches": [
            {
                "type": patch.type,
                "offset": patch.offset,
                "source": patch.source.name.lower(),
                "index": patch.index,
                "base": patch.base,
                "transformed": patch.transformed,
            }
            for patch in container.patches_of(operation)
        ],
    }
    facts["summary"] = summary(container, operation)
    if operation.type is OperationType.SH:
        return facts
    facts["states"] = [
        {"state": f"{state:#06x}", "value": f"{value:#x}"}
        for state, value in decode_states(container, operation)
    ]
    if operation.type is OperationType.NN:
        facts["descriptor"] = decode_nn(container, operation).to_json()
    if operation.type is OperationType.TP:
        facts["descriptor"] = decode_tp(container, operation).to_json()
    return facts


def summary(container: Container, operation: NbgOperation) -> str:
    """One line about an operation for a reader."""
    match operation.type:
        case OperationType.NN:
            return decode_nn(container, operation).summary()
        case OperationType.TP:
            return decode_tp(container, operation).summary()
        case OperationType.SH:
            return f"shader program of layer {container.layer_name(operation)}"
        case _:
            return "commands before the first job and behind the last"


def _blob(container: Container, span: Span) -> dict[str, object]:
    data = container.cursor.bytes_of(span)
    return {
        "offset": span.offset,
        "size": span.size,
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def container_json(container: Container) -> dict[str, object]:
    """All facts; coefficients only as their size and hash."""
    jobs = container.jobs()
    return {
        "container_version": container.version_text,
        "target": f"{container.target:#04x}",
        "network": container.network,
        "refusal": container.refusal,
        "tensors": [_tensor(t) for t in (*container.inputs, *container.outputs)],
        "layers": [
            {"name": layer.name, "id": layer.id, "operations": layer.operation_count}
            for layer in container.layers
        ],
        "engines": {
            kind.name: sum(o.type is kind for o in jobs)
            for kind in (OperationType.NN, OperationType.TP, OperationType.SH)
        },
        "pool_size": container.pool_size,
        "axi_sram": container.axi_sram,
        "vip_sram": container.vip_sram,
        "coefficients": {
            **_blob(container, container.coefficient_block),
            "entries": [[span.offset, span.size] for span in container.coefficients],
        },
        "operations": [_operation(container, o) for o in container.operations],
    }
