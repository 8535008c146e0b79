"""MobileNet v1 with 224 x 224 pixels for LiteRT: its layers with random weights.

What a network computes does not change how long it takes. Written with the schema that
ships with LiteRT; int8, one scale for each tensor, one thread, XNNPACK by default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from conv_peers import quiet

# Kernels and stride of each depthwise-pointwise pair behind the first convolution.
_PAIRS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2),
    (1024, 1),
)  # fmt: skip
_SIZE, _FIRST, _CLASSES = 224, 32, 1001


class _Graph:
    """A chain of operators, each on the output of the one before it."""

    def __init__(self) -> None:
        from ai_edge_litert import schema_py_generated as schema

        self.schema = schema
        self.rng = np.random.default_rng(1)
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.graph = schema.SubGraphT()
        self.graph.tensors = []
        self.graph.operators = []
        self.model.subgraphs = [self.graph]
        self.size, self.channels = _SIZE, 3
        self.last = self._tensor([1, _SIZE, _SIZE, 3], 0.05, None)
        self.graph.inputs = [self.last]

    def _tensor(self, shape: list[int], scale: float, data: np.ndarray | None) -> int:
        schema = self.schema
        tensor = schema.TensorT()
        tensor.name = f"t{len(self.graph.tensors)}".encode()
        tensor.shape = shape
        wide = data is not None and data.dtype == np.int32
        tensor.type = schema.TensorType.INT32 if wide else schema.TensorType.INT8
        tensor.buffer = 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data.tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale = np.array([scale], np.float32)
        tensor.quantization.zeroPoint = np.zeros(1, np.int64)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def _append(self, name: str, kind: str, options: Any, inputs: list[int], output: int) -> None:
        schema = self.schema
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, name)
        code.version = 4 if name == "FULLY_CONNECTED" else 3
        self.model.operatorCodes.append(code)
        operator = schema.OperatorT()
        operator.opcodeIndex = len(self.model.operatorCodes) - 1
        operator.inputs, operator.outputs = inputs, [output]
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        operator.builtinOptions = options
        self.graph.operators.append(operator)
        self.last = output

    def _weights(self, shape: list[int], kernels: int, products: int) -> list[int]:
        weights = self.rng.integers(-127, 128, shape, dtype=np.int8)
        bias = self.rng.integers(-1000, 1000, kernels, dtype=np.int32)
        scale = 1 / 64 / products**0.5
        return [self._tensor(shape, scale, weights), self._tensor([kernels], 0.05 * scale, bias)]

    def convolution(self, kernels: int, window: int, stride: int, depthwise: bool = False) -> None:
        """CONV_2D or DEPTHWISE_CONV_2D with "same" padding and ReLU6."""
        schema = self.schema
        name = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
        options = getattr(schema, name + "T")()
        options.padding = schema.Padding.SAME
        options.strideW = options.strideH = stride
        options.fusedActivationFunction = schema.ActivationFunctionType.RELU6
        shape = [kernels, window, window, self.channels]
        products = window**2 * self.channels
        if depthwise:
            options.depthMultiplier = 1
            shape, products = [1, window, window, kernels], window**2
        operands = self._weights(shape, kernels, products)
        self.size = -(-self.size // stride)
        output = self._tensor([1, self.size, self.size, kernels], 0.05, None)
        code = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        self._append(code, name, options, [self.last, *operands], output)
        self.channels = kernels

    def mean_and_classes(self) -> None:
        """Average over all pixels, then a fully connected layer."""
        schema = self.schema
        pool = schema.Pool2DOptionsT()
        pool.padding = schema.Padding.VALID
        pool.strideW = pool.strideH = 1
        pool.filterWidth = pool.filterHeight = self.size
        output = self._tensor([1, 1, 1, self.channels], 0.05, None)
        self._append("AVERAGE_POOL_2D", "Pool2DOptions", pool, [self.last], output)
        operands = self._weights([_CLASSES, self.channels], _CLASSES, self.channels)
        output = self._tensor([1, _CLASSES], 0.05, None)
        self._append(
            "FULLY_CONNECTED",
            "FullyConnectedOptions",
            schema.FullyConnectedOptionsT(),
            [self.last, *operands],
            output,
        )

    def content(self) -> bytes:
        """The model as a file."""
        import flatbuffers

        self.graph.outputs = [self.last]
        builder = flatbuffers.Builder(1 << 23)
        builder.Finish(self.model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())


def mobilenet_peer() -> Callable[[], object]:
    """A function that runs the network once."""
    from ai_edge_litert.interpreter import Interpreter

    graph = _Graph()
    graph.convolution(_FIRST, 3, 2)
    for kernels, stride in _PAIRS:
        graph.convolution(graph.channels, 3, stride, depthwise=True)
        graph.convolution(kernels, 1, 1)
    graph.mean_and_classes()
    with quiet():
        interpreter = Interpreter(model_content=graph.content(), num_threads=1)
        interpreter.allocate_tensors()
    source = interpreter.get_input_details()[0]["index"]
    noise = np.random.default_rng(2).integers(-128, 128, (1, _SIZE, _SIZE, 3), dtype=np.int8)
    interpreter.set_tensor(source, noise)
    return lambda: interpreter.invoke()
