"""The target's kernels behind NVDLA registers, on this computer.

Register programs are put together as for the hardware; when an operation starts, its
registers go through the lowering of the CPU family and the C kernels, compiled for the
host, do the work in place of the hardware. Memory lies at the addresses that the program
names, so that the kernels' 32-bit addresses are right.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import mmap

import numpy as np
import pytest

from fwgen.accel.cpu.chain import chain_calls
from fwgen.accel.cpu.configurations import PREFIX, configuration
from fwgen.accel.cpu.layer import Layer
from fwgen.accel.cpu.lower_conv import kernel_shape
from fwgen.check.targets import Bytes
from fwgen.program.commands import Cpu, Value
from fwgen.reference.nvdla import ReferenceGuestError, ReferenceNvdla, ReferenceUnsupported, sdp
from fwgen.reference.nvdla.interpreter import _CONV_UNITS

MAP_FIXED_NOREPLACE = 0x100000
PAGE = mmap.PAGESIZE
ARENA, ARENA_SIZE = 0x6000_0000, 64 << 20
"""Constants and scratch memory of the kernels."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class _Area:
    """Memory at a given address of this process."""

    def __init__(self, base: int, size: int) -> None:
        self._start = base // PAGE * PAGE
        self._size = -(-(base + size - self._start) // PAGE) * PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED_NOREPLACE
        got = _LIBC.mmap(self._start, self._size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if got != self._start:
            pytest.skip(f"this process has no room at 0x{base:x}")
        raw = (ctypes.c_uint8 * size).from_address(base)
        self.bytes: Bytes = np.frombuffer(raw, dtype=np.uint8)

    def close(self) -> None:
        _LIBC.munmap(self._start, self._size)


COMPARISON = "comparison for equality, which the rules refuse"


def _compares(layer: Layer) -> bool:
    cfg = "SDP.D_DP_EW_CFG.EW_"
    used = not layer.field(cfg + "BYPASS") and not layer.field(cfg + "ALU_BYPASS")
    return used and layer.field(cfg + "ALU_ALGO") == 3


class _Kernels(ReferenceNvdla):
    """Pointers, groups and order are the reference's; the arithmetic is the kernels'."""

    def __init__(self, library: ctypes.CDLL, config: str, arena: Bytes) -> None:
        super().__init__(config)
        self._library = library
        self._config = configuration(PREFIX + config)
        self._arena = arena
        self._used = 0
        self.calls = 0

    def _take(self, size: int) -> int:
        start = self._used
        self._used += -(-size // 64) * 64 + 64
        if self._used > self._arena.size:
            raise ReferenceUnsupported("no room for constants")
        return start

    def _store(self, _name: str, data: bytes) -> Value:
        start = self._take(len(data))
        self._arena[start : start + len(data)] = np.frombuffer(data, dtype=np.uint8)
        return ARENA + start

    def _reserve(self, _name: str, size: int) -> Value:
        start = self._take(size)
        self._arena[start : start + size] = 0xA5
        return ARENA + start

    def _layer(self, units: tuple[str, ...]) -> Layer:
        values: dict[int, Value] = {}
        for name in units:
            group = self._units[name].current
            assert group is not None
            for offset, value in {**group._shared, **group.values}.items():
                values[group.block.base + offset] = value
        tables = {
            block: (tuple(map(int, port.tables[0])), tuple(map(int, port.tables[1])))
            for block, port in self._luts.items()
        }
        return Layer(values, tables)

    def _weights(self, layer: Layer) -> bytes:
        count = int(np.prod(kernel_shape(layer)))
        base = layer.word("CDMA.D_WEIGHT_ADDR_LOW")
        return bytes((ctypes.c_uint8 * count).from_address(base))

    def _play(self, label: tuple[str, ...], units: tuple[str, ...]) -> bool:
        layer = self._layer(units)
        if "SDP" in label and _compares(layer):
            raise ReferenceUnsupported(COMPARISON)
        weights = self._weights(layer) if "CONV" in label else b""
        found = chain_calls(label, layer, self._config, weights, self._store, self._reserve)
        for call in (call for calls in found.values() for call in calls):
            self._call(call)
        self._used = 0
        self._finish(label, units)
        return True

    def _call(self, call: Cpu) -> None:
        words = [word for word in call.arguments if isinstance(word, int)]
        function = getattr(self._library, f"fwgen_kernel_{call.kernel.name.lower()}")
        result = function((ctypes.c_uint32 * len(words))(*words), len(words))
        self.calls += 1
        if result:
            raise ReferenceGuestError(f"kernel {call.kernel.name} gives {result}")

    def _launch_cdp(self) -> bool:
        if self._units["CDP"].current is None or self._units["CDP_RDMA"].current is None:
            return False
        return self._play(("CDP",), ("CDP_RDMA", "CDP"))

    def _launch_pdp(self) -> bool:
        group = self._units["PDP"].current
        if group is None or self._units["PDP_RDMA"].current is None:
            return False
        if not group["D_OPERATION_MODE_CFG.FLYING_MODE"]:
            return False
        return self._play(("PDP",), ("PDP_RDMA", "PDP"))

    def _launch_sdp(self) -> bool:
        group = self._units["SDP"].current
        if group is None:
            return False
        label: tuple[str, ...] = ("SDP",)
        units: tuple[str, ...] = ("SDP",)
        if sdp.needs_rdma(group):
            units = ("SDP_RDMA", *units)
        if group["D_FEATURE_MODE_CFG.OUTPUT_DST"]:
            pool = self._units["PDP"].current
            if pool is None or pool["D_OPERATION_MODE_CFG.FLYING_MODE"]:
                return False
            label, units = (*label, "PDP"), (*units, "PDP")
        if group["D_FEATURE_MODE_CFG.FLYING_MODE"]:
            label, units = ("CONV", *label), (*_CONV_UNITS, *units)
        if any(self._units[name].current is None for name in units):
            return False
        return self._play(label, units)


class KernelTarget:
    """A `fwgen.check.targets.Target` on the C kernels."""

    def __init__(self, library: ctypes.CDLL, config: str) -> None:
        self._arena = _Area(ARENA, ARENA_SIZE)
        self._areas = [self._arena]
        self._errors: list[str] = []
        self._kernels = _Kernels(library, config, self._arena.bytes)

    @property
    def calls(self) -> int:
        """Kernels that were called."""
        return self._kernels.calls

    def add_memory(self, space: int, base: int, size: int) -> Bytes:
        area = _Area(base, size)
        self._areas.append(area)
        return area.bytes

    def write(self, offset: int, value: int) -> None:
        try:
            self._kernels.write(offset, value)
        except (ReferenceGuestError, ReferenceUnsupported) as error:
            self._errors.append(str(error))

    def read(self, offset: int) -> int:
        return self._kernels.read(offset)

    def step(self) -> bool:
        return False

    def guest_errors(self) -> list[str]:
        return list(self._errors)

    def close(self) -> None:
        for area in self._areas:
            area.close()
