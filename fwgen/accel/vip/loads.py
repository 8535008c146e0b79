"""State loads of an operation with its patches applied symbolically.

A graph has a state buffer for each operation: loads of one state each. The last of
them start the job. What the states are: registers.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from fwgen.accel.vip.fields import VIP_SRAM_BASE, Place, patched
from fwgen.accel.vip.registers import (
    API_MODE,
    API_MODE_CL,
    NN_CONFIG,
    NN_CONFIG_CORES,
    NN_GROUP_END,
    NN_JOB,
    SRAM_REMAP,
    STATE_NAMES,
    TP_JOB,
)
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.records import NbgOperation, OperationType, PatchSource
from fwgen.model.nbg.states import decode_states

_COMMON = {0x3930, 0x3950, NN_GROUP_END}
ALLOWED: dict[OperationType, frozenset[int]] = {
    OperationType.INIT: frozenset({0x0A28, 0x384C, 0x3884, SRAM_REMAP, 0x393C, 0x3940}),
    OperationType.NN: frozenset({*_COMMON, 0x1A698, NN_JOB}),
    OperationType.TP: frozenset({*_COMMON, 0x394C, TP_JOB}),
    OperationType.END: frozenset({0x380C, 0x1650}),
}
"""States that an operation may load; what others do is not known."""

JOB_STATE = {OperationType.NN: NN_JOB, OperationType.TP: TP_JOB}

_FLAGS = 0x3F


@dataclass(frozen=True, slots=True)
class StateLoad:
    """One load.

    Attributes:
        state: byte address.
        value: what is loaded, or added to the address of `place` or of the descriptor.
        place: of which the address is loaded, or None.
        is_job: whether the operation's descriptor is what `value` is added to.
    """

    state: int
    value: int
    place: Place | None = None
    is_job: bool = False


def state_loads(
    container: Container, operation: NbgOperation
) -> tuple[tuple[StateLoad, ...], tuple[str, ...]]:
    """The loads of an operation, and what is wrong with them.

    Raises:
        ModelError: the buffer holds another command than loads of one state.
    """
    reasons: list[str] = []
    loads = [StateLoad(state, value) for state, value in decode_states(container, operation)]
    for load in loads:
        if load.state not in ALLOWED[operation.type]:
            name = STATE_NAMES.get(load.state, f"{load.state:#06x}")
            reasons.append(f"it loads the state {name}, which {operation.type.name} jobs do not")
    for patch in container.patches_of(operation):
        if operation.type in JOB_STATE and patch.type == 1:
            continue  # in the descriptor
        number, byte = divmod(patch.offset, 8)
        if byte != 4:
            reasons.append(f"a patch writes into the command at byte {patch.offset}")
            continue
        load = loads[number]
        if load.place is not None or load.is_job:
            reasons.append(f"two patches for the state at byte {patch.offset}")
        elif patch.source is PatchSource.COMMAND and load.state == JOB_STATE.get(operation.type):
            if load.value & ~_FLAGS or patch.base:
                reasons.append(f"its job word holds {load.value:#x} before the address is added")
            loads[number] = StateLoad(load.state, load.value & _FLAGS, is_job=True)
        elif operation.type is OperationType.INIT and patch.source is PatchSource.VIP_SRAM:
            loads[number] = StateLoad(load.state, VIP_SRAM_BASE + load.value + patch.base)
        elif operation.type is OperationType.INIT and patch.source is PatchSource.AXI_SRAM:
            place = patched(load.value, patch)
            loads[number] = StateLoad(load.state, place.offset, place)
        else:
            reasons.append(
                f"a patch puts the address of {patch.source.name.lower().replace('_', ' ')} "
                f"into state {load.state:#06x}"
            )
    job = JOB_STATE.get(operation.type)
    if job is not None and [load.state for load in loads if load.is_job] != [job]:
        reasons.append("its state buffer does not start the job exactly once")
    for load in loads:
        if load.state == NN_CONFIG and load.value & NN_CONFIG_CORES:
            reasons.append(f"it runs on some of the NN cores only: NN_CONFIG {load.value:#x}")
        if load.state == API_MODE and load.value != API_MODE_CL:
            reasons.append(f"it sets the API mode {load.value:#x}, not {API_MODE_CL}")
        if load.state == SRAM_REMAP and load.value != VIP_SRAM_BASE:
            reasons.append(f"it puts the VIP's SRAM at {load.value:#x}, not {VIP_SRAM_BASE:#x}")
    return tuple(loads), tuple(reasons)
