"""Faults on demand, for tests of drivers."""

from __future__ import annotations

import numpy as np
import pytest

from fwgen.errors import UsageError

from .conftest import DONE, SOURCE, TARGET, WEIGHTS, Device
from .programs import (
    cdp_registers,
    conv_registers,
    enable_conv,
    enable_sdp,
    pack,
    pdp_registers,
    sdp_registers,
)

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


CONV_BITS = 1 << DONE["CDMA_DAT"] | 1 << DONE["CDMA_WT"] | 1 << DONE["CACC"]


def start_chain(device: Device, group: int = 0) -> None:
    """An identity convolution: CONV is operation 0, SDP operation 1."""
    device.put(SOURCE, pack(CUBE, 8))
    device.put(WEIGHTS, np.eye(8, dtype=np.int8))
    conv_registers(device, SHAPE, (8, 1, 1), (2, 2), entries=2, group=group)
    sdp_registers(device, SHAPE, 8, flying=True, group=group)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)


@pytest.mark.parametrize(("index", "seen"), [(0, 1), (1, CONV_BITS), ("*", 0)])
def test_interrupts_of_a_chain_lost(device: Device, index: object, seen: int) -> None:
    device.accelerator.fault(f"irq-lost:{index}")
    start_chain(device)
    assert device.run() == seen
    assert (device.bytes_at(TARGET, 32) == device.bytes_at(SOURCE, 32)).all()
    for block in ("CDMA", "CSC", "CMAC_A", "CMAC_B", "CACC", "SDP"):
        assert device.read(f"{block}.S_STATUS") == 0


def test_interrupts_of_a_convolution_late(device: Device) -> None:
    device.accelerator.fault("irq-late:0:5000")
    start_chain(device)
    device.accelerator.advance(4000)
    assert device.take_status() == 1
    assert device.run() == CONV_BITS
    assert device.run() == 0


def test_interrupts_of_a_convolution_twice(device: Device) -> None:
    device.accelerator.fault("irq-twice:0")
    start_chain(device)
    assert device.run() == CONV_BITS | 1
    assert device.run() == CONV_BITS
    assert device.run() == 0


@pytest.mark.parametrize("index", [0, 1])
def test_a_chain_is_stuck_as_a_whole(device: Device, index: int) -> None:
    device.accelerator.fault(f"stuck-busy:{index}")
    start_chain(device)
    assert device.run() == 0
    assert device.read("CDMA.S_STATUS") == 1
    assert device.read("SDP.S_STATUS") == 1
    device.accelerator.reset()
    start_chain(device)
    assert device.run() == CONV_BITS | 1


def test_dma_error_of_a_chain_names_the_first_access(device: Device) -> None:
    device.accelerator.fault("dma-error")
    start_chain(device)
    assert device.run() == CONV_BITS | 1
    assert device.errors() == ["CDMA.D_DAIN_ADDR_LOW_0: DMA error (injected fault)"]
    assert not device.bytes_at(TARGET, 32).any()


def test_bit_flip_of_a_chain(device: Device) -> None:
    device.accelerator.fault("bit-flip:1:0")
    start_chain(device)
    device.run()
    difference = device.bytes_at(TARGET, 32) ^ device.bytes_at(SOURCE, 32)
    assert difference[0] == 1
    assert np.count_nonzero(difference) == 1


@pytest.mark.parametrize("fault", ["irq-lost", "stuck-busy", "dma-error", "irq-late:0:9"])
@pytest.mark.parametrize("unit", ["PDP", "CDP"])
def test_faults_of_the_other_units(device: Device, unit: str, fault: str) -> None:
    device.accelerator.fault(fault)
    device.put(SOURCE, pack(CUBE, 8))
    if unit == "PDP":
        pdp_registers(device, SHAPE, (1, 1), 8, kernel=(2, 2), stride=(2, 2), method=1)
    else:
        cdp_registers(device, SHAPE, 8)
    device.write(f"{unit}_RDMA.D_OP_ENABLE", 1)
    device.write(f"{unit}.D_OP_ENABLE", 1)
    seen = 0 if fault in ("irq-lost", "stuck-busy") else 1 << DONE[unit]
    assert device.run() == seen
    assert device.read(f"{unit}.S_STATUS") == (1 if fault == "stuck-busy" else 0)
    assert len(device.errors()) == (1 if fault == "dma-error" else 0)


def test_several_faults_at_once(device: Device) -> None:
    for fault in ("irq-spurious", "irq-twice", "bit-flip:0:0"):
        device.accelerator.fault(fault)
    start(device)
    device.accelerator.advance(1)
    assert device.accelerator.irq
    assert device.read("GLB.S_INTR_STATUS") == 0
    assert device.run() == 1
    assert device.run() == 1
    assert device.bytes_at(TARGET, 1)[0] == device.bytes_at(SOURCE, 1)[0] ^ 1


def test_too_many_faults(device: Device) -> None:
    for _ in range(8):
        device.accelerator.fault("irq-lost:1000")
    with pytest.raises(UsageError, match="too many faults"):
        device.accelerator.fault("irq-lost:1000")


def test_an_injected_error_is_a_guest_error(device: Device) -> None:
    """Runs fail on guest errors by their count; the texts name the register."""
    device.accelerator.fault("dma-error")
    start(device)
    device.run()
    assert device.accelerator.guest_error_count == 1
