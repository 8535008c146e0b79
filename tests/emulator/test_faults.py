"""Faults on demand, for tests of drivers."""

from __future__ import annotations

import numpy as np
import pytest

from fwgen.errors import UsageError

from .conftest import SOURCE, TARGET, Device
from .programs import enable_sdp, pack, sdp_registers

SHAPE = (8, 2, 2)
CUBE = np.arange(1, 33, dtype=np.int8).reshape(SHAPE)


def start(device: Device, group: int = 0) -> None:
    device.put(SOURCE, pack(CUBE, 8))
    sdp_registers(device, SHAPE, 8, group=group)
    enable_sdp(device)


def test_interrupt_lost(device: Device) -> None:
    device.accelerator.fault("irq-lost")
    start(device)
    device.accelerator.run()
    assert device.accelerator.irq_count == 0
    assert device.read("GLB.S_INTR_STATUS") == 0
    assert device.read("SDP.S_STATUS") == 0
    start(device, 1)
    assert device.run() == 2


def test_fault_of_the_second_operation(device: Device) -> None:
    device.accelerator.fault("irq-lost:1")
    start(device)
    assert device.run() == 1
    start(device, 1)
    assert device.run() == 0


def test_fault_of_every_operation(device: Device) -> None:
    device.accelerator.fault("irq-lost:*")
    for group in (0, 1, 0):
        start(device, group)
        assert device.run() == 0


def test_interrupt_late(device: Device) -> None:
    device.accelerator.fault("irq-late:0:1000")
    start(device)
    device.accelerator.advance(device.accelerator.next_event() or 0)
    assert device.read("SDP.S_STATUS") == 0
    assert not device.accelerator.irq
    assert device.accelerator.next_event() == 1000
    device.accelerator.advance(1000)
    assert device.accelerator.irq


def test_interrupt_twice(device: Device) -> None:
    device.accelerator.fault("irq-twice")
    start(device)
    assert device.run() == 1
    assert not device.accelerator.irq
    device.accelerator.advance(1)
    assert device.run() == 1
    assert device.run() == 0
    assert device.accelerator.irq_count == 2


def test_spurious_interrupt(device: Device) -> None:
    device.accelerator.fault("irq-spurious")
    start(device)
    device.accelerator.advance(1)
    assert device.accelerator.irq
    assert device.read("GLB.S_INTR_STATUS") == 0
    assert not device.accelerator.irq
    assert device.run() == 1


def test_stuck_busy_until_reset(device: Device) -> None:
    device.accelerator.fault("stuck-busy")
    start(device)
    device.accelerator.run()
    assert device.read("SDP.S_STATUS") == 1
    assert device.accelerator.next_event() is None
    device.write("GEC.SWRESET", 1)
    assert device.read("SDP.S_STATUS") == 0
    start(device)
    assert device.run() == 1


def test_dma_error(device: Device) -> None:
    device.accelerator.fault("dma-error")
    start(device)
    device.accelerator.execute()
    assert device.run() == 1
    assert device.errors() == ["SDP_RDMA.D_SRC_BASE_ADDR_LOW: DMA error (injected fault)"]
    assert not device.bytes_at(TARGET, 32).any()


def test_bit_flip(device: Device) -> None:
    device.accelerator.fault("bit-flip:0:19")
    start(device)
    device.run()
    difference = device.bytes_at(TARGET, 32) ^ device.bytes_at(SOURCE, 32)
    assert difference[2] == 1 << 3
    assert np.count_nonzero(difference) == 1
    assert device.errors() == []


@pytest.mark.parametrize(
    "spec", ["", "irq", "irq-lost:x", "irq-lost:1:2", "irq-late", "irq-late:1", "bit-flip:0:-1"]
)
def test_bad_specifications(device: Device, spec: str) -> None:
    with pytest.raises(UsageError):
        device.accelerator.fault(spec)


def lost_of(device: Device, count: int) -> list[int]:
    lost = []
    for number in range(count):
        start(device, number & 1)
        if device.run() == 0:
            lost.append(number)
    return lost


def test_faults_at_random_can_be_repeated(device: Device) -> None:
    device.accelerator.fault("irq-lost:p=1/4:seed=3")
    lost = lost_of(device, 200)
    assert 25 <= len(lost) <= 75
    assert len({b - a for a, b in zip(lost, lost[1:], strict=False)}) > 4


@pytest.mark.parametrize("spec", ["irq-lost:p=0/3", "irq-lost:p=0/1:seed=5"])
def test_a_fault_without_chance_never_strikes(device: Device, spec: str) -> None:
    device.accelerator.fault(spec)
    assert lost_of(device, 50) == []


def test_a_certain_fault_always_strikes_with_its_argument(device: Device) -> None:
    device.accelerator.fault("irq-late:p=1/1:1000")
    start(device)
    device.accelerator.advance(device.accelerator.next_event() or 0)
    assert device.accelerator.next_event() == 1000


@pytest.mark.parametrize(
    "spec",
    ["irq-lost:p=", "irq-lost:p=1", "irq-lost:p=/2", "irq-lost:p=1/0", "irq-lost:p=3/2",
     "irq-lost:p=1/2:seed=", "irq-lost:p=1/2:seed=x", "irq-lost:p=1/2:3", "irq-lost:p=1/2x"],
)  # fmt: skip
def test_wrong_probabilities_are_refused(device: Device, spec: str) -> None:
    with pytest.raises(UsageError):
        device.accelerator.fault(spec)
