"""The machine that plays a board, from its profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fwgen.board.types import Accelerator, Board
from fwgen.errors import UsageError
from fwgen.machine.config import AcceleratorDevice, MachineConfig, Range
from fwgen.machine.overlays import overlay_devices, power_needs
from fwgen.machine.ranges import merge_ranges


def machine_config(
    board: Board,
    *,
    icount: bool = True,
    icount_shift: int | None = None,
    faults: Mapping[str, Sequence[str]] | None = None,
) -> MachineConfig:
    """What a QEMU session needs.

    Args:
        icount: count instructions, so that runs are repeatable.
        icount_shift: instead of the profile's.
        faults: fault specifications by accelerator name.

    Raises:
        UsageError: the board is not emulated, or a fault names no accelerator of it.
    """
    if board.qemu is None:
        raise UsageError(
            f"board '{board.name}' is not emulated",
            expected="a board whose profile has a [qemu] table",
            hints=("See `fwgen boards list`.",),
        )
    faults = faults or {}
    known = {a.name for a in board.accelerators if a.is_hardware}
    for name in faults:
        if name not in known:
            raise UsageError(
                f"board '{board.name}' has no accelerator '{name}'",
                expected="one of " + ", ".join(sorted(known)) if known else "no fault",
            )
    shift = board.qemu.icount_shift if icount_shift is None else icount_shift
    return MachineConfig(
        machine=board.qemu.machine,
        cpu=board.qemu.cpu,
        memory=board.qemu.memory,
        extra_args=board.qemu.args,
        accelerators=tuple(
            _device(board, accelerator, tuple(faults.get(accelerator.name, ())))
            for accelerator in board.accelerators
            if accelerator.is_hardware
        ),
        overlays=overlay_devices(board, board.qemu),
        reboot=board.qemu.reboot,
        console_serial_index=board.console.serial,
        link_serial_index=board.link.serial if board.link is not None else None,
        icount_shift=shift if icount else None,
    )


def _device(board: Board, accelerator: Accelerator, faults: tuple[str, ...]) -> AcceleratorDevice:
    assert board.qemu is not None
    base, irq, clock_hz = accelerator.base, accelerator.irq, accelerator.clock_hz
    assert base is not None and irq is not None and clock_hz is not None, "the loader checks it"
    dma = [Range(memory.base, memory.size) for memory in board.regions("dma")]
    sram: tuple[Range, ...] = ()
    if accelerator.sram is not None:
        memory = board.memory(accelerator.sram)
        sram = (Range(memory.base, memory.size),)
    return AcceleratorDevice(
        name=accelerator.name,
        family=accelerator.family,
        config=accelerator.config,
        base=base,
        irq=irq + board.qemu.irq_offset,
        size=accelerator.window,
        clock_hz=clock_hz,
        dma=merge_ranges(dma),
        sram=sram,
        reset=accelerator.reset_register,
        faults=faults,
        needs=power_needs(accelerator, board.qemu),
        controller=board.qemu.controller_type,
    )
