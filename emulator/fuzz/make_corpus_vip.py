"""Writes a seed corpus for fuzz_vip: small valid jobs of each kind, and command streams.

Input format: see fuzz_vip.c. Usage: python make_corpus_vip.py OUTPUT_DIRECTORY
"""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

import numpy as np

from fwgen.check.random_vip_nn import V7, V8, NnFields
from fwgen.check.random_vip_tp import fc_blob, fc_fields, random_table, random_tp_job
from fwgen.check.vip_coefficients import RUN_TABLES, encode_v7, encode_v8

DESCRIPTOR, STREAM, SOURCE, TARGET, BLOB = 0x0000, 0x0400, 0x1000, 0x3000, 0x5000
CONFIGS = ("0xb5", "0x9f", "0x88", "0x82", "0xb9")
CORES = (4, 6, 8, 10, 4)
NN, TP = 0, 1
NO_FAULT = 15


def memory(address: int, data: bytes) -> bytes:
    """Commands that store bytes."""
    out = b""
    for at in range(0, len(data), 256):
        part = data[at : at + 256]
        out += struct.pack("<BHB", 4, address + at, len(part) - 1) + part
    return out


def words(address: int, values: list[int]) -> bytes:
    """Commands that store 32-bit words."""
    return memory(address, struct.pack(f"<{len(values)}I", *values))


def job(unit: int, descriptor: list[int]) -> bytes:
    """Stores a descriptor and runs it."""
    return words(DESCRIPTOR, descriptor) + struct.pack("<BBH", 6, unit, DESCRIPTOR)


def tp(seed: int) -> bytes:
    """A window job, with a table at times."""
    rng = np.random.default_rng(seed)
    fields = random_tp_job(rng, SOURCE, TARGET, BLOB)
    data = memory(SOURCE, rng.integers(0, 256, 512, np.uint8).tobytes())
    if fields.table is not None:
        # Only the part that small inputs reach: zero-filled around it.
        table = random_table(rng)
        data += memory(BLOB + 4 * 352, table[352:384].tobytes())
    return bytes([seed % len(CONFIGS), NO_FAULT]) + data + job(TP, fields.words())


def fc(seed: int) -> bytes:
    """A fully connected job."""
    rng = np.random.default_rng(seed)
    inputs, outputs = int(rng.integers(1, 6)), int(rng.integers(1, 20))
    weights = rng.integers(90, 110, (inputs, outputs))
    blob = fc_blob(random.Random(seed), weights, rng.integers(-99, 99, outputs), 100)
    fields = fc_fields(inputs, outputs, 99, source=SOURCE, target=TARGET, shift=4)
    fields.patches[(11, 0, 32)] = BLOB
    return (
        bytes([seed % len(CONFIGS), NO_FAULT])
        + memory(SOURCE, bytes(range(9, 9 + inputs)))
        + memory(BLOB, blob)
        + job(TP, fields.words())
    )


def nn(seed: int) -> bytes:
    """A convolution."""
    rng, noise = random.Random(seed), np.random.default_rng(seed)
    config = seed % len(CONFIGS)
    generation = V7 if CONFIGS[config] in ("0x88", "0x82") else V8
    depthwise = generation == V8 and seed % 3 == 0
    kernel = rng.choice([(1, 1), (2, 1), (3, 3)])
    channels, kernels = rng.choice([1, 3, 7]), rng.choice([1, 3, 5])
    per_core = 1 + kernels // CORES[config]
    shape = (kernels, 1 if depthwise else channels, kernel[1], kernel[0])
    weights = (128 + noise.integers(-3, 4, shape)).astype(np.uint8)
    start = noise.integers(-500, 500, kernels)
    common = {"cores": CORES[config], "per_core": per_core, "weight_zero": 128}
    if generation == V8:
        blob = encode_v8(
            rng, weights, start, table_size=rng.choice(RUN_TABLES), depthwise=depthwise, **common
        )
    else:
        blob = encode_v7(rng, weights, start, np.arange(kernels) * 20, run_bits=3, **common)
    fields = NnFields(
        generation=generation, depthwise=int(depthwise), kernel=kernel, channels=channels,
        kernels=kernels, per_core=per_core, pooling=rng.choice([0, 1, 3]), in_size=(5, 4),
        offset=(-(kernel[0] // 2), -(kernel[1] // 2)), out_size=(5, 4), in_address=SOURCE,
        in_strides=(5, 4), out_address=TARGET, out_strides=(5, 4), coefficients=BLOB,
        shift=8 + (15 if generation == V7 else 0), weight_zero=128, border=7,
    )  # fmt: skip
    return (
        bytes([config, NO_FAULT])
        + memory(SOURCE, noise.integers(0, 256, 140, np.uint8).tobytes())
        + memory(BLOB, blob)
        + job(NN, fields.words())
    )


def stream(fault: int) -> bytes:
    """Every command, a small job, and a fault."""
    fields = random_tp_job(np.random.default_rng(4), SOURCE, TARGET, BLOB)
    fields.table = None
    commands = [
        0x18000000, 0, 0x08010E13, 2, 0x08030E4E, 0x400000, 0x6000, 0x7000, 0x68000001, 0,
        0x50000002, STREAM + 0x80, 6, STREAM + 0xA0,
    ]  # fmt: skip
    back = [
        0x38000010, 0, 0x08010E03, 0xC23, 0x08010E02, 0x701, 0x48000000, 0x701, 0x40000002,
        STREAM + 0x100, 0, 0,
    ]  # fmt: skip
    return (
        bytes([fault % len(CONFIGS), fault])
        + words(DESCRIPTOR, fields.words())
        + words(STREAM, commands)
        + words(STREAM + 0x80, [0x0801042E, DESCRIPTOR | 1, 0x58000000, 0])
        + words(STREAM + 0xA0, back)
        + words(STREAM + 0x100, [0x08010E01, 0x43, 0x10000107, 0])
        + struct.pack("<BBI", 0, 5, 0xFFFFFFFF)
        + struct.pack("<BHH", 5, STREAM, 7)
        + struct.pack("<BBBB", 1, 4, 3, 1)
    )


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(24):
        (folder / f"tp{seed}").write_bytes(tp(seed))
        (folder / f"fc{seed}").write_bytes(fc(seed))
        (folder / f"nn{seed}").write_bytes(nn(seed))
    for fault in range(16):
        (folder / f"stream{fault}").write_bytes(stream(fault))


if __name__ == "__main__":
    main()
