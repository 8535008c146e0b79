"""The line scanner against the standard library's parser."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fwgen.toml.lines import Path, key_lines

DOCUMENT = '''\
# comment with = and [brackets]
title = "a # no comment [x]"  # a comment
"quoted.key" = 1
dotted . 'inner' = 2

[table]   # header
text = """
[not.a.table]
key = "no key"
ends in quotes"""""
literal = \'\'\'
fake = 1
\'\'\'
list = [
    "first", # one, two
    { x = 1, y = [2,
        3] },
]
date = 1979-05-27T07:32:00Z

[[item]]
name = 'a'
[item.sub]
k = 1
[[item.deep]]
z = 1
[[item]]
name = "b\\"]"
[[item.deep]]
z = 2
[later.only.sub]
v = true
[later]
w = +1e3
'''


def paths(value: Any, path: Path = ()) -> dict[Path, Any]:
    result = {path: value}
    if isinstance(value, dict):
        for key, item in value.items():
            result |= paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            result |= paths(item, (*path, index))
    return result


def test_all_constructs() -> None:
    lines = key_lines(DOCUMENT)
    assert set(lines) == set(paths(tomllib.loads(DOCUMENT)))
    text = DOCUMENT.splitlines()
    for path, start in {
        ("title",): "title",
        ("quoted.key",): '"quoted.key"',
        ("dotted", "inner"): "dotted",
        ("table",): "[table]",
        ("table", "text"): "text",
        ("table", "literal"): "literal",
        ("table", "list"): "list",
        ("table", "list", 0): '"first"',
        ("table", "list", 1, "y"): "{ x",
        ("table", "list", 1, "y", 1): "3]",
        ("table", "date"): "date",
        ("item", 0, "name"): "name = 'a'",
        ("item", 0, "sub", "k"): "k = 1",
        ("item", 0, "deep", 0, "z"): "z = 1",
        ("item", 1): "[[item]]",
        ("item", 1, "name"): 'name = "b',
        ("item", 1, "deep", 0, "z"): "z = 2",
        ("later",): "[later]",
        ("later", "only", "sub", "v"): "v = true",
        ("later", "w"): "w =",
    }.items():
        assert text[lines[path] - 1].strip().startswith(start), path


KEY = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,4}", fullmatch=True),
    st.sampled_from(['"a b"', "'#'", '"]"', '"\\""', '"é"', "'='", '"."', "'[x]'"]),
)
SCALAR = st.sampled_from(
    ["1", "-0x1", "true", '"#"', '"\\\\"', "'[a'", '"""\n#\n"""', "'''\n'x'\n'''", "1.5e3"]
)
SCALAR = st.one_of(SCALAR, st.sampled_from(["1979-05-27 07:32:00", "inf", '"}"', '""']))
VALUE = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: "[ # c ]\n" + " ,\n".join(parts) + "\n]")
        | st.dictionaries(KEY, SCALAR.filter(lambda s: "\n" not in s), max_size=3).map(
            lambda table: "{ " + ", ".join(f"{k} = {v}" for k, v in table.items()) + " }"
        )
    ),
    max_leaves=5,
)
LINE = st.one_of(
    st.tuples(st.lists(KEY, min_size=1, max_size=2), VALUE).map(
        lambda pair: f"{' . '.join(pair[0])} = {pair[1]} # end"
    ),
    st.lists(KEY, min_size=1, max_size=2).map(lambda keys: f"[ {'.'.join(keys)} ] # ]"),
    st.lists(KEY, min_size=1, max_size=2).map(lambda keys: f"[[{'.'.join(keys)}]]"),
    st.sampled_from(["", "# [x]", "  "]),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(LINE, max_size=8))
def test_knows_exactly_the_parser_s_paths(document: list[str]) -> None:
    accepted: list[str] = []
    for line in document:
        try:
            tomllib.loads("\n".join([*accepted, line]))
        except tomllib.TOMLDecodeError:
            continue
        accepted.append(line)
    text = "\n".join(accepted)
    lines = key_lines(text)
    assert set(lines) == set(paths(tomllib.loads(text)))
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())
