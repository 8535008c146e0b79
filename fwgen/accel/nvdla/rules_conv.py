"""Rules for convolutions (NVDLA hardware specification; checks of the kernel firmware)."""

from __future__ import annotations

from fwgen.accel.nvdla.access import PIXEL_BYTES, weight_bytes
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.rules import IN_MEMORY, Context, only_int8
from fwgen.model.nvdla.descriptors import (
    FEATURE_FORMAT,
    ConvOp,
    ConvSurface,
    CubeType,
    OpType,
    SdpSurface,
)

Conv = Context[ConvOp, ConvSurface]


def feature_entries(config: Configuration, width: int, channels: int) -> int:
    """Convolution buffer entries that one line of a feature cube takes."""
    quotient = config.cbuf_width // config.atom
    full, rest = divmod(-(-channels // config.atom), quotient)
    entries = full * width
    if rest * 2 > quotient:
        entries += width
    elif rest * 2 == quotient:
        entries += -(-width // 2)
    elif rest:
        entries += -(-width // 4)
    return entries


def image_entries(config: Configuration, width: int, channels: int, left: int, right: int) -> int:
    """Convolution buffer entries that one line of pixels takes."""
    return -(-(left + width + right) * channels // config.cbuf_width)


def rule_precision(c: Conv) -> str | None:
    """Convolutions compute int8."""
    return only_int8(c)


def rule_mode(c: Conv) -> str | None:
    """Convolutions are direct, not Winograd."""
    return None if c.op.conv_mode == 0 else f"convolution mode {c.op.conv_mode} is not direct"


def rule_weights(c: Conv) -> str | None:
    """Weights are uncompressed and lie in memory."""
    if c.op.weight_format:
        return "its weights are compressed"
    if c.surface.weight_data.type == CubeType.HW or c.surface.weight_data.address == -1:
        return "it has no weights in memory"
    return None


def rule_batch(c: Conv) -> str | None:
    """Convolutions process one image at a time."""
    return None if c.op.batch == 1 else f"its batch is {c.op.batch}"


def rule_input(c: Conv) -> str | None:
    """The input is a feature cube, R8 pixels or packed pixels of 4x8 bits, in memory."""
    if c.surface.src_data.type not in IN_MEMORY:
        return "its input does not lie in memory"
    if c.surface.offset_u:
        return "its input has a second plane"
    if c.op.data_format != FEATURE_FORMAT and c.op.data_format not in PIXEL_BYTES:
        return f"its input has pixel format {c.op.data_format}"
    if c.op.pixel_mapping:
        return f"its pixels are not pitch linear (mapping {c.op.pixel_mapping})"
    return None


def rule_channels(c: Conv) -> str | None:
    """Pixels have as many channels as their format; all units agree on the input's size."""
    src, op = c.surface.src_data, c.op
    if op.data_format != FEATURE_FORMAT and src.channel != PIXEL_BYTES[op.data_format]:
        return f"its pixels have {src.channel} channels, the format {PIXEL_BYTES[op.data_format]}"
    if (op.input_width_csc, op.input_height_csc, op.input_channel_csc) != (
        src.width,
        src.height,
        src.channel,
    ):
        return (
            f"the input is {src.width}x{src.height}x{src.channel}, the sequencer expects "
            f"{op.input_width_csc}x{op.input_height_csc}x{op.input_channel_csc}"
        )
    return None


def rule_kernel(c: Conv) -> str | None:
    """Kernels span all input channels; pixel kernels are one wide with taps times channels."""
    op, src = c.op, c.surface.src_data
    if op.data_format == FEATURE_FORMAT:
        if op.kernel_channel_csc != src.channel:
            return f"kernels have {op.kernel_channel_csc} channels, the input {src.channel}"
        if op.post_extension:
            return "feature input has a kernel row extension"
        return None
    if op.kernel_width_csc != 1 or op.kernel_channel_csc % src.channel:
        return (
            f"pixel kernels are {op.kernel_width_csc} wide with {op.kernel_channel_csc} "
            f"elements for {src.channel} channels"
        )
    if op.post_extension > 2 or op.kernel_channel_csc > c.config.atom_c >> op.post_extension:
        if op.post_extension:
            return f"kernel rows of {op.kernel_channel_csc} elements do not fit the row extension"
    return None


def rule_geometry(c: Conv) -> str | None:
    """The output size follows from input, padding, kernel, dilation and stride."""
    op, src, dst = c.op, c.surface.src_data, c.surface.dst_data
    if (op.input_width_cmac, op.input_height_cmac) != (dst.width, dst.height):
        return (
            f"the output is {dst.width}x{dst.height}, the multipliers expect "
            f"{op.input_width_cmac}x{op.input_height_cmac}"
        )
    taps = op.kernel_width_csc
    if op.data_format != FEATURE_FORMAT:
        taps = op.kernel_channel_csc // src.channel
    axes = (
        ("width", src.width, op.pad_x_left + op.pad_x_right, taps, op.dilation_x,
         op.conv_stride_x, dst.width),
        ("height", src.height, op.pad_y_top + op.pad_y_bottom, op.kernel_height_csc,
         op.dilation_y, op.conv_stride_y, dst.height),
    )  # fmt: skip
    for name, size, padding, kernel, dilation, stride, out in axes:
        span = (kernel - 1) * dilation + 1
        if out < 1 or (out - 1) * stride + span > size + padding:
            return f"output {name} {out} does not follow from input {name} {size}"
    return None


def rule_weight_size(c: Conv) -> str | None:
    """The weights must hold all kernels, each of bytes_per_kernel bytes."""
    op = c.op
    per_kernel = op.kernel_width_csc * op.kernel_height_csc * op.kernel_channel_csc
    if op.bytes_per_kernel != per_kernel:
        return f"a kernel has {per_kernel} bytes, the descriptor says {op.bytes_per_kernel}"
    need, have = weight_bytes(op, c.surface), c.surface.weight_data.size
    return None if have >= need else f"its weights have {have} bytes, the kernels need {need}"


def rule_buffer(c: Conv) -> str | None:
    """Input lines must fit their banks of the convolution buffer; weights need a bank too."""
    op, src, config = c.op, c.surface.src_data, c.config
    if op.data_bank < 1 or op.weight_bank < 1:
        return "it uses no bank for data or weights"
    if op.data_bank + op.weight_bank > config.cbuf_banks:
        return (
            f"it uses {op.data_bank} + {op.weight_bank} banks, {config.name} has "
            f"{config.cbuf_banks}"
        )
    if op.data_format == FEATURE_FORMAT:
        entries = feature_entries(config, src.width, src.channel)
    else:
        entries = image_entries(config, src.width, src.channel, op.pad_x_left, op.pad_x_right)
    if op.entry_per_slice != entries:
        return f"a line takes {entries} buffer entries, the descriptor says {op.entry_per_slice}"
    if entries * src.height > op.data_bank * config.cbuf_depth:
        return (
            f"the input takes {entries * src.height} buffer entries, its banks have "
            f"{op.data_bank * config.cbuf_depth}"
        )
    return None


def rule_output(c: Conv) -> str | None:
    """The output goes to one SDP operation of the same size, and only there."""
    dst = c.surface.dst_data
    edge = c.operation.common.consumers[OpType.SDP]
    if dst.type != CubeType.HW or edge.index == -1:
        return "its output does not go to an SDP operation"
    consumer = c.partner(edge.index)
    if consumer.common.fused_parent.index != c.operation.index:
        return f"operation {edge.index} does not take its output"
    assert isinstance(consumer.surface, SdpSurface)
    src = consumer.surface.src_data
    if (src.width, src.height, src.channel) != (dst.width, dst.height, dst.channel):
        return f"its output and the input of operation {edge.index} differ in size"
    if (dst.width, dst.height) == (1, 1) and dst.line_stride != c.config.atom:
        return f"its 1x1 output has a line stride of {dst.line_stride}, not {c.config.atom}"
    return None


def rule_output_converter(c: Conv) -> str | None:
    """The accumulator's output is only shifted: converter scale 1 and offset 0."""
    converter = c.op.out_cvt
    if converter.scale != 1 or converter.offset != 0:
        return f"its output converter has scale {converter.scale} and offset {converter.offset}"
    return None


RULES = (
    rule_precision,
    rule_mode,
    rule_weights,
    rule_batch,
    rule_input,
    rule_channels,
    rule_kernel,
    rule_geometry,
    rule_weight_size,
    rule_buffer,
    rule_output,
    rule_output_converter,
)
