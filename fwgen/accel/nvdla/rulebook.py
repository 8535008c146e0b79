"""All supported-operator rules by unit, in the order in which they are applied."""

from __future__ import annotations

from typing import cast

from fwgen.accel.nvdla import rules, rules_conv, rules_cpu, rules_pool, rules_sdp
from fwgen.accel.nvdla.rules import AnyContext, AnyRule
from fwgen.accel.protocol import RuleText
from fwgen.model.nvdla.descriptors import OpType

# A unit's own rules see only operations of that unit.
_OWN: dict[OpType, tuple[AnyRule, ...]] = {
    OpType.CONV: cast("tuple[AnyRule, ...]", rules_conv.RULES),
    OpType.SDP: cast("tuple[AnyRule, ...]", rules_sdp.RULES),
    OpType.PDP: cast("tuple[AnyRule, ...]", rules_pool.PDP_RULES),
    OpType.CDP: cast("tuple[AnyRule, ...]", rules_pool.CDP_RULES),
}

_FIRST: tuple[AnyRule, ...] = (rules.rule_unit,)

# These rely on what the unit's own rules admit.
_COMMON: tuple[AnyRule, ...] = (
    rules.rule_atom,
    rules.rule_runs,
    rules.rule_memory,
    rules.rule_port,
    rules.rule_alignment,
    rules.rule_registers,
)


def reasons(context: AnyContext) -> tuple[str, ...]:
    """Why an operation is not supported; empty if it is."""
    own = _OWN.get(context.operation.type, ())
    reason = rules.apply((*_FIRST, *own, *_COMMON), context)
    return () if reason is None else (reason,)


def texts() -> tuple[RuleText, ...]:
    """Every rule for the documentation."""
    found = [rules.text_of("model", rules.model_reasons)]
    found += [rules.text_of("all", rule) for rule in (*_FIRST, *_COMMON)]
    for unit, own in _OWN.items():
        found += [rules.text_of(unit.name, rule) for rule in own]
    found += [rules.text_of("CPU", rule) for rule in rules_cpu.RULES]
    return tuple(found)
