"""Executes register writes on the NumPy reference.

Operations run at once, inside the write that arms the last unit they need:
D_OP_ENABLE arms a group, and a chain (convolution -> SDP -> PDP, or a single
memory-to-memory unit) runs when every unit it needs is armed in its consumer
group. Interrupt status follows the interrupt controller: a done bit per unit
and group, write one to clear, masked events latch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fwgen.reference.nvdla import cdp, conv, pdp, sdp
from fwgen.reference.nvdla.configs import CONFIGS
from fwgen.reference.nvdla.lut import LE_ENTRIES, LO_ENTRIES
from fwgen.reference.nvdla.memory import Memory, ReferenceGuestError, ReferenceUnsupported
from fwgen.reference.nvdla.regfile import Unit
from fwgen.reference.nvdla.registers import BLOCKS, INERT_BLOCKS, block_at
from fwgen.reference.nvdla.rounding import Ints, sign_extend

_MASK, _SET, _STATUS = 0x4, 0x8, 0xC
_STATUS_BITS = 0x003F03FF
_BIT = {"SDP": 0, "CDP": 2, "PDP": 4, "CDMA_DAT": 16, "CDMA_WT": 18, "CACC": 20}
_CONV_UNITS = ("CDMA", "CSC", "CMAC_A", "CMAC_B", "CACC")


@dataclass(frozen=True, slots=True)
class Operation:
    """One executed chain: its units, e.g. ("CONV", "SDP"), and each one's group."""

    units: tuple[str, ...]
    groups: tuple[int, ...]


class _LutPort:
    """The table access registers of SDP or CDP."""

    def __init__(self) -> None:
        self.tables = (
            np.zeros(LE_ENTRIES, dtype=np.int64),
            np.zeros(LO_ENTRIES, dtype=np.int64),
        )
        self._address = 0
        self._table = 0
        self._writing = False

    def configure(self, value: int) -> None:
        self._table = (value >> 16) & 1
        self._writing = bool((value >> 17) & 1)
        self._address = min(value & 0x3FF, self.tables[self._table].size - 1)

    def _step(self) -> int:
        at = self._address
        self._address = min(at + 1, self.tables[self._table].size - 1)
        return at

    def write(self, value: int) -> None:
        if self._writing:
            self.tables[self._table][self._step()] = sign_extend(value, 16)

    def read(self) -> int:
        if self._writing:
            return 0
        return int(self.tables[self._table][self._step()]) & 0xFFFF


class ReferenceNvdla:
    """The reference of one accelerator.

    Args:
        config: name of a published configuration ("nv_small" ... "nv_large").

    Raises:
        ReferenceUnsupported: unknown configuration.
    """

    def __init__(self, config: str) -> None:
        if config not in CONFIGS:
            raise ReferenceUnsupported(f"configuration {config}")
        self.config = CONFIGS[config]
        self.memory = Memory()
        self.operations: list[Operation] = []
        # Called with the unit and the values that enter its output converter.
        self.observer: Callable[[str, Ints], None] | None = None
        self._units = {name: Unit(block) for name, block in BLOCKS.items() if name != "GLB"}
        self._luts = {"SDP": _LutPort(), "CDP": _LutPort()}
        self._mask = 0
        self._status = 0

    def add_memory(self, space: int, base: int, size: int) -> npt.NDArray[np.uint8]:
        """A zero-filled segment of space 0 (DRAM) or 1 (SRAM); returns its bytes."""
        return self.memory.add(space, base, size)

    @property
    def irq(self) -> bool:
        """Level of the interrupt line."""
        return bool(self._status & ~self._mask)

    def read(self, offset: int) -> int:
        """Read a register at a byte offset of the window."""
        block = block_at(offset)
        if block is None:
            return 0
        at = offset - block.base
        if block.name == "GLB":
            return {_MASK: self._mask, _STATUS: self._status, 0: 0x303031}.get(at, 0)
        if block.name == "CDMA" and at == block.offsets["S_CBUF_FLUSH_STATUS"]:
            return 1
        if block.name in self._luts and at == block.offsets["S_LUT_ACCESS_DATA"]:
            return self._luts[block.name].read()
        return self._units[block.name].read(at)

    def write(self, offset: int, value: int) -> None:
        """Write a register; runs whatever becomes runnable.

        Raises:
            ReferenceUnsupported: a mode or block that is not modelled.
            ReferenceGuestError: a program error.
        """
        value &= 0xFFFFFFFF
        block = block_at(offset)
        if block is None:
            if any(low <= offset < high for low, high in INERT_BLOCKS):
                return
            raise ReferenceUnsupported(f"register 0x{offset:x}")
        at = offset - block.base
        if block.name == "GLB":
            self._write_glb(at, value)
            return
        if block.name in self._luts:
            port = self._luts[block.name]
            if at == block.offsets["S_LUT_ACCESS_CFG"]:
                port.configure(value)
            elif at == block.offsets["S_LUT_ACCESS_DATA"]:
                port.write(value)
        if self._units[block.name].write(at, value):
            while self._launch():
                pass

    def run(self, writes: list[tuple[int, int]]) -> None:
        """Apply (offset, value) writes in order."""
        for offset, value in writes:
            self.write(offset, value)

    def _write_glb(self, at: int, value: int) -> None:
        if at == _MASK:
            self._mask = value & _STATUS_BITS
        elif at == _SET:
            self._status |= value & _STATUS_BITS
        elif at == _STATUS:
            self._status &= ~value

    def _done(self, source: str, group: int) -> None:
        self._status |= 1 << (_BIT[source] + group)

    def _launch(self) -> bool:
        """Run one chain that is ready; False when there is none."""
        return (
            self._finish_idle_rdma()
            or self._launch_sdp()
            or self._launch_pdp()
            or self._launch_cdp()
        )

    def _finish_idle_rdma(self) -> bool:
        """An SDP_RDMA that has nothing to read ends by itself."""
        rdma = self._units["SDP_RDMA"].current
        if rdma is None or not rdma["D_FEATURE_MODE_CFG.FLYING_MODE"]:
            return False
        if not all(rdma[f"D_{name}_CFG.{name}_DISABLE"] for name in ("BRDMA", "NRDMA", "ERDMA")):
            return False
        self._units["SDP_RDMA"].finish()
        return True

    def _finish(self, label: tuple[str, ...], units: tuple[str, ...]) -> None:
        groups = []
        for name in units:
            unit = self._units[name]
            group = unit.consumer
            groups.append(group)
            unit.finish()
            if name == "CDMA":
                self._done("CDMA_DAT", group)
                self._done("CDMA_WT", group)
            elif name in _BIT:
                self._done(name, group)
        self.operations.append(Operation(label, tuple(groups)))

    def _launch_cdp(self) -> bool:
        group, rdma = self._units["CDP"].current, self._units["CDP_RDMA"].current
        if group is None or rdma is None:
            return False
        y = cdp.run(group, rdma, self.config, self.memory, self._luts["CDP"].tables)
        if self.observer is not None:
            self.observer("CDP", y)
        self._finish(("CDP",), ("CDP_RDMA", "CDP"))
        return True

    def _launch_pdp(self) -> bool:
        group, rdma = self._units["PDP"].current, self._units["PDP_RDMA"].current
        if group is None or rdma is None:
            return False
        if not group["D_OPERATION_MODE_CFG.FLYING_MODE"]:
            return False
        if pdp.input_size(group) != pdp.input_size(rdma):
            raise ReferenceGuestError("PDP and PDP_RDMA disagree on the input size")
        pooled = pdp.pool(pdp.read_input(rdma, self.config, self.memory), group)
        pdp.write_output(pooled, group, self.config, self.memory)
        self._finish(("PDP",), ("PDP_RDMA", "PDP"))
        return True

    def _launch_sdp(self) -> bool:
        group = self._units["SDP"].current
        if group is None:
            return False
        flying = bool(group["D_FEATURE_MODE_CFG.FLYING_MODE"])
        rdma = None
        if sdp.needs_rdma(group):
            rdma = self._units["SDP_RDMA"].current
            if rdma is None:
                return False
            if bool(rdma["D_FEATURE_MODE_CFG.FLYING_MODE"]) != flying:
                raise ReferenceGuestError("SDP and SDP_RDMA disagree on FLYING_MODE")
            if sdp.cube_size(rdma) != sdp.cube_size(group):
                raise ReferenceGuestError("SDP and SDP_RDMA disagree on the cube")
        to_pdp = bool(group["D_FEATURE_MODE_CFG.OUTPUT_DST"])
        pool_group = self._units["PDP"].current
        if to_pdp:
            if pool_group is None:
                return False
            if pool_group["D_OPERATION_MODE_CFG.FLYING_MODE"]:
                return False
        if flying:
            if any(self._units[name].current is None for name in _CONV_UNITS):
                return False
            x = self._convolve(sdp.cube_size(group))
        else:
            assert rdma is not None
            x = sdp.read_input(rdma, self.config, self.memory)
        result = sdp.process(x, group, rdma, self.config, self.memory, self._luts["SDP"].tables)
        if self.observer is not None:
            self.observer("SDP", result.unconverted)
        # 0 after an operation that does not compare.
        group.values[group.block.offsets["D_STATUS"]] = int(bool(result.unequal))
        if result.unequal is not None:
            pass  # The comparing mode writes nothing.
        elif to_pdp:
            assert pool_group is not None
            self._pool_stream(result.values, sdp.cube_size(group))
        else:
            sdp.write_output(result.values, group, self.config, self.memory)
        label: tuple[str, ...] = ("CONV",) if flying else ()
        units: tuple[str, ...] = _CONV_UNITS if flying else ()
        label += ("SDP", "PDP") if to_pdp else ("SDP",)
        units += ("SDP_RDMA",) if rdma is not None else ()
        units += ("SDP", "PDP") if to_pdp else ("SDP",)
        self._finish(label, units)
        return True

    def _pool_stream(self, values: Ints, size: tuple[int, int, int]) -> None:
        group = self._units["PDP"].current
        assert group is not None
        if group["D_OPERATION_MODE_CFG.SPLIT_NUM"]:
            raise ReferenceUnsupported("PDP: split width of a stream from SDP")
        if pdp.input_size(group) != size:
            raise ReferenceGuestError("SDP and PDP disagree on the cube")
        pdp.write_output(pdp.pool(values, group), group, self.config, self.memory)

    def _convolve(self, size: tuple[int, int, int]) -> Ints:
        """Accumulators as SDP input (S, H, W, A), unused channels 0."""
        groups = {name: self._units[name].current for name in _CONV_UNITS}
        present = {name: group for name, group in groups.items() if group is not None}
        units = conv.ConvUnits(
            cdma=present["CDMA"],
            csc=present["CSC"],
            cmac_a=present["CMAC_A"],
            cmac_b=present["CMAC_B"],
            cacc=present["CACC"],
        )
        result = conv.convolve(units, self.config, self.memory)
        kernels, height, width = result.accumulators.shape
        if (width, height, kernels) != size:
            raise ReferenceGuestError(
                f"convolution gives {width}x{height}x{kernels}, SDP expects "
                f"{size[0]}x{size[1]}x{size[2]}"
            )
        cacc = units.cacc
        cacc.values[cacc.block.offsets["D_OUT_SATURATION"]] = result.saturated
        atom = self.config.atom
        surfaces = -(-kernels // atom)
        padded = np.zeros((surfaces * atom, height, width), dtype=np.int64)
        padded[:kernels] = result.accumulators
        return padded.reshape(surfaces, atom, height, width).transpose(0, 2, 3, 1)
