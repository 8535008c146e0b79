"""sources.json: what a generated project consists of, for tools that take it apart.

Source lists are in link order. The linker's sections are the planned ones only, so that
a firmware with a linker script of its own can place them.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from fwgen.codegen.context import ProjectContext

NAME = "sources.json"
FORMAT = 2


def manifest(context: ProjectContext) -> bytes:
    """The file's contents."""
    link = context.link
    planned = {section.region for section in link.constants}
    planned |= {arena.region for arena in link.arenas}
    data: dict[str, Any] = {
        "format": FORMAT,
        "fwgen": context.version,
        "board": context.board_name,
        "description": context.board_description,
        "core": context.core,
        "core_flags": context.core_flags,
        "integer_flags": context.integer_flags,
        "architecture": context.architecture,
        "kernel": context.kernel_sources,
        "generated": context.generated_sources,
        "runtime": context.runtime_sources,
        "headers": [f"rtos/{name}" for name in context.runtime_files if name.endswith(".h")],
        "weights": context.assembler_sources,
        "application": asdict(context.application),
        "accelerators": [
            {
                "name": accelerator.name.strip(chr(34)),
                "irq": accelerator.irq,
                "irq_priority": accelerator.irq_priority,
            }
            for accelerator in context.accelerators
        ],
        "prio_bits": context.kernel_config.prio_bits,
        "models": [
            {
                "name": model.name,
                "identifier": model.identifier,
                "family": model.family,
                "config": model.config,
                "operations": model.operation_count,
            }
            for model in context.models
        ],
        "regions": [asdict(region) for region in link.regions if region.name in planned],
        "constants": [asdict(section) for section in link.constants],
        "arenas": [asdict(arena) for arena in link.arenas],
        "weight_symbols": [
            section.buffers[0].symbol for model in context.models for section in model.constants
        ],
    }
    return (json.dumps(data, indent=1) + "\n").encode()
