"""Time of whole network binary graphs on the emulated VIP, one thread.

    python benchmarks/vip_network.py GRAPH.nb...

Inputs are random: what a graph computes does not change how long it takes. The first run
decodes the coefficients; later ones compare them with those in memory.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check.nbg_player import NbgPlayer
from fwgen.machine.emulator_build import model_library_path
from fwgen.model.nbg.model import read_container


def _measure(path: Path, library: Path, rounds: int) -> None:
    container = read_container(path.read_bytes(), path.name)
    player = NbgPlayer(library, BY_TARGET[container.target].name, container)
    noise = np.random.default_rng(1)
    inputs = [noise.bytes(tensor.size) for tensor in container.inputs]
    times: list[float] = []
    macs = 0
    for _ in range(rounds + 1):
        start = time.perf_counter()
        operations = player.run(inputs).operations
        times.append(time.perf_counter() - start)
        macs = sum(operation.macs for operation in operations)
    player.close()
    usual = statistics.median(times[1:])
    print(
        f"{path.name}: {container.engine_mix()}, {macs / 1e6:.0f} million MACs, "
        f"first run {times[0] * 1e3:.1f} ms, then {usual * 1e3:.1f} ms "
        f"(best {min(times[1:]) * 1e3:.1f}), {macs / usual / 1e9:.1f} GMAC/s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--library", type=Path, help="model library; default: built on demand")
    arguments = parser.parse_args()
    library = arguments.library or model_library_path()
    for path in arguments.graph:
        _measure(path, library, arguments.rounds)


if __name__ == "__main__":
    main()
