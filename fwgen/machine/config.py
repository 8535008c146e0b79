"""What a QEMU session needs to know of a board: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Range(NamedTuple):
    """A range of guest addresses."""

    base: int
    size: int


@dataclass(frozen=True, slots=True)
class AcceleratorDevice:
    """One emulated accelerator on the bus.

    Attributes:
        name: as in the board profile ("dla0").
        family, config: which model.
        base: address of the register window.
        irq: input line of the interrupt controller device.
        size: bytes of the register window on the board; None: the model's.
        clock_hz: model cycles per second.
        dma: what its DRAM port reaches; anything else is a guest error.
        sram: what its second port reaches.
        reset: address of the SoC's reset register for it; None: there is none.
        faults: fault specifications for driver tests (docs/emulator.md).
        needs: (address, mask, value) of words of a power or clock controller that must
            read so before a register is accessed.
        controller: QOM type or path of the interrupt controller.
    """

    name: str
    family: str
    config: str
    base: int
    irq: int
    clock_hz: int = 100_000_000
    dma: tuple[Range, ...] = ()
    sram: tuple[Range, ...] = ()
    reset: int | None = None
    faults: tuple[str, ...] = ()
    needs: tuple[tuple[int, int, int], ...] = ()
    controller: str = "armv7m"
    size: int | None = None

    def module_options(self) -> tuple[tuple[str, str], ...]:
        """The options of the device module for this device, in order."""
        options = [
            ("accel", self.family),
            ("config", self.config),
            ("name", self.name),
            ("base", hex(self.base)),
            ("irq", str(self.irq)),
            ("intc", self.controller),
            ("clock", str(self.clock_hz)),
        ]
        if self.size is not None:
            options.append(("size", hex(self.size)))
        for key, ranges in (("dma", self.dma), ("sram", self.sram)):
            if ranges:
                text = "+".join(f"{r.base:#x}:{r.size:#x}" for r in ranges)
                options.append((key, text))
        if self.reset is not None:
            options.append(("reset", hex(self.reset)))
        options += [("needs", ":".join(map(hex, need))) for need in self.needs]
        options += [("fault", fault) for fault in self.faults]
        return tuple(options)


@dataclass(frozen=True, slots=True)
class OverlayDevice:
    """Something else that the device module puts on the machine's bus.

    Attributes:
        options: options of the module in order; the first begins the overlay.
        serial: index of the serial line that it takes from the machine; None: none.
        reports: it writes guest errors to the event stream.
    """

    options: tuple[tuple[str, str], ...]
    serial: int | None = None
    reports: bool = False


@dataclass(frozen=True, slots=True)
class MachineConfig:
    """A machine for QEMU.

    Attributes:
        machine: -M.
        cpu, memory: -cpu and -m, None for the machine's own.
        extra_args: further arguments.
        accelerators: devices of the module.
        overlays: what else the module adds to the machine.
        reboot: a reset of the machine starts the firmware again; otherwise it
            ends the emulator.
        console_serial_index: which -serial is the console.
        link_serial_index: which -serial carries the link; None: the console's.
        icount_shift: one instruction takes 2^shift ns of virtual time; None
            lets virtual time follow the wall clock.
    """

    machine: str
    cpu: str | None = None
    memory: str | None = None
    extra_args: tuple[str, ...] = ()
    accelerators: tuple[AcceleratorDevice, ...] = ()
    overlays: tuple[OverlayDevice, ...] = ()
    reboot: bool = False
    console_serial_index: int = 0
    link_serial_index: int | None = None
    icount_shift: int | None = 5

    @property
    def needs_module(self) -> bool:
        """Whether QEMU must load the device module."""
        return bool(self.accelerators or self.overlays)

    def takes_serial(self, index: int) -> bool:
        """Whether a UART of the module, not of the machine, is on that serial line."""
        return any(overlay.serial == index for overlay in self.overlays)
