"""The size tables of a build, shared by `fwgen build` and `fwgen size`."""

from __future__ import annotations

from typing import Any

from fwgen.cli.output import print_line, print_table, size_text
from fwgen.errors import UsageError


def print_sizes(report: dict[str, Any]) -> None:
    """Print the regions, the components and the stacks of size.json.

    Args:
        report: as `BuildResult.size()` returns it.

    Raises:
        UsageError: the report is damaged.
    """
    try:
        _print_sizes(report)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(
            "size.json is damaged", hints=("Build again: fwgen build writes a new one.",)
        ) from None


def _print_sizes(report: dict[str, Any]) -> None:
    print_table(
        ("REGION", "BASE", "SIZE", "USED", "%"),
        [
            (r["name"], f"{r['base']:#010x}", size_text(r["size"]), size_text(r["used"]), share(r))
            for r in report["regions"]
        ],
        ("SIZE", "USED", "%"),
    )
    print_line()
    print_table(
        ("COMPONENT", "TEXT", "DATA", "BSS", "TOTAL"),
        [
            *(
                (c["name"], c["text"], c["data"], c["bss"], c["total"])
                for c in report["components"]
            ),
            (
                "all",
                report["text"],
                report["data"],
                report["bss"],
                report["text"] + report["data"] + report["bss"],
            ),
        ],
        ("TEXT", "DATA", "BSS", "TOTAL"),
    )
    placement = report.get("placement", [])
    if placement:
        print_line()
        _print_placement(placement)


def _print_placement(models: list[dict[str, Any]]) -> None:
    """Where each model's bytes lie, and what that costs besides."""
    print_table(
        ("MODEL", "REGION", "CONSTANTS", "TENSORS"),
        [
            (m["model"], b["region"], b["constants"], b["tensors"])
            for m in models
            for b in m["buffers"]
        ],
        ("CONSTANTS", "TENSORS"),
    )
    for model in models:
        if model["copied_at_boot"]:
            print_line(
                f"{model['model']}: {model['copied_at_boot']} bytes of constants are copied at boot"
            )
        if model["second_banks"]:
            print_line(f"{model['model']}: {model['second_banks']} bytes are second banks")


def share(region: dict[str, Any]) -> str:
    """Used part of a region in percent."""
    return f"{region['percent']:.1f}"


def print_stacks(report: dict[str, Any]) -> None:
    """Print the stack bounds of size.json."""
    stack = report.get("stack", {})
    rows = [(t["entry"], t["bytes"]) for t in stack.get("tasks", [])]
    if "main" in stack:
        rows.append(("start-up and nested interrupts", stack["main"]))
    if rows:
        print_line()
        print_table(("STACK OF", "AT MOST BYTES"), rows, ("AT MOST BYTES",))
