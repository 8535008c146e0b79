"""Throughput of int8 convolutions: the emulated NVDLA and VIP beside other software.

All contenders run in this process, one after the other in every round, on one
thread each, so that a noisy machine disturbs them alike; the median over the
rounds counts. Before anything is timed, the models' results must equal an
integer reference, and the others' must lie within 1 of NVDLA's (they round in
floating point). The VIP computes the layer in uint8 with one multiplier for
all kernels, since it has no other.

    pip install -e '.[benchmarks]'
    python benchmarks/conv_throughput.py [--json]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from conv_layers import LAYERS, Layer
from conv_model import ModelContender
from conv_peers import Peer, litert_peer, litert_uses_xnnpack, numpy_peer, onnxruntime_peer
from vip_model import VipContender

from fwgen.machine.emulator_build import model_library_path

# OpenBLAS reads these when NumPy is imported: one thread, and the code that it
# would choose itself.
_THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_VIP = "vip"
_CONFIGS = ("nv_large", "nv_small", _VIP)
_PEERS = ("litert", "onnxruntime", "numpy")
_SECONDS_A_ROUND = 0.02


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _vector_units() -> list[str]:
    interesting = ("avx2", "avx_vnni", "avx512_vnni", "amx_int8", "asimddp")
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            words = set(file.read().split())
    except OSError:
        return []
    return [name for name in interesting if name in words]


def _best_onnxruntime(layer: Layer) -> tuple[Peer, str]:
    """The faster of its two forms on this host."""
    peers = {name: onnxruntime_peer(layer, name == "uint8") for name in ("uint8", "int8")}
    times = {}
    for name, peer in peers.items():
        peer.run()
        times[name] = min(_seconds(peer.run, 3) for _ in range(3))
    best = min(times, key=times.__getitem__)
    return peers[best], best


def _seconds(run: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def _contender(library: Path, config: str, layer: Layer) -> ModelContender | VipContender:
    if config == _VIP:
        return VipContender(library, layer)
    return ModelContender(library, config, layer)


def _difference(result: np.ndarray, expected: np.ndarray) -> int:
    return int(np.abs(result.astype(np.int16) - expected).max())


def _check(
    layer: Layer, name: str, result: np.ndarray, expected: np.ndarray, tolerance: int
) -> None:
    difference = _difference(result, expected)
    if difference > tolerance:
        raise SystemExit(f"{layer.name}: {name} is wrong by up to {difference}")


def _measure(
    layer: Layer, library: Path, configs: tuple[str, ...], rounds: int, kernels: str | None
) -> dict[str, object]:
    models = {config: _contender(library, config, layer) for config in configs}
    runs: dict[str, Callable[[], object]] = {}
    for config, model in models.items():
        if kernels is not None and not model.force(kernels):
            raise SystemExit(f"this host cannot run the kernels {kernels}")
        for _ in range(2):  # both register groups
            model.clear()
            model.run()
            _check(layer, config, model.result(), model.expected, 0)
        runs[config] = model.run
    ort, form = _best_onnxruntime(layer)
    peers = {"litert": litert_peer(layer), "onnxruntime": ort, "numpy": numpy_peer(layer)}
    # On processors without VNNI onnxruntime adds pairs of products in 16 bits, saturating.
    saturates = {}
    for name, peer in peers.items():
        peer.run()
        difference = _difference(peer.result(), layer.expected)
        if name == "onnxruntime" and difference > 1:
            saturates[name] = difference
        else:
            _check(layer, name, peer.result(), layer.expected, 1)
        runs[name] = peer.run
    counts = {
        name: max(1, round(_SECONDS_A_ROUND / min(_seconds(run, 1) for _ in range(5))))
        for name, run in runs.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            seconds[name].append(_seconds(run, counts[name]))
    for config, model in models.items():
        _check(layer, config, model.result(), model.expected, 0)
    rates = {name: layer.macs / statistics.median(s) / 1e9 for name, s in seconds.items()}
    return {
        "layer": layer.name,
        "macs": layer.macs,
        "operations": {config: model.operations for config, model in models.items()},
        "onnxruntime_activations": form,
        "wrong_by_up_to": saturates,
        "gmacs": {name: round(rate, 2) for name, rate in rates.items()},
        "best_gmacs": {name: round(layer.macs / min(s) / 1e9, 2) for name, s in seconds.items()},
        "ratio": {
            config: {peer: round(rates[config] / rates[peer], 3) for peer in _PEERS}
            for config in configs
        },
    }


def _print_tables(report: dict[str, object]) -> None:
    print(f"CPU         {report['cpu']} ({', '.join(report['vector_units']) or 'no vector units'})")
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    print(f"Versions    {versions}")
    print(f"BLAS        {report['blas']}")
    print(f"Threads     1 each; median of {report['rounds']} interleaved rounds")
    print(f"XNNPACK     {'applied by LiteRT' if report['xnnpack'] else 'NOT applied by LiteRT'}")
    for config in report["configs"]:
        print(f"\n{config}, GMAC/s")
        heads = ("layer", "model", *_PEERS, *(f"/{peer}" for peer in _PEERS), "operations")
        print("| " + " | ".join(heads) + " |")
        print("|" + "---|" * len(heads))
        for row in report["layers"]:
            rates = row["gmacs"]
            cells = [row["layer"], f"{rates[config]:.1f}"]
            cells += [f"{rates[peer]:.1f}" for peer in _PEERS]
            cells += [f"{row['ratio'][config][peer]:.2f}" for peer in _PEERS]
            cells.append(str(row["operations"][config]))
            print("| " + " | ".join(cells) + " |")
    for row in report["layers"]:
        for name, difference in row["wrong_by_up_to"].items():
            print(f"{row['layer']}: {name} saturates, its results are wrong by up to {difference}")


def _blas() -> str:
    """Library and kernel that NumPy multiplies with, if threadpoolctl can tell."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "unknown (threadpoolctl is not installed)"
    return "; ".join(
        f"{info['internal_api']} {info['version']} {info.get('architecture', '')} "
        f"{info['num_threads']} thread(s)"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11, help="rounds that are timed, at least 7")
    parser.add_argument("--config", choices=_CONFIGS, action="append", help="default: all")
    parser.add_argument("--layer", type=int, choices=range(len(LAYERS)), action="append")
    parser.add_argument("--kernels", help="force an inner loop of the model")
    parser.add_argument("--library", type=Path, help="model library; default: built on demand")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    arguments = parser.parse_args()
    if arguments.rounds < 7:
        parser.error("--rounds must be 7 or more")
    if any(os.environ.get(k) != v for k, v in _THREADS.items()) or any(
        name in os.environ for name in _UNSET
    ):
        environment = {k: v for k, v in os.environ.items() if k not in _UNSET} | _THREADS
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
    library = arguments.library or model_library_path()
    configs = tuple(arguments.config or _CONFIGS)
    layers = [LAYERS[i] for i in arguments.layer or range(len(LAYERS))]
    versions = {
        name: importlib.metadata.version(name)
        for name in ("fwgen", "onnxruntime", "ai-edge-litert", "numpy")
    }
    report = {
        "cpu": _processor(),
        "vector_units": _vector_units(),
        "versions": {"python": platform.python_version(), **versions},
        "blas": _blas(),
        "threads": 1,
        "rounds": arguments.rounds,
        "configs": configs,
        "xnnpack": litert_uses_xnnpack(LAYERS[0]),
        "layers": [
            _measure(layer, library, configs, arguments.rounds, arguments.kernels)
            for layer in layers
        ],
    }
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        _print_tables(report)


if __name__ == "__main__":
    main()
