"""Writes the quantised digits network as an NVDLA loadable for nv_small.

Eight hardware layers: a convolution with its SDP layer (bias, ReLU, conversion
to int8) and a max pool, twice, and the fully connected layer. Layouts and
descriptor fields follow the hardware manual and the firmware interface 0.12.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from network import CLASSES, Layer
from numpy.typing import NDArray

from fwgen.model.nvdla import descriptors as d
from fwgen.model.nvdla.loadable import (
    AddressEntry,
    Blob,
    Interface,
    Loadable,
    MemoryEntry,
    MemoryFlags,
    SubmitEntry,
    TaskEntry,
    TensorDesc,
    write_loadable,
)
from fwgen.model.nvdla.records import encode

ATOM = 8  # channels side by side in memory (nv_small)
ATOM_K = 8  # kernels that the hardware computes at a time
BANK_BYTES = 512 * 8  # one bank of the convolution buffer
MINOR = 12
DLA_VERSION = (0, MINOR, 3)
FEATURE_X8 = 37

R = TypeVar("R")


def record(kind: type[R], **given: object) -> R:
    """A descriptor whose other fields are zero."""
    values: dict[str, Any] = {}
    hints = get_type_hints(kind, include_extras=True)
    for item in fields(kind):  # type: ignore[arg-type]
        hint = hints[item.name]
        stored = next((a for a in get_args(hint)[1:]), None)
        base = get_args(hint)[0] if stored else hint
        if get_origin(base) is tuple:
            values[item.name] = (0,) * stored.count if stored else ()
        elif isinstance(base, type) and hasattr(base, "__dataclass_fields__"):
            values[item.name] = record(base)
        else:
            values[item.name] = 0
    return kind(**(values | given))


@dataclass(frozen=True, slots=True)
class Place:
    """Where bytes lie: an index of the task's address list, and an offset."""

    address: int
    offset: int


def round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def cube(place: Place, channels: int, height: int, width: int) -> d.Cube:
    """A feature map in memory: surfaces of eight channels."""
    surface = height * width * ATOM
    return d.Cube(
        d.CubeType.MC,
        place.address,
        place.offset,
        surface * (round_up(channels, ATOM) // ATOM),
        width,
        height,
        channels,
        0,
        width * ATOM,
        surface,
        0,
    )


def on_the_fly(like: d.Cube) -> d.Cube:
    """The same feature map, passed from unit to unit without memory."""
    return replace(like, type=d.CubeType.HW, address=-1, offset=0)


def weight_bytes(weights: NDArray[np.int8]) -> bytes:
    """Weights in the order of direct convolution.

    Groups of eight kernels; in a group, blocks of eight channels; in a block row,
    column, kernel, channel. The last group and block are shorter, not padded.
    """
    kernels, channels = weights.shape[:2]
    out = bytearray()
    for group in range(0, kernels, ATOM_K):
        for block in range(0, channels, ATOM):
            part = weights[group : group + ATOM_K, block : block + ATOM]
            out += part.transpose(2, 3, 0, 1).tobytes()
    return bytes(out).ljust(round_up(len(out), ATOM), b"\0")


def bias_bytes(bias: NDArray[np.int16]) -> bytes:
    """One 16-bit operand a channel, padded with zeros to whole atoms."""
    padded = np.zeros(round_up(len(bias), ATOM), "<i2")
    padded[: len(bias)] = bias
    return padded.tobytes()


class Builder:
    """Collects operations and constants, then writes the file."""

    def __init__(self) -> None:
        self.constants = bytearray()
        self.activations = 0
        self.operations: list[tuple[d.OpType, d.OpDesc, d.Surface]] = []
        self.fused: dict[int, int] = {}  # operation -> producer on the fly
        self.needs: dict[int, int] = {}  # operation -> producer through memory

    def constant(self, data: bytes) -> Place:
        """Room for constants; each starts on a multiple of 64 bytes."""
        self.constants += bytes(-len(self.constants) % 64)
        offset = len(self.constants)
        self.constants += data
        return Place(CONSTANTS, offset)

    def activation(self, size: int) -> Place:
        """Room for a feature map between layers."""
        offset = round_up(self.activations, 64)
        self.activations = offset + size
        return Place(ACTIVATIONS, offset)

    def convolution(self, layer: Layer, source: d.Cube, output: Place | None) -> d.Cube:
        """A convolution and its SDP layer; `output` None keeps the result inside."""
        kernels, channels, taps_y, taps_x = layer.weights.shape
        height = source.height + 2 * layer.pad - taps_y + 1
        width = source.width + 2 * layer.pad - taps_x + 1
        if output is None:
            output = self.activation(cube(Place(0, 0), kernels, height, width).size)
        result = cube(output, kernels, height, width)
        weights = weight_bytes(layer.weights)
        per_kernel = layer.weights[0].size
        entries = round_up(channels, ATOM) // ATOM * source.width
        # The engine keeps the current and the next group of kernels.
        resident = min(len(weights), 2 * ATOM_K * per_kernel)
        conv = record(
            d.ConvOp,
            entry_per_slice=entries,
            data_format=d.FEATURE_FORMAT,
            fetch_grain=1,
            batch=1,
            data_bank=round_up(entries * source.height * ATOM, BANK_BYTES) // BANK_BYTES,
            weight_bank=round_up(resident, BANK_BYTES) // BANK_BYTES,
            release=source.height,
            input_width_csc=source.width,
            input_height_csc=source.height,
            input_channel_csc=channels,
            kernel_width_csc=taps_x,
            kernel_height_csc=taps_y,
            kernel_channel_csc=channels,
            input_width_cmac=width,
            input_height_cmac=height,
            bytes_per_kernel=per_kernel,
            conv_stride_x=1,
            conv_stride_y=1,
            pad_x_left=layer.pad,
            pad_x_right=layer.pad,
            pad_y_top=layer.pad,
            pad_y_bottom=layer.pad,
            dilation_x=1,
            dilation_y=1,
            in_cvt=d.Converter(1, 0, 0, 0),
            out_cvt=d.Converter(1, 0, 1, 0),
        )
        weight_place = self.constant(weights)
        flying = on_the_fly(result)
        self._add(
            d.OpType.CONV,
            conv,
            record(
                d.ConvSurface,
                weight_data=record(
                    d.Cube,
                    address=weight_place.address,
                    offset=weight_place.offset,
                    size=len(weights),
                    width=taps_x,
                    height=taps_y,
                    channel=channels,
                ),
                src_data=source,
                dst_data=flying,
            ),
        )
        self._bias(layer, flying, result)
        return result

    def _bias(self, layer: Layer, flying: d.Cube, result: d.Cube) -> None:
        """The SDP layer: add the bias, ReLU, convert to int8."""
        operand = bias_bytes(layer.bias)
        place = self.constant(operand)
        sdp = record(
            d.SdpOp,
            lut_index=-1,
            out_cvt=d.Converter(layer.scale, layer.shift, 1, 0),
            batch_num=1,
            x1_op=record(
                d.SdpStage,
                enable=1,
                alu_type=2,  # sum
                type=2,  # ALU only
                mode=1,  # an operand per kernel
                act=1 if layer.relu else 0,
                shift_value=layer.bias_shift,
                precision=1,  # 16-bit operands
                mul_operand=1,
            ),
        )
        self._add(
            d.OpType.SDP,
            sdp,
            record(
                d.SdpSurface,
                src_data=flying,
                x1_data=record(
                    d.Cube,
                    address=place.address,
                    offset=place.offset,
                    size=len(operand),
                    width=1,
                    height=1,
                    channel=flying.channel,
                    line_stride=2 * ATOM,
                    surf_stride=2 * ATOM,
                ),
                dst_data=result,
            ),
            fused=True,
        )

    def max_pool(self, source: d.Cube) -> d.Cube:
        """2x2 maximum with stride 2."""
        height, width = source.height // 2, source.width // 2
        place = self.activation(cube(Place(0, 0), source.channel, height, width).size)
        result = cube(place, source.channel, height, width)
        pool = record(
            d.PdpOp,
            split_num=1,
            pool_mode=1,  # maximum
            pool_width=1,  # 2, stored minus one
            pool_height=1,
            stride_x=2,
            stride_y=2,
        )
        surface = record(d.PdpSurface, src_data=source, dst_data=result)
        self._add(d.OpType.PDP, pool, surface)
        return result

    def _add(
        self, kind: d.OpType, operation: d.OpDesc, surface: d.Surface, fused: bool = False
    ) -> None:
        number = len(self.operations)
        if fused:
            self.fused[number] = number - 1
        elif number:
            self.needs[number] = number - 1  # every layer reads what the last one wrote
        self.operations.append((kind, operation, surface))

    def graph(self) -> list[d.CommonOp]:
        """The dependency graph: which event of which layer lets another one go on."""
        kinds = [kind for kind, _, _ in self.operations]
        none = d.Edge(-1, d.Event.OP_COMPLETED, 0)
        edges = [[none] * 6 for _ in kinds]
        for number, kind in enumerate(kinds):
            later = [n for n in range(number + 1, len(kinds)) if kinds[n] == kind]
            if later:
                edges[number][kind] = d.Edge(later[0], d.Event.OP_PROGRAMMED, 0)
        for consumer, producer in self.needs.items():
            edges[producer][kinds[consumer]] = d.Edge(consumer, d.Event.OP_COMPLETED, 0)
        parents = [none] * len(kinds)
        for consumer, producer in self.fused.items():
            edges[producer][kinds[consumer]] = d.Edge(consumer, d.Event.OP_PROGRAMMED, 0)
            # The consumer is switched on before what feeds it.
            parents[consumer] = d.Edge(producer, d.Event.OP_ENABLED, 0)
        arriving = [e.index for row in edges for e in row] + [e.index for e in parents]
        return [
            d.CommonOp(
                number, 0, kind, arriving.count(number), (0, 0, 0), tuple(edges[number]), parent
            )
            for number, (kind, parent) in enumerate(zip(kinds, parents, strict=True))
        ]


# Positions in the task's address list; each address is one memory.
NETWORK, CONSTANTS, ACTIVATIONS, INPUT, OUTPUT, GRAPH, OPERATIONS, SURFACES = range(8)


def tensor(number: int, name: str, memory: int, shape: d.Cube) -> TensorDesc:
    """The description of a bound tensor."""
    return TensorDesc(
        name=name,
        id=number,
        mem_id=memory,
        size=shape.size,
        offset=0,
        data_format=3,  # NCxHWx
        data_type=4,  # int8
        data_category=2,  # feature
        pixel_format=FEATURE_X8,
        pixel_mapping=0,
        n=1,
        c=shape.channel,
        h=shape.height,
        w=shape.width,
        strides=(1, shape.line_stride, shape.surf_stride, 0, 0, 0, 0, 0),
    )


def digits_loadable(layers: tuple[Layer, ...]) -> bytes:
    """The loadable's bytes."""
    conv1, conv2, full = layers
    builder = Builder()
    image = cube(Place(INPUT, 0), 1, 8, 8)
    hidden = builder.max_pool(builder.convolution(conv1, image, None))
    hidden = builder.max_pool(builder.convolution(conv2, hidden, None))
    scores = builder.convolution(full, hidden, Place(OUTPUT, 0))
    if scores.channel != CLASSES or scores.width != 1 or scores.height != 1:
        raise ValueError("the last layer does not give one score a class")

    kinds = [kind for kind, _, _ in builder.operations]
    network = record(
        d.Network,
        operation_desc_index=OPERATIONS,
        surface_desc_index=SURFACES,
        dependency_graph_index=GRAPH,
        lut_data_index=-1,
        roi_array_index=-1,
        surface_index=-1,
        stat_list_index=-1,
        op_head=tuple(kinds.index(unit) if unit in kinds else -1 for unit in d.OpType),
        num_rois=1,
        num_operations=len(kinds),
        num_addresses=8,
    )
    contents = {
        NETWORK: ("task-0-addr0", 1, encode(network, MINOR)),
        CONSTANTS: ("tb-0", 0, bytes(builder.constants)),
        GRAPH: ("task-0-dep_graph", 2, b"".join(encode(n, MINOR) for n in builder.graph())),
        OPERATIONS: (
            "task-0-op_list",
            3,
            b"".join(
                encode(o, MINOR).ljust(d.OPERATION_SIZE, b"\0") for _, o, _ in builder.operations
            ),
        ),
        SURFACES: (
            "task-0-surf_list",
            4,
            b"".join(
                encode(s, MINOR).ljust(d.SURFACE_SIZE, b"\0") for _, _, s in builder.operations
            ),
        ),
    }
    sizes = {number: len(data) for number, (_, _, data) in contents.items()}
    sizes |= {ACTIVATIONS: builder.activations, INPUT: image.size, OUTPUT: scores.size}
    flags = {INPUT: MemoryFlags.INPUT, OUTPUT: MemoryFlags.OUTPUT, ACTIVATIONS: MemoryFlags.NONE}
    loadable = Loadable(
        version=(0, 7, 0),
        tasks=(TaskEntry(0, Interface.DLA1, -1, tuple(range(8)), (), ()),),
        memories=tuple(
            MemoryEntry(
                id=number,
                domain=0,
                flags=MemoryFlags.ALLOC | flags.get(number, MemoryFlags.SET),
                size=sizes[number],
                alignment=4096,
                contents=(contents[number][0],) if number in contents else (),
                offsets=(0,) if number in contents else (),
                bind_id=0,
                tensor_desc_id=1 if number == OUTPUT else 0,
            )
            for number in range(8)
        ),
        addresses=tuple(AddressEntry(number, number, 0, sizes[number]) for number in range(8)),
        events=(),
        blobs=tuple(
            Blob(
                name,
                len(data),
                Interface.DLA1 if part else Interface.NONE,
                part,
                DLA_VERSION if part else (0, 0, 0),
                data,
            )
            for name, part, data in contents.values()
        ),
        tensors=(tensor(0, "image", INPUT, image), tensor(1, "scores", OUTPUT, scores)),
        relocs=(),
        submits=(SubmitEntry(0, (0,)),),
    )
    return write_loadable(loadable)
