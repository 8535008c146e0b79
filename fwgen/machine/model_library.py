"""Emulated accelerators in this process: a typed view of libfwgen_model.so.

The library is the one that the QEMU module holds as well (accel_model.h says
what its functions do). Memory lives on the C side, in segments that Python
sees as NumPy arrays, so that the model's reads and writes call no Python.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from fwgen.errors import UsageError

Bytes = npt.NDArray[np.uint8]

DRAM = 0
SRAM = 1

NO_EVENT = (1 << 64) - 1
_ERROR_TEXT = 400


class _Host(ctypes.Structure):
    """struct accel_host; the library fills it, Python only passes it on."""

    _fields_ = [
        ("opaque", ctypes.c_void_p),
        ("read", ctypes.c_void_p),
        ("write", ctypes.c_void_p),
        ("irq", ctypes.c_void_p),
        ("guest_error", ctypes.c_void_p),
        ("op_done", ctypes.c_void_p),
    ]


class _OpEvent(ctypes.Structure):
    """struct accel_op_event."""

    _fields_ = [
        ("unit", ctypes.c_char_p),
        ("group", ctypes.c_uint),
        ("start_cycle", ctypes.c_uint64),
        ("end_cycle", ctypes.c_uint64),
        ("macs", ctypes.c_uint64),
        ("bytes_read", ctypes.c_uint64),
        ("bytes_written", ctypes.c_uint64),
    ]


_MODEL = ctypes.c_void_p
_TEXT = ctypes.c_char_p


class _Family(ctypes.Structure):
    """struct accel_family."""

    _fields_ = [
        ("name", _TEXT),
        ("configs", ctypes.CFUNCTYPE(ctypes.POINTER(_TEXT))),
        (
            "create",
            ctypes.CFUNCTYPE(_MODEL, _TEXT, ctypes.POINTER(_Host), _TEXT, ctypes.c_size_t),
        ),
        ("destroy", ctypes.CFUNCTYPE(None, _MODEL)),
        ("reset", ctypes.CFUNCTYPE(None, _MODEL)),
        ("read", ctypes.CFUNCTYPE(ctypes.c_uint32, _MODEL, ctypes.c_uint32)),
        ("write", ctypes.CFUNCTYPE(None, _MODEL, ctypes.c_uint32, ctypes.c_uint32)),
        ("next_event", ctypes.CFUNCTYPE(ctypes.c_uint64, _MODEL)),
        ("advance", ctypes.CFUNCTYPE(None, _MODEL, ctypes.c_uint64)),
        ("execute", ctypes.CFUNCTYPE(None, _MODEL)),
        ("guest_errors", ctypes.CFUNCTYPE(ctypes.c_uint64, _MODEL)),
        ("register_name", ctypes.CFUNCTYPE(_TEXT, ctypes.c_uint32)),
        ("fault", ctypes.CFUNCTYPE(ctypes.c_bool, _MODEL, _TEXT, _TEXT, ctypes.c_size_t)),
        ("window_size", ctypes.c_uint32),
    ]


@dataclass(frozen=True, slots=True)
class Operation:
    """One finished operation: times in model cycles, traffic in bytes."""

    unit: str
    group: int
    start_cycle: int
    end_cycle: int
    macs: int
    bytes_read: int
    bytes_written: int


def _load(library: Path) -> ctypes.CDLL:
    try:
        handle = ctypes.CDLL(str(library))
        handle.accel_family_find.restype = ctypes.POINTER(_Family)
        handle.accel_family_find.argtypes = [_TEXT]
        handle.accel_families.restype = ctypes.POINTER(ctypes.POINTER(_Family))
        handle.accel_families.argtypes = []
        handle.flat_memory_create.restype = ctypes.c_void_p
        handle.flat_memory_create.argtypes = []
        handle.flat_memory_destroy.restype = None
        handle.flat_memory_destroy.argtypes = [ctypes.c_void_p]
        handle.flat_memory_add.restype = ctypes.c_void_p
        handle.flat_memory_add.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int,
            ctypes.c_uint64,
            ctypes.c_uint64,
        ]
        handle.flat_memory_host.restype = _Host
        handle.flat_memory_host.argtypes = [ctypes.c_void_p]
        handle.flat_memory_irq.restype = ctypes.c_bool
        handle.flat_memory_irq.argtypes = [ctypes.c_void_p]
        handle.flat_memory_irq_count.restype = ctypes.c_uint64
        handle.flat_memory_irq_count.argtypes = [ctypes.c_void_p]
        handle.flat_memory_take_error.restype = _TEXT
        handle.flat_memory_take_error.argtypes = [ctypes.c_void_p]
        handle.flat_memory_take_op.restype = ctypes.c_bool
        handle.flat_memory_take_op.argtypes = [ctypes.c_void_p, ctypes.POINTER(_OpEvent)]
        handle.conv_kernels_force.restype = ctypes.c_bool
        handle.conv_kernels_force.argtypes = [_TEXT]
    except (OSError, AttributeError) as error:
        raise UsageError(
            f"not a usable model library: {error}",
            where=str(library),
            expected="libfwgen_model.so of this version of fwgen",
        ) from error
    return handle


class _Memory:
    """Owner of the C memory; lives as long as the model or any array over it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.pointer: int = library.flat_memory_create()
        if not self.pointer:
            raise MemoryError("no memory for an emulated accelerator")

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._library.flat_memory_destroy(self.pointer)


class _Segment:
    """Array interface of one segment; keeps its memory alive."""

    def __init__(self, owner: _Memory, address: int, size: int) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def families(library: Path) -> dict[str, tuple[str, ...]]:
    """Configurations by family of a model library.

    Raises:
        UsageError: the file is not a model library.
    """
    found: dict[str, tuple[str, ...]] = {}
    table = _load(library).accel_families()
    index = 0
    while table[index]:
        family = table[index].contents
        names = family.configs()
        configs: list[str] = []
        while names[len(configs)]:
            configs.append(names[len(configs)].decode())
        found[family.name.decode()] = tuple(configs)
        index += 1
    return found


class EmulatedAccelerator:
    """One accelerator with its own memory, without a machine around it.

    Args:
        library: path of libfwgen_model.so.
        family: "nvdla".
        config: name of a configuration of that family.

    Raises:
        UsageError: library, family or configuration unusable.
    """

    def __init__(self, library: Path, family: str, config: str) -> None:
        self._library = _load(library)
        found = self._library.accel_family_find(family.encode())
        if not found:
            known = ", ".join(families(library))
            raise UsageError(f'unknown accelerator family "{family}"', expected=known)
        self._family = found.contents
        self._memory = _Memory(self._library)
        self._host = self._library.flat_memory_host(self._memory.pointer)
        self._errors: list[str] = []
        text = ctypes.create_string_buffer(_ERROR_TEXT)
        self._model: int | None = self._family.create(
            config.encode(), ctypes.byref(self._host), text, _ERROR_TEXT
        )
        if not self._model:
            raise UsageError(text.value.decode())

    def __enter__(self) -> EmulatedAccelerator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_model", None):
            self.close()

    def close(self) -> None:
        """Destroy the model. Memory arrays stay valid."""
        if self._model:
            self._family.destroy(self._model)
            self._model = None

    def _live(self) -> int:
        if not self._model:
            raise ValueError("the emulated accelerator is closed")
        return self._model

    @property
    def window_size(self) -> int:
        """Bytes of the register window."""
        return int(self._family.window_size)

    def add_memory(self, space: int, base: int, size: int) -> Bytes:
        """A zero-filled segment that the accelerator can reach.

        Args:
            space: DRAM or SRAM.
            base: address of its first byte.
            size: bytes.

        Returns:
            uint8 array of shape (size,) over the very bytes the model uses.

        Raises:
            UsageError: empty, wrapping or overlapping range.
            MemoryError: no memory left.
        """
        if size <= 0 or base < 0 or base + size > 1 << 64 or space not in (DRAM, SRAM):
            raise UsageError(f"no memory of {size} bytes at 0x{base:x} in space {space}")
        address = self._library.flat_memory_add(self._memory.pointer, space, base, size)
        if not address:
            raise UsageError(
                f"memory of {size} bytes at 0x{base:x} overlaps another segment or is too large"
            )
        return np.asarray(_Segment(self._memory, address, size))

    def read32(self, offset: int) -> int:
        """Value of the register at that byte offset."""
        return int(self._family.read(self._live(), offset))

    def write32(self, offset: int, value: int) -> None:
        """Write the register at that byte offset."""
        self._family.write(self._live(), offset, value & 0xFFFFFFFF)

    def next_event(self) -> int | None:
        """Cycles to the next completion, None when nothing is under way."""
        cycles = int(self._family.next_event(self._live()))
        return None if cycles == NO_EVENT else cycles

    def advance(self, cycles: int) -> None:
        """Let that many cycles pass."""
        self._family.advance(self._live(), cycles)

    def run(self) -> None:
        """Advance until nothing is left to complete."""
        self._family.advance(self._live(), NO_EVENT)

    def execute(self) -> None:
        """Compute what was launched, without letting time pass."""
        if self._family.execute:
            self._family.execute(self._live())

    def reset(self) -> None:
        """Registers and running operations as after power-up; memory stays."""
        self._family.reset(self._live())

    @property
    def irq(self) -> bool:
        """Level of the interrupt line."""
        return bool(self._library.flat_memory_irq(self._memory.pointer))

    @property
    def irq_count(self) -> int:
        """How often the interrupt line rose."""
        return int(self._library.flat_memory_irq_count(self._memory.pointer))

    @property
    def guest_error_count(self) -> int:
        """Guest errors so far, also those whose text was dropped."""
        return int(self._family.guest_errors(self._live()))

    def guest_errors(self) -> list[str]:
        """Texts of the guest errors so far (at most 256 between two calls)."""
        while (text := self._library.flat_memory_take_error(self._memory.pointer)) is not None:
            self._errors.append(text.decode())
        return list(self._errors)

    def operations(self) -> list[Operation]:
        """Operations finished since the last call (at most 256)."""
        found: list[Operation] = []
        event = _OpEvent()
        while self._library.flat_memory_take_op(self._memory.pointer, ctypes.byref(event)):
            found.append(
                Operation(
                    event.unit.decode(),
                    event.group,
                    event.start_cycle,
                    event.end_cycle,
                    event.macs,
                    event.bytes_read,
                    event.bytes_written,
                )
            )
        return found

    def register_name(self, offset: int) -> str | None:
        """ "CDMA.D_BANK" for its byte offset, None where no register is."""
        name = self._family.register_name(offset)
        return None if name is None else name.decode()

    def fault(self, spec: str) -> None:
        """Arm a fault, "KIND[:N[:ARG]]".

        Raises:
            UsageError: the text is not a fault of this family.
        """
        text = ctypes.create_string_buffer(_ERROR_TEXT)
        if not self._family.fault(self._live(), spec.encode(), text, _ERROR_TEXT):
            raise UsageError(text.value.decode())

    def force_conv_kernels(self, name: str | None) -> bool:
        """Choose the inner loop of convolutions for every model in this process.

        Args:
            name: "amx", "avx512vnni", "avxvnni", "avx2", "plain", or None for
                the fastest.

        Returns:
            False when this host cannot run it (nothing is changed then).
        """
        return bool(self._library.conv_kernels_force(None if name is None else name.encode()))
