"""The page: facts and sections of a build folder, rendered into one HTML file.

The file needs no network: style and script are inside, drawings are SVG. It holds no dates
and no paths, so that the same build and profile give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fwgen.accel.registry import family
from fwgen.board.types import Board
from fwgen.build.artefacts import write_file
from fwgen.build.result import BUILD_INFO, MEMORY_MAP, OPERATIONS, SIZE, read_json
from fwgen.errors import UsageError
from fwgen.profile import Profile
from fwgen.report.chart import Section, bytes_text, number
from fwgen.report.lifetimes import lifetimes_section
from fwgen.report.memory import memory_section
from fwgen.report.roofline import roofline_section
from fwgen.report.sizes import placement_section, size_section, stack_section
from fwgen.report.timeline import timeline_section
from fwgen.resources import template_environment


@dataclass(frozen=True, slots=True)
class Page:
    """All that the template prints.

    Attributes:
        tiles: (name, value) of the few numbers at the top.
        facts: (name, value) of build, board and models.
    """

    title: str
    tiles: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


def write_report(directory: Path, page: Path, board: Board, profile: Profile | None) -> None:
    """Write the page of a build.

    Args:
        directory: of the build.
        page: the file; it is replaced as a whole.
        board: whose profile the build names.
        profile: of a run; without one, timeline and roofline say how to get them.

    Raises:
        UsageError: no build folder or a damaged one; the page cannot be written.
    """
    text = render(make_page(directory, board, profile))
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_file(page, text.encode())
    except OSError as error:
        raise UsageError(
            f"cannot write the page: {error.strerror or error}", where=str(page)
        ) from None


def render(page: Page) -> str:
    """The page as HTML."""
    environment = template_environment("report", html=True)
    return environment.get_template("report.html.j2").render(page=page)


def make_page(directory: Path, board: Board, profile: Profile | None) -> Page:
    """What the page shows; arguments and errors as `write_report`."""
    info = read_json(directory / BUILD_INFO)
    size = read_json(directory / SIZE)
    memory = read_json(directory / MEMORY_MAP)
    operations = read_json(directory / OPERATIONS)
    try:
        return _page(board, info, size, memory, operations, profile)
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        raise UsageError(
            f"the build's reports are damaged: {type(error).__name__} {error}",
            where=str(directory),
            hints=("Build again: `fwgen build` writes new ones.",),
        ) from error


def _page(
    board: Board,
    info: dict[str, Any],
    size: dict[str, Any],
    memory: dict[str, Any],
    operations: dict[str, Any],
    profile: Profile | None,
) -> Page:
    peak = family(profile.family).peak(profile.config) if profile is not None else None
    steps = {m["model"]: m["steps"] for m in operations["models"]}
    reserved = {"engine_task": info["options"]["stack_words"] * 4}
    if info["options"]["link"]:
        reserved["link_task"] = info["options"]["link_stack_words"] * 4
    names = ", ".join(m["name"] for m in info["models"])
    return Page(
        title=f"{names} on {info['board']}",
        tiles=_tiles(size, memory, profile),
        facts=_facts(board, info, profile),
        sections=(
            memory_section(memory),
            lifetimes_section(memory, steps),
            timeline_section(profile),
            roofline_section(profile, peak),
            size_section(size),
            stack_section(size, reserved),
            placement_section(size),
        ),
    )


def _tiles(
    size: dict[str, Any], memory: dict[str, Any], profile: Profile | None
) -> tuple[tuple[str, str], ...]:
    sums = {c["name"]: c["total"] for c in size["components"]}
    small = ("startup", "driver + executor", "kernels", "program")
    arenas = [a for a in memory["arenas"] if a["kind"] == "tensors"]
    tiles = [
        ("image", bytes_text(size["text"] + size["data"])),
        ("start-up, driver, executor, program", bytes_text(sum(sums.get(n, 0) for n in small))),
        ("weights", bytes_text(sums.get("weights", 0))),
        (
            "tensors",
            bytes_text(sum({(a["region"], a["base"]): a["size"] for a in arenas}.values())),
        ),
    ]
    if profile is not None:
        milliseconds = profile.duration_ticks / profile.timer_hz * 1000
        tiles.append(("an inference", f"{milliseconds:.3f} ms"))
        if profile.busy_cycles is not None and profile.clock_hz:
            share = profile.busy_cycles / profile.clock_hz * 1000 / milliseconds
            tiles.append((f"{profile.accelerator} at work", f"{100 * share:.1f} %"))
    return tuple(tiles)


def _facts(
    board: Board, info: dict[str, Any], profile: Profile | None
) -> tuple[tuple[str, str], ...]:
    facts = [
        ("Build id", info["build_id"]),
        ("Board", f"{board.name}: {board.description}"),
        ("Core", f"{board.cpu.core} at {board.cpu.clock_hz / 1e6:g} MHz"),
    ]
    for accelerator in board.accelerators:
        text = f"{accelerator.family}/{accelerator.config}"
        if accelerator.clock_hz:
            text += f" at {accelerator.clock_hz / 1e6:g} MHz"
        facts.append((f"Accelerator {accelerator.name}", text))
    for model in info["models"]:
        facts.append(
            (
                f"Model {model['name']}",
                f"{number(model['operations'])} operations for {model['family']}/"
                f"{model['config']}, {number(model['words'])} program words, "
                f"SHA-256 {model['sha256'][:16]}…",
            )
        )
    facts += [
        ("Kind of build", f"{info['options']['kind']}, fwgen {info['fwgen']}"),
        ("Kernel", f"FreeRTOS {info['kernel']['version']}"),
        ("Compiler", info["compiler"]),
    ]
    if profile is not None:
        facts.append(("Inference shown", f"{profile.model} on {profile.accelerator}"))
    return tuple(facts)
