"""Small packages for the device of host/board.c, and what that device asks for."""

from __future__ import annotations

import random
from dataclasses import replace

from fwgen.package import format
from fwgen.package.format import Header, Table, TensorRecord, Variant
from fwgen.package.verify import Device

RUN_BASE = 0x30000000
TENSORS = (0x21800000, 0x10000)
SLOT_SIZE = 16 * 1024
LAYOUT_HASH = bytes(range(1, 9))
DEVICE = Device(
    board="sim",
    accelerators=("nvdla/nv_small",),
    layout_hash=LAYOUT_HASH,
    room=SLOT_SIZE,
    base=RUN_BASE,
    tensors=TENSORS,
    operations=16,
    pipeline=1,
    kernels=1 << 1,
)


def make_package(
    name: str = "one", *, seed: int = 1, weights: int = 2500, version: int = 1, **changes: object
) -> bytes:
    """A package that the device accepts: one input, one output, a self-test.

    Args:
        weights: bytes of them, which also sets the package's size.
        changes: fields of the header.
    """
    rng = random.Random(seed)
    payload = bytearray()

    def add(data: bytes) -> int:
        payload.extend(bytes(-len(payload) % 4))
        offset = format.HEADER_SIZE + len(payload)
        payload.extend(data)
        return offset

    names = [add(format.name_field(text)) for text in ("in", "out")]
    program = add(rng.randbytes(40))
    tensors = tuple(
        TensorRecord(names[i], TENSORS[0] + 64 * i, 64, (1, 1, 8, 8), (1, 8, 64), 0.5, 0, 1, 1, 1)
        for i in range(2)
    )
    table = Table(
        program=(program, 10),
        pipelined=(0, 0),
        interrupt_mask=1,
        inputs=1,
        outputs=1,
        operations=3,
        accelerator=0,
        pipeline_depth=1,
        banks=1,
        layout_hash=rng.randbytes(8),
        clear=(TENSORS[0], 128),
        tensors=tensors,
    )
    at = add(table.encode())
    test = add(format.self_test_block(rng.randbytes(64), rng.randbytes(64)))
    add(rng.randbytes(weights))
    header = Header(
        layout_hash=LAYOUT_HASH,
        board="sim",
        accelerator="nvdla/nv_small",
        name=name,
        length=0,
        version=version,
        digest=bytes(32),
        crc=0,
        kernels=0,
        self_test=test,
        variants=(Variant(RUN_BASE, at),),
    )
    return format.seal(replace(header, **changes), bytes(payload))  # type: ignore[arg-type]
