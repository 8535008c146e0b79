"""Layer lists of networks with published frame rates, as their papers define them."""

from __future__ import annotations

from fwgen.accel.nvdla.performance import Convolution


def square(
    channels: int, size: int, kernels: int, kernel: int, stride: int, out: int, **more: object
) -> Convolution:
    """A layer whose sizes are equal in both directions; `stored` after pooling."""
    stored = int(str(more.get("stored", out)))
    return Convolution(
        channels, size, size, kernels, kernel, kernel, out, out, stored, stored, stride, stride,
        elementwise=bool(more.get("elementwise")), batch=int(str(more.get("batch", 1))),
    )  # fmt: skip


def resnet50(*, batch: int = 1, as_in_sheet: bool = False) -> dict[str, Convolution]:
    """ResNet-50: 53 convolutions and the classifier, strides in the first 1x1 of a stage.

    The sheet gives the first branch2a 256 channels where the network has 64.
    """
    layers = {"conv1": square(3, 224, 64, 7, 2, 112, stored=56)}
    channels, size = 64, 56
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 2):
        for block in range(blocks):
            name = f"res{stage}{'abcdef'[block]}_branch"
            stride = 2 if stage > 2 and block == 0 else 1
            out = size // stride
            if block == 0:
                layers[name + "1"] = square(channels, size, 4 * width, 1, stride, out)
            first = 256 if as_in_sheet and stage == 2 and block == 0 else channels
            layers[name + "2a"] = square(first, size, width, 1, stride, out)
            layers[name + "2b"] = square(width, out, width, 3, 1, out)
            layers[name + "2c"] = square(width, out, 4 * width, 1, 1, out, elementwise=True)
            channels, size = 4 * width, out
    layers["fc1000"] = square(2048, 1, 1000, 1, 1, 1, batch=batch)
    return layers


def alexnet(batch: int) -> list[Convolution]:
    """AlexNet: two groups in conv2, conv4 and conv5."""
    return [
        square(3, 227, 96, 11, 4, 55, stored=27),
        *[square(48, 27, 128, 5, 1, 27, stored=13)] * 2,
        square(256, 13, 384, 3, 1, 13),
        *[square(192, 13, 192, 3, 1, 13)] * 2,
        *[square(192, 13, 128, 3, 1, 13, stored=6)] * 2,
        square(9216, 1, 4096, 1, 1, 1, batch=batch),
        square(4096, 1, 4096, 1, 1, 1, batch=batch),
        square(4096, 1, 1000, 1, 1, 1, batch=batch),
    ]


def googlenet(batch: int) -> list[Convolution]:
    """GoogLeNet: the three 1x1 branches that share an input are one layer each module."""
    layers = [
        square(3, 224, 64, 7, 2, 112, stored=56),
        square(64, 56, 64, 1, 1, 56),
        square(64, 56, 192, 3, 1, 56, stored=28),
    ]
    channels = 192
    for size, one, reduce3, three, reduce5, five, pooled in (
        (28, 64, 96, 128, 16, 32, 32),
        (28, 128, 128, 192, 32, 96, 64),
        (14, 192, 96, 208, 16, 48, 64),
        (14, 160, 112, 224, 24, 64, 64),
        (14, 128, 128, 256, 24, 64, 64),
        (14, 112, 144, 288, 32, 64, 64),
        (14, 256, 160, 320, 32, 128, 128),
        (7, 256, 160, 320, 32, 128, 128),
        (7, 384, 192, 384, 48, 128, 128),
    ):
        layers += [
            square(channels, size, one + reduce3 + reduce5, 1, 1, size),
            square(reduce3, size, three, 3, 1, size),
            square(reduce5, size, five, 5, 1, size),
            square(channels, size, pooled, 1, 1, size),
        ]
        channels = one + three + five + pooled
    return [*layers, square(1024, 1, 1000, 1, 1, 1, batch=batch)]
