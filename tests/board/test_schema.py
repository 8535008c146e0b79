"""The published schema and reference are what the code says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from fwgen.board.schema import json_schema, update_docs
from fwgen.resources import resource_dir

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_documents_are_up_to_date() -> None:
    for file, text in update_docs(DOCS).items():
        assert file.read_text(encoding="utf-8") == text, (
            f"{file.name} is out of date: python -m fwgen.board.schema docs"
        )


def accepts(schema: dict, node: dict, value: object) -> bool:  # type: ignore[type-arg]
    """A judge for the part of JSON Schema that the published file uses."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if "if" in node:
        given = isinstance(value, dict) and set(node["if"]["required"]) <= set(value)
        return accepts(schema, node["then" if given else "else"], value)
    kinds = node.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    names = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object"}
    if kinds and names.get(type(value)) not in kinds:
        return False
    if "enum" in node and value not in node["enum"]:
        return False
    if isinstance(value, str) and not re.search(node.get("pattern", ""), value):
        return False
    if isinstance(value, int) and not isinstance(value, bool):
        if not node.get("minimum", value) <= value <= node.get("maximum", value):
            return False
    if isinstance(value, list):
        if len(value) < node.get("minItems", 0):
            return False
        return all(accepts(schema, node["items"], item) for item in value)
    if isinstance(value, dict):
        if not set(node.get("required", [])) <= set(value):
            return False
        return all(
            key in node["properties"] and accepts(schema, node["properties"][key], item)
            for key, item in value.items()
        )
    return True


def test_the_schema_accepts_every_board_and_no_misspelling() -> None:
    schema = json.loads(json.dumps(json_schema()))
    files = sorted(resource_dir("boards").rglob("*.toml"))
    assert files
    for file in files:
        profile = tomllib.loads(file.read_text(encoding="utf-8"))
        if file.parent.name == "soc":  # parts, read through `extends` only
            profile["extends"] = "x"
        assert accepts(schema, schema, profile), file
        assert not accepts(schema, schema, {**profile, "memry": 1})
        if "accelerator" in profile:
            broken = [{**item, "irg": 3} for item in profile["accelerator"]]
            assert not accepts(schema, schema, {**profile, "accelerator": broken})
    assert not accepts(schema, schema, {"name": "x"})
    assert accepts(schema, schema, {"name": "x", "extends": "y"})
