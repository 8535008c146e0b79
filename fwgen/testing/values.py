"""Inputs of a case as bytes: files, zeros, random numbers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fwgen.errors import UsageError
from fwgen.machine import tensors
from fwgen.machine.link import TensorInfo
from fwgen.machine.tensors import Array
from fwgen.project.suite import RANDOM, ZEROS


def input_bytes(
    known: Sequence[TensorInfo], given: Mapping[str, str], root: Path, run: int
) -> dict[int, bytes]:
    """The bytes of every input.

    Args:
        given: by name or number of the tensor: a file, "zeros" or "random:SEED".
        root: folder of the files.
        run: number of the inference; random inputs differ from run to run.

    Raises:
        UsageError: an input without a value, an unknown one, or a file that does not fit.
    """
    values = tensors.resolve(known, given)
    missing = [tensor.name for index, tensor in enumerate(known) if index not in values]
    if missing:
        raise UsageError(
            f"the case gives no value for the input '{missing[0]}'",
            expected='a file, "zeros" or "random:SEED" for each of '
            + ", ".join(tensor.name for tensor in known),
        )
    return {index: _bytes(known[index], text, root, run) for index, text in values.items()}


def _bytes(tensor: TensorInfo, text: str, root: Path, run: int) -> bytes:
    if text == ZEROS:
        return bytes(tensor.size)
    if text.startswith(RANDOM):
        seed = int(text.removeprefix(RANDOM))
        return tensors.pack(random_array(tensor, seed, run), tensor)
    return tensors.load(root / text, tensor)


def random_array(tensor: TensorInfo, seed: int, run: int) -> Array:
    """Numbers over the whole range of the tensor's type; floats from -1 to 1.

    They depend on seed, run and the tensor's name, so that the inputs of a model differ.
    """
    generator = np.random.default_rng([seed, run, zlib.crc32(tensor.name.encode())])
    kind = np.dtype(tensor.dtype)
    if kind.kind == "f":
        return generator.uniform(-1.0, 1.0, tensor.shape).astype(kind)
    limits = np.iinfo(kind)
    return generator.integers(limits.min, limits.max, tensor.shape, kind, endpoint=True)
