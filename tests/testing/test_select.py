"""Expressions of -k, judged against Python's own and, or, not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fwgen.errors import UsageError
from fwgen.testing.select import Selection

NAMES = ("mps2-an385/digits/noise", "mps2-an385/size", "mps3-an547/digits/Noise+lost", "a", "")
WORDS = st.sampled_from(["digits", "noise", "size", "mps2", "lost", "a", "+", "nothing"])
EXPRESSIONS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
        inner.map(lambda text: f"not {text}"),
        inner.map(lambda text: f"({text})"),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, st.sampled_from(NAMES))
def test_means_what_python_means(expression: str, name: str) -> None:
    python = re.sub(
        r"[^\s()]+",
        lambda m: (
            m[0] if m[0] in ("and", "or", "not") else f"({m[0].lower()!r} in {name.lower()!r})"
        ),
        expression,
    )
    assert Selection(expression).takes(name) is bool(eval(python))


@pytest.mark.parametrize("text", ["", "and", "a and", "(a", "a)", "not", "a b", "()", "or a", "("])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(UsageError, match="missing|closed|stands") as caught:
        Selection(text)
    assert caught.value.where == f"-k '{text}'"
