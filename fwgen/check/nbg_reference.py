"""Runs a network binary graph on the NumPy references of the NN and TP engines.

Job after job in the order of the file, without a command stream: slow, and nothing of the
emulator's is used.
"""

from __future__ import annotations

import numpy as np

from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check.graph_image import MEMORY, VIP_SRAM, Bytes, GraphImage
from fwgen.errors import FwgenError
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.records import OperationType
from fwgen.model.nbg.states import decode_states
from fwgen.reference.nvdla.memory import (
    DRAM,
    Memory,
    ReferenceGuestError,
    ReferenceUnsupported,
)
from fwgen.reference.vip.nn import run_nn_job
from fwgen.reference.vip.tp import run_tp_job

_NN_CONFIG = 0x3930
_SRAM_BYTE = 0x5A
"""What the VIP SRAM holds at first: another value than the emulator's."""


class NbgReference(GraphImage):
    """A graph in the memory of the references.

    Raises:
        ModelError: the graph has shader operations or a patch that is not understood.
    """

    def __init__(self, container: Container) -> None:
        self._references = Memory()
        self._facts = BY_TARGET[container.target]
        super().__init__(container, self._allocate)
        sram = self._references.add(DRAM, VIP_SRAM, self._facts.vip_sram)
        sram[:] = np.uint8(_SRAM_BYTE)

    def _allocate(self, size: int) -> Bytes:
        return self._references.add(DRAM, MEMORY, size)

    def run(self, inputs: list[bytes]) -> tuple[bytes, ...]:
        """One inference; the outputs.

        Raises:
            FwgenError: a job is wrong or asks for what the references do not have.
        """
        self.put_inputs(inputs)
        facts = self._facts
        for operation in self.container.jobs():
            words = self.words(operation)
            try:
                if operation.type is OperationType.TP:
                    run_tp_job(words, self._references)
                    continue
                states = dict(decode_states(self.container, operation))
                config = states.get(_NN_CONFIG, 0)
                run_nn_job(words, self._references, facts.generation, facts.nn_cores, config)
            except (ReferenceGuestError, ReferenceUnsupported) as error:
                raise FwgenError(f"operation {operation.index}: {error}") from error
        return self.outputs()
