"""The NVDLA as an accelerator family: check and lower (NVDLA kernel firmware)."""

from __future__ import annotations

from fwgen.accel.nvdla import registers, rulebook, rules_cpu
from fwgen.accel.nvdla.build import build_program, operation_names
from fwgen.accel.nvdla.configurations import CONFIGURATIONS, Configuration, configuration
from fwgen.accel.nvdla.describe import summary
from fwgen.accel.nvdla.rules import Context, model_reasons
from fwgen.accel.nvdla.tensors import tensor_reasons
from fwgen.accel.nvdla.traits import TRAITS
from fwgen.accel.protocol import CheckEntry, CheckReport, RuleText
from fwgen.errors import ModelError
from fwgen.model.model import Model
from fwgen.model.nvdla.descriptors import OpDesc, Surface
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask, EmuOperation, EmuTask
from fwgen.program.program import Program
from fwgen.program.traits import RegisterTraits

MAX_REASONS = 3


def _nvdla(model: Model) -> NvdlaModel:
    if not isinstance(model, NvdlaModel):
        raise ModelError(
            f"this is a model for {model.family}, the board's accelerator is an NVDLA",
            where=model.name,
            expected="an NVDLA loadable",
        )
    return model


def _judge(
    model: NvdlaModel,
    config: Configuration,
    task: DlaTask | EmuTask,
    operation: DlaOperation | EmuOperation,
) -> tuple[str, str, tuple[str, ...]]:
    """Unit, place and broken rules of one operation."""
    if isinstance(task, DlaTask) and isinstance(operation, DlaOperation):
        context: Context[OpDesc, Surface] = Context(
            config, model.loadable, task, operation, operation.op, operation.surface
        )
        return operation.type.name, "accelerator", rulebook.reasons(context)
    assert isinstance(task, EmuTask) and isinstance(operation, EmuOperation)
    cpu = rules_cpu.CpuContext(model.loadable, task, operation)
    return "CPU", "cpu", rules_cpu.reasons(cpu)


def _check(model: NvdlaModel, config: Configuration) -> CheckReport:
    entries: list[CheckEntry] = []
    names = operation_names(model)
    for task in model.tasks:
        for operation in task.operations:
            number = len(entries)
            unit, where, reasons = _judge(model, config, task, operation)
            place = "nothing" if reasons else where
            entries.append(
                CheckEntry(number, unit, names[number], summary(operation), place, reasons)
            )
    about_model = (*model_reasons(model, config), *tensor_reasons(model, config))
    return CheckReport("nvdla", config.name, model.name, about_model, tuple(entries))


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

    def register_name(self, offset: int) -> str | None:
        """See AcceleratorFamily."""
        return registers.register_name(offset)

    def register_traits(self, config_name: str) -> RegisterTraits:
        """See AcceleratorFamily."""
        configuration(config_name)
        return TRAITS

    def check(self, model: Model, config_name: str) -> CheckReport:
        """See AcceleratorFamily."""
        return _check(_nvdla(model), configuration(config_name))

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
        loadable = _nvdla(model)
        report = _check(loadable, config)
        if not report.ok:
            raise _refusal(report)
        return build_program(loadable, config, pipeline_depth)

    def rules(self) -> tuple[RuleText, ...]:
        """See AcceleratorFamily."""
        return rulebook.texts()


def _refusal(report: CheckReport) -> ModelError:
    """One error that names the first broken rules."""
    bad = [entry for entry in report.operations if not entry.ok]
    # A model for another configuration breaks many rules: the cause says enough.
    reasons = list(report.reasons[:1]) or [
        f"{entry.name}: {reason}" for entry in bad for reason in entry.reasons
    ]
    message = "; ".join(reasons[:MAX_REASONS])
    if len(reasons) > MAX_REASONS:
        message += f"; and {len(reasons) - MAX_REASONS} more"
    return ModelError(
        message,
        where=report.model_name,
        expected=f"a model that {report.config} supports",
        hints=(
            f"Compile the network for {report.config}, or choose a board with the accelerator "
            "that the model was compiled for.",
            "`fwgen check` lists every operation and what it needs.",
        ),
    )
