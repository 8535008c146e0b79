"""execute() in a worker thread, as the QEMU module uses it, changes no result."""

from __future__ import annotations

import threading

import numpy as np

from .conftest import SOURCE, TARGET, Device
from .programs import enable_sdp, pack, sdp_registers

SHAPE = (24, 16, 16)


def test_worker_and_owner_side_by_side(device: Device) -> None:
    rng = np.random.default_rng(1)
    cube = rng.integers(-128, 128, SHAPE, dtype=np.int8)
    device.put(SOURCE, pack(cube, 8))
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            device.accelerator.execute()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for number in range(60):
            group = number % 2
            target = TARGET + 0x2000 * (number % 4)
            device.bytes_at(target, cube.size)[:] = 0
            sdp_registers(device, SHAPE, 8, group=group, target=target, D_CVT_SCALE=-1 & 0xFFFF)
            enable_sdp(device)
            assert device.run() == 1 << group
            want = np.clip(-cube.astype(np.int64), -128, 127).astype(np.int8)
            assert (
                device.bytes_at(target, cube.size) == pack(want, 8).view(np.uint8).reshape(-1)
            ).all()
    finally:
        stop.set()
        worker.join()
    assert device.errors() == []
