"""The CPU as an accelerator family: models run on the kernels of rtos/kernels/."""

from __future__ import annotations

from fwgen.accel.cpu import rules
from fwgen.accel.cpu.build import build_program
from fwgen.accel.cpu.configurations import CONFIGURATIONS, PREFIX, configuration
from fwgen.accel.nvdla.check import check_loadable, loadable_of, refusal
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.protocol import CheckReport, Peak, RuleText
from fwgen.errors import UsageError
from fwgen.model.model import Model
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.program.program import Program
from fwgen.program.traits import RegisterTraits


class NoRegisters:
    """`fwgen.program.traits.RegisterTraits` of something without registers."""

    def block(self, offset: int) -> int:
        """See RegisterTraits."""
        return offset

    def is_group_register(self, _offset: int) -> bool:
        """See RegisterTraits."""
        return False

    def is_ordered(self, _offset: int) -> bool:
        """See RegisterTraits."""
        return True

    def name(self, offset: int) -> str:
        """See RegisterTraits."""
        return f"0x{offset:05x}"


TRAITS: RegisterTraits = NoRegisters()


def _check(model: NvdlaModel, config: Configuration) -> CheckReport:
    return check_loadable(model, config, family="cpu", runs_on="cpu", judge=rules.reasons)


class CpuFamily:
    """See AcceleratorFamily."""

    name: str = "cpu"
    configurations: tuple[str, ...] = tuple(CONFIGURATIONS)
    window_size: int = 0
    driver_sources: tuple[str, ...] = ("cpu.c",)
    fault_bits: int = 0

    def identity_registers(self, config_name: str) -> tuple[tuple[int, int], ...]:
        """See AcceleratorFamily."""
        configuration(config_name)
        return ()

    def configuration_facts(self, config_name: str) -> dict[str, object]:
        """See AcceleratorFamily."""
        config = configuration(config_name)
        return {
            "name": config.name,
            "runs_models_for": config.name.removeprefix(PREFIX),
            "atom_c": config.atom_c,
            "atom_k": config.atom_k,
            "atom": config.atom,
        }

    def peak(self, config_name: str) -> Peak | None:
        """See AcceleratorFamily. What a core does at most depends on the board."""
        configuration(config_name)
        return None

    def register_name(self, _offset: int) -> str | None:
        """See AcceleratorFamily."""
        return None

    def register_traits(self, config_name: str) -> RegisterTraits:
        """See AcceleratorFamily."""
        configuration(config_name)
        return TRAITS

    def describe_constant(self, name: str, data: bytes, address: int) -> tuple[str, ...]:
        """See AcceleratorFamily. Constants are weights: nothing executes them."""
        return ()

    def check(self, model: Model, config_name: str) -> CheckReport:
        """See AcceleratorFamily."""
        return _check(loadable_of(model), configuration(config_name))

    def lower(
        self,
        model: Model,
        config_name: str,
        pipeline_depth: int = 1,
        *,
        per_operation: bool = False,  # noqa: ARG002 - so it is anyway
    ) -> Program:
        """See AcceleratorFamily. The CPU does one thing after the other: no deeper pipeline.

        Raises UsageError for a pipeline depth above 1 too.
        """
        config = configuration(config_name)
        loadable = loadable_of(model)
        if pipeline_depth != 1:
            raise UsageError(
                f"a pipeline depth of {pipeline_depth} needs an accelerator",
                where=f"model {model.name}, {config_name}",
                expected="a pipeline depth of 1",
                hints=("The CPU computes one operation after the other: leave the option out.",),
            )
        report = _check(loadable, config)
        if not report.ok:
            raise refusal(report)
        return build_program(loadable, config)

    def rules(self) -> tuple[RuleText, ...]:
        """See AcceleratorFamily."""
        return rules.texts()
