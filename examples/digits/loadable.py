"""Writes the quantised digits network as an NVDLA loadable for nv_small.

Eight hardware layers: a convolution with its SDP layer (bias, ReLU, conversion
to int8) and a max pool, twice, and the fully connected layer, which is a
convolution as large as its input.
"""

from __future__ import annotations

from network import CLASSES, Layer

from fwgen.accel.nvdla.builder import BuiltTensor, LoadableBuilder
from fwgen.accel.nvdla.configurations import configuration
from fwgen.model.nvdla.loadable import write_loadable


def digits_loadable(layers: tuple[Layer, ...]) -> bytes:
    """The loadable's bytes."""
    builder = LoadableBuilder(configuration("nv_small"))

    def convolution(source: BuiltTensor, layer: Layer) -> BuiltTensor:
        return builder.conv(
            source,
            layer.weights,
            layer.bias,
            bias_shift=layer.bias_shift,
            relu=layer.relu,
            scale=layer.scale,
            shift=layer.shift,
            pad=layer.pad,
        )

    conv1, conv2, full = layers
    image = builder.input_feature("image", width=8, height=8, channels=1)
    hidden = builder.pool(convolution(image, conv1), kernel=2)
    hidden = builder.pool(convolution(hidden, conv2), kernel=2)
    scores = convolution(hidden, full)
    if scores.shape != (CLASSES, 1, 1):
        raise ValueError("the last layer does not give one score a class")
    builder.output("scores", scores)
    return write_loadable(builder.build())
