"""Plays a network binary graph on an emulated VIP, without firmware.

Starts the front end on a prepared graph and waits for its event. The order of the register
writes is that of the Linux etnaviv driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fwgen.check.graph_image import EVENT, MEMORY, GraphImage
from fwgen.errors import FwgenError
from fwgen.machine.model_library import DRAM, EmulatedAccelerator, Operation
from fwgen.model.nbg.container import Container

INTR_ACKNOWLEDGE, INTR_ENBL = 0x010, 0x014
SEC_COMMAND_CONTROL, COMMAND_ADDRESS, COMMAND_CONTROL = 0x3A4, 0x654, 0x658
ENABLE = 1 << 16


@dataclass(frozen=True, slots=True)
class Played:
    """What a run gave."""

    outputs: tuple[bytes, ...]
    operations: tuple[Operation, ...]


class NbgPlayer(GraphImage):
    """A graph in the memory of an emulated VIP, ready to run any number of times.

    Args:
        library: path of the model library.
        config: VIP configuration.
        container: the graph.

    Raises:
        ModelError: the graph has shader operations or a patch that is not understood.
        UsageError: library or configuration unusable.
    """

    def __init__(self, library: Path, config: str, container: Container) -> None:
        self.accelerator = EmulatedAccelerator(library, "vip", config)
        super().__init__(container, lambda size: self.accelerator.add_memory(DRAM, MEMORY, size))
        self.accelerator.write32(INTR_ENBL, 0xFFFFFFFF)

    def start(self, inputs: list[bytes]) -> None:
        """Store the inputs and start the front end."""
        self.put_inputs(inputs)
        units = self.stream_size // 8
        self.accelerator.write32(COMMAND_ADDRESS, self.placement.commands)
        self.accelerator.write32(COMMAND_CONTROL, ENABLE | units)
        self.accelerator.write32(SEC_COMMAND_CONTROL, ENABLE | units)

    def run(self, inputs: list[bytes]) -> Played:
        """One inference.

        Raises:
            FwgenError: the accelerator reported an error or no event.
        """
        self.start(inputs)
        self.accelerator.run()
        errors = self.accelerator.guest_errors()
        pending = self.accelerator.read32(INTR_ACKNOWLEDGE)
        if errors or pending != 1 << EVENT:
            raise FwgenError(
                f"the emulated VIP ended with interrupts {pending:#x}: "
                + ("; ".join(errors) or "no error")
            )
        return Played(self.outputs(), tuple(self.accelerator.operations()))

    def close(self) -> None:
        """Destroy the accelerator."""
        self.accelerator.close()
