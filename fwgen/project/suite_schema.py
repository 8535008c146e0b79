"""The [test] tables of fwgen.toml as dataclasses; docs/testing.md explains them.

Descriptions are what messages say was expected.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from fwgen.toml.decode import SIZE_PATTERN

Text = Annotated[str, Meta(min_length=1, max_length=4096)]
Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
        description="a name of letters, digits and _ . -, 64 characters at most",
    ),
]
Patterns = Annotated[
    tuple[Text, ...], Meta(min_length=1, description='names or patterns as ["mps2-*"]')
]
Pattern = Annotated[str, Meta(min_length=1, description='a name or a pattern as "digits*"')]
Size = Annotated[
    int,
    Meta(
        ge=0,
        le=2**40,
        description='a number of bytes, or text as "64KiB"',
        extra_json_schema={"pattern": SIZE_PATTERN},
    ),
]
Count = Annotated[int, Meta(ge=1, le=2**40, description="a number above 0")]
Seconds = Annotated[float, Meta(gt=0, le=86400, description="seconds, above 0")]
Files = Annotated[dict[str, Text], Meta(description='values by tensor as { image = "a.npy" }')]

EVERYTHING = ("*",)


@dataclass(frozen=True, slots=True)
class CaseTable:
    """[[test.case]]: inputs and what must come out."""

    name: Name
    model: Pattern = "*"
    boards: Patterns = EVERYTHING
    inputs: Files = field(default_factory=dict)
    expect: Files = field(default_factory=dict)
    reference: Annotated[
        Text | None,
        Meta(description='"file.py:function", "cpu", or "board:NAME"'),
    ] = None
    console: Annotated[
        tuple[Text, ...], Meta(description='texts as ["inference 3: OK"], in the order they come')
    ] = ()
    runs: Annotated[int, Meta(ge=1, le=100_000, description="1 to 100000")] = 1
    timeout: Seconds | None = None
    timeout_ms: Annotated[int, Meta(ge=0, lt=2**20, description="0 to 1048575")] = 0


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """[[test.budget]]: what an image or an inference may cost."""

    boards: Patterns = EVERYTHING
    model: Pattern = "*"
    flash: Size | None = None
    ram: Size | None = None
    tensors: Size | None = None
    cycles: Count | None = None
    microseconds: Count | None = None


Expectation = Literal["recovers", "harmless", "differs", "timeout", "device", "canary"]


@dataclass(frozen=True, slots=True)
class FaultTable:
    """[[test.fault]]: what the emulated accelerator does wrong, and what must come of it."""

    name: Name
    spec: Annotated[
        tuple[Text, ...],
        Meta(min_length=1, description='faults of docs/emulator.md as ["irq-lost:3"]'),
    ]
    expect: Expectation
    boards: Patterns = EVERYTHING
    cases: Patterns = EVERYTHING
    timeout_ms: Annotated[int, Meta(ge=0, lt=2**20, description="0 to 1048575")] = 0
    runs: Annotated[int, Meta(ge=2, le=1000, description="2 to 1000")] = 3


@dataclass(frozen=True, slots=True)
class SuiteTable:
    """[test]: what `fwgen test` runs."""

    boards: Annotated[
        tuple[Text, ...], Meta(description="names of boards, or profile files", min_length=1)
    ] = ()
    images: Literal["one", "each"] = "one"
    timeout: Seconds = 60.0
    baseline: Annotated[
        Text | None, Meta(description="a file below this file, for sizes that are committed")
    ] = None
    case: tuple[CaseTable, ...] = ()
    budget: tuple[BudgetTable, ...] = ()
    fault: tuple[FaultTable, ...] = ()
