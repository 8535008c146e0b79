"""Whether a configuration runs a loadable, and the error that says why not."""

from __future__ import annotations

from collections.abc import Callable

from fwgen.accel import rules
from fwgen.accel.nvdla import rules_cpu
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.describe import summary
from fwgen.accel.nvdla.rules import AnyContext, Context, model_reasons
from fwgen.accel.nvdla.steps import operation_names
from fwgen.accel.nvdla.tensors import tensor_reasons
from fwgen.accel.protocol import CheckEntry, CheckReport
from fwgen.errors import ModelError
from fwgen.model.model import Model
from fwgen.model.nvdla.descriptors import OpDesc, Surface
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask, EmuOperation, EmuTask


def loadable_of(model: Model) -> NvdlaModel:
    """The model as a loadable; ModelError if it is none."""
    if not isinstance(model, NvdlaModel):
        raise ModelError(
            f"this is a model for {model.family}, not an NVDLA loadable",
            where=model.name,
            expected="an NVDLA loadable",
        )
    return model


Judge = Callable[[AnyContext], tuple[str, ...]]
"""Broken rules of an operation of the hardware; empty if it is supported."""


def check_loadable(
    model: NvdlaModel, config: Configuration, *, family: str, runs_on: str, judge: Judge
) -> CheckReport:
    """What runs where, and what is not supported and why.

    Args:
        family: name in the report.
        runs_on: where the operations of the hardware run, "accelerator" or "cpu".
        judge: rules of these operations.
    """
    entries: list[CheckEntry] = []
    names = operation_names(model)
    for task in model.tasks:
        for operation in task.operations:
            number = len(entries)
            if isinstance(task, DlaTask) and isinstance(operation, DlaOperation):
                context: Context[OpDesc, Surface] = Context(
                    config, model.loadable, task, operation, operation.op, operation.surface
                )
                unit, where, reasons = operation.type.name, runs_on, judge(context)
            else:
                assert isinstance(task, EmuTask) and isinstance(operation, EmuOperation)
                cpu = rules_cpu.CpuContext(model.loadable, task, operation)
                unit, where, reasons = "CPU", "cpu", rules_cpu.reasons(cpu)
            place = "nothing" if reasons else where
            entries.append(
                CheckEntry(number, unit, names[number], summary(operation), place, reasons)
            )
    about_model = (*model_reasons(model, config), *tensor_reasons(model, config))
    return CheckReport(family, config.name, model.name, about_model, tuple(entries))


def refusal(report: CheckReport) -> ModelError:
    """One error that names the first broken rules."""
    return rules.refusal(
        report,
        expected=f"a model that {report.config} supports",
        hints=(
            f"Compile the network for {report.config}, or choose a board with the accelerator "
            "that the model was compiled for.",
            "`fwgen check` lists every operation and what it needs.",
        ),
    )
