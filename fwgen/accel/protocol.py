"""What an accelerator family offers to the other stages, and the report of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fwgen.model.model import Model
    from fwgen.program.program import Program
    from fwgen.program.traits import RegisterTraits


@dataclass(frozen=True, slots=True)
class CheckEntry:
    """What becomes of one operation of a model.

    Attributes:
        index: position in Program.operations.
        unit: "CONV", "SDP", "PDP", "CDP", "CPU", ...
        name: short unique label ("op3_conv").
        summary: one line for a reader.
        runs_on: "accelerator", "cpu" or "nothing" (not supported).
        reasons: the broken rules, empty when supported.
    """

    index: int
    unit: str
    name: str
    summary: str
    runs_on: str
    reasons: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if the operation is supported."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Answer to "can this configuration run this model?".

    Attributes:
        reasons: broken rules that concern the model as a whole.
    """

    family: str
    config: str
    model_name: str
    reasons: tuple[str, ...]
    operations: tuple[CheckEntry, ...]

    @property
    def ok(self) -> bool:
        """True if `lower` accepts the model (its memory may still not fit a board)."""
        return not self.reasons and all(entry.ok for entry in self.operations)

    def to_json(self) -> dict[str, object]:
        """The report as JSON-ready data."""
        return {
            "family": self.family,
            "config": self.config,
            "model": self.model_name,
            "ok": self.ok,
            "reasons": list(self.reasons),
            "operations": [
                {
                    "index": e.index,
                    "unit": e.unit,
                    "name": e.name,
                    "summary": e.summary,
                    "runs_on": e.runs_on,
                    "ok": e.ok,
                    "reasons": list(e.reasons),
                }
                for e in self.operations
            ],
        }


@dataclass(frozen=True, slots=True)
class Peak:
    """What a configuration can do at most: the roof over every layer.

    Attributes:
        macs: multiply-accumulates per cycle.
        bytes_per_cycle: of main memory, reads and writes together.
        source: where both come from, for a reader.
    """

    macs: int
    bytes_per_cycle: float
    source: str


@dataclass(frozen=True, slots=True)
class RuleText:
    """One supported-operator rule for the documentation."""

    unit: str
    name: str
    text: str


class AcceleratorFamily(Protocol):
    """One kind of accelerator. Every method is a pure function of its arguments."""

    @property
    def name(self) -> str:
        """The family's name, as boards write it ("nvdla")."""

    @property
    def configurations(self) -> tuple[str, ...]:
        """Names of the configurations, as boards write them."""

    @property
    def window_size(self) -> int:
        """Bytes of the register window."""

    @property
    def driver_sources(self) -> tuple[str, ...]:
        """Names of the driver's C files under rtos/drivers/ (without directory)."""

    @property
    def fault_bits(self) -> int:
        """Bits of the driver's interrupt status by which the hardware reports an error."""

    def identity_registers(self, config_name: str) -> tuple[tuple[int, int], ...]:
        """(byte offset in the window, value) of registers that the driver compares at boot.

        Raises UsageError for an unknown name.
        """

    def configuration_facts(self, config_name: str) -> dict[str, object]:
        """A configuration's properties as JSON-ready data.

        Raises UsageError for an unknown name.
        """

    def peak(self, config_name: str) -> Peak | None:
        """The configuration's peak rates; None where none are published.

        Raises UsageError for an unknown name.
        """

    def register_name(self, offset: int) -> str | None:
        """Name of the register at a byte offset of the window ("CDMA.D_BANK")."""

    def register_traits(self, config_name: str) -> RegisterTraits:
        """What the optimiser and the disassembler know about the registers.

        Raises UsageError for an unknown configuration.
        """

    def describe_constant(self, name: str, data: bytes, address: int) -> tuple[str, ...]:
        """What the hardware executes out of a constant buffer, one line a command.

        `data` is what the buffer holds at `address`; nothing for weights.
        """

    def check(self, model: Model, config_name: str) -> CheckReport:
        """What runs where, and what is not supported and why.

        Raises UsageError for an unknown configuration, ModelError for a model of
        another family.
        """

    def lower(
        self,
        model: Model,
        config_name: str,
        pipeline_depth: int = 1,
        *,
        per_operation: bool = False,
    ) -> Program:
        """The program that runs the model on the configuration.

        `pipeline_depth` above 1 adds the commands of a pipelined run (docs/pipelining.md).
        `per_operation` waits for each operation where a family could wait for several at
        once, so that profiles and timeouts name it; others do so anyway.

        Raises UsageError for an unknown configuration or a depth that the family lacks,
        ModelError with the first broken rules when the model is not supported or
        contradicts itself.
        """

    def rules(self) -> tuple[RuleText, ...]:
        """The rules that `check` and `lower` apply, for the documentation."""
