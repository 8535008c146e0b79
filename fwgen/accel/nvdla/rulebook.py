"""All supported-operator rules by unit, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from fwgen.accel.nvdla import rules, rules_conv, rules_cpu, rules_pool, rules_sdp
from fwgen.accel.nvdla.rules import AnyContext, AnyRule
from fwgen.accel.protocol import RuleText
from fwgen.accel.rules import apply, text_of
from fwgen.model.nvdla.descriptors import OpType

# A unit's own rules see only operations of that unit.
OWN: dict[OpType, tuple[AnyRule, ...]] = {
    OpType.CONV: cast("tuple[AnyRule, ...]", rules_conv.RULES),
    OpType.SDP: cast("tuple[AnyRule, ...]", rules_sdp.RULES),
    OpType.PDP: cast("tuple[AnyRule, ...]", rules_pool.PDP_RULES),
    OpType.CDP: cast("tuple[AnyRule, ...]", rules_pool.CDP_RULES),
}

FIRST: tuple[AnyRule, ...] = (rules.rule_unit,)

# These rely on what the unit's own rules admit.
COMMON: tuple[AnyRule, ...] = (
    rules.rule_atom,
    rules.rule_runs,
    rules.rule_memory,
    rules.rule_port,
    rules.rule_alignment,
    rules.rule_registers,
)


def reasons(
    context: AnyContext, own: Mapping[OpType, tuple[AnyRule, ...]] = OWN
) -> tuple[str, ...]:
    """Why an operation is not supported; empty if it is. `own` are the units' own rules."""
    reason = apply((*FIRST, *own.get(context.operation.type, ()), *COMMON), context)
    return () if reason is None else (reason,)


def texts(own_rules: Mapping[OpType, tuple[AnyRule, ...]] = OWN) -> tuple[RuleText, ...]:
    """Every rule for the documentation; `own_rules` are the units' own."""
    found = [text_of("model", rules.model_reasons)]
    found += [text_of("all", rule) for rule in (*FIRST, *COMMON)]
    for unit, own in own_rules.items():
        found += [text_of(unit.name, rule) for rule in own]
    found += [text_of("CPU", rule) for rule in rules_cpu.RULES]
    return tuple(found)
