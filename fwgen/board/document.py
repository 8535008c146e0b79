"""A profile with the files that it extends, merged.

Reading, `extends` and the merge happen here, before any key is judged, so that
an error in an inherited key points at the file that holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as FilePath

from fwgen.errors import UsageError
from fwgen.toml.document import Node, read


def resolve(file: FilePath, find: Callable[[str, FilePath], FilePath | None]) -> Node:
    """Read a file and merge it over the chain of files it extends.

    Args:
        find: (name in `extends`, file that says so) -> file or None.

    Raises:
        UsageError: as `read`; a base that does not exist; a cycle.
    """
    chain: list[Node] = []
    seen: list[FilePath] = []
    current: FilePath | None = file
    while current is not None:
        seen.append(current.resolve())
        node = read(current, "board profile")
        chain.append(node)
        base = node.value.pop("extends", None)
        if base is None:
            break
        where = f"{base.file}:{base.line}, extends"
        if not isinstance(base.value, str):
            raise UsageError("'extends' is not text", where=where, expected='"soc/NAME"')
        found = find(base.value, current)
        if found is None:
            raise UsageError(
                f"the profile to extend, '{base.value}', does not exist",
                where=where,
                expected="a name in the board folders or a path relative to this file",
            )
        if found.resolve() in seen:
            names = " -> ".join(path.stem for path in [*seen, found.resolve()])
            raise UsageError(f"'extends' goes round in a circle: {names}", where=where)
        current = found
    merged = chain.pop()
    while chain:
        merged = merge(merged, chain.pop())
    return merged


def merge(base: Node, over: Node) -> Node:
    """`over` laid over `base`.

    Tables merge key by key; arrays of named tables merge by name, new names
    are appended; everything else is replaced. So is an accelerator that becomes one
    of another family: nothing that was said of the old one holds for it.
    """
    if isinstance(base.value, dict) and isinstance(over.value, dict):
        result = dict(base.value)
        for key, node in over.value.items():
            result[key] = merge(result[key], node) if key in result else node
        return Node(result, over.file, over.line)
    if _is_named(base) and _is_named(over):
        elements = list(base.value)
        places = {node.value["name"].value: i for i, node in reversed([*enumerate(elements)])}
        for node in over.value:
            place = places.get(node.value["name"].value)
            if place is None:
                elements.append(node)
            else:
                old = elements[place]
                elements[place] = node if _changes_family(old, node) else merge(old, node)
        return Node(elements, over.file, over.line)
    return over


def _changes_family(base: Node, over: Node) -> bool:
    families = [node.value["family"].value for node in (base, over) if "family" in node.value]
    return len(families) == 2 and families[0] != families[1]


def _is_named(node: Node) -> bool:
    """Whether it is an array of tables that all have a textual name."""
    if not isinstance(node.value, list) or not node.value:
        return False
    return all(
        isinstance(item.value, dict)
        and "name" in item.value
        and isinstance(item.value["name"].value, str)
        for item in node.value
    )
