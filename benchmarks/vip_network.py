"""Time of whole network binary graphs on the emulated VIP, one thread.

    python benchmarks/vip_network.py [--mobilenet] GRAPH.nb...

Inputs are random: what a graph computes does not change how long it takes. The first run
decodes the coefficients; later ones compare them with those in memory. Times are the
processor's, so that other work on the computer counts little. --mobilenet times the
layers of MobileNet v1 (224 x 224) in LiteRT as well, in turn with each graph.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mobilenet_peer import mobilenet_peer

from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check.nbg_player import NbgPlayer
from fwgen.machine.emulator_build import model_library_path
from fwgen.model.nbg.model import read_container


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _summary(times: list[float]) -> str:
    return f"{statistics.median(times) * 1e3:.1f} ms (best {min(times) * 1e3:.1f})"


def _measure(path: Path, library: Path, rounds: int, peer: Callable[[], object] | None) -> None:
    container = read_container(path.read_bytes(), path.name)
    player = NbgPlayer(library, BY_TARGET[container.target].name, container)
    noise = np.random.default_rng(1)
    inputs = [noise.bytes(tensor.size) for tensor in container.inputs]
    first = _seconds(lambda: player.run(inputs))
    macs = sum(operation.macs for operation in player.run(inputs).operations)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append(_seconds(lambda: player.run(inputs)))
        if peer is not None:
            theirs.append(_seconds(peer))
    player.close()
    print(
        f"{path.name}: {container.engine_mix()}, {macs / 1e6:.0f} million MACs; "
        f"first run {first * 1e3:.1f} ms, then {_summary(ours)}, "
        f"{macs / statistics.median(ours) / 1e9:.1f} GMAC/s"
    )
    if theirs:
        print(f"LiteRT, layers of MobileNet v1: {_summary(theirs)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--mobilenet", action="store_true", help="compare with LiteRT")
    parser.add_argument("--library", type=Path, help="model library; default: built on demand")
    arguments = parser.parse_args()
    library = arguments.library or model_library_path()
    peer = mobilenet_peer() if arguments.mobilenet else None
    for path in arguments.graph:
        _measure(path, library, arguments.rounds, peer)


if __name__ == "__main__":
    main()
