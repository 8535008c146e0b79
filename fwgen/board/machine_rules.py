"""What must hold between a profile, the machine that plays it and the facts it calls unverified.

The emulated machine is QEMU's plus overlays: two things at one address, or an
interrupt line of nothing, would make an image fail there that is right.
"""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

from fwgen.board.rulebase import ADDRESS_SPACE, PAGE, UART_SIZE, Rules
from fwgen.board.types import Board, Overlay, OverlayKind, Qemu
from fwgen.toml.document import Node
from fwgen.toml.lines import Path

# Keys of each kind: those that it needs, and others that it takes.
OVERLAY_KEYS: dict[OverlayKind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ram": (("base", "size"), ()),
    "alias": (("base", "of"), ("size", "mmio", "offset")),
    "dw_apb_uart": (("base", "irq"), ("clock_hz", "serial")),
    "imx_uart": (("base", "irq"), ("serial",)),
    "meson_uart": (("base", "irq"), ("serial",)),
    "dw_wdt": (("base", "clock_hz"), ("irq",)),
    "rk_cru": (("base", "status"), ()),
    "rk_pmu": (("base", "gate", "status", "request", "idle", "ack"), ("off", "parked")),
    "registers": (("base",), ("size", "hiword")),
    "clock": (("of", "clock_hz"), ()),
}
# Bytes of registers, where `size` does not say.
_WINDOWS: dict[OverlayKind, int] = {
    "dw_apb_uart": UART_SIZE,
    "imx_uart": UART_SIZE,
    "meson_uart": UART_SIZE,
    "dw_wdt": 0x100,
    "rk_cru": 0x1000,
    "rk_pmu": 0x1000,
    "registers": 0x10000,
    "alias": PAGE,
}
_MODULE_UARTS = ("dw_apb_uart", "imx_uart", "meson_uart")
_CONTROLLERS = {"nvic": "armv7m", "gicv2": "arm_gic", "gicv3": "arm-gicv3"}
_GICD, _GICC, _GICR_EACH = 0x1000, 0x2000, 0x20000


def check_machine(board: Board, root: Node) -> None:
    """Check the rules about the timer, the emulated machine and what is unverified.

    Raises:
        UsageError: the first rule broken.
    """
    rules = _MachineRules(board, root)
    rules.controller()
    rules.unverified()
    if board.qemu is not None:
        rules.machine(board.qemu)
        for index, overlay in enumerate(board.qemu.overlays):
            rules.overlay_keys(("qemu", "overlay", index), overlay)
        rules.serial_lines(board.qemu)
        rules.overlay_interrupts(board.qemu)
        rules.addresses(board.qemu)
        rules.backed(board.qemu)


class _Span(NamedTuple):
    start: int
    end: int
    path: Path
    name: str


class _MachineRules(Rules):
    def controller(self) -> None:
        """The GIC's and the timer's keys are there where there is one, and only there."""
        cpu = self.board.cpu
        if cpu.irq_controller == "nvic":
            for key in ("gic_distributor", "gic_cpu_interface", "gic_redistributor", "timer_hz"):
                if getattr(cpu, key) is not None:
                    self.fail(
                        ("cpu", key),
                        f"a {cpu.core} has no '{key}'",
                        "no such key",
                    )
            return
        if cpu.prio_bits < 4:
            self.fail(
                ("cpu", "prio_bits"),
                f"a GIC has at least 4 priority bits, not {cpu.prio_bits}",
                "4 to 8",
            )
        spans = list(self._board_spans())
        for span in self._gic_spans():
            self.aligned(span.path, span.start, PAGE)
            self._clear(span, spans)
            spans.append(span)

    def unverified(self) -> None:
        """Each entry is a key of this profile."""
        board = self.board
        if board.verified and board.unverified:
            self.fail(
                ("verified",),
                "a profile with unverified keys is not verified",
                "verified = false, or no 'unverified'",
            )
        for index, entry in enumerate(board.unverified):
            if not _exists(self.root, entry.split(".")):
                self.fail(
                    ("unverified", index),
                    f"this profile has no key '{entry}'",
                    'a key as "cpu.external_irqs", "accelerator.base" or "memory.NAME.size"',
                )

    def machine(self, qemu: Qemu) -> None:
        """What `add` asks for can be added."""
        board, path = self.board, ("qemu", "add")
        fitting = _CONTROLLERS[board.cpu.irq_controller]
        if not qemu.controller_type.startswith("/") and qemu.controller_type != fitting:
            self.fail(
                ("qemu", "controller_type"),
                f"a {qemu.controller_type} is no {board.cpu.irq_controller}",
                f"'{fitting}'",
            )
        for index, part in enumerate(qemu.add):
            if part in qemu.add[:index]:
                self.fail((*path, index), f"'{part}' is given twice")
        if "interrupt_controller" in qemu.add and board.cpu.irq_controller == "nvic":
            self.fail(path, "every machine with this core has an NVIC", "no interrupt_controller")
        if "link" in qemu.add and board.link is None:
            self.fail(path, "the board has no [link] to add")
        for key, uart in self.ports():
            if key in qemu.add and uart.driver not in _MODULE_UARTS:
                self.fail(
                    path,
                    f"[{key}] is a {uart.driver}, which the device module cannot add",
                    f"one of {', '.join(_MODULE_UARTS)}, or a machine that has it",
                )
            if key in qemu.add and uart.irq is None and uart.irq_tx != uart.irq_rx:
                self.fail((key, "irq_rx"), f"a {uart.driver} has one interrupt", "'irq'")

    def overlay_keys(self, path: Path, overlay: Overlay) -> None:
        """The keys of one overlay are those of its kind."""
        required, optional = OVERLAY_KEYS[overlay.kind]
        for key in required:
            if getattr(overlay, key) is None:
                self.fail(
                    path,
                    f"the overlay '{overlay.name}' has no '{key}'",
                    f"a {overlay.kind} has {', '.join(required)}",
                )
        takes = (*required, *optional)
        for field in fields(overlay):
            value = getattr(overlay, field.name)
            given = value is not None and value is not False
            if given and field.name not in ("name", "kind", *takes):
                self.fail(
                    (*path, field.name),
                    f"a {overlay.kind} has no '{field.name}'",
                    f"one of {', '.join(takes)}",
                )
        if overlay.kind in ("ram", "alias"):
            for key in ("base", "size", "offset"):
                self.aligned((*path, key), getattr(overlay, key) or 0, PAGE)
        elif overlay.base is not None:
            to = 0x100 if overlay.kind == "dw_apb_uart" else 4
            self.aligned((*path, "base"), overlay.base, to)

    def serial_lines(self, qemu: Qemu) -> None:
        """No two ports share a line of the emulator."""
        taken = {uart.serial: f"[{key}]" for key, uart in self.ports()}
        for index, overlay in enumerate(qemu.overlays):
            if overlay.serial is None:
                continue
            if overlay.serial in taken:
                self.fail(
                    ("qemu", "overlay", index, "serial"),
                    f"serial line {overlay.serial} of the emulator is taken by "
                    f"{taken[overlay.serial]}",
                    "another index",
                )
            taken[overlay.serial] = f"'{overlay.name}'"

    def overlay_interrupts(self, qemu: Qemu) -> None:
        """Interrupts of overlays exist and are nobody else's."""
        board = self.board
        taken = {a.irq: f"'{a.name}'" for a in board.accelerators if a.irq is not None}
        for key, uart in self.ports():
            for irq in (uart.irq, uart.irq_rx, uart.irq_tx):
                if irq is not None:
                    taken[irq] = f"[{key}]"
        for index, overlay in enumerate(qemu.overlays):
            path: Path = ("qemu", "overlay", index, "irq")
            if overlay.irq is None:
                continue
            if overlay.irq >= board.cpu.external_irqs:
                self.fail(
                    path,
                    f"interrupt {overlay.irq} does not exist on this "
                    f"{board.cpu.irq_controller.upper()}",
                    f"0 to {board.cpu.external_irqs - 1}",
                )
            if overlay.irq in taken:
                self.fail(
                    path,
                    f"interrupt {overlay.irq} is taken by {taken[overlay.irq]}",
                    "a line of its own",
                )
            taken[overlay.irq] = f"'{overlay.name}'"

    def addresses(self, qemu: Qemu) -> None:
        """No two things at one address; memory overlays hold whole memories."""
        self.unique(("qemu", "overlay"), (overlay.name for overlay in qemu.overlays))
        memories = [_memory_span(self.board, index) for index in range(len(self.board.memories))]
        devices = [*self._board_devices(), *self._gic_spans()]
        backing: list[_Span] = []
        for index, overlay in enumerate(qemu.overlays):
            if overlay.base is None:
                continue
            size = overlay.size or _WINDOWS.get(overlay.kind, PAGE)
            path: Path = ("qemu", "overlay", index, "base")
            span = _Span(overlay.base, overlay.base + size, path, f"overlay '{overlay.name}'")
            if span.end > ADDRESS_SPACE:
                self.fail(path, f"{span.name} ends at {span.end:#x}, above the 32-bit space")
            if overlay.kind == "ram" or (overlay.kind == "alias" and overlay.size is not None):
                self._clear(span, devices + backing)
                for memory in memories:
                    if _overlap(span, memory) and not _holds(span, memory):
                        self.fail(
                            path,
                            f"{_text(span)} covers a part of {_text(memory)}",
                            "all of it or nothing",
                        )
                backing.append(span)
            else:
                self._clear(span, devices + backing + memories)
                devices.append(span)

    def backed(self, qemu: Qemu) -> None:
        """Where nothing of the machine is left, every memory comes from an overlay."""
        if "unassigned" not in qemu.add or "memory" in qemu.add:
            return
        for index, memory in enumerate(self.board.memories):
            held = any(
                overlay.base is not None
                and overlay.base <= memory.base
                and memory.end <= overlay.base + (overlay.size or 0)
                for overlay in qemu.overlays
                if overlay.kind in ("ram", "alias")
            )
            if not held:
                self.fail(
                    ("memory", index, "base"),
                    f"the emulated board has no memory '{memory.name}'",
                    "a 'ram' or 'alias' in [[qemu.overlay]] that holds it, with its size, or "
                    '"memory" in qemu.add',
                )

    def _clear(self, span: _Span, others: list[_Span]) -> None:
        for other in others:
            if _overlap(span, other):
                self.fail(
                    span.path, f"{_text(span)} overlaps {_text(other)}", "an address of its own"
                )

    def _board_spans(self) -> list[_Span]:
        memories = [_memory_span(self.board, index) for index in range(len(self.board.memories))]
        return [*memories, *self._board_devices()]

    def _board_devices(self) -> list[_Span]:
        spans = [
            _Span(uart.base, uart.base + UART_SIZE, (key, "base"), f"[{key}]")
            for key, uart in self.ports()
        ]
        for index, item in enumerate(self.board.accelerators):
            path: Path = ("accelerator", index, "base")
            if item.base is not None:
                spans.append(_Span(item.base, item.base + item.window, path, f"'{item.name}'"))
        return spans

    def _gic_spans(self) -> list[_Span]:
        cpu = self.board.cpu
        sizes = {
            "gic_distributor": _GICD,
            "gic_cpu_interface": _GICC,
            "gic_redistributor": _GICR_EACH * cpu.cores,
        }
        spans = []
        for key, size in sizes.items():
            base = getattr(cpu, key)
            if base is not None:
                spans.append(_Span(base, base + size, ("cpu", key), f"cpu.{key}"))
        return spans


def _memory_span(board: Board, index: int) -> _Span:
    memory = board.memories[index]
    name = f"memory '{memory.name}'"
    return _Span(memory.base, memory.end, ("memory", index, "base"), name)


def _overlap(one: _Span, other: _Span) -> bool:
    return one.start < other.end and other.start < one.end


def _holds(outer: _Span, inner: _Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _text(span: _Span) -> str:
    return f"{span.name} ({span.start:#x} to {span.end - 1:#x})"


def _exists(node: Node, parts: list[str]) -> bool:
    """Whether a dotted key exists; elements of arrays of tables go by name or are meant all."""
    if not parts:
        return True
    if isinstance(node.value, dict):
        return parts[0] in node.value and _exists(node.value[parts[0]], parts[1:])
    if isinstance(node.value, list):
        tables = [item for item in node.value if isinstance(item.value, dict)]
        for item in tables:
            name = item.value.get("name")
            if name is not None and name.value == parts[0]:
                return _exists(item, parts[1:])
        return any(_exists(item, parts) for item in tables)
    return False
