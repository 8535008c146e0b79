"""Options of one build, and their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fwgen.build import defaults
from fwgen.build.application import Application

MAIN_STACK_BYTES = {"cortex_m": 2048, "cortex_a": 8192}
"""By architecture. On Cortex-A each interrupt keeps room for the registers of the FPU."""


class BuildKind(StrEnum):
    """What the image is for."""

    RELEASE = "release"
    """For the product: no exit from the emulator, asserts that reset or stop."""

    TEST = "test"
    """For the emulator and tests: canaries, fault reports that end QEMU."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Everything a user can choose for a build besides the model and the board.

    Attributes:
        kind: release or test.
        freertos: a kernel tree V9 .. V11, None to look for one (docs: building).
        task_priority: FreeRTOS priority of the accelerator task, 1 ..
            max_priorities - 1 (NVDLA_TASK_PRIORITY).
        stack_words: stack of the accelerator task in 32-bit words (NVDLA_STACK_SIZE).
        link_stack_words: stack of the serial link's task in words.
        main_stack_bytes: stack of start-up code and interrupts in bytes; None: as the
            architecture needs (MAIN_STACK_BYTES).
        max_priorities: configMAX_PRIORITIES.
        tick_hz: configTICK_RATE_HZ.
        irq: interrupt number of the first accelerator instead of the profile's.
        timeout_ms: longest wait for one operation, instead of the profile's.
        idle: "spin", "wfi" or "wfe" instead of the profile's.
        link: the serial link, through which `fwgen run` feeds the models. Without it there
            is no shell either, and the application alone uses the models.
        shell: text shell on the console.
        profile: time of each operation.
        operation_names: names of operations in the image.
        canaries: guard words between buffers; None: in test builds only.
        queue_length: jobs that may wait for one accelerator (FWGEN_QUEUE_LENGTH).
        accelerators: (model, accelerator) by name; other models take turns.
        exclusive: groups of models, by name, of which only one is in use at a time, so that
            their tensors may share memory; ("all",) names every model.
        places: (pattern, region): where buffers or tensors with such names must lie.
        sram_first: copy weights that fit beside the tensors to the nearest memory.
        weights: "auto", "in-place" (read where the image holds them) or "copy" (to RAM at boot).
        fusion: (operations as "conv+relu", on or off) where a model leaves the choice.
        pipeline_depth: 1, 2 or 4: how far operations are programmed ahead.
        each_operation: wait for each operation where an accelerator could run several in one
            submission, so that profiles and errors name it.
        optimise_program: False keeps every register write of the lowering.
        nvmem: settings and model slots, on a board that has them.
        update_key: Ed25519 public key as 64 hex digits; only packages signed with it are
            accepted. None: packages need no signature.
        anti_rollback: refuse packages with a smaller version than a confirmed one.
        watchdog: the board's watchdog, fed by a supervisor (docs: watchdog).
        app: the user's own sources.
        jobs: compilers that run at the same time; 0: one per processor.
    """

    kind: BuildKind = BuildKind.RELEASE
    freertos: Path | None = None
    task_priority: int = defaults.TASK_PRIORITY
    stack_words: int = defaults.STACK_WORDS
    link_stack_words: int = defaults.LINK_STACK_WORDS
    main_stack_bytes: int | None = None
    max_priorities: int = defaults.MAX_PRIORITIES
    tick_hz: int = defaults.TICK_HZ
    irq: int | None = None
    timeout_ms: int | None = None
    idle: str | None = None
    link: bool = True
    shell: bool = True
    profile: bool = True
    operation_names: bool = True
    canaries: bool | None = None
    optimise_program: bool = True
    queue_length: int = defaults.QUEUE_LENGTH
    accelerators: tuple[tuple[str, str], ...] = ()
    exclusive: tuple[tuple[str, ...], ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    sram_first: bool = False
    weights: str = "auto"
    fusion: tuple[tuple[str, bool], ...] = ()
    pipeline_depth: int = 1
    each_operation: bool = False
    nvmem: bool = False
    update_key: str | None = None
    anti_rollback: bool = False
    watchdog: bool = False
    app: Application | None = None
    jobs: int = 0

    def main_stack(self, architecture: str) -> int:
        """Bytes of the main stack, defaults applied."""
        return self.main_stack_bytes or MAIN_STACK_BYTES[architecture]

    @property
    def with_shell(self) -> bool:
        """Whether the text shell is in the image: it reads what the link receives."""
        return self.shell and self.link

    @property
    def with_canaries(self) -> bool:
        """Whether guard words are placed and checked."""
        return self.kind is BuildKind.TEST if self.canaries is None else self.canaries
