"""The NVDLA as an accelerator family: check and lower (NVDLA kernel firmware)."""

from __future__ import annotations

from fwgen.accel.nvdla import registers, rulebook
from fwgen.accel.nvdla.build import build_program
from fwgen.accel.nvdla.check import check_loadable, loadable_of, refusal
from fwgen.accel.nvdla.configurations import CONFIGURATIONS, Configuration, configuration
from fwgen.accel.nvdla.traits import TRAITS
from fwgen.accel.protocol import CheckReport, Peak, RuleText
from fwgen.model.model import Model
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.program.program import Program
from fwgen.program.traits import RegisterTraits


def _check(model: NvdlaModel, config: Configuration) -> CheckReport:
    return check_loadable(
        model, config, family="nvdla", runs_on="accelerator", judge=rulebook.reasons
    )


class NvdlaFamily:
    """See AcceleratorFamily."""

    name: str = "nvdla"
    configurations: tuple[str, ...] = tuple(CONFIGURATIONS)
    window_size: int = registers.WINDOW_SIZE
    driver_sources: tuple[str, ...] = ("nvdla.c", "nvdla_api.c")
    fault_bits: int = 0

    def identity_registers(self, config_name: str) -> tuple[tuple[int, int], ...]:
        """See AcceleratorFamily. The version register alone is what the driver reads."""
        configuration(config_name)
        return ()

    def configuration_facts(self, config_name: str) -> dict[str, object]:
        """See AcceleratorFamily."""
        return configuration(config_name).facts()

    def peak(self, config_name: str) -> Peak | None:
        """See AcceleratorFamily."""
        from fwgen.accel.nvdla.performance import KIB, hardware

        known = hardware(configuration(config_name))
        return Peak(
            known.macs,
            float(known.bandwidth * KIB / 1000),
            "multipliers of the configuration; bandwidth of the table in NVIDIA's primer",
        )

    def register_name(self, offset: int) -> str | None:
        """See AcceleratorFamily."""
        return registers.register_name(offset)

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
        per_operation: bool = False,
    ) -> Program:
        """See AcceleratorFamily."""
        config = configuration(config_name)
        loadable = loadable_of(model)
        report = _check(loadable, config)
        if not report.ok:
            raise refusal(report)
        return build_program(loadable, config, pipeline_depth)

    def rules(self) -> tuple[RuleText, ...]:
        """See AcceleratorFamily."""
        return rulebook.texts()
