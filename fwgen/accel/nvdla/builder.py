"""Building loadables of our own, layer by layer (NVDLA loadable format, interface 0.12).

    builder = LoadableBuilder(configuration("nv_small"))
    x = builder.input_pixels("image", width=8, height=8)
    x = builder.conv(x, weights, bias, relu=True, scale=77, shift=14, pad=1)
    x = builder.pool(x, kernel=2)
    x = builder.conv(x, fc_weights, fc_bias, scale=90, shift=15)
    builder.output("scores", x)
    data = write_loadable(builder.build())

Every convolution becomes a CONV and a fused SDP operation. Tensors never share
memory: who places the result on a board finds that out anyway. Wrong shapes
raise ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.rules_conv import feature_entries, image_entries
from fwgen.model.nvdla.assemble import Piece, assemble
from fwgen.model.nvdla.descriptors import (
    FEATURE_FORMAT,
    Converter,
    ConvOp,
    ConvSurface,
    Cube,
    CubeType,
    OpDesc,
    OpType,
    PdpOp,
    PdpSurface,
    SdpConverters,
    SdpOp,
    SdpStage,
    SdpSurface,
    Surface,
)
from fwgen.model.nvdla.loadable import Loadable, TensorDesc
from fwgen.model.nvdla.packing import pack_image_weights, pack_operands, pack_weights

Int8 = NDArray[np.int8]
Int16 = NDArray[np.int16]

PIXEL_FORMATS = {1: 0, 4: 12}
"""Pixel format by channels: R8, A8B8G8R8."""

POOL_MODES = {"average": 0, "max": 1, "min": 2}

_NO_CONVERTER = Converter(0, 0, 0, 0)
_UNITY = Converter(1, 0, 1, 0)
_NOWHERE = Cube(CubeType.HW, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
_OFF = SdpStage(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, SdpConverters(_NO_CONVERTER, _NO_CONVERTER))

# Positions of the pools in the list of addresses; assemble.py keeps them.
WEIGHTS, ACTIVATIONS, FIRST_BOUND = 5, 6, 7


@dataclass(frozen=True, slots=True)
class BuiltTensor:
    """A tensor of the network: where it lies and which operation makes it.

    `producer` is -1 for inputs. `pixels` tells pitch-linear pixels from a feature cube.
    """

    cube: Cube
    producer: int
    pixels: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W)."""
        return (self.cube.channel, self.cube.height, self.cube.width)


def _up(value: int, to: int) -> int:
    return -(-value // to) * to


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    """(height, width) from one number or two."""
    return (value, value) if isinstance(value, int) else value


class LoadableBuilder:
    """Collects layers; see the module's text. Sizes are (height, width) pairs or one number."""

    def __init__(self, config: Configuration) -> None:
        self.config = config
        self._pieces: list[Piece] = []
        self._operations: list[tuple[OpType, OpDesc, Surface]] = []
        self._parents: list[int] = []
        self._needs: list[tuple[int, ...]] = []
        self._weights: list[tuple[int, bytes]] = []
        self._weights_end = 0
        self._activations_end = 0
        self._bound: list[tuple[str, TensorDesc]] = []

    # Tensors

    def _cube(self, channels: int, height: int, width: int) -> Cube:
        atom = self.config.atom
        line = width * atom
        surface = line * height
        size = -(-channels // atom) * surface
        return Cube(CubeType.MC, -1, 0, size, width, height, channels, 0, line, surface, 0)

    def _constant(self, data: bytes) -> int:
        """Store bytes in the weight memory; returns their offset."""
        offset = self._weights_end
        self._weights.append((offset, data))
        self._weights_end = _up(offset + len(data), 256)
        return offset

    def _activation(self, cube: Cube) -> Cube:
        offset = self._activations_end
        self._activations_end = _up(offset + cube.size, 256)
        return replace(cube, address=ACTIVATIONS, offset=offset)

    def _bind(self, direction: str, name: str, cube: Cube, *, pixels: bool) -> Cube:
        index = len(self._bound)
        pixel_format = 36 if self.config.atom != 8 else 37
        surface = cube.surf_stride
        if pixels:
            pixel_format, surface = PIXEL_FORMATS[cube.channel], 0
        desc = TensorDesc(
            name,
            index,
            0,
            cube.size,
            0,
            2 if pixels else 3,
            4,
            0 if pixels else 2,
            pixel_format,
            0,
            1,
            cube.channel,
            cube.height,
            cube.width,
            (1, cube.line_stride, surface, 0, 0, 0, 0, 0),
        )
        self._bound.append((direction, desc))
        return replace(cube, address=FIRST_BOUND + index)

    def input_pixels(self, name: str, *, width: int, height: int, channels: int = 1) -> BuiltTensor:
        """An int8 input of 1 or 4 channels, pitch linear, lines padded to 32 bytes."""
        if channels not in PIXEL_FORMATS:
            raise ValueError(f"pixels have 1 or 4 channels, not {channels}")
        line = _up(width * channels, 32)
        cube = Cube(CubeType.MC, -1, 0, line * height, width, height, channels, 0, line, 0, 0)
        return BuiltTensor(self._bind("input", name, cube, pixels=True), -1, pixels=True)

    def input_feature(self, name: str, *, width: int, height: int, channels: int) -> BuiltTensor:
        """An int8 input as a feature cube."""
        cube = self._bind("input", name, self._cube(channels, height, width), pixels=False)
        return BuiltTensor(cube, -1)

    def output(self, name: str, tensor: BuiltTensor) -> None:
        """Bind a computed tensor as output, once. Other layers may still read it."""
        if tensor.producer < 0:
            raise ValueError("an input cannot be an output")
        kind, op, surface = self._operations[tensor.producer]
        if not isinstance(surface, (SdpSurface, PdpSurface)):
            raise ValueError("only SDP and PDP operations write tensors")
        if tensor.cube.address != ACTIVATIONS or surface.dst_data != tensor.cube:
            raise ValueError("the tensor is bound already")
        cube = self._bind("output", name, replace(tensor.cube, offset=0), pixels=False)
        self._operations[tensor.producer] = (kind, op, replace(surface, dst_data=cube))
        for index, (other, desc, reader) in enumerate(self._operations):
            self._operations[index] = (other, desc, _redirect(reader, tensor.cube, cube))

    def _add(
        self, kind: OpType, op: OpDesc, surface: Surface, parent: int, needs: tuple[int, ...]
    ) -> int:
        self._operations.append((kind, op, surface))
        self._parents.append(parent)
        self._needs.append(tuple(n for n in needs if n >= 0))
        return len(self._operations) - 1

    # Layers

    def conv(
        self,
        source: BuiltTensor,
        weights: Int8,
        bias: Int16 | None = None,
        *,
        bias_shift: int = 0,
        multipliers: Int16 | None = None,
        multiplier_shift: int = 0,
        relu: bool = False,
        scale: int = 1,
        shift: int = 0,
        offset: int = 0,
        stride: int | tuple[int, int] = 1,
        pad: int | tuple[int, int] | tuple[int, int, int, int] = 0,
        pad_value: int = 0,
        dilation: int | tuple[int, int] = 1,
        extension: int = 0,
        residual: BuiltTensor | None = None,
        residual_shift: int = 0,
    ) -> BuiltTensor:
        """A convolution with what follows it on the fly.

        out = sat8(round((act(acc + (bias << bias_shift)) - offset) * scale / 2**shift)).
        With `multipliers` the sum is multiplied by channel and shifted right by
        `multiplier_shift` first; with `residual` that tensor << residual_shift is
        added before the ReLU. `weights` are (K, C, R, S); a fully connected layer
        is a convolution as large as its input. `pad` may be (top, bottom, left,
        right). `extension` is the kernel row extension for pixels.
        """
        op, surface = self._conv(source, weights, stride, pad, pad_value, dilation, extension)
        conv = self._add(OpType.CONV, op, surface, -1, (source.producer,))
        return self._sdp(
            surface.dst_data,
            conv,
            bias=bias,
            bias_shift=bias_shift,
            multipliers=multipliers,
            multiplier_shift=multiplier_shift,
            relu=relu,
            converter=Converter(scale, shift, 1, offset),
            residual=residual,
            residual_shift=residual_shift,
        )

    def _conv(
        self,
        source: BuiltTensor,
        weights: Int8,
        stride: int | tuple[int, int],
        pad: int | tuple[int, int] | tuple[int, int, int, int],
        pad_value: int,
        dilation: int | tuple[int, int],
        extension: int,
    ) -> tuple[ConvOp, ConvSurface]:
        config, src = self.config, source.cube
        kernels, channels, rows, columns = weights.shape
        if channels != src.channel:
            raise ValueError(f"weights have {channels} channels, the input {src.channel}")
        if isinstance(pad, tuple) and len(pad) == 4:
            top, bottom, left, right = pad
        else:
            top, left = _pair(pad)
            bottom, right = top, left
        stride_y, stride_x = _pair(stride)
        dilation_y, dilation_x = _pair(dilation)
        out_h = (src.height + top + bottom - (rows - 1) * dilation_y - 1) // stride_y + 1
        out_w = (src.width + left + right - (columns - 1) * dilation_x - 1) // stride_x + 1
        if out_h < 1 or out_w < 1:
            raise ValueError("the kernel is larger than the padded input")
        packed, entries = self._pack(source, weights, extension, left, right)
        size = _up(len(packed), config.cbuf_width)
        packed += bytes(size - len(packed))
        bank = config.cbuf_width * config.cbuf_depth
        data_bank = -(-entries * src.height // config.cbuf_depth)
        weight_bank = min(-(-size // bank), config.cbuf_banks - data_bank)
        if weight_bank < 1:
            raise ValueError(f"the input needs {data_bank} of {config.cbuf_banks} banks")
        taps = columns * channels if source.pixels else channels
        op = ConvOp(
            conv_mode=0,
            data_reuse=0,
            weight_reuse=0,
            skip_data_rls=0,
            skip_weight_rls=0,
            reserved0=0,
            entry_per_slice=entries,
            data_format=PIXEL_FORMATS[channels] if source.pixels else FEATURE_FORMAT,
            pixel_mapping=0,
            fetch_grain=1,
            reserved_b=(0,) * 8,
            batch=1,
            weight_format=0,
            data_bank=data_bank,
            weight_bank=weight_bank,
            batch_stride=0,
            post_extension=extension,
            pixel_override=1 if source.pixels else 0,
            release=src.height,
            input_width_csc=src.width,
            input_height_csc=src.height,
            input_channel_csc=src.channel,
            kernel_width_csc=1 if source.pixels else columns,
            kernel_height_csc=rows,
            kernel_channel_csc=taps,
            input_width_cmac=out_w,
            input_height_cmac=out_h,
            bytes_per_kernel=rows * columns * channels,
            mean_ry=0,
            mean_gu=0,
            mean_bv=0,
            mean_ax=0,
            mean_format=0,
            conv_stride_x=stride_x,
            conv_stride_y=stride_y,
            pad_x_left=left,
            pad_x_right=right,
            pad_y_top=top,
            pad_y_bottom=bottom,
            dilation_x=dilation_x,
            dilation_y=dilation_y,
            reserved2=(0, 0),
            pra_truncate=0,
            in_precision=0,
            out_precision=0,
            pad_val=pad_value,
            in_cvt=_UNITY,
            out_cvt=_UNITY,
        )
        weight_cube = Cube(
            CubeType.MC, WEIGHTS, self._constant(packed), size, columns, rows, channels, 0, 0, 0, 0
        )
        dst = replace(self._cube(kernels, out_h, out_w), type=CubeType.HW)
        return op, ConvSurface(weight_cube, _NOWHERE, _NOWHERE, src, dst, 0, 0)

    def _pack(
        self, source: BuiltTensor, weights: Int8, extension: int, left: int, right: int
    ) -> tuple[bytes, int]:
        """Packed weights and buffer entries of an input line."""
        config, src = self.config, source.cube
        if source.pixels:
            packed = pack_image_weights(weights, config.atom_c, config.atom_k, extension)
            return packed, image_entries(config, src.width, src.channel, left, right)
        if extension:
            raise ValueError("only pixels have a kernel row extension")
        packed = pack_weights(weights, config.atom_c, config.atom_k)
        return packed, feature_entries(config, src.width, src.channel)

    def _sdp(
        self,
        source: Cube,
        parent: int,
        *,
        bias: Int16 | None,
        bias_shift: int,
        multipliers: Int16 | None,
        multiplier_shift: int,
        relu: bool,
        converter: Converter,
        residual: BuiltTensor | None,
        residual_shift: int,
        producer: int = -1,
    ) -> BuiltTensor:
        x1, x1_cube = _OFF, _NOWHERE
        act = 1 if relu and residual is None else 0
        if bias is not None or multipliers is not None:
            values = np.zeros(source.channel, np.int16) if bias is None else bias
            if values.shape != (source.channel,):
                raise ValueError(f"the bias has shape {values.shape}, not ({source.channel},)")
            data = pack_operands(values, multipliers, self.config.atom)
            x1 = replace(
                _OFF,
                enable=1,
                alu_type=2,
                type=2 if multipliers is None else 3,
                mode=1,
                act=act,
                shift_value=bias_shift,
                truncate=multiplier_shift,
                precision=1,
            )
            step = self.config.atom * (2 if multipliers is None else 4)
            x1_cube = Cube(
                CubeType.MC, WEIGHTS, self._constant(data), len(data), 1, 1, source.channel, 0,
                step, step, 0,
            )  # fmt: skip
        elif act:
            x1 = replace(_OFF, enable=1, alu_type=2, act=1, mul_operand=1)
        x2, x2_cube = _OFF, _NOWHERE
        needs = [producer]
        if residual is not None:
            if residual.shape != (source.channel, source.height, source.width):
                raise ValueError(f"the residual has shape {residual.shape}")
            x2 = replace(
                _OFF, enable=1, alu_type=2, type=2, mode=2, act=int(relu),
                shift_value=residual_shift,
            )  # fmt: skip
            x2_cube = residual.cube
            needs.append(residual.producer)
        dst = self._activation(self._cube(source.channel, source.height, source.width))
        op = SdpOp(0, 0, -1, converter, 0, 1, 0, 0, x1, x2, _OFF)
        surface = SdpSurface(source, x1_cube, x2_cube, _NOWHERE, dst)
        return BuiltTensor(dst, self._add(OpType.SDP, op, surface, parent, tuple(needs)))

    def scale(
        self,
        source: BuiltTensor,
        bias: Int16 | None = None,
        *,
        bias_shift: int = 0,
        multipliers: Int16 | None = None,
        multiplier_shift: int = 0,
        relu: bool = False,
        scale: int = 1,
        shift: int = 0,
        offset: int = 0,
        residual: BuiltTensor | None = None,
        residual_shift: int = 0,
    ) -> BuiltTensor:
        """What `conv` does after the convolution, on a tensor in memory."""
        if source.pixels:
            raise ValueError("SDP reads feature cubes, not pixels")
        return self._sdp(
            source.cube,
            -1,
            bias=bias,
            bias_shift=bias_shift,
            multipliers=multipliers,
            multiplier_shift=multiplier_shift,
            relu=relu,
            converter=Converter(scale, shift, 1, offset),
            residual=residual,
            residual_shift=residual_shift,
            producer=source.producer,
        )

    def pool(
        self,
        source: BuiltTensor,
        *,
        mode: str = "max",
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        pad: int | tuple[int, int] = 0,
    ) -> BuiltTensor:
        """Pooling, "max", "min" or "average" (padding counts as 0). Default stride: the kernel."""
        src = source.cube
        if source.pixels:
            raise ValueError("PDP reads feature cubes, not pixels")
        rows, columns = _pair(kernel)
        stride_y, stride_x = _pair(kernel if stride is None else stride)
        top, left = _pair(pad)
        out_h = (src.height + 2 * top - rows) // stride_y + 1
        out_w = (src.width + 2 * left - columns) // stride_x + 1
        if out_h < 1 or out_w < 1:
            raise ValueError("the window is larger than the padded input")
        dst = self._activation(self._cube(src.channel, out_h, out_w))
        op = PdpOp(
            0, 0, 0, 0, 0, 0, 1, POOL_MODES[mode], columns - 1, rows - 1, stride_x, stride_y,
            left, left, top, top, 0, 0, (0,) * 7,
        )  # fmt: skip
        index = self._add(OpType.PDP, op, PdpSurface(src, dst), -1, (source.producer,))
        return BuiltTensor(dst, index)

    def build(self) -> Loadable:
        """The loadable. Raises ValueError if there is nothing to do or no output."""
        if not any(direction == "output" for direction, _ in self._bound):
            raise ValueError("the network has no output")
        pieces = [
            Piece(kind, op, surface, parent, needs)
            for (kind, op, surface), parent, needs in zip(
                self._operations, self._parents, self._needs, strict=True
            )
        ]
        return assemble(
            pieces, self._weights, self._weights_end, self._activations_end, self._bound
        )


def _redirect(surface: Surface, old: Cube, new: Cube) -> Surface:
    """A surface whose readers of one cube read another."""
    changes = {name: new for name in ("src_data", "x2_data") if getattr(surface, name, None) == old}
    return replace(surface, **changes) if changes else surface  # type: ignore[arg-type]
