"""fwgen inspect: a model, the program made of it, or its layout in memory."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line, print_table, size_text
from fwgen.model import Model
from fwgen.pipeline import CompiledModel


@click.command(context_settings=settings.CONTEXT)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-s",
    "--stage",
    type=click.Choice(["model", "program", "layout"]),
    default="model",
    show_default=True,
    help="What the file says, what the hardware does, or where every byte lives.",
)
@click.option(
    "-b", "--board", help="Board for program and layout; default: the first that can run it."
)
@click.option("--all-writes", is_flag=True, help="Program with every register write.")
@settings.pipeline_option
@settings.common_options
@settings.json_option
def inspect(model: Path, stage: str, board: str | None, all_writes: bool, pipeline: str) -> None:
    """Show MODEL at one stage of its way to firmware."""
    from fwgen import pipeline as stages
    from fwgen.build.options import BuildOptions
    from fwgen.model import load_model

    if stage == "model":
        read = load_model(model)
        if settings.current().as_json:
            print_json(read.to_json())
        else:
            _print_model(read)
        return
    compiled = stages.compile_model(
        model,
        board if board is not None else stages.default_board(load_model(model)),
        BuildOptions(pipeline_depth=int(pipeline)),
    )
    if stage == "layout":
        _print_layout(compiled)
        return
    lines = stages.program_listing(compiled, optimised=not all_writes)
    if settings.current().as_json:
        print_json({"program": compiled.program, "listing": lines})
    else:
        _print_program(compiled, lines)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(n) for n in shape)


def _print_model(model: Model) -> None:
    print_line(click.style(model.name, bold=True) + f": {model.family} model")
    print_line(f"sha256  {model.sha256}")
    facts = model.to_json()
    version = facts.get("dla_interface_version")
    if isinstance(version, list):
        print_line(f"version {'.'.join(str(part) for part in version)}")
    for label, text in _graph_facts(facts):
        print_line(f"{label:8}{text}")
    print_line()
    print_table(
        ("#", "DIRECTION", "TENSOR", "TYPE", "NxCxHxW", "ORDER", "BYTES"),
        [
            (t.bind_index, t.direction, t.name, t.dtype, _shape(t.shape), t.layout, t.size)
            for t in model.tensors
        ],
        ("#", "BYTES"),
    )
    rows = [
        (number, operation["index"], operation["type"])
        for number, task in enumerate(_list(facts.get("tasks")))
        for operation in _list(task.get("operations"))
    ]
    if rows:
        print_line()
        print_table(("TASK", "#", "OPERATION"), rows, ("TASK", "#"))
    jobs = _list(facts.get("operations"))
    if jobs:
        print_line()
        print_table(
            ("#", "ENGINE", "LAYER", "WHAT"),
            [(job["index"], job["engine"], job["name"], job["summary"]) for job in jobs],
            ("#",),
        )
    if rows or jobs:
        print_line()
        print_line("(--json prints every descriptor; --stage program what becomes of them)")


def _graph_facts(facts: dict[str, object]) -> list[tuple[str, str]]:
    """What a network binary graph says of itself; nothing for other models."""
    engines = facts.get("engines")
    if not isinstance(engines, dict):
        return []
    found = [
        ("version", f"container {facts['container_version']}"),
        ("target", f"NPU {facts['target']}"),
        ("engines", ", ".join(f"{name} {count}" for name, count in engines.items())),
        ("memory", f"pool {facts['pool_size']} bytes, VIP SRAM {facts['vip_sram']} bytes"),
    ]
    found += [
        (
            f"{tensor['direction']}",
            f"{tensor['name']}: {tensor['dtype']}, {_quantisation(tensor)}",
        )
        for tensor in _list(facts.get("tensors"))
    ]
    if facts["refusal"]:
        found.append(("refused", str(facts["refusal"])))
        found += [("layer", str(layer["name"])) for layer in _list(facts.get("layers"))]
    return found


def _quantisation(tensor: dict[str, object]) -> str:
    if "scale" in tensor:
        return f"affine, scale {tensor['scale']:.9g}, zero point {tensor['zero_point']}"
    if "fixed_position" in tensor:
        return f"dynamic fixed point, scale 2^{-int(str(tensor['fixed_position']))}"
    return "not quantised"


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


def _print_program(compiled: CompiledModel, lines: list[str]) -> None:
    program = compiled.program
    print_line(
        click.style(program.model_name, bold=True)
        + f" on {compiled.board.name}, {program.family}/{program.config}: "
        f"{len(program.operations)} operations in {len(program.steps)} steps, "
        f"{sum(o.macs for o in program.operations)} multiply-accumulates"
    )
    print_line()
    for line in lines:
        print_line(line)


def _print_layout(compiled: CompiledModel) -> None:
    from fwgen.plan.report import memory_map

    program, layout = compiled.program, compiled.layout
    if settings.current().as_json:
        print_json(memory_map(layout, program, compiled.board))
        return
    print_line(click.style(program.model_name, bold=True) + f" on {compiled.board.name}")
    print_line()
    print_table(
        ("REGION", "ARENA", "BASE", "SIZE", "LOWER BOUND"),
        [
            (a.region, a.kind, f"{a.base:#010x}", size_text(a.size), size_text(a.lower_bound))
            for a in layout.arenas
        ],
        ("SIZE", "LOWER BOUND"),
    )
    print_line()
    print_table(
        ("ADDRESS", "BYTES", "BUFFER", "ROLE", "STEPS", "REGION", "FROM"),
        [
            (
                f"{placement.address:#010x}",
                buffer.size,
                buffer.name,
                buffer.role.value,
                f"{buffer.first_step}..{buffer.last_step}",
                placement.region,
                buffer.origin,
            )
            for placement in sorted(layout.placements, key=lambda p: p.address)
            for buffer in (program.buffers[placement.buffer],)
        ],
        ("BYTES",),
    )
