"""The keys of fwgen.toml as dataclasses; docs/applications.md explains them.

Descriptions are what messages say was expected.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from fwgen.build import defaults
from fwgen.project.suite_schema import Name, SuiteTable, Text

Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Natural = Annotated[int, Meta(ge=0, le=2**31 - 1)]


@dataclass(frozen=True, slots=True)
class ModelTable:
    """[[model]]: one compiled network of the image."""

    file: Annotated[Text, Meta(description="the path of a compiled model, from this file")]
    accelerator: Annotated[Text | None, Meta(description="an accelerator of the board")] = None


@dataclass(frozen=True, slots=True)
class AppTable:
    """[app]: the application's own sources."""

    sources: Annotated[
        tuple[Text, ...],
        Meta(description='paths below this file as ["src/*.c"]', min_length=1),
    ]
    include: Annotated[
        tuple[Text, ...], Meta(description='folders below this file as ["include"]')
    ] = ()
    defines: Annotated[
        tuple[Text, ...], Meta(description='definitions as ["NAME", "NAME=VALUE"]')
    ] = ()
    tasks: Annotated[
        tuple[Text, ...], Meta(description="functions that the application's tasks start with")
    ] = ()


@dataclass(frozen=True, slots=True)
class BuildTable:
    """[build]: the options of `fwgen build`, under the same names."""

    test: bool = False
    task_priority: Positive = defaults.TASK_PRIORITY
    stack_words: Positive = defaults.STACK_WORDS
    link_stack_words: Positive = defaults.LINK_STACK_WORDS
    main_stack_bytes: Positive | None = None
    max_priorities: Positive = defaults.MAX_PRIORITIES
    tick_hz: Positive = defaults.TICK_HZ
    irq: Natural | None = None
    timeout_ms: Positive | None = None
    idle: Literal["spin", "wfi", "wfe"] | None = None
    link: bool = True
    shell: bool = True
    profile: bool = True
    names: bool = True
    canaries: bool | None = None
    pipeline: Literal[1, 2, 4] = 1
    each_operation: bool = False
    queue_length: Positive = defaults.QUEUE_LENGTH
    exclusive: Annotated[
        tuple[tuple[Text, ...], ...],
        Meta(description='groups of models by name, as [["a", "b"]], or [["all"]]'),
    ] = ()
    place: Annotated[
        tuple[tuple[Text, ...], ...],
        Meta(description='memories for tensors or buffers, as [["image", "sram"]]'),
    ] = ()
    sram_first: bool = False
    weights: Literal["auto", "in-place", "copy"] = "auto"
    all_writes: bool = False
    nvmem: bool = False
    update_key: Annotated[
        Text | None, Meta(description="an Ed25519 public key as 64 hex digits")
    ] = None
    anti_rollback: bool = False
    watchdog: bool = False


@dataclass(frozen=True, slots=True)
class ProjectTable:
    """The whole file."""

    board: Annotated[Text, Meta(description="the name of a board, or a profile file")]
    models: tuple[ModelTable, ...]
    name: Name | None = None
    app: AppTable | None = None
    build: BuildTable = field(default_factory=BuildTable)
    test: SuiteTable | None = None
