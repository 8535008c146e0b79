"""The NN engine of the emulated VIP as a function of descriptor and memory, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

V7, V8 = 7, 8

_READ = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t
)
_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class _Memory(ctypes.Structure):
    """struct vip_memory (emulator/vip/job.h)."""

    _fields_ = [
        ("opaque", ctypes.c_void_p),
        ("read", _READ),
        ("write", _READ),
        ("error", _ERROR),
    ]


class _Facts(ctypes.Structure):
    """struct vip_job_facts."""

    _fields_ = [
        ("generation", ctypes.c_int),
        ("nn_cores", ctypes.c_uint),
        ("tp_cores", ctypes.c_uint),
        ("nn_config", ctypes.c_uint32),
        ("max_macs", ctypes.c_uint64),
        ("max_elements", ctypes.c_uint64),
        ("max_bytes", ctypes.c_size_t),
    ]


class Cost(ctypes.Structure):
    """struct vip_job_cost."""

    _fields_ = [
        ("macs", ctypes.c_uint64),
        ("bytes_read", ctypes.c_uint64),
        ("bytes_written", ctypes.c_uint64),
    ]


@dataclass(frozen=True)
class Access:
    """One call of the engine's memory."""

    address: int
    size: int


class NnEngine:
    """Runs NN jobs in a flat memory that starts at address 0.

    Args:
        library: path of libfwgen_model.so.
        size: bytes of the memory.
    """

    def __init__(self, library: Path, size: int = 1 << 20) -> None:
        self._run = ctypes.CDLL(str(library)).vip_nn_run
        self._run.restype = ctypes.c_bool
        self._force = ctypes.CDLL(str(library)).conv_kernels_force
        self._force.restype = ctypes.c_bool
        self.memory: npt.NDArray[np.uint8] = np.zeros(size, np.uint8)
        self.errors: list[str] = []
        self.writes: list[Access] = []
        self.max_macs = 1 << 36
        self.max_elements = 1 << 28
        self.max_bytes = 1 << 30

        def read(_opaque: object, address: int, to: int, length: int) -> bool:
            if address + length > self.memory.size:
                self.errors.append(f"read of {length} bytes at 0x{address:x}")
                return False
            ctypes.memmove(to, self.memory.ctypes.data + address, length)
            return True

        def write(_opaque: object, address: int, source: int, length: int) -> bool:
            self.writes.append(Access(address, length))
            if address + length > self.memory.size:
                self.errors.append(f"write of {length} bytes at 0x{address:x}")
                return False
            ctypes.memmove(self.memory.ctypes.data + address, source, length)
            return True

        def error(_opaque: object, message: bytes) -> None:
            self.errors.append(message.decode())

        self._memory = _Memory(None, _READ(read), _READ(write), _ERROR(error))

    def force_kernels(self, name: str | None) -> bool:
        """Choose the host's inner loop; False when it has none of that name."""
        return bool(self._force(None if name is None else name.encode()))

    def run(
        self, words: Sequence[int], generation: int, cores: int, nn_config: int = 0
    ) -> tuple[bool, Cost]:
        """Run one job; errors are appended to `errors`, writes to `writes`."""
        cost = Cost()
        facts = _Facts(
            {V7: 0, V8: 1}[generation],
            cores,
            1,
            nn_config,
            self.max_macs,
            self.max_elements,
            self.max_bytes,
        )
        ok = self._run(
            ctypes.byref(self._memory),
            ctypes.byref(facts),
            (ctypes.c_uint32 * 32)(*words),
            ctypes.byref(cost),
        )
        return bool(ok), cost
