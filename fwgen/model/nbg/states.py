"""State buffers: the command words that a graph has for each operation.

Facts: the front end's command words (Mesa's etnaviv driver). The buffers of a graph
hold nothing but loads of one state each, so that a buffer is a list of (state, value).
"""

from __future__ import annotations

from fwgen.model.nbg.container import Container
from fwgen.model.nbg.records import NbgOperation

LOAD_ONE = 0x08010000
"""First word of a load of one state; bits 15:0 are the state's address / 4."""


def load_state(state: int) -> int:
    """The word that announces one value for a state (byte address)."""
    return LOAD_ONE | state >> 2


def decode_states(container: Container, operation: NbgOperation) -> tuple[tuple[int, int], ...]:
    """(state's byte address, value) of an operation's buffer, before patches.

    Raises:
        ModelError: the buffer holds another command.
    """
    span = container.states[operation.state]
    words = container.cursor.words(span.offset, span.size // 4, "state buffer")
    found = []
    for number in range(0, len(words) - 1, 2):
        if words[number] & 0xFFFF0000 != LOAD_ONE:
            container.cursor.fail(
                span.offset + 4 * number,
                f"the state buffer of operation {operation.index} holds the command "
                f"{words[number]:#010x}",
                f"{LOAD_ONE:#010x} | state, a load of one state",
            )
        found.append(((words[number] & 0xFFFF) << 2, words[number + 1]))
    return tuple(found)
