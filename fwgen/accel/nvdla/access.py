"""Which bytes an operation reads and writes (NVDLA memory layout rules).

A feature cube stores `atom` channels of a pixel together: byte (c, y, x) lies
at base + (c // atom) * surface stride + y * line stride + x * atom + c % atom.
The last surface is read and written whole. Weights are one packed run, operands
of the SDP one run a channel list or a cube of their own, pixels one run a line.
"""

from __future__ import annotations

from dataclasses import dataclass

from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.lower_sdp import reads_operand
from fwgen.model.nvdla.descriptors import (
    FEATURE_FORMAT,
    CdpSurface,
    ConvOp,
    ConvSurface,
    Cube,
    CubeType,
    PdpSurface,
    SdpOp,
    SdpStage,
    SdpSurface,
)
from fwgen.model.nvdla.tasks import DlaOperation

# More runs than this are treated as one range with unknown gaps.
MAX_RUNS = 1024

PIXEL_BYTES = {0: 1} | dict.fromkeys((*range(12, 20), 26, 27), 4)
"""Bytes of a pixel by image format: R8 and the packed formats of four 8-bit channels."""

Runs = tuple[tuple[int, int], ...]
"""Byte ranges [low, high), ascending, without overlap."""


@dataclass(frozen=True, slots=True)
class Access:
    """The bytes that one operation reads or writes through one cube.

    Attributes:
        role: "src", "dst", "weights", "x1", "x2", "y".
        index: position in the task's address list.
        start: byte offset of the cube behind that address.
        runs: byte ranges behind that address.
        exact: False if bytes inside a run may be skipped.
        sram: True for the CVSRAM port.
    """

    role: str
    index: int
    start: int
    runs: Runs
    exact: bool
    write: bool
    sram: bool

    @property
    def size(self) -> int:
        """Number of bytes, an upper bound if not exact."""
        return sum(high - low for low, high in self.runs)


class BadStride(ValueError):
    """Lines or surfaces of a cube overlap."""


def blocks(channels: int, atom: int) -> int:
    """Number of surfaces that hold so many channels."""
    return -(-channels // atom)


def cube_runs(
    base: int, surfaces: int, lines: int, line_bytes: int, line_stride: int, surf_stride: int
) -> tuple[Runs, bool]:
    """Byte ranges of surfaces x lines runs of `line_bytes`, and whether they are exact.

    Raises BadStride if lines or surfaces overlap.
    """
    if lines > 1 and line_stride < line_bytes:
        raise BadStride(f"line stride {line_stride} is less than the {line_bytes} bytes of a line")
    surface_bytes = (lines - 1) * line_stride + line_bytes
    if surfaces > 1 and surf_stride < surface_bytes:
        raise BadStride(
            f"surface stride {surf_stride} is less than the {surface_bytes} bytes of a surface"
        )
    total = (surfaces - 1) * surf_stride + surface_bytes
    if lines == 1 or line_stride == line_bytes:
        lines, line_bytes = 1, surface_bytes
    if lines == 1 and (surfaces == 1 or surf_stride == line_bytes):
        return ((base, base + total),), True
    if surfaces * lines > MAX_RUNS:
        return ((base, base + total),), False
    starts = (
        base + s * surf_stride + y * line_stride for s in range(surfaces) for y in range(lines)
    )
    return tuple((start, start + line_bytes) for start in starts), True


def _access(role: str, cube: Cube, runs: tuple[Runs, bool], *, write: bool = False) -> Access:
    sram = cube.type == CubeType.CV
    return Access(role, cube.address, cube.offset, runs[0], runs[1], write, sram)


def _feature(role: str, cube: Cube, atom: int, *, write: bool = False) -> Access:
    runs = cube_runs(
        cube.offset,
        blocks(cube.channel, atom),
        cube.height,
        cube.width * atom,
        cube.line_stride,
        cube.surf_stride,
    )
    return _access(role, cube, runs, write=write)


def _contiguous(role: str, cube: Cube, size: int) -> Access:
    return _access(role, cube, (((cube.offset, cube.offset + size),), True))


def weight_bytes(op: ConvOp, surface: ConvSurface) -> int:
    """Bytes of all kernels without padding."""
    taps = op.kernel_width_csc * op.kernel_height_csc * op.kernel_channel_csc
    return taps * surface.dst_data.channel


def _conv(op: ConvOp, surface: ConvSurface, config: Configuration) -> list[Access]:
    src = surface.src_data
    if op.data_format == FEATURE_FORMAT:
        data = _feature("src", src, config.atom)
    else:
        line = src.width * PIXEL_BYTES[op.data_format]
        runs = cube_runs(src.offset, 1, src.height, line, src.line_stride, 0)
        data = _access("src", src, runs)
    weights = surface.weight_data
    # Weights are fetched in whole buffer entries.
    size = -(-max(weights.size, 1) // config.cbuf_width) * config.cbuf_width
    return [data, _contiguous("weights", weights, size)]


def _operand(role: str, stage: SdpStage, cube: Cube, src: Cube, config: Configuration) -> Access:
    element = (2 if stage.precision else 1) * (2 if stage.type == 3 else 1)
    surfaces = blocks(src.channel, config.atom)
    if stage.mode == 1:
        return _contiguous(role, cube, surfaces * config.atom * element)
    runs = cube_runs(
        cube.offset,
        surfaces,
        src.height,
        src.width * config.atom * element,
        cube.line_stride,
        cube.surf_stride,
    )
    return _access(role, cube, runs)


def _sdp(op: SdpOp, surface: SdpSurface, config: Configuration) -> list[Access]:
    found = []
    src = surface.src_data
    if src.type != CubeType.HW:
        found.append(_feature("src", src, config.atom))
    for role, stage, cube in (
        ("x1", op.x1_op, surface.x1_data),
        ("x2", op.x2_op, surface.x2_data),
        ("y", op.y_op, surface.y_data),
    ):
        if reads_operand(stage):
            found.append(_operand(role, stage, cube, src, config))
    if surface.dst_data.type != CubeType.HW:
        found.append(_feature("dst", surface.dst_data, config.atom, write=True))
    return found


def accesses(operation: DlaOperation, config: Configuration) -> list[Access]:
    """All accesses of a supported operation, reads first.

    Ranges may reach beyond their memory: memory.py judges that. Raises BadStride.
    """
    op, surface = operation.op, operation.surface
    if isinstance(op, ConvOp) and isinstance(surface, ConvSurface):
        return _conv(op, surface, config)
    if isinstance(op, SdpOp) and isinstance(surface, SdpSurface):
        return _sdp(op, surface, config)
    assert isinstance(surface, (PdpSurface, CdpSurface)), "rules admit no other unit"
    found = []
    if surface.src_data.type != CubeType.HW:
        found.append(_feature("src", surface.src_data, config.atom))
    found.append(_feature("dst", surface.dst_data, config.atom, write=True))
    return found
