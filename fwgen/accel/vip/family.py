"""The VIP as an accelerator family: check and lower."""

from __future__ import annotations

from fwgen.accel.protocol import CheckEntry, CheckReport, Peak, RuleText
from fwgen.accel.rules import apply, refusal, text_of
from fwgen.accel.vip import registers, rules, rules_nn, rules_tp
from fwgen.accel.vip.build import build_program, operation_name
from fwgen.accel.vip.configurations import CONFIGURATIONS, Configuration, configuration
from fwgen.accel.vip.disassemble import disassemble_commands
from fwgen.accel.vip.fields import descriptor_words, places
from fwgen.accel.vip.loads import state_loads
from fwgen.accel.vip.memory import COMMANDS
from fwgen.accel.vip.performance import peak
from fwgen.accel.vip.written import outputs_reasons
from fwgen.errors import ModelError, UsageError
from fwgen.model.model import Model
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.describe import summary
from fwgen.model.nbg.model import NbgModel
from fwgen.model.nbg.nn import decode_nn
from fwgen.model.nbg.records import NbgOperation, OperationType
from fwgen.model.nbg.tp import decode_tp
from fwgen.program.program import Program
from fwgen.program.traits import RegisterTraits


def _graph(model: Model) -> NbgModel:
    if not isinstance(model, NbgModel):
        raise ModelError(
            f"this is a model for {model.family}, the board's accelerator is a VIP",
            where=model.name,
            expected="a network binary graph",
        )
    return model


def rule_shader(container: Container, operation: NbgOperation) -> str | None:
    """Shader operations do not run: the instruction set of the shader cores is not public.
    Compilers use them for softmax, additions, bilinear resizing and the like.
    """
    if operation.type is OperationType.SH:
        name = container.layer_name(operation)
        return f"layer {name} is a shader operation, and shader programs cannot run"
    return None


def _job_reason(container: Container, config: Configuration, operation: NbgOperation) -> str | None:
    """The first rule that a job breaks."""
    reason = rule_shader(container, operation)
    if reason is not None:
        return reason
    wrong = rules.job_reasons(container, operation)
    if wrong:
        return wrong[0]
    found, _ = places(container, operation, descriptor_words(container, operation))
    loads = state_loads(container, operation)[0]
    if operation.type is OperationType.NN:
        nn = decode_nn(container, operation)
        return apply(rules_nn.RULES, rules.Context(config, container, operation, nn, found, loads))
    tp = decode_tp(container, operation)
    return apply(rules_tp.RULES, rules.Context(config, container, operation, tp, found, loads))


def _check(model: NbgModel, config: Configuration) -> CheckReport:
    container = model.container
    entries = []
    about_model = rules.model_reasons(container, config)
    # Coefficients and core counts of another NPU would break every rule.
    is_ours = container.target == config.target
    for number, job in enumerate(container.jobs()):
        reason = _job_reason(container, config, job) if is_ours else rule_shader(container, job)
        entries.append(
            CheckEntry(
                number,
                job.type.name,
                operation_name(container, job, number),
                summary(container, job),
                "nothing" if reason else "accelerator",
                (reason,) if reason else (),
            )
        )
    if not about_model and all(entry.ok for entry in entries):
        about_model = outputs_reasons(container)
    return CheckReport("vip", config.name, model.name, about_model, tuple(entries))


class VipFamily:
    """See AcceleratorFamily."""

    name: str = "vip"
    configurations: tuple[str, ...] = tuple(CONFIGURATIONS)
    window_size: int = registers.WINDOW_SIZE
    driver_sources: tuple[str, ...] = ("vip.c",)
    fault_bits: int = registers.FAULT_BITS

    def identity_registers(self, config_name: str) -> tuple[tuple[int, int], ...]:
        """See AcceleratorFamily.

        The ECO id is not among them: it counts repairs that change no function.
        """
        config = configuration(config_name)
        known = (
            (registers.CHIP_MODEL, config.model),
            (registers.CHIP_REVISION, config.revision),
            (registers.PRODUCT_ID, config.product),
            (registers.CUSTOMER_ID, config.target),
        )
        return tuple((offset, value) for offset, value in known if value is not None)

    def configuration_facts(self, config_name: str) -> dict[str, object]:
        """See AcceleratorFamily."""
        return configuration(config_name).facts()

    def peak(self, config_name: str) -> Peak | None:
        """See AcceleratorFamily."""
        return peak(configuration(config_name))

    def register_name(self, offset: int) -> str | None:
        """See AcceleratorFamily."""
        return registers.register_name(offset)

    def register_traits(self, config_name: str) -> RegisterTraits:
        """See AcceleratorFamily."""
        configuration(config_name)
        return registers.TRAITS

    def describe_constant(self, name: str, data: bytes, address: int) -> tuple[str, ...]:
        """See AcceleratorFamily."""
        return tuple(disassemble_commands(data, address)) if name == COMMANDS else ()

    def check(self, model: Model, config_name: str) -> CheckReport:
        """See AcceleratorFamily."""
        return _check(_graph(model), configuration(config_name))

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
        graph = _graph(model)
        report = _check(graph, config)
        if not report.ok:
            raise refusal(
                report,
                expected=f"a graph that {report.config} supports",
                hints=("`fwgen check` lists every operation with its engine.",),
            )
        if pipeline_depth != 1:
            raise UsageError(
                f"a VIP runs a network in one piece, so a pipeline depth of {pipeline_depth} "
                "has nothing to overlap",
                where="build options",
                expected="pipeline depth 1",
                hints=("Build with --pipeline 1.",),
            )
        return build_program(graph, config, per_operation=per_operation)

    def rules(self) -> tuple[RuleText, ...]:
        """See AcceleratorFamily."""
        found = [text_of("model", rule) for rule in (rules.model_reasons, outputs_reasons)]
        found += [text_of("all", rule) for rule in (rule_shader, rules.job_reasons)]
        found += [text_of("NN", rule) for rule in rules_nn.RULES]
        found += [text_of("TP", rule) for rule in rules_tp.RULES]
        return tuple(found)
