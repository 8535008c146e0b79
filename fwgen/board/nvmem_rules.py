"""What must hold between the partitions of a profile that the runtime itself uses.

The runtime's limits are those of rtos/include/fwgen_nvmem.h and fwgen_store.h.
"""

from __future__ import annotations

from fwgen.board.rulebase import Rules
from fwgen.board.types import Board, Nvmem

PROGRAM_LIMIT = 512
SLOTS = 2
STORE_BLOCKS = 2


def check_slots(rules: Rules, board: Board, nvmem: Nvmem) -> None:
    """Check program units, stores and slots of a board's non-volatile memory."""
    if nvmem.program_size > PROGRAM_LIMIT or nvmem.erase_size % nvmem.program_size:
        rules.fail(
            ("nvmem", "program_size"),
            f"units of {nvmem.program_size} bytes do not suit blocks of {nvmem.erase_size}",
            f"a divisor of erase_size, at most {PROGRAM_LIMIT}",
        )
    for index, part in enumerate(nvmem.partitions):
        blocks = part.size // nvmem.erase_size
        if part.kind in ("settings", "state") and blocks < STORE_BLOCKS:
            rules.fail(
                ("nvmem", "partition", index, "size"),
                f"partition '{part.name}' has {blocks} block",
                f"at least {STORE_BLOCKS} blocks of {nvmem.erase_size} bytes: one is erased "
                "while the other keeps the values",
            )
    slots = nvmem.of_kind("slot")
    for kind in ("settings", "state"):
        if len(nvmem.of_kind(kind)) > 1:
            rules.fail(("nvmem", "partition"), f"two partitions of kind '{kind}'", "one")
    if not slots:
        return
    if len(slots) != SLOTS or slots[0].size != slots[1].size:
        rules.fail(
            ("nvmem", "partition"),
            f"{len(slots)} slots of {', '.join(str(s.size) for s in slots)} bytes",
            "two slots of one size: one runs while the other is written",
        )
    if not nvmem.of_kind("state"):
        rules.fail(("nvmem", "partition"), "slots without a 'state' partition", "one")
    memory = board.memory(nvmem.memory)
    if nvmem.tensors is None:
        rules.fail(("nvmem",), "the key 'nvmem.tensors' is missing", "a memory region")
    regions = {"tensors": nvmem.tensors, "run": nvmem.run}
    for key, name in regions.items():
        if name is None:
            continue
        names = [m.name for m in board.memories]
        if name not in names:
            rules.unknown(("nvmem", key), "memory", name, names)
        if board.memory(name).use != ("dma",):
            rules.fail(
                ("nvmem", key),
                f"memory '{name}' is used for something else too, or not reached",
                'a memory with use "dma" alone, which nothing else lies in',
            )
    if nvmem.run == nvmem.tensors:
        rules.fail(("nvmem", "run"), "the models would lie where their tensors do", "two regions")
    if nvmem.run is None and not memory.has("dma"):
        rules.fail(
            ("nvmem", "memory"),
            f"the accelerators cannot read '{memory.name}'",
            "a 'run' memory that models are copied to, or use \"dma\"",
        )
