"""Register groups of the reference: two ping-pong groups a block, pointers, decoding.

S_POINTER bit 0 (PRODUCER) selects the group that D_ registers read and write,
bit 16 (CONSUMER) names the group that runs next. D_OP_ENABLE arms the
producer's group; at the end of the operation it clears and CONSUMER toggles.
"""

from __future__ import annotations

from fwgen.reference.nvdla.memory import ReferenceGuestError
from fwgen.reference.nvdla.registers import Block
from fwgen.reference.nvdla.rounding import sign_extend

STATUS_IDLE, STATUS_RUNNING, STATUS_PENDING = 0, 1, 2


class Group:
    """A view of one block's registers: the shared ones and those of one group."""

    def __init__(self, block: Block, shared: dict[int, int]) -> None:
        self.block = block
        self.values: dict[int, int] = {}
        self.armed = False
        self._shared = shared

    def __getitem__(self, name: str) -> int:
        """Unsigned value of a field "REGISTER.FIELD", or of a whole register."""
        field = self.block.fields[name]
        register = field.register
        value = self.values.get(register, self._shared.get(register))
        if value is None:
            value = self.block.resets[register]
        return (value >> field.lsb) & ((1 << field.width) - 1)

    def signed(self, name: str, bits: int | None = None) -> int:
        """Signed value of a field, or of its low `bits` bits."""
        return sign_extend(self[name], bits or self.block.fields[name].width)

    def address(self, name: str, suffix: str = "") -> int:
        """64-bit address from a NAME_LOW / NAME_HIGH register pair."""
        return (self[f"{name}_HIGH{suffix}"] << 32) | self[f"{name}_LOW{suffix}"]


class Unit:
    """One block with its two groups."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.enable_offset = block.offsets["D_OP_ENABLE"]
        self.shared: dict[int, int] = {}
        self.groups = (Group(block, self.shared), Group(block, self.shared))
        self.producer = 0
        self.consumer = 0

    @property
    def current(self) -> Group | None:
        """The consumer's group if it is armed."""
        group = self.groups[self.consumer]
        return group if group.armed else None

    def write(self, offset: int, value: int) -> bool:
        """Write a register (offset in the block); True when a group was armed.

        Raises:
            ReferenceGuestError: a D_ register of an armed group is written.
        """
        if offset == self.block.offsets["S_POINTER"]:
            self.producer = value & 1
            return False
        if offset < self.enable_offset:
            self.shared[offset] = value
            return False
        group = self.groups[self.producer]
        if offset == self.enable_offset:
            arming = bool(value & 1) and not group.armed
            group.armed = group.armed or arming
            return arming
        if group.armed:
            raise ReferenceGuestError(
                f"{self.block.name} register 0x{offset:x} written while its group is armed"
            )
        group.values[offset] = value
        return False

    def read(self, offset: int) -> int:
        """Read a register (offset in the block)."""
        if offset == self.block.offsets["S_STATUS"]:
            status = [STATUS_IDLE, STATUS_IDLE]
            for index, group in enumerate(self.groups):
                if group.armed:
                    running = index == self.consumer
                    status[index] = STATUS_RUNNING if running else STATUS_PENDING
            return status[0] | (status[1] << 16)
        if offset == self.block.offsets["S_POINTER"]:
            return self.producer | (self.consumer << 16)
        if offset < self.enable_offset:
            return self.shared.get(offset, self.block.resets.get(offset, 0))
        group = self.groups[self.producer]
        if offset == self.enable_offset:
            return int(group.armed)
        return group.values.get(offset, self.block.resets.get(offset, 0))

    def finish(self) -> None:
        """End of the consumer's operation: disarm it and toggle."""
        self.groups[self.consumer].armed = False
        self.consumer ^= 1
