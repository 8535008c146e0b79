"""Rules of the CPU family: those of the hardware's operators, but for its buffer."""

from __future__ import annotations

from typing import cast

from fwgen.accel.nvdla import rulebook, rules_conv
from fwgen.accel.nvdla.access import weight_bytes
from fwgen.accel.nvdla.rules import AnyContext, AnyRule
from fwgen.accel.protocol import RuleText
from fwgen.model.nvdla.descriptors import OpType
from fwgen.model.nvdla.loadable import MemoryFlags
from fwgen.program.kernels import MAX_TAPS

BOUND = MemoryFlags.INPUT | MemoryFlags.OUTPUT


def rule_constant_weights(c: rules_conv.Conv) -> str | None:
    """Weights are constants of the file: they are brought into another order on the host."""
    index = c.surface.weight_data.address
    if not 0 <= index < len(c.task.addresses):
        return f"weights have address index {index} of {len(c.task.addresses)}"
    memory = c.loadable.memories[c.task.addresses[index].memory]
    if not memory.flags & MemoryFlags.SET or memory.flags & BOUND:
        return f"its weights are not in the file (memory {memory.id})"
    return None


def rule_taps(c: rules_conv.Conv) -> str | None:
    """A kernel has at most 131071 elements: its sum is kept in 32 bits."""
    taps = weight_bytes(c.op, c.surface) // max(c.surface.dst_data.channel, 1)
    return None if taps <= MAX_TAPS else f"a kernel has {taps} elements"


_CONV = (
    *(rule for rule in rules_conv.RULES if rule is not rules_conv.rule_buffer),
    rule_constant_weights,
    rule_taps,
)

OWN: dict[OpType, tuple[AnyRule, ...]] = {
    **rulebook.OWN,
    OpType.CONV: cast("tuple[AnyRule, ...]", _CONV),
}


def reasons(context: AnyContext) -> tuple[str, ...]:
    """Why an operation is not supported; empty if it is."""
    return rulebook.reasons(context, OWN)


def texts() -> tuple[RuleText, ...]:
    """Every rule for the documentation."""
    return rulebook.texts(OWN)
