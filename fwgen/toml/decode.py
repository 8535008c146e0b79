"""From a TOML tree to dataclasses: strictly, with the position of what is wrong.

The dataclasses are the schema: a field is a key, its default makes it optional, its
annotation (with msgspec's Meta) says what values it takes. Unknown keys are
errors that name the nearest known one.
"""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from dataclasses import field as dataclass_field
from functools import cache
from typing import Any, TypeVar

import msgspec

from fwgen.errors import UsageError
from fwgen.toml.document import Node, dotted
from fwgen.toml.lines import Path

T = TypeVar("T")

SIZE_PATTERN = r"^[0-9]+ ?(B|KiB|MiB|GiB)?$"
"""Marks a number of bytes (in the annotation's schema) that may be written as text."""

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True, slots=True)
class Decoder:
    """How the fields of dataclasses are written in one kind of file.

    Attributes:
        keys: key of a field where it is not the field's name (an array of tables
            is written in the singular).
        hints: shown when a key is missing.
    """

    keys: Mapping[str, str] = dataclass_field(default_factory=dict)
    hints: tuple[str, ...] = ()

    def key(self, field: str) -> str:
        """How a field of the dataclasses is written in the file."""
        return self.keys.get(field, field)

    def decode(self, root: Node, kind: type[T]) -> T:
        """The whole document as a dataclass.

        Raises:
            UsageError: a key is unknown or missing, or a value is not what it takes;
                `where` is "file:line, key".
        """
        return self._table(root, kind, (), root)

    def _table(self, node: Node, kind: type[T], path: Path, root: Node) -> T:
        assert is_dataclass(kind)
        if not isinstance(node.value, dict):
            raise UsageError(
                f"'{dotted(path)}' is not a table",
                where=root.where(path),
                expected=f"[{dotted(path)}]",
            )
        hints = _hints(kind)
        known = {self.key(field.name): field for field in fields(kind)}
        for key in node.value:
            if key not in known:
                raise _unknown_key(key, tuple(known), (*path, key), root)
        arguments: dict[str, Any] = {}
        for key, field in known.items():
            if key in node.value:
                hint = hints[field.name]
                arguments[field.name] = self._value(node.value[key], hint, (*path, key), root)
            elif field.default is MISSING and field.default_factory is MISSING:
                raise UsageError(
                    f"the key '{dotted((*path, key))}' is missing",
                    where=root.where(path),
                    expected=_describe(hints[field.name]),
                    hints=self.hints,
                )
        return kind(**arguments)

    def _value(self, node: Node, hint: Any, path: Path, root: Node) -> Any:
        bare, metadata = bare_type(hint)
        if is_dataclass(bare):
            return self._table(node, typing.cast(type[Any], bare), path, root)
        if typing.get_origin(bare) is tuple:
            element = typing.get_args(bare)[0]
            if is_dataclass(bare_type(element)[0]):
                return self._tables(node, bare_type(element)[0], path, root)
        value = node.plain()
        if isinstance(value, str) and any(
            (meta.extra_json_schema or {}).get("pattern") == SIZE_PATTERN for meta in metadata
        ):
            value = _parse_size(value, path, root)
        try:
            return msgspec.convert(value, hint)
        except (msgspec.ValidationError, TypeError, OverflowError) as error:
            raise _bad_value(value, hint, str(error), path, root) from None

    def _tables(self, node: Node, kind: type[T], path: Path, root: Node) -> tuple[T, ...]:
        if not isinstance(node.value, list):
            raise UsageError(
                f"'{dotted(path)}' is not an array of tables",
                where=root.where(path),
                expected=f"[[{dotted(path)}]]",
            )
        return tuple(self._table(item, kind, (*path, i), root) for i, item in enumerate(node.value))


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """Annotations of a dataclass. They are texts, and compiling them takes most of the time
    that a profile takes: a list of boards asks for the same few hundred times."""
    return typing.get_type_hints(kind, include_extras=True)


def bare_type(hint: Any) -> tuple[Any, tuple[msgspec.Meta, ...]]:
    """The type below Annotated and `| None`, and all metadata on the way."""
    metadata: tuple[msgspec.Meta, ...] = ()
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            metadata += hint.__metadata__
            hint = hint.__origin__
        elif origin in (typing.Union, types.UnionType):
            (hint,) = [a for a in typing.get_args(hint) if a is not type(None)]
        else:
            return hint, metadata


def _parse_size(text: str, path: Path, root: Node) -> int:
    match = re.fullmatch(r"([0-9]{1,15}) ?(B|KiB|MiB|GiB)?", text)
    if not match:
        raise UsageError(
            f"'{text}' is not a size",
            where=root.where(path),
            expected='a number of bytes, or text as "64KiB" or "4MiB"',
        )
    return int(match.group(1)) * _UNITS[match.group(2) or ""]


def _unknown_key(key: str, known: tuple[str, ...], path: Path, root: Node) -> UsageError:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    table = dotted(path[:-1])
    keys = f"one of {', '.join(sorted(known))}"
    return UsageError(
        f"unknown key '{key}'" + (f" in [{table}]" if table else ""),
        where=root.where(path),
        expected=f"'{near[0]}'" if near else keys,
        hints=(f"Keys here: {', '.join(sorted(known))}.",),
    )


def _bad_value(value: Any, hint: Any, reason: str, path: Path, root: Node) -> UsageError:
    choices = choices_of(hint)
    bad = value
    if isinstance(value, list):
        wrong = [item for item in value if item not in choices]
        bad = wrong[0] if wrong else value
        if wrong and choices:
            path = (*path, value.index(bad))
    if choices and isinstance(bad, str):
        near = difflib.get_close_matches(bad, choices, n=1, cutoff=0.4)
        return UsageError(
            f"'{bad}' is not known for '{dotted(path)}'",
            where=root.where(path),
            expected=f"'{near[0]}'" if near else f"one of {', '.join(choices)}",
            hints=(f"Known: {', '.join(choices)}.",),
        )
    reason = re.sub(r" - at `\$.*`$", "", reason)
    shown = f"{bad:#x}" if isinstance(bad, int) and bad > 0xFFFF else repr(bad)
    return UsageError(
        f"bad value {shown[:60]} for '{dotted(path)}': {reason[:1].lower()}{reason[1:]}",
        where=root.where(path),
        expected=_describe(hint),
    )


def choices_of(hint: Any) -> tuple[str, ...]:
    bare = bare_type(hint)[0]
    if typing.get_origin(bare) is tuple:
        bare = bare_type(typing.get_args(bare)[0])[0]
    values = typing.get_args(bare) if typing.get_origin(bare) is typing.Literal else ()
    return tuple(str(value) for value in values)


def _describe(hint: Any) -> str:
    """What a key wants, for a message."""
    choices = choices_of(hint)
    if choices:
        return f"one of {', '.join(choices)}"
    bare, metadata = bare_type(hint)
    for meta in reversed(metadata):
        if meta.description:
            return meta.description.rstrip(".").split(". ")[0]
    if is_dataclass(bare):
        return "a table"
    return getattr(bare, "__name__", str(bare))
