"""What pipelining gains: inferences back to back at depth 1, 2 and 4, in the emulator.

Each model is built per depth with an application that keeps two jobs in the queue,
and checks every output byte on the target. The emulator says how long the
accelerator's units worked, the CPU's timer how long all took.

    python benchmarks/pipeline.py [--json] [--runs N] [MODEL INPUT OUTPUT]

Without arguments: a chain of 24 small convolutions, two branches that do not depend on each
other, and, where the reference data are (FWGEN_TESTDATA), LeNet-5.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fwgen.accel.nvdla.builder import LoadableBuilder
from fwgen.accel.nvdla.configurations import CONFIGURATIONS
from fwgen.board.profile import load_board
from fwgen.build.application import Application
from fwgen.build.options import BuildOptions
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import busy_cycles
from fwgen.machine.session import QemuSession
from fwgen.model.nvdla.loadable import write_loadable
from fwgen.model.nvdla.packing import pack_feature, unpack_feature
from fwgen.pipeline import build_model

HERE = Path(__file__).resolve().parent
BOARD = "mps2-an385"
DEPTHS = (1, 2, 4)
RUNS = 12
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Workload:
    """A model with two cases: bytes of input 0 and of output 0."""

    name: str
    model: Path
    inputs: tuple[bytes, bytes]
    expected: tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Inferences back to back.

    Attributes:
        cpu_cycles: CPU timer cycles from the first submission to the last result, an inference.
        cycles: accelerator cycles from the first start to the last end, an inference.
        busy: accelerator cycles in which a unit worked, an inference.
        wrong, failed: inferences with a wrong output or an error; both must be 0.
        guest_errors: what the firmware did wrong to the accelerator.
    """

    name: str
    depth: int
    runs: int
    cpu_cycles: float
    cycles: float
    busy: float
    wrong: int
    failed: int
    guest_errors: tuple[str, ...]

    @property
    def utilisation(self) -> float:
        """Share of the time in which a unit of the accelerator worked."""
        return self.busy / self.cycles


def deep_chain(folder: Path, layers: int = 24) -> Workload:
    """Convolutions 3x3 on 8 channels of 8x8, each with bias and conversion."""
    config = CONFIGURATIONS["nv_small"]
    random = np.random.default_rng(24)
    builder = LoadableBuilder(config)
    x = builder.input_feature("data", width=8, height=8, channels=8)
    parameters = []
    for _ in range(layers):
        weights = random.integers(-40, 41, (8, 8, 3, 3), np.int8)
        bias = random.integers(-500, 500, 8, np.int16)
        x = builder.conv(x, weights, bias, scale=12, shift=11, pad=1)
        parameters.append((weights.astype(np.int64), bias.astype(np.int64)))
    builder.output("result", x)
    path = folder / f"chain{layers}.nvdla"
    path.write_bytes(write_loadable(builder.build()))
    inputs, outputs = [], []
    for _ in range(2):
        data = random.integers(-128, 128, (8, 8, 8), np.int8)
        inputs.append(pack_feature(data, config.atom))
        y = data.astype(np.int64)
        for weights, bias in parameters:
            windows = np.lib.stride_tricks.sliding_window_view(
                np.pad(y, ((0, 0), (1, 1), (1, 1))), (3, 3), (1, 2)
            )
            y = np.einsum("chwrs,kcrs->khw", windows, weights) + bias[:, None, None]
            y = _convert(y, 12, 11)
        assert np.unique(y).size > 8, "the chain must not lose its values"
        outputs.append(pack_feature(y.astype(np.int8), config.atom))
        assert unpack_feature(outputs[-1], (8, 8, 8), config.atom).tolist() == y.tolist()
    return Workload(f"{layers} convolutions", path, tuple(inputs), tuple(outputs))  # type: ignore[arg-type]


def branches(folder: Path, length: int = 6) -> Workload:
    """Convolutions on one side, max pools on the other, added at the end."""
    config = CONFIGURATIONS["nv_small"]
    random = np.random.default_rng(6)
    builder = LoadableBuilder(config)
    source = builder.input_feature("data", width=16, height=16, channels=16)
    left = builder.scale(source, scale=3, shift=2)
    right = left
    parameters = []
    for _ in range(length):
        weights = random.integers(-40, 41, (16, 16, 1, 1), np.int8)
        left = builder.conv(left, weights, scale=21, shift=11)
        right = builder.pool(right, kernel=3, stride=1, pad=1)
        parameters.append(weights.astype(np.int64))
    last = random.integers(-40, 41, (16, 16, 1, 1), np.int8)
    out = builder.conv(left, last, scale=21, shift=11, residual=right)
    builder.output("result", out)
    path = folder / f"branches{length}.nvdla"
    path.write_bytes(write_loadable(builder.build()))
    inputs, outputs = [], []
    for _ in range(2):
        data = random.integers(-128, 128, (16, 16, 16), np.int8)
        inputs.append(pack_feature(data, config.atom))
        a = b = _convert(data.astype(np.int64), 3, 2)
        for weights in parameters:
            a = _convert(np.einsum("chw,kc->khw", a, weights[:, :, 0, 0]), 21, 11)
            padded = np.pad(b, ((0, 0), (1, 1), (1, 1)), constant_values=-128)
            b = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).max((-1, -2))
        y = _convert(np.einsum("chw,kc->khw", a, last.astype(np.int64)[:, :, 0, 0]) + b, 21, 11)
        outputs.append(pack_feature(y.astype(np.int8), config.atom))
    return Workload("two branches", path, tuple(inputs), tuple(outputs))  # type: ignore[arg-type]


def _convert(values: Ints, scale: int, shift: int) -> Ints:
    """The output converter: scaled, shifted to nearest with ties away from zero, saturated."""
    scaled = values * scale
    rounded = np.sign(scaled) * ((np.abs(scaled) + (1 << (shift - 1))) >> shift)
    return np.clip(rounded, -128, 127)


def lenet(data: Path, name: str, stem: str) -> Workload | None:
    """A LeNet-5 of the reference data, if they are there."""
    stem = str(data / "nvdla" / "loadables" / stem)
    model = Path(f"{stem}.nvdla")
    if not model.exists():
        return None
    image = Path(f"{stem}.in0.bin").read_bytes()
    scores = Path(f"{stem}.out0.bin").read_bytes()
    return Workload(name, model, (image, image), (scores, scores))


def _c_array(name: str, cases: Sequence[bytes]) -> str:
    rows = ",\n".join("{" + ",".join(map(str, case)) + "}" for case in cases)
    size = len(cases[0])
    kind = "static const uint8_t __attribute__((aligned(4)))"
    return f"{kind} {name}[{len(cases)}][{size}] = {{\n{rows}}};\n"


def measure(
    work: Workload,
    depth: int,
    folder: Path,
    *,
    built: int | None = None,
    runs: int = RUNS,
    board: str = BOARD,
    faults: Sequence[str] = (),
    test_build: bool = False,
    check: bool = False,
    shared: bool = False,
) -> Measurement:
    """Build and run a workload.

    Args:
        depth: that the jobs ask for.
        folder: for application and project.
        built: depth of the build; default: the same.
        faults: of the emulated accelerator.
        test_build: with guard words and asserts.
        check: try the interface around it first.
        shared: both jobs use the first bank.
    """
    from fwgen.build.options import BuildKind

    source = folder / f"app{depth}"
    source.mkdir(parents=True, exist_ok=True)
    texts = {
        "pipeline_app.c": (HERE / "pipeline_app.c").read_text(),
        "data.h": "#include <stdint.h>\n"
        f"#define PIPELINE_RUNS {runs}u\n#define PIPELINE_DEPTH {depth}u\n"
        + _c_array("inputs", work.inputs)
        + _c_array("expected", work.expected),
    }
    for name, text in texts.items():  # what is there already needs no new build
        path = source / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    options = BuildOptions(
        kind=BuildKind.TEST if test_build else BuildKind.RELEASE,
        app=Application.of(
            source / "pipeline_app.c",
            defines=[
                name
                for name, wanted in (("PIPELINE_CHECK", check), ("PIPELINE_SHARED", shared))
                if wanted
            ],
        ),
        link=False,
        profile=False,
        pipeline_depth=depth if built is None else built,
        jobs=1,
    )
    out = folder / f"build{depth}"
    build_model(work.model, board, out, options)
    profile = load_board(board)
    machine = machine_config(
        profile, faults={profile.accelerators[0].name: list(faults)} if faults else None
    )
    with QemuSession(out / "firmware.elf", machine, limit=120) as session:
        session.watch(" done")
        text = session.console.text()
        session.update_events()
    found = re.search(r"wrong (\d+) failed (\d+) ticks (\d+) hz", text)
    assert found is not None, text
    operations = session.operations
    span = max(o.end_cycle for o in operations) - min(o.start_cycle for o in operations)
    return Measurement(
        work.name,
        depth,
        runs,
        int(found[3]) / runs,
        span / runs,
        (busy_cycles(operations) or 0) / runs,
        int(found[1]),
        int(found[2]),
        tuple(e.message for e in session.guest_errors),
    )


def table(rows: Sequence[Measurement]) -> str:
    """The measurements as text."""
    lines = [
        f"{'model':<16} {'depth':>5} {'CPU cycles':>11} {'cycles':>9} {'busy':>8} {'used':>6} "
        f"{'gain':>6}  (an inference, back to back)"
    ]
    base: dict[str, float] = {}
    for row in rows:
        gain = base.setdefault(row.name, row.cycles) / row.cycles
        lines.append(
            f"{row.name:<16} {row.depth:>5} {row.cpu_cycles:>11.0f} {row.cycles:>9.0f} "
            f"{row.busy:>8.0f} {row.utilisation:>6.1%} {gain:>5.2f}x"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if an output was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("files", nargs="*", type=Path, metavar="MODEL INPUT OUTPUT")
    options = parser.parse_args(arguments)
    if len(options.files) not in (0, 3):
        parser.error("give a model, its input and its output, or nothing")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.files:
            model, image, result = options.files
            data, out = image.read_bytes(), result.read_bytes()
            works = [Workload(model.stem, model, (data, data), (out, out))]
        else:
            reference = Path(os.environ.get("FWGEN_TESTDATA", HERE.parent.parent / "shared"))
            found = (
                lenet(reference, "LeNet-5", "lenet5.nv_small.int8.nhwc"),
                lenet(reference, "LeNet-5 softmax", "lenet5_softmax.nv_small.int8.nhwc"),
                deep_chain(folder),
                branches(folder),
            )
            works = [w for w in found if w is not None]
        rows = []
        for work in works:
            for depth in DEPTHS:
                print(f"{work.name}, depth {depth} ...", file=sys.stderr)
                rows.append(
                    measure(work, depth, folder / work.model.stem, runs=max(2, options.runs))
                )
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print(table(rows))
    bad = [row for row in rows if row.wrong or row.failed or row.guest_errors]
    for row in bad:
        print(f"{row.name}, depth {row.depth}: {row}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
