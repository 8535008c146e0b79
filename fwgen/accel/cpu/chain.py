"""Operations that run together, as kernel calls.

Units that feed each other on the fly have no memory between them. A convolution hands
its sums to the stages inside one kernel. Between SDP and PDP lies a cube in scratch
memory: the bytes that the hardware would stream.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from fwgen.accel.cpu.constants import Store
from fwgen.accel.cpu.layer import Layer
from fwgen.accel.cpu.lower_conv import bands, convolution_of
from fwgen.accel.cpu.lower_pool import normalisation_of, pdp_source, poolings_of
from fwgen.accel.cpu.lower_post import blocks, pointwise_of, post_of, sdp_size
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.program.commands import Cpu, Value
from fwgen.program.kernels import Cube

Reserve = Callable[[str, int], Value]
"""Gives scratch memory a place: (what it is for, bytes) -> its address."""

CALL_MACS = 1 << 22
"""A convolution is cut into calls of about so many products: between two calls a run can
end early."""


def _stream(layer: Layer, block: int, reserve: Reserve) -> Cube:
    """Where SDP's output lies until PDP has read it."""
    width, height, channels = sdp_size(layer)
    line = width * block
    size = blocks(channels, block) * height * line
    return Cube(reserve("stream", size), line, height * line)


def chain_calls(
    units: Collection[str],
    layer: Layer,
    config: Configuration,
    weights: bytes,
    store: Store,
    reserve: Reserve,
) -> dict[str, list[Cpu]]:
    """Kernel calls by unit, in the order of the units.

    Args:
        units: "CONV", "SDP", "PDP" in a row, or a part of it; or "CDP".
        layer: registers of all of them.
        weights: of the convolution, as the model holds them.
    """
    calls: dict[str, list[Cpu]] = {}
    if "CDP" in units:
        return {"CDP": [normalisation_of(layer, config.atom, store).command()]}
    source = pdp_source(layer)
    if "SDP" in units:
        stream = _stream(layer, config.atom, reserve) if "PDP" in units else None
        source = stream or source
        post = post_of(layer, config.atom, store, stream)
        if "CONV" in units:
            conv, scratch = convolution_of(layer, config, weights, post, store)
            conv = replace(conv, scratch=reserve("sums", scratch))
            calls["CONV"] = [part.command() for part in bands(conv, CALL_MACS)]
        else:
            calls["SDP"] = [pointwise_of(layer, post).command()]
    if "PDP" in units:
        calls["PDP"] = [p.command() for p in poolings_of(layer, config.atom, source)]
    return calls
