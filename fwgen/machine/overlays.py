"""Options of the device module for what a board has and QEMU's machine lacks.

The names of QEMU's object types: hw/intc/arm_gic.c, hw/intc/arm_gicv3.c. A GIC's
regions by number: distributor 0, CPU interface 1 (GICv2), redistributors 1 (GICv3).
"""

from __future__ import annotations

from fwgen.board.types import Accelerator, Board, Overlay, Qemu, Uart
from fwgen.machine.config import OverlayDevice, Range
from fwgen.machine.ranges import merge_ranges

ADDRESS_SPACE = 1 << 32
_CONTROLLER_BYTES = 0x1000
_NUMBERS = ("status", "gate", "request", "idle", "ack", "off", "parked")


def overlay_devices(board: Board, qemu: Qemu) -> tuple[OverlayDevice, ...]:
    """Everything but the accelerators that the module adds for this board."""
    out: list[OverlayDevice] = []
    if "memory" in qemu.add:
        ranges = merge_ranges([Range(memory.base, memory.size) for memory in board.memories])
        out += [_ram(f"memory{index}", part) for index, part in enumerate(ranges)]
    if "interrupt_controller" in qemu.add:
        out += _controller(board, qemu)
    for key, uart in (("console", board.console), ("link", board.link)):
        if key in qemu.add and uart is not None:
            out.append(_board_uart(key, uart, qemu))
    out += [_overlay(overlay, qemu) for overlay in qemu.overlays]
    if "unassigned" in qemu.add:
        options = (("unassigned", "bus"), ("base", "0"), ("size", hex(ADDRESS_SPACE)))
        out.append(OverlayDevice(options, reports=True))
    return tuple(out)


def power_needs(accelerator: Accelerator, qemu: Qemu) -> tuple[tuple[int, int, int], ...]:
    """What the power_on steps leave in the emulated controllers: (address, mask, value) each.

    A wait leaves what it waits for, a write to the clock and reset unit the bits that its
    upper half selects (hiword-mask writes).
    """
    found: dict[int, tuple[int, int]] = {}
    for step in accelerator.power_on:
        kind = _controller_at(step.register, qemu)
        if kind is None:
            continue
        mask, value = found.get(step.register, (0, 0))
        if step.mask is not None:
            new_mask, new_value = step.mask, step.value
        elif kind == "rk_cru" and step.write is not None:
            new_mask = step.write >> 16
            new_value = step.write & new_mask
        else:
            continue
        found[step.register] = mask | new_mask, value & ~new_mask | new_value
    return tuple((address, *need) for address, need in found.items())


def _controller_at(address: int, qemu: Qemu) -> str | None:
    for overlay in qemu.overlays:
        if overlay.kind in ("rk_cru", "rk_pmu") and overlay.base is not None:
            if overlay.base <= address < overlay.base + _CONTROLLER_BYTES:
                return overlay.kind
    return None


def _ram(name: str, part: Range) -> OverlayDevice:
    return OverlayDevice((("ram", name), ("base", hex(part.base)), ("size", hex(part.size))))


def _controller(board: Board, qemu: Qemu) -> list[OverlayDevice]:
    cpu = board.cpu
    windows = (
        ("gicd", cpu.gic_distributor, 0),
        ("gicc", cpu.gic_cpu_interface if cpu.irq_controller == "gicv2" else None, 1),
        ("gicr", cpu.gic_redistributor if cpu.irq_controller == "gicv3" else None, 1),
    )
    return [
        OverlayDevice(
            (
                ("alias", name),
                ("of", qemu.controller_type),
                ("mmio", str(region)),
                ("base", hex(base)),
            )
        )
        for name, base, region in windows
        if base is not None
    ]


def _board_uart(name: str, uart: Uart, qemu: Qemu) -> OverlayDevice:
    return _uart(name, uart.driver, uart.base, uart.receive_irq, uart.clock_hz, uart.serial, qemu)


def _uart(
    name: str,
    kind: str,
    base: int,
    irq: int,
    clock_hz: int | None,
    serial: int | None,
    qemu: Qemu,
) -> OverlayDevice:
    options = [("base", hex(base)), ("irq", str(irq + qemu.irq_offset))]
    options.append(("intc", qemu.controller_type))
    if kind == "dw_apb_uart":
        if clock_hz is not None:
            options.append(("clock", str(clock_hz)))
        return OverlayDevice((("dw_uart", name), *options), serial, reports=True)
    return OverlayDevice((("peripheral", kind), ("name", name), *options), serial, reports=True)


def _overlay(overlay: Overlay, qemu: Qemu) -> OverlayDevice:
    base = overlay.base or 0
    match overlay.kind:
        case "ram":
            return _ram(overlay.name, Range(base, overlay.size or 0))
        case "alias":
            options = [("alias", overlay.name), ("of", overlay.of or ""), ("base", hex(base))]
            numbers = {"size": overlay.size, "mmio": overlay.mmio, "offset": overlay.offset}
            options += [(k, hex(number)) for k, number in numbers.items() if number is not None]
            return OverlayDevice(tuple(options))
        case "clock":
            return OverlayDevice(
                (("machine_clock", overlay.of or ""), ("hz", str(overlay.clock_hz)))
            )
        case "dw_apb_uart" | "imx_uart" | "meson_uart":
            irq = overlay.irq or 0
            kind, clock, serial = overlay.kind, overlay.clock_hz, overlay.serial
            return _uart(overlay.name, kind, base, irq, clock, serial, qemu)
        case _:
            return _peripheral(overlay, base, qemu)


def _peripheral(overlay: Overlay, base: int, qemu: Qemu) -> OverlayDevice:
    options = [("peripheral", overlay.kind), ("name", overlay.name), ("base", hex(base))]
    if overlay.irq is not None:
        options.append(("irq", str(overlay.irq + qemu.irq_offset)))
        options.append(("intc", qemu.controller_type))
    if overlay.size is not None:
        options.append(("size", hex(overlay.size)))
    if overlay.clock_hz is not None:
        options.append(("clock", str(overlay.clock_hz)))
    if overlay.hiword:
        options.append(("hiword", "1"))
    for key in _NUMBERS:
        value = getattr(overlay, key)
        if value is not None:
            options.append((key, hex(value)))
    return OverlayDevice(tuple(options), reports=True)
