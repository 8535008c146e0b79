"""The model's inner loops against its plain C for words: same bytes, same counts, random layers.

Shapes are odd on purpose: widths around the 16 and 32 pixels of a tile, channels and kernels that
fill no vector, rows that are joined to one line and rows that are not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from .conftest import OPERANDS, SOURCE, TARGET, WEIGHTS, Device
from .programs import conv_registers, cube_size, enable_conv, sdp_registers
from .test_conv import ATOMS, entries_of

VECTOR_KERNELS = ("amx", "avx512vnni", "avxvnni", "avx2", "plain-bytes", "plain-signed")
SAT_EN = 4


def random_sdp(rng: random.Random) -> tuple[dict[str, int], dict[str, int]]:
    """SDP and SDP_RDMA registers: stages with operands from registers or memory, or bypassed."""
    sdp: dict[str, int] = {"D_DP_EW_CFG": 1}
    rdma: dict[str, int] = {"D_ERDMA_CFG": 1}
    for stage, port in (("BS", "BRDMA"), ("BN", "NRDMA")):
        sources = rng.choice([(0, 0), (1, 1), (1, 0), (0, 1)])
        sdp |= {
            f"D_DP_{stage}_CFG": rng.choice([0, 0, 0, 1])
            | rng.getrandbits(1) << 1
            | rng.choice([0, 1, 2, 2, 2, 2]) << 2
            | rng.getrandbits(1) << 4
            | (rng.random() < 0.1) << 5
            | rng.getrandbits(1) << 6,
            f"D_DP_{stage}_ALU_CFG": sources[0] | rng.choice([0, 0, 3, 14]) << 8,
            f"D_DP_{stage}_ALU_SRC_VALUE": rng.getrandbits(16),
            f"D_DP_{stage}_MUL_CFG": sources[1] | rng.choice([0, 1, 8, 15, 32, 33]) << 8,
            f"D_DP_{stage}_MUL_SRC_VALUE": rng.getrandbits(rng.choice([4, 16])),
        }
        rdma |= {
            # Both operands of 1 or 2 bytes, per channel or per element.
            f"D_{port}_CFG": 2 << 1 | rng.getrandbits(1) << 3 | (rng.random() < 0.2) << 4 | 1 << 5,
            f"D_{stage}_BASE_ADDR_LOW": OPERANDS,
            f"D_{stage}_LINE_STRIDE": 512,
            f"D_{stage}_SURFACE_STRIDE": 4096,
        }
    sdp |= {
        "D_CVT_OFFSET": rng.choice([0, 0, rng.getrandbits(32), rng.getrandbits(8)]),
        "D_CVT_SCALE": rng.choice([1, rng.getrandbits(16), rng.getrandbits(15)]),
        "D_CVT_SHIFT": rng.choice([0, 7, 16, 24, 32, 33]),
    }
    return sdp, rdma


def usual_sdp(rng: random.Random, products: int) -> tuple[dict[str, int], dict[str, int]]:
    """What a network asks for: bias, multiplier, perhaps ReLU, results that fill int8."""
    spread = 74**2 * products**0.5 / 50
    sdp = {
        "D_DP_BS_CFG": 2 << 2 | rng.getrandbits(1) << 4 | rng.getrandbits(1) << 6,
        "D_DP_BS_ALU_CFG": rng.getrandbits(1),
        "D_DP_BS_ALU_SRC_VALUE": rng.getrandbits(8),
        "D_DP_BS_MUL_CFG": 1 | 15 << 8,
        "D_DP_BN_CFG": 1,
        "D_DP_EW_CFG": 1,
        "D_CVT_OFFSET": rng.choice([0, 0, rng.getrandbits(8)]),
        "D_CVT_SCALE": rng.randint(1 << 14, (1 << 15) - 1),
        "D_CVT_SHIFT": 15 + int(spread).bit_length() - rng.randint(1, 3),
    }
    if sdp["D_DP_BS_CFG"] >> 4 & 1:
        sdp["D_DP_BS_MUL_CFG"] = 0
    rdma = {
        "D_BRDMA_CFG": 2 << 1 | 1 << 3 | 1 << 5,
        "D_NRDMA_CFG": 1,
        "D_ERDMA_CFG": 1,
        "D_BS_BASE_ADDR_LOW": OPERANDS,
    }
    return sdp, rdma


def random_layer(device: Device, config: str, rng: random.Random) -> int:
    """Programs a convolution with SDP behind it; returns the bytes of its output."""
    atom = ATOMS[config][0]
    channels = rng.choice([1, 3, 4, 13, 16, 31, 32, 40, 64, 65, 130])
    kernels = rng.choice([1, 7, 15, 16, 17, 33, 63, 64, 65, 100])
    rows, columns = rng.randint(1, 4), rng.randint(1, 4)
    stride = (rng.randint(1, 3), rng.randint(1, 3))
    dilation = (rng.randint(1, 2), rng.choice([1, 1, 2]))
    out = (rng.randint(1, 9), rng.choice([1, 2, 7, 15, 16, 17, 31, 32, 33, 40]))
    pad = (rng.randint(0, 3), rng.randint(0, 3), rng.randint(0, 3), rng.randint(0, 3))
    height = (out[0] - 1) * stride[0] + (rows - 1) * dilation[0] + 1 - pad[1] - pad[3]
    width = (out[1] - 1) * stride[1] + (columns - 1) * dilation[1] + 1 - pad[0] - pad[2]
    cube = (channels, max(1, height), max(1, width))
    entries = entries_of(config, channels, cube[2])
    conv_registers(
        device, cube, (kernels, rows, columns), out, entries=entries, stride=stride,
        dilation=dilation, pad=pad, pad_value=rng.getrandbits(8), atom=atom,
        truncate=rng.choice([0, 0, 0, 1, 3, 31]), D_BANK=7,
        D_CVT_CFG=rng.choice([0, 1 | 2 << 4]), D_CVT_SCALE=rng.randint(1, 9),
    )  # fmt: skip
    device.write("CSC.D_BANK", 7)
    products = channels * rows * columns
    sdp, rdma = random_sdp(rng) if rng.random() < 0.5 else usual_sdp(rng, products)
    sdp_registers(device, (kernels, *out), atom, flying=True, **sdp)
    device.program("SDP_RDMA", rdma)
    return cube_size(kernels, *out, atom)


@pytest.fixture(params=["nv_small", "nv_medium_512", "nv_large"])
def noisy(
    request: pytest.FixtureRequest, make_device: Callable[..., Device]
) -> Iterator[tuple[str, Device]]:
    """A configuration and a device of it with random inputs, weights and operands."""
    device = make_device(request.param)
    noise = np.random.default_rng(1)
    for address, size in ((SOURCE, 1 << 20), (WEIGHTS, 1 << 20), (OPERANDS, 1 << 17)):
        device.put(address, noise.integers(0, 256, size, dtype=np.uint8))
    yield request.param, device
    device.accelerator.force_conv_kernels(None)


def run_layer(config: str, device: Device, seed: int, **sdp: int) -> tuple[bytes, int]:
    """What a layer leaves behind: output bytes, saturations of CACC."""
    device.accelerator.reset()
    size = random_layer(device, config, random.Random(seed))
    device.bytes_at(TARGET, size)[:] = 0x5A
    device.program("SDP", sdp)
    for block in ("SDP", "SDP_RDMA"):
        device.write(f"{block}.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    return device.bytes_at(TARGET, size).tobytes(), device.read("CACC.D_OUT_SATURATION")


def check_errors(device: Device) -> None:
    """The buffer may be too small for a shape: that is reported and computed all the same."""
    for text in device.errors():
        assert "D_BANK" in text or "D_ENTRY_PER_SLICE" in text


@pytest.mark.parametrize("name", VECTOR_KERNELS)
def test_code_agrees_with_plain_c_for_words(noisy: tuple[str, Device], name: str) -> None:
    config, device = noisy
    if not device.accelerator.force_conv_kernels(name):
        pytest.skip(f"this host has no {name}")
    seen = set()
    for seed in range(60):
        assert device.accelerator.force_conv_kernels(name)
        fast = run_layer(config, device, seed)
        assert device.accelerator.force_conv_kernels("plain")
        assert fast == run_layer(config, device, seed), f"seed {seed}"
        seen.update(fast[0])
    check_errors(device)
    assert len(seen) > 200  # the layers are not trivial


def test_short_way_through_sdp_agrees_with_the_full_one(noisy: tuple[str, Device]) -> None:
    # Counting saturations needs the full arithmetic, so it switches the short way off.
    config, device = noisy
    for seed in range(1000, 1100):
        short = run_layer(config, device, seed)
        assert short == run_layer(config, device, seed, D_PERF_ENABLE=SAT_EN), f"seed {seed}"
    check_errors(device)


def test_unknown_kernels_are_refused(device: Device) -> None:
    assert not device.accelerator.force_conv_kernels("no such")
    assert device.accelerator.force_conv_kernels("plain")
    assert device.accelerator.force_conv_kernels(None)
