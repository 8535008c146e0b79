"""GLB: the interrupt rule of the hardware. Status latches; the line is a masked level."""

from __future__ import annotations

import numpy as np

from .conftest import DONE, Device
from .programs import enable_sdp, run_sdp, sdp_registers

ALL_BITS = 0x3F03FF


def test_set_mask_and_write_one_to_clear(device: Device) -> None:
    device.write("GLB.S_INTR_SET", 0xFFFFFFFF)
    assert device.read("GLB.S_INTR_SET") == 0
    assert device.read("GLB.S_INTR_STATUS") == ALL_BITS
    assert device.accelerator.irq
    device.write("GLB.S_INTR_STATUS", 0x30001)
    assert device.read("GLB.S_INTR_STATUS") == ALL_BITS & ~0x30001
    device.write("GLB.S_INTR_MASK", 0xFFFFFFFF)
    assert device.read("GLB.S_INTR_MASK") == ALL_BITS
    assert not device.accelerator.irq
    device.write("GLB.S_INTR_MASK", ALL_BITS & ~2)
    assert device.accelerator.irq
    device.write("GLB.S_INTR_STATUS", 2)
    assert not device.accelerator.irq
    assert device.read("GLB.S_INTR_STATUS") != 0


def test_masked_event_latches_and_rises_when_unmasked(device: Device) -> None:
    device.write("GLB.S_INTR_MASK", ALL_BITS)
    sdp_registers(device, (8, 1, 1), 8)
    enable_sdp(device)
    device.accelerator.run()
    assert not device.accelerator.irq
    assert device.read("GLB.S_INTR_STATUS") == 1 << DONE["SDP"]
    device.write("GLB.S_INTR_MASK", 0)
    assert device.accelerator.irq
    assert device.accelerator.irq_count == 1


def test_line_stays_high_until_the_last_bit_is_cleared(device: Device) -> None:
    device.write("GLB.S_INTR_SET", 3)
    device.write("GLB.S_INTR_STATUS", 1)
    assert device.accelerator.irq
    device.write("GLB.S_INTR_STATUS", 2)
    assert not device.accelerator.irq
    assert device.accelerator.irq_count == 1


def test_no_interrupt_before_the_operation_is_done(device: Device) -> None:
    cube = np.arange(8 * 4 * 4, dtype=np.int8).reshape(8, 4, 4)
    sdp_registers(device, cube.shape, 8)
    enable_sdp(device)
    due = device.accelerator.next_event()
    assert due is not None and due > 1
    device.accelerator.advance(due - 1)
    assert not device.accelerator.irq
    device.accelerator.execute()
    assert not device.accelerator.irq
    device.accelerator.advance(1)
    assert device.accelerator.irq
    assert device.accelerator.next_event() is None
    assert (run_sdp_again(device, cube) == cube).all()


def run_sdp_again(device: Device, cube: np.ndarray) -> np.ndarray:
    """Group 1 is next after one operation: start from power-up instead."""
    device.accelerator.reset()
    return run_sdp(device, cube)
