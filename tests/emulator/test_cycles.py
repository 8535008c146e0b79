"""The cycle estimate: published figures, and the C model against the host's own rules.

The operations run through the register interface with addresses outside of memory: they
fail at once, but they last as long as they would.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from fwgen.accel.nvdla.performance import HARDWARE, Convolution, Hardware, estimate

from .conftest import SOURCE, Device
from .networks import alexnet, googlenet, resnet50, square
from .programs import (
    cdp_registers,
    conv_registers,
    enable_conv,
    pdp_registers,
    sdp_registers,
)

NOWHERE = 0x1000
ATOM = {name: hw.channel_granule for name, hw in HARDWARE.items()}

SHEET = Hardware(2048, 512, Fraction(10), 32, 16, winograd=True)


@pytest.mark.parametrize(
    ("layer", "cycles", "bound"),
    [
        ("conv1", 153_664, "MAC"),
        ("res2a_branch1", 99_600, "DRAM"),
        ("res2a_branch2a", 99_600, "DRAM"),
    ],
)
def test_first_layers_of_the_sheet(layer: str, cycles: int, bound: str) -> None:
    found = estimate(resnet50(batch=16, as_in_sheet=True)[layer], SHEET)
    assert (found.cycles, found.bound) == (cycles, bound)


@pytest.mark.parametrize(
    ("layers", "milliseconds"),
    [
        (list(resnet50(batch=16, as_in_sheet=True).values()), 7.113691),
        (alexnet(16), 0.895),
        pytest.param(
            googlenet(16), 1.222,
            marks=pytest.mark.xfail(reason="the sheet's list of layers is not known", strict=True),
        ),
    ],
)  # fmt: skip
def test_networks_of_the_sheet(layers: list[Convolution], milliseconds: float) -> None:
    total = sum(estimate(layer, SHEET).cycles for layer in layers)
    assert total / 1e6 == pytest.approx(milliseconds, rel=0.1)


@pytest.mark.parametrize(
    ("macs", "buffer", "bandwidth", "granule", "frames"),
    [
        (2048, 512, Fraction(20), 32, 269),
        (1024, 256, Fraction(15), 32, 153),
        (512, 256, Fraction(10), 16, 93),
        (256, 256, Fraction(5), 8, 46),
        (128, 256, Fraction(2), 8, 20),
        (64, 128, Fraction(1), 8, 7.3),
        (32, 128, Fraction(1, 2), 8, 3.6),
    ],
)
def test_resnet50_of_the_primer(
    macs: int, buffer: int, bandwidth: Fraction, granule: int, frames: float
) -> None:
    hw = Hardware(macs, buffer, bandwidth, granule, min(granule, 16))
    total = sum(estimate(layer, hw).cycles for layer in resnet50().values())
    assert 1e9 / total == pytest.approx(frames, rel=0.05)


def program_layer(device: Device, layer: Convolution, atom: int, *, image: bool) -> None:
    """Registers of a layer, as a feature or an image convolution."""
    out = (layer.out_height, layer.out_width)
    shape = (layer.kernels, *out)
    pooled = (layer.stored_height, layer.stored_width) != out
    conv_registers(
        device,
        (layer.channels, layer.height, layer.width),
        (layer.kernels, layer.rows, layer.columns),
        out,
        entries=1,
        stride=(layer.stride_y, layer.stride_x),
        atom=atom,
        D_DAIN_ADDR_LOW_0=NOWHERE,
        D_WEIGHT_ADDR_LOW=NOWHERE,
    )
    if image:
        deep = layer.columns * layer.channels
        device.write("CDMA.D_DATAIN_FORMAT", 1 | 12 << 8)
        device.write("CSC.D_DATAIN_FORMAT", 1)
        device.write("CSC.D_WEIGHT_SIZE_EXT_0", (layer.rows - 1) << 16)
        device.write("CSC.D_WEIGHT_SIZE_EXT_1", (deep - 1) | (layer.kernels - 1) << 16)
    sdp_registers(device, shape, atom, flying=True, to_pdp=pooled)
    if layer.elementwise:
        # X1 adds a cube of bytes from memory.
        device.write("SDP.D_DP_BS_CFG", 2 << 2 | 1 << 4 | 1 << 6)
        device.write("SDP.D_DP_BS_ALU_CFG", 1)
        device.write("SDP_RDMA.D_BRDMA_CFG", 1 << 1 | 1 << 4 | 1 << 5)
        device.write("SDP_RDMA.D_OP_ENABLE", 1)
    if pooled:
        pdp_registers(
            device, shape, (layer.stored_height, layer.stored_width), atom,
            kernel=(3, 3), stride=(2, 2), method=1, flying=True,
        )  # fmt: skip
        device.write("PDP.D_OP_ENABLE", 1)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)


def cycles_of(device: Device) -> int:
    """Cycles from start to end of what runs now."""
    device.accelerator.run()
    done = device.operations()
    return max(op.end_cycle for op in done) - min(op.start_cycle for op in done)


@pytest.mark.parametrize("config", list(HARDWARE))
def test_resnet50_through_registers(make_device: Callable[..., Device], config: str) -> None:
    device = make_device(config)
    for name, layer in resnet50().items():
        device.accelerator.reset()
        program_layer(device, layer, ATOM[config], image=name == "conv1")
        expected = estimate(layer, HARDWARE[config])
        assert cycles_of(device) == expected.cycles, name


ODD = {
    "few channels": square(3, 30, 5, 3, 1, 28),
    "stride 3": square(5, 31, 9, 5, 3, 9),
    "one pixel": square(8, 1, 8, 1, 1, 1),
    "rows pass the buffer": Convolution(1024, 8, 1024, 16, 3, 3, 8, 1024, 8, 1024),
    "kernels pass the buffer": Convolution(4096, 7, 7, 40, 7, 7, 1, 1, 1, 1),
    "not square": Convolution(24, 10, 40, 33, 1, 5, 10, 18, 10, 18, 1, 2),
}


@pytest.mark.parametrize("config", list(HARDWARE))
@pytest.mark.parametrize("layer", ODD.values(), ids=ODD)
def test_odd_layers_through_registers(
    make_device: Callable[..., Device], config: str, layer: Convolution
) -> None:
    device = make_device(config)
    program_layer(device, layer, ATOM[config], image=False)
    # The three completions of a chain never fall together.
    assert cycles_of(device) == max(3, estimate(layer, HARDWARE[config]).cycles)


def test_first_layers_on_nv_large_at_half_of_its_bandwidth() -> None:
    """nv_large is the sheet's build but for Winograd, and twice its bandwidth."""
    layer = resnet50()["res2a_branch1"]
    assert estimate(layer, HARDWARE["nv_large"]).cycles == 99_600 // 2


@pytest.mark.parametrize(
    ("config", "cycles"), [("nv_small", 64 * 64 * 8 * 2 * 1000 / 1024), ("nv_large", 64 * 64 * 4)]
)
def test_sdp_from_memory(make_device: Callable[..., Device], config: str, cycles: float) -> None:
    device = make_device(config)
    sdp_registers(device, (8, 64, 64), ATOM[config])
    device.write("SDP_RDMA.D_SRC_BASE_ADDR_LOW", NOWHERE)
    device.write("SDP.D_OP_ENABLE", 1)
    device.write("SDP_RDMA.D_OP_ENABLE", 1)
    # nv_small: reads and writes through one port. nv_large: 32 bytes an element line.
    expected = cycles if config == "nv_small" else 64 * 64 * 32 * 2 * 1000 / 1024 / 20
    assert cycles_of(device) == pytest.approx(expected, abs=1)


def test_pdp_and_cdp_from_memory(device: Device) -> None:
    pdp_registers(device, (8, 64, 64), (32, 32), 8, kernel=(2, 2), stride=(2, 2), method=1)
    device.write("PDP_RDMA.D_SRC_BASE_ADDR_LOW", NOWHERE)
    device.write("PDP_RDMA.D_OP_ENABLE", 1)
    device.write("PDP.D_OP_ENABLE", 1)
    assert cycles_of(device) == (64 * 64 + 32 * 32) * 8 * 1000 / 1024
    cdp_registers(device, (8, 32, 32), 8)
    device.write("CDP_RDMA.D_SRC_BASE_ADDR_LOW", NOWHERE)
    device.write("CDP_RDMA.D_OP_ENABLE", 1)
    device.write("CDP.D_OP_ENABLE", 1)
    assert cycles_of(device) == 32 * 32 * 8 * 2 * 1000 / 1024


def test_the_second_port_has_its_own_time(make_device: Callable[..., Device]) -> None:
    device = make_device("nv_large")
    shape = (32, 64, 64)
    size = 64 * 64 * 32
    sdp_registers(device, shape, 32, D_DST_DMA_CFG=0)
    device.write("SDP_RDMA.D_SRC_BASE_ADDR_LOW", SOURCE)
    device.write("SDP.D_OP_ENABLE", 1)
    device.write("SDP_RDMA.D_OP_ENABLE", 1)
    # 16 elements a cycle; the reads alone at 20 GB/s take less, the writes (32 bytes) too.
    assert cycles_of(device) == size // 16


def test_the_interrupts_of_a_chain_come_in_order(device: Device) -> None:
    program_layer(device, square(16, 16, 16, 3, 1, 16), 8, image=False)
    seen = []
    while (wait := device.accelerator.next_event()) is not None:
        device.accelerator.advance(wait)
        seen.append(
            (device.take_status(), device.read("CDMA.S_STATUS"), device.read("SDP.S_STATUS"))
        )
    assert [status for status, _, _ in seen] == [0b101 << 16, 1 << 20, 1]
    assert [cdma for _, cdma, _ in seen] == [0, 0, 0]
    assert [sdp for _, _, sdp in seen] == [1, 1, 0]


def test_the_input_may_be_overwritten_once_it_is_loaded(device: Device) -> None:
    shape = (8, 2, 2)
    device.bytes_at(SOURCE, 32)[:] = 3
    conv_registers(device, shape, (8, 1, 1), (2, 2), entries=2)
    device.put(0x80300000, bytes(int(i % 9 == 0) for i in range(64)))
    sdp_registers(device, shape, 8, flying=True)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.accelerator.advance(device.accelerator.next_event() or 0)
    assert device.take_status() == 0b101 << 16
    device.bytes_at(SOURCE, 32)[:] = 4
    assert device.run() == 1 | 1 << 20
    assert (device.bytes_at(0x80100000, 32) == 3).all()
    assert device.errors() == []
