"""The emulated NVDLA as a contender: register writes in, interrupt out.

A layer whose input does not fit into the convolution buffer runs as several
operations, cut by rows, as a compiler would do it; register facts are those
of the NVDLA register manual. Both register groups are programmed once. What is
timed is what a driver repeats: enable the blocks of each operation, let the
accelerator run (reading input, weights and operands from memory, writing the
output), read and clear the interrupt status.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from conv_layers import MUL_SHIFT, OUT_SCALE, Int8, Layer

from fwgen.machine.model_library import DRAM, EmulatedAccelerator

_BASE = 0x8000_0000
_SIZE = 0x0100_0000
_SOURCE, _WEIGHTS, _OPERANDS, _TARGET = (_BASE + part * (_SIZE // 4) for part in range(4))

# Memory atom, atomic C, atomic K, banks, bytes of an entry, entries of a bank.
_CONFIGS = {
    "nv_small": (8, 8, 8, 32, 8, 512),
    "nv_large": (32, 64, 32, 16, 64, 512),
}
_CONV_BLOCKS = ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA")
_BLOCKS = (*_CONV_BLOCKS, "SDP", "SDP_RDMA")


class ModelContender:
    """One layer on one configuration, ready to run over and over."""

    def __init__(self, library: Path, config: str, layer: Layer) -> None:
        self._layer = layer
        self._atom, self._atomic_c, self._atomic_k, *_ = _CONFIGS[config]
        self._config = _CONFIGS[config]
        self._accelerator = EmulatedAccelerator(library, "nvdla", config)
        self._memory = self._accelerator.add_memory(DRAM, _BASE, _SIZE)
        self._offsets = {
            name: offset
            for offset in range(0, 0x12000, 4)
            if (name := self._accelerator.register_name(offset)) is not None
        }
        self._fill_memory()
        self._strips = self._cut()
        if len(self._strips) > 2:
            raise ValueError(f"{layer.name} takes more operations than there are register groups")
        for group in (0, 1):
            self._program(group, *self._strips[group % len(self._strips)])
        self._pointers = [
            [(self._offsets[f"{block}.S_POINTER"], group) for block in _BLOCKS] for group in (0, 1)
        ]
        self._enables = [(self._offsets[f"{block}.D_OP_ENABLE"], 1) for block in _BLOCKS]
        self._status = self._offsets["GLB.S_INTR_STATUS"]
        self._next_group = 0

    @property
    def operations(self) -> int:
        """Into how many hardware operations the layer was cut."""
        return len(self._strips)

    def run(self) -> None:
        """The whole layer once."""
        accelerator = self._accelerator
        for _ in self._strips:
            for offset, value in self._pointers[self._next_group]:
                accelerator.write32(offset, value)
            for offset, value in self._enables:
                accelerator.write32(offset, value)
            accelerator.run()
            accelerator.write32(self._status, accelerator.read32(self._status))
            self._next_group ^= 1

    def result(self) -> Int8:
        """Output of the last run, (kernels, height, width)."""
        errors = self._accelerator.guest_errors()
        if errors:
            raise RuntimeError("; ".join(errors))
        size, atom = self._layer.size, self._atom
        surfaces = -(-self._layer.kernels // atom)
        start = _TARGET - _BASE
        raw = self._memory[start : start + surfaces * atom * size * size].view(np.int8)
        cube = raw.reshape(surfaces, size, size, atom).transpose(0, 3, 1, 2)
        return np.ascontiguousarray(cube.reshape(-1, size, size)[: self._layer.kernels])

    def force(self, kernels: str) -> bool:
        """Choose the model's inner loop; False when this host cannot run it."""
        return self._accelerator.force_conv_kernels(kernels)

    @property
    def expected(self) -> Int8:
        """The exact result."""
        return self._layer.expected

    def clear(self) -> None:
        """Overwrite the output, so that a stale one cannot pass for a result."""
        start = _TARGET - _BASE
        self._memory[start : start + self._layer.kernels * self._layer.size**2] = 0x55

    def close(self) -> None:
        """Destroy the accelerator."""
        self._accelerator.close()

    def _put(self, address: int, data: np.ndarray) -> None:
        raw = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        self._memory[address - _BASE : address - _BASE + raw.size] = raw

    def _fill_memory(self) -> None:
        layer, atom = self._layer, self._atom
        surfaces = -(-layer.channels // atom)
        cube = np.zeros((surfaces * atom, layer.size, layer.size), np.int8)
        cube[: layer.channels] = layer.cube
        shape = (surfaces, atom, layer.size, layer.size)
        self._put(_SOURCE, cube.reshape(shape).transpose(0, 2, 3, 1))
        at = _WEIGHTS
        for first in range(0, layer.kernels, self._atomic_k):
            for block in range(0, layer.channels, self._atomic_c):
                piece = layer.weights[
                    first : first + self._atomic_k, block : block + self._atomic_c
                ]
                self._put(at, piece.transpose(2, 3, 0, 1))
                at += piece.size
        # Addend and multiplier of each channel, interleaved.
        pairs = np.stack([layer.bias, layer.multipliers], axis=1).astype(np.int16)
        self._put(_OPERANDS, pairs)

    def _entries(self) -> int:
        """Buffer entries of a row."""
        atom, _, _, _, entry_bytes, _ = self._config
        atoms = -(-self._layer.channels // atom)
        whole, rest = divmod(atoms, entry_bytes // atom)
        # Both configurations have one or two atoms an entry.
        return whole * self._layer.size + (-(-self._layer.size // 2) if rest else 0)

    def _data_banks(self, rows: int) -> int:
        return -(-rows * self._entries() // self._config[5])

    def _weight_banks(self) -> int:
        """For two groups of kernels: one works while the other is loaded."""
        layer = self._layer
        per_kernel = layer.channels * layer.window**2
        wanted = per_kernel * min(2 * self._atomic_k, layer.kernels)
        return -(-wanted // (self._config[4] * self._config[5]))

    def _cut(self) -> list[tuple[int, int]]:
        """First output row and number of rows of each operation."""
        layer = self._layer
        for count in range(1, layer.size + 1):
            rows = -(-layer.size // count)
            needed = min(rows + (2 if count > 2 else 1) * layer.pad, layer.size)
            if self._data_banks(needed) + self._weight_banks() <= self._config[3]:
                firsts = range(0, layer.size, rows)
                return [(first, min(rows, layer.size - first)) for first in firsts]
        raise ValueError(f"{layer.name} does not fit into the buffer")

    def _write(self, block: str, values: dict[str, int]) -> None:
        for name, value in values.items():
            self._accelerator.write32(self._offsets[f"{block}.{name}"], value & 0xFFFFFFFF)

    def _program(self, group: int, first: int, rows: int) -> None:
        for block in _BLOCKS:
            self._write(block, {"S_POINTER": group})
        self._program_conv(first, rows)
        self._program_sdp(first, rows)

    def _program_conv(self, first: int, rows: int) -> None:
        layer, atom = self._layer, self._atom
        size, pad, line = layer.size, layer.pad, layer.size * atom
        top = max(0, pad - first)
        bottom = max(0, first + rows + pad - size)
        source_row = first - pad + top
        source_rows = rows + 2 * pad - top - bottom
        in_size = (size - 1) | (source_rows - 1) << 16
        out_size = (size - 1) | (rows - 1) << 16
        window = layer.window - 1
        banks = (self._data_banks(source_rows) - 1) | (self._weight_banks() - 1) << 16
        weight_bytes = layer.kernels * layer.channels * layer.window**2
        entries = self._entries() - 1
        self._write(
            "CACC",
            {
                "D_MISC_CFG": 0,
                "D_DATAOUT_SIZE_0": out_size,
                "D_DATAOUT_SIZE_1": layer.kernels - 1,
                "D_CLIP_CFG": 0,
            },
        )
        self._write("CMAC_A", {"D_MISC_CFG": 0})
        self._write("CMAC_B", {"D_MISC_CFG": 0})
        self._write(
            "CSC",
            {
                "D_MISC_CFG": 0,
                "D_DATAIN_FORMAT": 0,
                "D_DATAIN_SIZE_EXT_0": in_size,
                "D_DATAIN_SIZE_EXT_1": layer.channels - 1,
                "D_ENTRY_PER_SLICE": entries,
                "D_WEIGHT_SIZE_EXT_0": window | window << 16,
                "D_WEIGHT_SIZE_EXT_1": (layer.channels - 1) | (layer.kernels - 1) << 16,
                "D_WEIGHT_BYTES": weight_bytes,
                "D_DATAOUT_SIZE_0": out_size,
                "D_DATAOUT_SIZE_1": layer.kernels - 1,
                "D_CONV_STRIDE_EXT": 0,
                "D_DILATION_EXT": 0,
                "D_ZERO_PADDING": pad | top << 16,
                "D_ZERO_PADDING_VALUE": 0,
                "D_BANK": banks,
            },
        )
        self._write(
            "CDMA",
            {
                "D_MISC_CFG": 0,
                "D_DATAIN_FORMAT": 0,
                "D_DATAIN_SIZE_0": in_size,
                "D_DATAIN_SIZE_1": layer.channels - 1,
                "D_DATAIN_SIZE_EXT_0": in_size,
                "D_DAIN_RAM_TYPE": 1,
                "D_DAIN_ADDR_LOW_0": _SOURCE + source_row * line,
                "D_LINE_STRIDE": line,
                "D_SURF_STRIDE": line * size,
                "D_DAIN_MAP": 1,
                "D_ENTRY_PER_SLICE": entries,
                "D_WEIGHT_SIZE_1": layer.kernels - 1,
                "D_WEIGHT_RAM_TYPE": 1,
                "D_WEIGHT_ADDR_LOW": _WEIGHTS,
                "D_WEIGHT_BYTES": weight_bytes,
                "D_CONV_STRIDE": 0,
                "D_ZERO_PADDING": pad | pad << 8 | top << 16 | bottom << 24,
                "D_ZERO_PADDING_VALUE": 0,
                "D_BANK": banks,
            },
        )

    def _program_sdp(self, first: int, rows: int) -> None:
        layer, atom = self._layer, self._atom
        line = layer.size * atom
        cube = {
            "D_DATA_CUBE_WIDTH": layer.size - 1,
            "D_DATA_CUBE_HEIGHT": rows - 1,
            "D_DATA_CUBE_CHANNEL": layer.kernels - 1,
        }
        self._write(
            "SDP",
            {
                **cube,
                "D_DST_BASE_ADDR_LOW": _TARGET + first * line,
                "D_DST_LINE_STRIDE": line,
                "D_DST_SURFACE_STRIDE": line * layer.size,
                "D_DST_DMA_CFG": 1,
                "D_FEATURE_MODE_CFG": 1,
                # X1 adds, multiplies and cuts off below 0; all else is bypassed.
                "D_DP_BS_CFG": 2 << 2,
                "D_DP_BS_ALU_CFG": 1,
                "D_DP_BS_MUL_CFG": 1 | MUL_SHIFT << 8,
                "D_DP_BN_CFG": 1,
                "D_DP_EW_CFG": 1,
                "D_CVT_OFFSET": 0,
                "D_CVT_SCALE": OUT_SCALE,
                "D_CVT_SHIFT": layer.out_shift,
            },
        )
        self._write(
            "SDP_RDMA",
            {
                **cube,
                "D_FEATURE_MODE_CFG": 1,
                # Both operands, 2 bytes each, per channel, from main memory.
                "D_BRDMA_CFG": 2 << 1 | 1 << 3 | 1 << 5,
                "D_NRDMA_CFG": 1,
                "D_ERDMA_CFG": 1,
                "D_BS_BASE_ADDR_LOW": _OPERANDS,
            },
        )
