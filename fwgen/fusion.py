"""What a model says about operations that work as one, and what may be changed of it.

A compiled NVDLA loadable holds descriptors in which the producer sends its result
to the next unit on the fly; there is no buffer in between, and no descriptor for
the other way. So there is nothing to choose, and a wish is an error that says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fwgen.errors import UsageError
from fwgen.program.program import Program


def fused(program: Program) -> Counter[str]:
    """Chains of the model that work as one, by units ("conv+sdp"), with their number."""
    found: Counter[str] = Counter()
    for step in program.steps:
        if len(step.operations) > 1:
            found["+".join(program.operations[n].unit.lower() for n in step.operations)] += 1
    return found


def check_fusion(program: Program, wishes: Sequence[tuple[str, bool]]) -> None:
    """Refuse what a compiled model does not leave open.

    Raises:
        UsageError: always, if there is a wish.
    """
    if not wishes:
        return
    chains = ", ".join(f"{count} times {name}" for name, count in sorted(fused(program).items()))
    name, on = wishes[0]
    raise UsageError(
        f"'{name}={'on' if on else 'off'}' cannot be chosen: a compiled loadable fixes which "
        "operations work as one",
        where=program.model_name,
        expected=f"no --fusion; this model has {chains or 'no fused operations'}",
        hints=("Compile the network anew with the fusion that you want.",),
    )
