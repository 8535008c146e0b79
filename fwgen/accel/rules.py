"""What the supported-operator rules of all families have in common.

A rule is a function of a context; its docstring is its text in the documentation.
It returns None if the operation keeps it, else what is wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TypeVar

from fwgen.accel.protocol import CheckReport, RuleText
from fwgen.errors import ModelError

C = TypeVar("C")

MAX_REASONS = 3
"""How many broken rules one error names."""


def apply(rules: Iterable[Callable[[C], str | None]], context: C) -> str | None:
    """The first broken rule's reason. Later rules may rely on what earlier ones admit."""
    for rule in rules:
        reason = rule(context)
        if reason is not None:
            return reason
    return None


def text_of(unit: str, rule: Callable[..., object]) -> RuleText:
    """A rule for the documentation."""
    return RuleText(
        unit,
        rule.__name__.removeprefix("rule_").removesuffix("_reasons"),
        inspect.getdoc(rule) or "",
    )


def refusal(report: CheckReport, *, expected: str, hints: tuple[str, ...]) -> ModelError:
    """One error that names the first broken rules of a model that is not supported."""
    # A model for another configuration breaks many rules: the cause says enough.
    reasons = list(report.reasons[:1]) or [
        f"{entry.name}: {reason}"
        for entry in report.operations
        if not entry.ok
        for reason in entry.reasons
    ]
    message = "; ".join(reasons[:MAX_REASONS])
    if len(reasons) > MAX_REASONS:
        message += f"; and {len(reasons) - MAX_REASONS} more"
    return ModelError(message, where=report.model_name, expected=expected, hints=hints)
