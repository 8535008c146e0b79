"""What LeNet-5 costs on a Cortex-M3, beside peers:

    pip install -e '.[benchmarks]'
    python benchmarks/footprint.py [--json]

Builds the published LeNet-5 (FWGEN_TESTDATA) with fwgen, for the accelerator nv_small and for the
CPU alone, and the same network with what PyPI offers that compiles for this core; all with
`arm-none-eabi-gcc -Os` for a Cortex-M3. Weights, kernel, serial link and shell are not in the
figures: `code` is what it takes to run the network.

- **emx-onnx-cgen** makes C of an ONNX file. The network is written as QLinearConv, MaxPool and
  Max on int8, weights random, since only their number matters. The file is linked with a loop that
  calls it, newlib-nano and libgcc, and without a heap (--large-temp-threshold 0): what the linker
  keeps counts, as it does for fwgen. It leaves start-up, errors and everything around it to others.
- **NVIDIA's kernel firmware** for NVDLA, recorded when docs/architecture.md was written: compiled
  for the same core, without an operating system. It parses descriptors on the device.
- **tflite-micro** on PyPI is a wheel for the host, without sources: nothing to build.
- **emlearn** and **m2cgen** convert fully connected networks and trees, no convolutions.
- **onnx2c** is not on PyPI.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fwgen.build.result import SIZE, read_json
from fwgen.pipeline import build_model

REPOSITORY = Path(__file__).resolve().parents[1]
TESTDATA = Path(os.environ.get("FWGEN_TESTDATA", REPOSITORY.parent / "shared"))
LENET = TESTDATA / "nvdla" / "loadables" / "lenet5.nv_small.int8.nhwc.nvdla"
NEEDED = ("startup", "driver + executor", "kernels", "program", "C library")
CORE = ("-mcpu=cortex-m3", "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections")


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes.

    Attributes:
        code: code and constants but weights; parts of it by name.
        data: variables, without tensors and stacks.
        tensors: memory of activations; for the peer on the stack.
        recorded: not measured by this run.
    """

    name: str
    code: int
    data: int
    weights: int | None
    tensors: int | None
    parts: dict[str, int]
    recorded: bool = False


def of_fwgen(board: str, folder: Path, name: str) -> Footprint:
    """A build of LeNet-5 for a board."""
    build_model(LENET, board, folder)
    components = {c["name"]: c for c in read_json(folder / SIZE)["components"]}  # type: ignore[attr-defined]
    parts = {p: components[p]["text"] for p in NEEDED if p in components}
    return Footprint(
        name,
        sum(parts.values()),
        sum(components[p]["data"] + components[p]["bss"] for p in parts),
        components["weights"]["text"],
        components["tensors"]["bss"],
        parts,
    )


def write_onnx(path: Path) -> None:
    """LeNet-5 on int8: 20 and 50 kernels of 5x5, 500 and 10 outputs."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(1)
    initial = [
        numpy_helper.from_array(np.array(0, np.int8), "zero"),
        numpy_helper.from_array(np.array(0.05, np.float32), "scale"),
    ]
    nodes = []

    def convolve(source: str, target: str, shape: tuple[int, int, int, int]) -> None:
        weights = random.integers(-127, 128, shape).astype(np.int8)
        bias = random.integers(-1000, 1000, shape[0]).astype(np.int32)
        initial.append(numpy_helper.from_array(weights, f"{target}_w"))
        initial.append(numpy_helper.from_array(bias, f"{target}_b"))
        quantised = ("scale", "zero")
        operands = [source, *quantised, f"{target}_w", *quantised, *quantised, f"{target}_b"]
        nodes.append(helper.make_node("QLinearConv", operands, [target]))

    def pool(source: str, target: str) -> None:
        two = [2, 2]
        nodes.append(helper.make_node("MaxPool", [source], [target], kernel_shape=two, strides=two))

    convolve("data", "conv1", (20, 1, 5, 5))
    pool("conv1", "pool1")
    convolve("pool1", "conv2", (50, 20, 5, 5))
    pool("conv2", "pool2")
    convolve("pool2", "ip1", (500, 50, 4, 4))
    nodes.append(helper.make_node("Max", ["ip1", "zero"], ["relu"]))
    convolve("relu", "ip2", (10, 500, 1, 1))
    graph = helper.make_graph(
        nodes,
        "lenet5",
        [helper.make_tensor_value_info("data", TensorProto.INT8, [1, 1, 28, 28])],
        [helper.make_tensor_value_info("ip2", TensorProto.INT8, [1, 10, 1, 1])],
        initial,
    )
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def run(command: Sequence[str], folder: Path) -> str:
    """Standard output of a command.

    Raises:
        SystemExit: it failed.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def of_emx(folder: Path) -> Footprint | None:
    """The generated C, linked; None where the generator is not installed."""
    tool = Path(sys.executable).parent / "emx-onnx-cgen"
    if not tool.exists() or importlib.util.find_spec("onnx") is None:
        return None
    folder.mkdir()
    write_onnx(folder / "lenet.onnx")
    inside = ("--large-temp-threshold", "0", "--large-weight-threshold", str(1 << 30))
    names = ("lenet.onnx", "lenet.c", "--model-name", "lenet")
    run([str(tool), "compile", *inside, *names], folder)
    (folder / "main.c").write_text(
        "#include <stdint.h>\n"
        "void lenet(const int8_t data[1][1][28][28], int8_t ip2[1][10][1][1]);\n"
        "int8_t data[1][1][28][28], ip2[1][10][1][1];\n"
        "void start(void) { for (;;) lenet(data, ip2); }\n"
    )
    compiler = "arm-none-eabi-gcc"
    run([compiler, *CORE, "-fstack-usage", "-c", "lenet.c", "main.c"], folder)
    linked = ("-nostartfiles", "-specs=nano.specs", "-specs=nosys.specs", "-Wl,--gc-sections")
    last = ("-Wl,-estart", "lenet.o", "main.o", "-lm", "-o", "lenet.elf")
    run([compiler, *CORE, *linked, *last], folder)
    symbols = run(["arm-none-eabi-nm", "-S", "lenet.elf"], folder)
    weights = sum(
        int(size, 16)
        for size in re.findall(r"^\w+ (\w+) [rR] .*_(?:w|b)$", symbols, flags=re.MULTILINE)
    )
    sections = dict(re.findall(r"^(\.\w+)\S*\s+(\d+)", _size(folder), flags=re.MULTILINE))
    text = sum(int(sections.get(name, 0)) for name in (".text", ".rodata", ".ARM", ".init"))
    own = sum(
        int(s) for n, s in re.findall(r"^(\.text\.\S+)\s+(\d+)", _size(folder, "lenet.o"), re.M)
    )
    stack = sum(int(s) for s in re.findall(r"\t(\d+)\t", (folder / "lenet.su").read_text()))
    boundary = 28 * 28 + 10
    return Footprint(
        "emx-onnx-cgen, CPU",
        text - weights,
        sum(int(sections.get(name, 0)) for name in (".data", ".bss")) - boundary,
        weights,
        stack + boundary,
        {"generated": own, "C library": text - weights - own},
    )


def _size(folder: Path, file: str = "lenet.elf") -> str:
    return run(["arm-none-eabi-size", "-A", file], folder)


NVIDIA = Footprint(
    "NVIDIA's firmware, nv_small (recorded)",
    18_900,
    17_100,
    None,
    None,
    {},
    recorded=True,
)


def main() -> None:
    """Build, measure and print."""
    parser = argparse.ArgumentParser(description="What LeNet-5 costs on a Cortex-M3.")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not LENET.is_file():
        sys.exit(f"reference data not found: {LENET} (set FWGEN_TESTDATA)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            of_fwgen("mps2-an385", folder / "nv_small", "fwgen, nv_small"),
            of_fwgen("mps2-an385-cpu", folder / "cpu", "fwgen, CPU"),
        ]
        peer = of_emx(folder / "emx")
    rows += [NVIDIA] if peer is None else [peer, NVIDIA]
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    print(f"{'bytes':40} {'code':>7} {'data':>7} {'weights':>8} {'tensors':>8} {'code /':>7}")
    for row in rows:
        cells = ["-" if v is None else str(v) for v in (row.weights, row.tensors)]
        print(
            f"{row.name:40} {row.code:7} {row.data:7} {cells[0]:>8} {cells[1]:>8} "
            f"{row.code / rows[0].code:7.2f}"
        )
        if row.parts:
            print("    " + ", ".join(f"{name} {size}" for name, size in row.parts.items()))
    if peer is None:
        print("emx-onnx-cgen is not installed: pip install -e '.[benchmarks]'")


if __name__ == "__main__":
    main()
