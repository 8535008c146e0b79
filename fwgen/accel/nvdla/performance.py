"""How many cycles a convolution layer takes: the published NVDLA performance model.

The rules are those of the performance sheet that NVIDIA publishes with the hardware
(NVDLA_OpenSource_Performance) and the bandwidths are those of the table in its primer. A
layer takes the longer of its multiply cycles and its memory cycles; pooling and
element-wise work behind a convolution is free but for the bytes it moves. Software,
latency and start-up are not counted. Strides are folded into channels, as the sheet does:
a stride of 2 by 2 over 3 channels counts as 12 channels of a quarter of the pixels.

The emulator estimates the same from registers, in C (emulator/nvdla/cycles.c). Neither is
made from the other; tests compare them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fwgen.accel.nvdla.configurations import CONFIGURATIONS, Configuration

KIB = 1024
# Weights that stay in the buffer while the input is streamed: those of so many kernels.
KERNELS_RESIDENT = 32


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the model needs to know of a build.

    Attributes:
        macs: multiply-accumulates per cycle.
        buffer_kib: convolution buffer in KiB.
        bandwidth: of the memory, reads and writes together, in KiB per 1000 cycles. At
            1 GHz that is the sheet's GB/s (which reckons 1 KiB as 1 kB).
        channel_granule: channels are rounded up to a multiple of this.
        kernel_granule: kernels are rounded up to a multiple of this when multiplying.
        winograd: 3x3 kernels of stride 1 take 16/9 of the weights and 1/2.25 of the cycles.
    """

    macs: int
    buffer_kib: int
    bandwidth: Fraction
    channel_granule: int
    kernel_granule: int
    winograd: bool = False


@dataclass(frozen=True, slots=True)
class Convolution:
    """One layer.

    Attributes:
        channels, height, width: input cube.
        kernels, rows, columns: number and size of the kernels.
        stride_y, stride_x: strides.
        out_height, out_width: of the convolution itself.
        stored_height, stored_width: of what reaches memory, after pooling behind it.
        elementwise: a second cube of the stored size is read and joined.
        batch: inputs that share one fetch of the weights (fully connected layers).
    """

    channels: int
    height: int
    width: int
    kernels: int
    rows: int
    columns: int
    out_height: int
    out_width: int
    stored_height: int
    stored_width: int
    stride_y: int = 1
    stride_x: int = 1
    elementwise: bool = False
    batch: int = 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cycles of a layer and where they come from; bytes are exact fractions."""

    mac_cycles: int
    memory_cycles: int
    bytes_read: Fraction
    bytes_written: Fraction

    @property
    def cycles(self) -> int:
        """The longer of both."""
        return max(self.mac_cycles, self.memory_cycles)

    @property
    def bound(self) -> str:
        """ "MAC" or "DRAM"."""
        return "MAC" if self.mac_cycles > self.memory_cycles else "DRAM"


# GB/s of the primer's table by multiply-accumulates per cycle.
PRIMER_BANDWIDTH = {
    2048: Fraction(20),
    1024: Fraction(15),
    512: Fraction(10),
    256: Fraction(5),
    128: Fraction(2),
    64: Fraction(1),
    32: Fraction(1, 2),
}


def hardware(config: Configuration) -> Hardware:
    """A published configuration with the bandwidth of the primer, at its reference clock."""
    macs = config.atom_c * config.atom_k
    return Hardware(
        macs=macs,
        buffer_kib=config.cbuf_banks * config.cbuf_width * config.cbuf_depth // KIB,
        bandwidth=PRIMER_BANDWIDTH[macs],
        channel_granule=config.atom,
        kernel_granule=config.atom_k,
    )


HARDWARE = {name: hardware(config) for name, config in CONFIGURATIONS.items()}


def round_up(value: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-value // step) * step


def _ceil(value: Fraction) -> int:
    return -((-value.numerator) // value.denominator)


def _reads(
    hw: Hardware, whole: Fraction, strip: Fraction, weights: Fraction, kernel: Fraction
) -> tuple[int, int]:
    """How often input and weights are fetched.

    Either all weights stay and the input streams through, a strip of rows at a time, or
    the input stays and the weights stream; what needs less room to stream does. Whatever
    does not fit beside it comes in parts, and the other is fetched again for each.
    """
    buffer = Fraction(hw.buffer_kib * KIB)
    strip = min(strip, buffer / 2)
    resident = min(kernel * KERNELS_RESIDENT, buffer / 2)
    if resident < strip:
        return max(1, _ceil(weights / (buffer - strip))), 1
    return 1, max(1, _ceil(whole / (buffer - resident)))


def estimate(layer: Convolution, hw: Hardware) -> Estimate:
    """Cycles and traffic of one layer for one input (one of the batch)."""
    fold = layer.stride_y * layer.stride_x
    deep = round_up(layer.channels * fold, hw.channel_granule)
    folded_height = -(-layer.height // layer.stride_y)
    row = deep * -(-layer.width // layer.stride_x)
    winograd = hw.winograd and (layer.rows, layer.columns, fold) == (3, 3, 1)
    whole = Fraction(row * folded_height)
    strip = Fraction(row * min(layer.rows + 1, folded_height))
    kernel = Fraction(deep * -(-layer.rows // layer.stride_y) * -(-layer.columns // layer.stride_x))
    if winograd:
        kernel *= Fraction(16, 9)
    weights = kernel * layer.kernels / layer.batch
    output = Fraction(
        layer.stored_height * layer.stored_width * round_up(layer.kernels, hw.channel_granule)
    )
    input_reads, weight_reads = _reads(hw, whole, strip, weights, kernel)
    read = whole * input_reads + weights * weight_reads + (output if layer.elementwise else 0)
    products = Fraction(
        deep
        * layer.out_height
        * layer.out_width
        * round_up(layer.kernels, hw.kernel_granule)
        * layer.rows
        * layer.columns,
        fold,
    )
    if winograd:
        products /= Fraction(9, 4)
    return Estimate(
        mac_cycles=_ceil(products / hw.macs),
        memory_cycles=_ceil((read + output) / KIB / hw.bandwidth * 1000),
        bytes_read=read,
        bytes_written=output,
    )
