"""The other contenders: onnxruntime, LiteRT with XNNPACK, and NumPy.

Each takes int8 activations in the layout it prefers, does the same layer
(bias, ReLU, per-channel requantisation to int8) on one thread, and may prepare
its weights beforehand as it likes. The TFLite model is written with the schema
that ships with LiteRT, so that no TensorFlow is needed.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from conv_layers import Int8, Layer


@dataclass(frozen=True)
class Peer:
    """A prepared layer: `run` does it once, `result` gives (kernels, height, width)."""

    run: Callable[[], object]
    result: Callable[[], Int8]


def onnxruntime_peer(layer: Layer, unsigned: bool) -> Peer:
    """QLinearConv, alone in its graph.

    Args:
        layer: what to compute.
        unsigned: activations as uint8 with zero point 128, which is the form
            that x86's dot products take; otherwise int8.
    """
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    element = TensorProto.UINT8 if unsigned else TensorProto.INT8
    dtype = np.uint8 if unsigned else np.int8
    # ReLU: results below the zero point saturate. int8 output reaches 255 in
    # steps of the same size, so its zero point is the lowest value.
    zero_out = dtype(0) if unsigned else dtype(-128)
    cube = (layer.cube.view(np.uint8) ^ 0x80) if unsigned else layer.cube
    constants = {
        "x_scale": np.float32(1),
        "x_zero": dtype(128 if unsigned else 0),
        "w": layer.weights,
        "w_scale": layer.scales,
        "w_zero": np.zeros(layer.kernels, np.int8),
        "y_scale": np.float32(1),
        "y_zero": zero_out,
        "b": layer.bias,
    }
    node = helper.make_node("QLinearConv", ["x", *constants], ["y"], pads=[layer.pad] * 4)
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", element, (1, *layer.cube.shape))],
        [helper.make_tensor_value_info("y", element, (1, layer.kernels, layer.size, layer.size))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    # Buffers are bound once: no copies between Python and the session.
    binding = session.io_binding()
    source = np.ascontiguousarray(cube[None])
    target = np.empty((1, layer.kernels, layer.size, layer.size), dtype)
    binding.bind_input("x", "cpu", 0, dtype, source.shape, source.ctypes.data)
    binding.bind_output("y", "cpu", 0, dtype, target.shape, target.ctypes.data)

    def result() -> Int8:
        return np.minimum(target[0].astype(np.int16) - int(zero_out), 127).astype(np.int8)

    # The closure keeps `source` alive; the binding does not.
    return Peer(lambda source=source: session.run_with_iobinding(binding), result)


def litert_peer(layer: Layer) -> Peer:
    """CONV_2D through the interpreter, which applies XNNPACK by default."""
    from ai_edge_litert.interpreter import Interpreter

    content = _tflite_model(layer)
    with quiet():
        interpreter = Interpreter(model_content=content, num_threads=1)
        interpreter.allocate_tensors()
    source = interpreter.get_input_details()[0]["index"]
    target = interpreter.get_output_details()[0]["index"]
    interpreter.set_tensor(source, np.ascontiguousarray(layer.cube.transpose(1, 2, 0))[None])
    return Peer(interpreter.invoke, lambda: interpreter.get_tensor(target)[0].transpose(2, 0, 1))


def litert_uses_xnnpack(layer: Layer) -> bool:
    """Whether the delegate took the layer."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=_tflite_model(layer), num_threads=1)
    interpreter.allocate_tensors()
    return any(op["op_name"] == "DELEGATE" for op in interpreter._get_ops_details())


def _tflite_model(layer: Layer) -> bytes:
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    def tensor(
        name: str, shape: list[int], kind: int, scale: np.ndarray, buffer: int
    ) -> schema.TensorT:
        result = schema.TensorT()
        result.name = name.encode()
        result.shape = shape
        result.type = kind
        result.buffer = buffer
        quantization = schema.QuantizationParametersT()
        quantization.scale = np.asarray(scale, np.float32)
        quantization.zeroPoint = np.zeros(len(scale), np.int64)
        result.quantization = quantization
        return result

    one = np.ones(1, np.float32)
    int8 = schema.TensorType.INT8
    filters = np.ascontiguousarray(layer.weights.transpose(0, 2, 3, 1))
    cube = [1, layer.size, layer.size]
    buffers = []
    for data in (None, filters, layer.bias):
        buffer = schema.BufferT()
        if data is not None:
            buffer.data = np.frombuffer(data.tobytes(), np.uint8)
        buffers.append(buffer)
    graph = schema.SubGraphT()
    graph.tensors = [
        tensor("x", [*cube, layer.channels], int8, one, 0),
        tensor("w", list(filters.shape), int8, layer.scales, 1),
        tensor("b", [layer.kernels], schema.TensorType.INT32, layer.scales, 2),
        tensor("y", [*cube, layer.kernels], int8, one, 0),
    ]
    options = schema.Conv2DOptionsT()
    options.padding = schema.Padding.SAME
    options.strideW = options.strideH = 1
    options.fusedActivationFunction = schema.ActivationFunctionType.RELU
    operator = schema.OperatorT()
    operator.inputs = [0, 1, 2]
    operator.outputs = [3]
    operator.builtinOptionsType = schema.BuiltinOptions.Conv2DOptions
    operator.builtinOptions = options
    graph.inputs = [0]
    graph.outputs = [3]
    graph.operators = [operator]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CONV_2D
    code.version = 3
    model = schema.ModelT()
    model.version = 3
    model.subgraphs = [graph]
    model.buffers = buffers
    model.operatorCodes = [code]
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def numpy_peer(layer: Layer) -> Peer:
    """Rows of windows in float32 times the kernels (sgemm), then requantised."""
    pad, window, size = layer.pad, layer.window, layer.size
    weights = np.ascontiguousarray(layer.weights.reshape(layer.kernels, -1), np.float32)
    padded = np.zeros((layer.channels, size + 2 * pad, size + 2 * pad), np.float32)
    columns = np.empty((layer.channels, window, window, size, size), np.float32)
    product = np.empty((layer.kernels, size * size), np.float32)
    output = np.empty((layer.kernels, size, size), np.int8)
    bias = layer.bias.astype(np.float32)[:, None]
    scales = layer.scales[:, None]

    def run() -> None:
        padded[:, pad : pad + size, pad : pad + size] = layer.cube
        for row in range(window):
            for column in range(window):
                columns[:, row, column] = padded[:, row : row + size, column : column + size]
        np.matmul(weights, columns.reshape(-1, size * size), out=product)
        np.add(product, bias, out=product)
        np.multiply(product, scales, out=product)
        np.rint(product, out=product)
        np.clip(product, 0, 127, out=product)
        output.reshape(layer.kernels, -1)[:] = product

    return Peer(run, lambda: output)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps the notes that LiteRT's C++ writes to file descriptor 2 away."""
    saved = os.dup(2)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)
