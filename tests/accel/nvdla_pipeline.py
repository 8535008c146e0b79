"""Plays encoded programs with an accelerator that takes its time, and looks for hazards.

Words, addresses and parity are those of the target: the planner's layout, the
encoder's words, the player of docs/program.md. What is started runs at any
moment between its start and the wait for it, as a policy or chance decides. For each
operation the machine notes when it was started, when the program knew that it
was over, and every byte that it touched.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from emu_reference import power, softmax
from numpy.typing import NDArray
from nvdla_execution import _bits_of

from fwgen.accel import family
from fwgen.accel.nvdla.registers import OFFSETS, REGISTERS
from fwgen.board.profile import load_board
from fwgen.plan.layout import Layout
from fwgen.plan.planner import plan
from fwgen.program.commands import Kernel
from fwgen.program.decode import Opcode
from fwgen.program.encode import all_words, encode
from fwgen.program.optimise import optimise
from fwgen.program.program import Program, Tensor
from fwgen.program.simulate import Pause, Player
from fwgen.reference.nvdla.interpreter import _BIT, ReferenceNvdla

BOARDS = {"nv_small": "mps2-an385", "nv_large": "mps3-an547-nv-large"}
STATUS = OFFSETS["GLB.S_INTR_STATUS"]
ENABLES = {offset for name, offset in OFFSETS.items() if name.endswith(".D_OP_ENABLE")}
POINTERS = {offset for name, offset in OFFSETS.items() if name.endswith(".S_POINTER")}
GROUPED = {r.offset for r in REGISTERS.values() if r.grouped}
BLOCKS = {offset // 0x1000: name.split(".")[0] for name, offset in OFFSETS.items()}
TABLE_UNITS = {"SDP", "CDP"}
DONE = {"CACC": 20, "SDP": 0, "CDP": 2, "PDP": 4}


@dataclass(slots=True)
class Running:
    """One started operation of one unit."""

    block: str
    group: int
    started: int
    run: int


@dataclass(slots=True)
class Touch:
    """One executed chain: its units and groups, and the bytes it touched."""

    units: tuple[tuple[str, int], ...]
    reads: list[NDArray[np.int64]] = field(default_factory=list)
    writes: list[NDArray[np.int64]] = field(default_factory=list)
    started: int = 0
    over: int = 0
    run: int = 0


def meet(some: list[NDArray[np.int64]], others: list[NDArray[np.int64]]) -> bool:
    """Whether two sets of addresses have one in common."""
    return any(
        a.min() <= b.max()
        and b.min() <= a.max()
        and np.intersect1d(np.unique(a), np.unique(b)).size > 0
        for a in some
        for b in others
    )


class PipelineTarget:
    """A board that runs one program again and again.

    Args:
        program: with or without a pipelined run.
        policy: "soon", "late", or "random": when started operations run.
        pipelined: play the pipelined run.
        optimised: drop writes that change nothing.
    """

    def __init__(
        self,
        program: Program,
        *,
        policy: str = "random",
        seed: int = 1,
        pipelined: bool = True,
        optimised: bool = True,
        layout: Layout | None = None,
    ) -> None:
        traits = family("nvdla").register_traits(program.config)
        board = load_board(BOARDS.get(program.config, "mps3-an547-nv-large"))
        self.layout = layout or plan(program, board)
        if optimised:
            program = optimise(program, traits, self.layout)
        self.program = program
        self.words = all_words(encode(program, self.layout, traits, pipelined=pipelined))
        self.policy, self.rng = policy, random.Random(seed)
        self.player = Player()
        self.nvdla = ReferenceNvdla(program.config)
        self.memory: dict[str, tuple[int, NDArray[np.uint8]]] = {}
        noise = np.random.default_rng(seed)
        for region in {p.region for p in self.layout.placements}:
            here = [p for p in self.layout.placements if p.region == region]
            low = min(p.address for p in here)
            high = max(p.address + p.size for p in here)
            data = self.nvdla.add_memory(0, low, high - low + 256)
            data[:] = noise.integers(0, 256, data.size, np.uint8)
            self.memory[region] = (low, data)
        for buffer in program.buffers:
            if buffer.zeroed:
                self.bytes(buffer.id)[:] = 0
            if buffer.data is not None:
                self.bytes(buffer.id)[:] = np.frombuffer(buffer.data, np.uint8)
        self.second = dict(program.banks)
        self.clock = 0
        self.armed: dict[tuple[str, int], Running] = {}
        self.producer = dict.fromkeys(BLOCKS.values(), 0)
        self.held: list[tuple[int, int]] = []  # enables that the hardware has not noticed yet
        self.seen = 0
        self.touches: list[Touch] = []
        self.open: list[Touch] = []
        self.runs = 0
        self._hook_memory()

    # memory

    def bytes(self, buffer: int) -> NDArray[np.uint8]:
        place = self.layout.placements[buffer]
        low, data = self.memory[place.region]
        at = place.address - low
        return data[at : at + self.program.buffers[buffer].size]

    def _hook_memory(self) -> None:
        memory = self.nvdla.memory
        gather, scatter = memory.gather, memory.scatter
        self._now = Touch(())

        def read(space: int, addresses: NDArray[np.int64]) -> NDArray[np.uint8]:
            self._now.reads.append(addresses)
            return gather(space, addresses)

        def write(space: int, addresses: NDArray[np.int64], values: NDArray[np.int64]) -> None:
            self._now.writes.append(addresses)
            scatter(space, addresses, values)

        memory.gather, memory.scatter = read, write  # type: ignore[method-assign]
        finish = self.nvdla._finish

        def finished(label: tuple[str, ...], units: tuple[str, ...]) -> None:
            finish(label, units)
            self._executed()

        self.nvdla._finish = finished  # type: ignore[method-assign]

    def bank(self, tensor: Tensor, bank: int) -> int:
        return self.second[tensor.buffer] if bank else tensor.buffer

    def fill(self, bank: int, inputs: list[bytes]) -> None:
        for tensor, data in zip(self.program.inputs(), inputs, strict=True):
            whole = self.bytes(self.bank(tensor, bank))
            whole[tensor.offset : tensor.offset + len(data)] = np.frombuffer(data, np.uint8)

    def outputs(self, bank: int) -> list[bytes]:
        return [self.bytes(self.bank(t, bank)).tobytes() for t in self.program.outputs()]

    # hardware

    def _fire(self, index: int) -> None:
        """Let the hardware notice one enable."""
        register, group = self.held.pop(index)
        pointer = next(p for p in POINTERS if p // 0x1000 == register // 0x1000)
        before = self.nvdla.read(pointer) & 1
        self.nvdla.write(pointer, group)
        self.nvdla.write(register, 1)
        self.nvdla.write(pointer, before)

    def _executed(self) -> None:
        """The reference has executed one chain: note what it touched."""
        operation = self.nvdla.operations[-1]
        touch, self._now = self._now, Touch(())
        touch.units = tuple(
            ("CACC" if unit == "CONV" else unit, group)
            for unit, group in self._ends(operation.units, operation.groups)
        )
        # it may have run as soon as its first unit was started
        touch.started = min(self.armed[key].started for key in touch.units)
        touch.run = self.armed[touch.units[0]].run
        self.open.append(touch)
        self.touches.append(touch)

    @staticmethod
    def _ends(units: tuple[str, ...], groups: tuple[int, ...]) -> Iterator[tuple[str, int]]:
        """Units with a done bit and their groups; CONV stands for five groups."""
        tail = groups[5:] if units[0] == "CONV" else groups
        if units[0] == "CONV":
            yield "CONV", groups[4]
        names = [u for u in units if u != "CONV"]
        # a read DMA stands first and has no done bit
        yield from zip(names, tail[len(tail) - len(names) :], strict=True)

    def _let_run(self) -> None:
        if self.policy == "soon":
            while self.held:
                self._fire(0)
        elif self.policy == "random":
            while self.held and self.rng.random() < 0.3:
                self._fire(self.rng.randrange(len(self.held)))

    def _status(self) -> int:
        status = self.nvdla.read(STATUS)
        self.nvdla.write(STATUS, status)
        self.seen |= status
        return self.seen

    # the program

    def run(self, bank: int = 0, following: int | None = None) -> None:
        """One run. Raises AssertionError for a hazard."""
        for event in self.player.run(self.words, bank, following):
            self.clock += 1
            if isinstance(event, Pause):
                self._pause(event)
            else:
                self._write(event.register, event.value)
            self._let_run()
        self.runs += 1

    def _write(self, register: int, value: int) -> None:
        block = BLOCKS[register // 0x1000]
        if register in POINTERS:
            self.producer[block] = value & 1
            self.nvdla.write(register, value)
            return
        group = self.producer[block]
        if register in ENABLES:
            assert (block, group) not in self.armed, f"{block} group {group} started twice"
            self.armed[block, group] = Running(
                block, group, self.clock, self.runs + self.player.ahead
            )
            self.held.append((register, group))
            return
        if register in GROUPED:
            assert (block, group) not in self.armed, f"{block} group {group} is in use"
        else:
            busy = [key for key in self.armed if key[0] == block]
            assert not busy, f"register 0x{register:x} without groups written, {busy} in use"
        self.nvdla.write(register, value)

    def _pause(self, event: Pause) -> None:
        if event.opcode is Opcode.WAIT:
            self._wait(event.operands[1])
        elif event.opcode is Opcode.POLL:
            _, at, mask, value = event.operands
            assert self.nvdla.read(at * 4) & mask == value
        elif event.opcode is Opcode.CPU:
            self._cpu(event.operands[0], event.operands[2:])

    def _wait(self, mask: int) -> None:
        while self._status() & mask != mask:
            assert self.held, f"waits for {mask:x}, has {self.seen:x}, and nothing is started"
            self._fire(0 if self.policy != "random" else self.rng.randrange(len(self.held)))
        self.seen &= ~mask
        over = {
            (block, group)
            for block, bit in DONE.items()
            for group in (0, 1)
            if mask >> bit + group & 1
        }
        for touch in list(self.open):
            # a chain is over when its last unit is: the others' bits come with it
            if touch.units[-1] in over:
                touch.over = self.clock
                self.open.remove(touch)
        self._release(over)

    def _release(self, over: set[tuple[str, int]]) -> None:
        for block, group in over:
            self.armed.pop((block, group), None)
            names = [f"{block}_RDMA"]
            if block == "CACC":
                names = ["CDMA", "CSC", "CMAC_A", "CMAC_B"]
            for name in names:
                if block == "CACC" or block == "CDP":
                    self.armed.pop((name, group), None)
                else:
                    self._release_rdma(name, block)

    def _release_rdma(self, name: str, block: str) -> None:
        """The read DMAs of SDP and PDP alternate on their own: ask the reference."""
        unit = self.nvdla._units.get(name)
        for group in (0, 1):
            if unit is not None and (name, group) in self.armed and not unit.groups[group].armed:
                if not any(
                    r // 0x1000 == OFFSETS[f"{name}.S_POINTER"] // 0x1000 and g == group
                    for r, g in self.held
                ):
                    self.armed.pop((name, group))

    def _cpu(self, kernel: int, words: tuple[int, ...]) -> None:
        touch = Touch((), started=self.clock, over=self.clock + 1, run=self.runs)
        source, read = self._view(words[0])
        destination, written = self._view(words[1])
        if kernel == Kernel.SOFTMAX:
            softmax(source, destination, words[2], words[3], *map(_bits_of, words[4:]))
        else:
            power(source, destination, *words[2:10], *map(_bits_of, words[10:]))
        touch.reads.append(read)
        touch.writes.append(written)
        self.touches.append(touch)

    def _view(self, address: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        place = next(p for p in self.layout.placements if p.address <= address < p.address + p.size)
        low, data = self.memory[place.region]
        whole = np.arange(address, place.address + self.program.buffers[place.buffer].size)
        return data[address - low :], whole

    def check_hazards(self) -> tuple[int, int]:
        """No two operations that may have run at once conflict.

        Returns how many pairs could overlap, and how many of those were of different runs.
        """
        pairs = across = 0
        for touch in self.open:
            touch.over = self.clock + 1
        for index, one in enumerate(self.touches):
            for other in self.touches[index + 1 : index + 12]:
                if one.over <= other.started or other.over <= one.started:
                    continue
                pairs += 1
                across += one.run != other.run
                who = (one.units, other.units)
                assert not meet(one.writes, other.reads), who
                assert not meet(one.writes, other.writes), who
                assert not meet(one.reads, other.writes), who
        return pairs, across


assert set(DONE) <= set(_BIT)
