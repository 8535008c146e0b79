"""The emulated VIP as a contender: one NN job a layer, through its command stream.

What is timed is what a driver repeats: point the front end at the command buffer,
start it, and acknowledge the interrupt. Reading input and coefficients from memory,
comparing the latter with what was decoded before, and writing the output are part of it.
"""

from __future__ import annotations

import random
import struct
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from conv_layers import Layer

from fwgen.check.random_vip_nn import NnFields
from fwgen.check.vip_coefficients import encode_v8
from fwgen.machine.model_library import DRAM, EmulatedAccelerator
from fwgen.reference.nvdla.memory import DRAM as REFERENCE_DRAM
from fwgen.reference.nvdla.memory import Memory
from fwgen.reference.vip.nn import run_nn_job

_CONFIG, _CORES = "vip8000nanosi_pid0xb5", 4
_BASE = 0x1000_0000
_SIZE = 0x0100_0000
_COMMANDS, _DESCRIPTOR, _SOURCE, _TARGET, _COEFFICIENTS = (
    _BASE + at for at in (0, 0x1000, 0x10000, 0x400000, 0x800000)
)
_SHIFT_BITS = 23
_EVENT = 5
_ACKNOWLEDGE, _ENABLE, _START, _ADDRESS, _CONTROL = 0x010, 0x014, 0x3A4, 0x654, 0x658


def _load(state: int, value: int) -> bytes:
    return struct.pack("<II", 0x0800_0000 | 1 << 16 | state >> 2, value)


class VipContender:
    """A layer of the benchmark with one multiplier for all kernels, uint8, ready to run."""

    def __init__(self, library: Path, layer: Layer) -> None:
        self._layer = layer
        self._accelerator = EmulatedAccelerator(library, "vip", _CONFIG)
        self._memory = self._accelerator.add_memory(DRAM, _BASE, _SIZE)
        size, scale = layer.size, float(np.median(layer.scales))
        exponent = int(np.floor(np.log2(scale)))
        self._fields = NnFields(
            kernel=(layer.window, layer.window),
            channels=layer.channels,
            kernels=layer.kernels,
            per_core=min(127, -(-layer.kernels // _CORES)),
            relu=1,
            in_size=(size, size),
            offset=(-layer.pad, -layer.pad),
            out_size=(size, size),
            border=128,
            in_address=_SOURCE,
            in_strides=(size, size),
            out_address=_TARGET,
            out_strides=(size, size),
            coefficients=_COEFFICIENTS,
            multiplier=round((scale / 2.0**exponent - 1) * 2**_SHIFT_BITS),
            shift=-exponent,
            weight_zero=128,
            out_zero=128,
        )
        blob = encode_v8(
            random.Random(1), layer.weights.view(np.uint8) ^ 0x80, layer.bias.astype(np.int64),
            cores=_CORES, per_core=self._fields.per_core, weight_zero=128,
        )  # fmt: skip
        self._put(_COEFFICIENTS, blob)
        self._put(_SOURCE, (layer.cube.view(np.uint8) ^ 0x80).tobytes())
        self._put(_DESCRIPTOR, struct.pack("<32I", *self._fields.words()))
        stream = _load(0x3930, 0x04822050) + _load(0x10A0, _DESCRIPTOR) + _load(0x10A4, 0)
        stream += _load(0x3804, 0x40 | _EVENT) + struct.pack("<II", 0x1000_0000, 0)
        self._put(_COMMANDS, stream)
        self._units = len(stream) // 8
        self._accelerator.write32(_ENABLE, 0xFFFFFFFF)

    def _put(self, address: int, data: bytes) -> None:
        start = address - _BASE
        self._memory[start : start + len(data)] = np.frombuffer(data, np.uint8)

    @property
    def operations(self) -> int:
        """Jobs that the layer takes."""
        return 1

    def run(self) -> None:
        """The whole layer once."""
        accelerator = self._accelerator
        accelerator.write32(_ADDRESS, _COMMANDS)
        accelerator.write32(_CONTROL, 1 << 16 | self._units)
        accelerator.write32(_START, 1 << 16 | self._units)
        accelerator.run()
        accelerator.read32(_ACKNOWLEDGE)

    def result(self) -> npt.NDArray[np.uint8]:
        """Output of the last run, (kernels, height, width)."""
        errors = self._accelerator.guest_errors()
        if errors:
            raise RuntimeError("; ".join(errors))
        size = self._layer.size
        start = _TARGET - _BASE
        raw = self._memory[start : start + self._layer.kernels * size * size]
        return raw.reshape(self._layer.kernels, size, size).copy()

    @cached_property
    def expected(self) -> npt.NDArray[np.uint8]:
        """What the NumPy reference makes of the same memory."""
        memory = Memory()
        memory.add(REFERENCE_DRAM, _BASE, _SIZE)[:] = self._memory
        run_nn_job(self._fields.words(), memory, self._fields.generation, _CORES)
        size = self._layer.size
        addresses = _TARGET + np.arange(self._layer.kernels * size * size)
        out = memory.gather(REFERENCE_DRAM, addresses)
        return out.reshape(self._layer.kernels, size, size)

    def clear(self) -> None:
        """Overwrite the output, so that a stale one cannot pass for a result."""
        start = _TARGET - _BASE
        self._memory[start : start + self._layer.kernels * self._layer.size**2] = 0x55

    def force(self, kernels: str) -> bool:
        """Choose the model's inner loop; False when this host cannot run it."""
        return self._accelerator.force_conv_kernels(kernels)
