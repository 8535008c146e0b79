"""BDMA and RUBIK, on the configuration that exists for this test, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from .conftest import SOURCE, SRAM_BASE, TARGET, Device
from .programs import pack, unpack

CONFIG = "test_bdma_rubik"
ATOM = 32
DRAM, SRAM = 1, 0


@pytest.fixture
def device(make_device: Callable[..., Device]) -> Device:
    return make_device(CONFIG)


def noise(size: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


# ---- BDMA ----


def store(
    device: Device,
    source: int = SOURCE,
    target: int = TARGET,
    line: int = 32,
    lines: int = 1,
    surfaces: int = 1,
    strides: tuple[int, int, int, int] = (0, 0, 0, 0),
    types: tuple[int, int] = (DRAM, DRAM),
) -> None:
    """One transfer; strides are line and surface of the source, then of the target."""
    device.program(
        "BDMA",
        {
            "CFG_SRC_ADDR_LOW": source,
            "CFG_SRC_ADDR_HIGH": 0,
            "CFG_DST_ADDR_LOW": target,
            "CFG_DST_ADDR_HIGH": 0,
            "CFG_LINE": line // 32 - 1,
            "CFG_CMD": types[0] | types[1] << 1,
            "CFG_LINE_REPEAT": lines - 1,
            "CFG_SRC_LINE": strides[0],
            "CFG_DST_LINE": strides[2],
            "CFG_SURF_REPEAT": surfaces - 1,
            "CFG_SRC_SURF": strides[1],
            "CFG_DST_SURF": strides[3],
            "CFG_OP": 1,
        },
    )


def test_lines_and_surfaces(device: Device) -> None:
    data = noise(0x4000)
    device.put(SOURCE, data)
    store(device, line=96, lines=5, surfaces=3, strides=(128, 0x1000, 96, 0x800))
    device.write("BDMA.CFG_LAUNCH0", 1)
    assert device.run() == 1 << 6
    expected = np.zeros(0x4000, np.uint8)
    for surface in range(3):
        for y in range(5):
            at, to = surface * 0x1000 + y * 128, surface * 0x800 + y * 96
            expected[to : to + 96] = data[at : at + 96]
    assert (device.bytes_at(TARGET, 0x4000) == expected).all()
    (done,) = device.operations()
    assert (done.unit, done.group, done.bytes_read, done.bytes_written) == ("BDMA", 0, 1440, 1440)
    assert device.errors() == []


def test_between_the_memories_and_back(device: Device) -> None:
    data = noise(256)
    device.put(SOURCE, data)
    store(device, target=SRAM_BASE, line=256, types=(DRAM, SRAM))
    store(device, source=SRAM_BASE + 64, target=TARGET, line=128, types=(SRAM, DRAM))
    device.write("BDMA.CFG_LAUNCH1", 1)
    assert device.run() == 1 << 7
    assert (device.sram[:256] == data).all()
    assert (device.bytes_at(TARGET, 128) == data[64:192]).all()


def test_slots_groups_and_status(device: Device) -> None:
    device.put(SOURCE, noise(64))
    assert device.read("BDMA.STATUS") == 20 | 1 << 8
    for i in range(3):
        store(device, target=TARGET + 32 * i)
    assert device.read("BDMA.STATUS") == 17 | 1 << 8
    device.write("BDMA.CFG_LAUNCH0", 1)
    assert device.read("BDMA.STATUS") == 17 | 1 << 9
    store(device, source=TARGET, target=TARGET + 0x1000)
    device.write("BDMA.CFG_LAUNCH1", 1)
    assert device.read("BDMA.STATUS") == 16 | 3 << 9
    device.accelerator.advance(device.accelerator.next_event() or 0)
    assert device.take_status() == 1 << 6
    assert device.read("BDMA.STATUS") == 19 | 1 << 10
    assert device.run() == 1 << 7
    assert device.read("BDMA.STATUS") == 20 | 1 << 8
    # The second group saw what the first had written.
    assert (device.bytes_at(TARGET + 0x1000, 32) == device.bytes_at(SOURCE, 32)).all()
    assert [op.group for op in device.operations()] == [0, 1]
    assert device.errors() == []


def test_the_group_launched_first_runs_first(device: Device) -> None:
    for group in (1, 0):
        store(device)
        device.write(f"BDMA.CFG_LAUNCH{group}", 1)
    device.accelerator.run()
    assert [op.group for op in device.operations()] == [1, 0]


def test_misuse_of_slots_is_an_error(device: Device) -> None:
    for _ in range(21):
        store(device)
    assert device.errors() == [
        "write of 1 to BDMA.CFG_OP: no slot is free, the transfer is dropped"
    ]
    device.write("BDMA.CFG_LAUNCH0", 1)
    device.write("BDMA.CFG_LAUNCH0", 1)
    assert device.errors()[1:] == ["write of 1 to BDMA.CFG_LAUNCH0: the group is busy"]
    assert device.run() == 1 << 6
    device.write("BDMA.CFG_LAUNCH1", 1)
    assert device.errors()[2:] == ["write of 1 to BDMA.CFG_LAUNCH1: no transfer is stored"]
    assert device.run() == 1 << 7


@pytest.mark.parametrize(
    ("transfer", "text"),
    [
        ({"source": 0x1000}, "BDMA.CFG_SRC_ADDR_LOW: DMA read of 32 bytes at 0x1000 of DRAM"),
        ({"target": 0x1000}, "BDMA.CFG_DST_ADDR_LOW: DMA write of 32 bytes at 0x1000 of DRAM"),
        (
            {"lines": 1 << 24, "surfaces": 1 << 24},
            "BDMA.CFG_LINE_REPEAT and CFG_SURF_REPEAT: 16777216 by 16777216 lines",
        ),
    ],
)
def test_bad_transfers_complete(device: Device, transfer: dict[str, int], text: str) -> None:
    store(device, **transfer)  # type: ignore[arg-type]
    device.write("BDMA.CFG_LAUNCH0", 1)
    assert device.run() == 1 << 6
    assert text in device.errors()[0]
    assert not device.bytes_at(TARGET, 64).any()


def test_reset_drops_transfers(device: Device) -> None:
    store(device)
    device.write("BDMA.CFG_LAUNCH0", 1)
    device.write("GEC.SWRESET", 1)
    assert device.read("BDMA.STATUS") == 20 | 1 << 8
    assert device.run() == 0


@pytest.mark.parametrize("register", ["BDMA.CFG_OP", "RBK.D_OP_ENABLE"])
def test_published_configurations_have_neither_block(
    make_device: Callable[..., Device], register: str
) -> None:
    published = make_device("nv_large")
    published.write(register, 1)
    assert published.errors() == [f"write of {register}: nv_large has no such block"]


def test_faults_of_bdma(device: Device) -> None:
    device.put(SOURCE, np.full(32, 7, np.uint8))
    device.accelerator.fault("bit-flip:0:8")
    device.accelerator.fault("irq-lost:1")
    store(device)
    device.write("BDMA.CFG_LAUNCH0", 1)
    assert device.run() == 1 << 6
    assert list(device.bytes_at(TARGET, 3)) == [7, 6, 7]
    store(device)
    device.write("BDMA.CFG_LAUNCH1", 1)
    assert device.run() == 0


# ---- RUBIK ----


def reshape_registers(device: Device, mode: int, group: int = 0, **values: int) -> None:
    device.write("RBK.S_POINTER", group)
    device.program(
        "RBK",
        {
            "D_MISC_CFG": mode,
            "D_DAIN_RAM_TYPE": DRAM,
            "D_DAIN_ADDR_LOW": SOURCE,
            "D_DAOUT_RAM_TYPE": DRAM,
            "D_DAOUT_ADDR_LOW": TARGET,
            **values,
        },
    )


def size(width: int, height: int) -> int:
    return (width - 1) | (height - 1) << 16


@pytest.mark.parametrize("shape", [(5, 3, 7), (32, 2, 4), (70, 4, 33), (1, 1, 1)])
def test_split_and_merge(device: Device, shape: tuple[int, int, int]) -> None:
    channels, height, width = shape
    cube = noise(channels * height * width, 5).view(np.int8).reshape(shape)
    line, plane = 64, 0x800
    surface = height * width * ATOM
    device.put(SOURCE, pack(cube, ATOM))
    feature = {"LINE_STRIDE": width * ATOM, "SURF_STRIDE": surface}
    planar = {"LINE_STRIDE": line, "PLANAR_STRIDE": plane}
    common = {
        "D_DATAIN_SIZE_0": size(width, height),
        "D_DATAIN_SIZE_1": channels - 1,
        "D_DATAOUT_SIZE_1": channels - 1,
    }
    reshape_registers(
        device, 1, **common,
        **{f"D_DAIN_{k}": v for k, v in feature.items()},
        **{f"D_DAOUT_{k}": v for k, v in planar.items()},
    )  # fmt: skip
    device.write("RBK.D_OP_ENABLE", 1)
    assert device.run() == 1 << 8
    planes = device.bytes_at(TARGET, plane * channels).reshape(channels, plane)
    expected = np.zeros_like(planes)
    for c in range(channels):
        for y in range(height):
            expected[c, y * line : y * line + width] = cube[c, y].view(np.uint8)
    assert (planes == expected).all()
    # And back, into memory that is not zero.
    back = SOURCE + 0x80000
    device.bytes_at(back, 0x10000)[:] = 0xA5
    reshape_registers(
        device, 2, 1, **common, D_DAIN_ADDR_LOW=TARGET, D_DAOUT_ADDR_LOW=back,
        **{f"D_DAIN_{k}": v for k, v in planar.items()},
        **{f"D_DAOUT_{k}": v for k, v in feature.items()},
    )  # fmt: skip
    device.write("RBK.D_OP_ENABLE", 1)
    assert device.run() == 1 << 9
    surfaces = -(-channels // ATOM)
    whole = unpack(device.bytes_at(back, surfaces * surface), surfaces * ATOM, height, width, ATOM)
    assert (whole[:channels] == cube).all()
    assert not whole[channels:].any()
    assert device.bytes_at(back + surfaces * surface, 1)[0] == 0xA5
    assert [op.unit for op in device.operations()] == ["RUBIK", "RUBIK"]
    assert device.errors() == []


@pytest.mark.parametrize(("down", "across"), [(1, 1), (2, 2), (3, 2), (1, 4)])
@pytest.mark.parametrize("channels", [16, 40])
def test_contract(device: Device, down: int, across: int, channels: int) -> None:
    """A deconvolution's last step: phases of every pixel become neighbours."""
    height, width = 3, 5
    phases = noise(down * across * channels * height * width, 9).view(np.int8)
    phases = phases.reshape(down, across, channels, height, width)
    surface = height * width * ATOM
    group = -(-channels // ATOM) * surface
    for dy in range(down):
        for dx in range(across):
            device.put(SOURCE + (dy * across + dx) * group, pack(phases[dy, dx], ATOM))
    out_line = width * across * ATOM
    out_surface = out_line * height * down
    reshape_registers(
        device, 0,
        D_DATAIN_SIZE_0=size(width, height),
        D_DATAIN_SIZE_1=channels * down * across - 1,
        D_DATAOUT_SIZE_1=channels - 1,
        D_DAIN_LINE_STRIDE=width * ATOM,
        D_DAIN_SURF_STRIDE=surface,
        D_DAOUT_LINE_STRIDE=out_line,
        D_DAOUT_SURF_STRIDE=out_surface,
        D_CONTRACT_STRIDE_0=group,
        D_CONTRACT_STRIDE_1=down * out_line,
        D_DECONV_STRIDE=(across - 1) | (down - 1) << 16,
    )  # fmt: skip
    device.write("RBK.D_OP_ENABLE", 1)
    assert device.run() == 1 << 8
    expected = phases.transpose(2, 3, 0, 4, 1).reshape(channels, height * down, width * across)
    found = device.bytes_at(TARGET, -(-channels // ATOM) * out_surface)
    assert (unpack(found, *expected.shape, ATOM) == expected).all()
    assert device.errors() == []


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"D_MISC_CFG": 3}, "RBK.D_MISC_CFG.RUBIK_MODE = 3: reserved"),
        ({"D_MISC_CFG": 0x100}, "RBK.D_MISC_CFG.IN_PRECISION = 1: only int8 is modelled"),
        ({"D_DAIN_ADDR_HIGH": 1}, "RBK.D_DAIN_ADDR_LOW: DMA read"),
        ({"D_DAOUT_ADDR_LOW": 0}, "RBK.D_DAOUT_ADDR_LOW: DMA write"),
        (
            {"D_DATAIN_SIZE_0": 0x1FFF1FFF, "D_DATAIN_SIZE_1": 0x1FFF},
            "RBK.D_DATAIN_SIZE_0: 549755813888 elements are more than is emulated",
        ),
    ],
)
def test_refused_reshapes_complete(device: Device, values: dict[str, int], text: str) -> None:
    reshape_registers(device, 1, **values)
    device.write("RBK.D_OP_ENABLE", 1)
    assert device.run() == 1 << 8
    assert any(text in message for message in device.errors())
    assert not device.bytes_at(TARGET, 64).any()


def test_a_reshape_group_takes_no_writes_while_armed(device: Device) -> None:
    reshape_registers(device, 1)
    device.write("RBK.D_OP_ENABLE", 1)
    assert device.read("RBK.S_STATUS") == 1
    device.write("RBK.D_MISC_CFG", 2)
    assert "group 0 is armed" in device.errors()[0]
    device.run()
    assert device.read("RBK.S_POINTER") == 1 << 16
