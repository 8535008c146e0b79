"""The JSON Schema of board profiles, and the reference part of docs/boards.md.

Both come from the dataclasses of types.py, so they cannot disagree with what
the loader accepts.
"""

from __future__ import annotations

import copy
import json
import sys
import typing
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec

from fwgen.board import types
from fwgen.board.profile import DECODER, list_boards, load_board
from fwgen.toml.decode import SIZE_PATTERN, bare_type, choices_of

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
EXTENDS = {
    "type": "string",
    "description": "Profile to start from: a name in the board folders, or a relative path. "
    "Tables merge by key, arrays of named tables by name.",
}
REFERENCE_BEGIN = "<!-- generated: python -m fwgen.board.schema docs -->"
REFERENCE_END = "<!-- end of the generated part -->"


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a profile file.

    A file that extends another may leave out any key; the loader checks the
    merged result.
    """
    _, parts = msgspec.json.schema_components([types.Board], ref_template="#/$defs/{name}")
    definitions: dict[str, Any] = {}
    for name, part in sorted(parts.items()):
        full = _in_file_form(part)
        partial = copy.deepcopy(full)
        partial.pop("required", None)
        definitions[name] = full
        definitions[f"Partial{name}"] = _refer_to_partial(partial)
    definitions["PartialBoard"]["properties"]["extends"] = EXTENDS
    return {
        "$schema": SCHEMA_ID,
        "title": "fwgen board profile",
        "description": "One board, as boards/*.toml describe it. See docs/boards.md.",
        "type": "object",
        "if": {"required": ["extends"]},
        "then": {"$ref": "#/$defs/PartialBoard"},
        "else": {"$ref": "#/$defs/Board"},
        "$defs": definitions,
    }


def json_schema_text() -> str:
    """The schema as it is stored in docs/board-schema.json."""
    return json.dumps(json_schema(), indent=2) + "\n"


def _in_file_form(part: dict[str, Any]) -> dict[str, Any]:
    """Keys as they are written in TOML, and no others."""
    result: dict[str, Any] = copy.deepcopy(part)
    result.pop("title", None)
    result["properties"] = {DECODER.key(k): _clean(v) for k, v in result["properties"].items()}
    result["required"] = [DECODER.key(k) for k in result.get("required", [])]
    result["additionalProperties"] = False
    return result


def _clean(node: Any) -> Any:
    """Without null and its default: TOML has no null, a key is left out instead."""
    if isinstance(node, list):
        return [_clean(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {k: _clean(v) for k, v in node.items() if not (k == "default" and v is None)}
    choices = [c for c in node.get("anyOf", []) if c != {"type": "null"}]
    if len(choices) == 1 and "anyOf" in node:
        del node["anyOf"]
        node = {**choices[0], **node}
    if node.get("pattern") == SIZE_PATTERN:
        node["type"] = ["integer", "string"]
    if "enum" in node:
        node["enum"] = [c for c in node["enum"] if c is not None]
    return node


def _refer_to_partial(node: Any) -> Any:
    if isinstance(node, list):
        return [_refer_to_partial(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        k: v.replace("#/$defs/", "#/$defs/Partial") if k == "$ref" else _refer_to_partial(v)
        for k, v in node.items()
    }


def reference_markdown() -> str:
    """All keys of a profile and all boards, as Markdown tables."""
    lines = ["## Keys", ""]
    for kind, title in (
        (types.Board, "Top level"),
        (types.Cpu, "`[cpu]`"),
        (types.Memory, "`[[memory]]`"),
        (types.Uart, "`[console]` and `[link]`"),
        (types.Accelerator, "`[[accelerator]]`"),
        (types.PowerStep, "`[[accelerator.power_on]]`"),
        (types.Nvmem, "`[nvmem]`"),
        (types.Partition, "`[[nvmem.partition]]`"),
        (types.Watchdog, "`[watchdog]`"),
        (types.Flash, "`[flash]`"),
        (types.Qemu, "`[qemu]`"),
        (types.Overlay, "`[[qemu.overlay]]`"),
    ):
        lines += [f"### {title}", ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        if kind is types.Board:
            lines.append(f"| `extends` | text | none | {EXTENDS['description']} |")
        hints = typing.get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            if not _is_table(hints[field.name]):
                lines.append(_row(field, hints[field.name]))
        lines.append("")
    return "\n".join([*lines, *_boards_markdown()])


def _is_table(hint: Any) -> bool:
    bare = bare_type(hint)[0]
    if typing.get_origin(bare) is tuple:
        bare = bare_type(typing.get_args(bare)[0])[0]
    return is_dataclass(bare)


def _row(field: Field[Any], hint: Any) -> str:
    if field.default is MISSING:
        default = "required"
    elif field.default is None:
        default = "none"
    elif field.default in ((), ""):
        default = "empty"
    elif isinstance(field.default, bool):
        default = f"`{str(field.default).lower()}`"
    elif isinstance(field.default, int) and field.default >= 0x1000 and "size" in _type(hint):
        default = f"`{field.default:#x}`"
    else:
        default = f"`{field.default}`"
    description = _description(hint).replace("|", "\\|")
    return f"| `{DECODER.key(field.name)}` | {_type(hint)} | {default} | {description} |"


def _type(hint: Any) -> str:
    bare, metadata = bare_type(hint)
    choices = choices_of(hint)
    many = typing.get_origin(bare) is tuple
    if choices:
        text = " ".join(f"`{choice}`" for choice in choices)
    elif many:
        text = "text"
    elif any((m.extra_json_schema or {}).get("pattern") == SIZE_PATTERN for m in metadata):
        text = "size"
    else:
        text = {str: "text", int: "integer", bool: "boolean"}[bare]
    return f"list of {text}" if many else text


def _description(hint: Any) -> str:
    return next((m.description for m in reversed(bare_type(hint)[1]) if m.description), "")


def _boards_markdown() -> list[str]:
    lines = ["## Boards", "", "| board | core | accelerator | at | interrupt | emulated by |"]
    lines.append("|---|---|---|---|---|---|")
    boards = [load_board(name) for name in list_boards()]
    for board in boards:
        for item in board.accelerators:
            at = "the CPU" if item.base is None else f"`{item.base:#010x}`"
            irq = "none" if item.irq is None else item.irq
            lines.append(
                f"| `{board.name}` | {board.cpu.core} | {item.family} {item.config} | {at} | {irq} "
                f"| {f'`-M {board.qemu.machine}`' if board.qemu else 'nothing'} |"
            )
    for board in boards:
        lines += ["", f"### {board.name}", "", board.description + ".", ""]
        lines += ["| memory | base | size | use | what |", "|---|---|---|---|---|"]
        for memory in board.memories:
            lines.append(
                f"| {memory.name} | `{memory.base:#010x}` | {size_text(memory.size)} "
                f"| {', '.join(memory.use)} | {memory.description} |"
            )
        for title, texts in (
            ("Sources", board.docs),
            ("Notes", board.notes),
            ("Emulation differs from silicon", board.qemu.differences if board.qemu else ()),
        ):
            if texts:
                lines += ["", f"{title}:", "", *(f"- {text}" for text in texts)]
        if board.unverified:
            keys = ", ".join(f"`{key}`" for key in board.unverified)
            lines += ["", f"Without a public source or not checked: {keys}."]
        elif not board.verified:
            lines += ["", "Not verified: some facts have no public source."]
    return [*lines, ""]


def size_text(size: int) -> str:
    """A size in the largest unit that divides it: "4 MiB"."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def update_docs(folder: Path) -> dict[Path, str]:
    """What docs/boards.md and docs/board-schema.json should contain, by file."""
    page = folder / "boards.md"
    head, _, rest = page.read_text(encoding="utf-8").partition(REFERENCE_BEGIN)
    tail = rest.partition(REFERENCE_END)[2]
    text = f"{head}{REFERENCE_BEGIN}\n\n{reference_markdown()}\n{REFERENCE_END}{tail}"
    return {page: text, folder / "board-schema.json": json_schema_text()}


if __name__ == "__main__":
    for file, contents in update_docs(Path(sys.argv[1])).items():
        file.write_text(contents, encoding="utf-8")
