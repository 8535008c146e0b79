"""Operations and steps of a program as data: what reports of a build and of a run name."""

from __future__ import annotations

from fwgen.program.program import Program


def operations_data(program: Program) -> dict[str, object]:
    """JSON-ready; `macs` and bytes are those of the descriptors (docs/building.md)."""
    step_of = {
        operation: number
        for number, step in enumerate(program.steps)
        for operation in step.operations
    }
    return {
        "model": program.model_name,
        "family": program.family,
        "config": program.config,
        "steps": len(program.steps),
        "operations": [
            {
                "index": operation.index,
                "unit": operation.unit,
                "name": operation.name,
                "summary": operation.summary,
                "step": step_of.get(operation.index),
                "macs": operation.macs,
                "bytes_read": operation.bytes_read,
                "bytes_written": operation.bytes_written,
            }
            for operation in program.operations
        ],
    }
