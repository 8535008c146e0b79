"""The C kernels against the NumPy reference and against recorded hardware traces.

Random layers are the same register programs as those of the emulator's tests. The
reference computes from the registers; the kernels get what the CPU family's lowering
makes of them. FWGEN_CPU_CASES sets how many layers a unit and configuration get; the
default is short. The kernels are compiled with the undefined-behaviour sanitizer, which
ends the process when it finds something.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cpu_target import COMPARISON, KernelTarget

from fwgen.check.random_layers import UNITS, make_case, run_case
from fwgen.check.replay import play_trace
from fwgen.check.targets import CONFIGURATIONS, open_target
from fwgen.check.trace import read_trace
from fwgen.program.kernels import (
    Converter,
    Convolution,
    Cube,
    Lut,
    LutFlag,
    Normalisation,
    NormaliseFlag,
    Pointwise,
    Pooling,
    PoolMethod,
    Post,
    Stage,
    StageFlag,
)

RTOS = Path(__file__).resolve().parents[2] / "rtos"
SOURCES = ("convolution", "dot", "lut", "normalisation", "pointwise", "pooling", "post")
PROGRAM_ERROR = 19  # FWGEN_ERROR_PROGRAM
CASES = int(os.environ.get("FWGEN_CPU_CASES", "6"))
FIRST_SEED = int(os.environ.get("FWGEN_CPU_SEED", "0"))


HOST = RTOS.parent / "tests" / "rtos" / "host"
DSP = ("-D__ARM_FEATURE_SIMD32", f"-I{HOST / 'dsp'}")


def _compile(directory: Path, *more: str) -> ctypes.CDLL:
    if shutil.which("gcc") is None:
        pytest.skip("gcc not found: the kernels are compiled for this computer")
    output = directory / "kernels.so"
    flags = ["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-shared", "-fPIC", *more]
    sources = [str(RTOS / "kernels" / f"{name}.c") for name in SOURCES]
    command = ["gcc", *flags, f"-I{RTOS / 'include'}", f"-I{HOST}", *sources]
    subprocess.run([*command, "-o", str(output)], check=True, timeout=120)
    return ctypes.CDLL(str(output))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return _compile(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="module")
def dsp_kernels(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """As a core with the DSP extension compiles them; its intrinsics in plain C."""
    return _compile(tmp_path_factory.mktemp("dsp"), *DSP)


@pytest.mark.parametrize("config", CONFIGURATIONS)
@pytest.mark.parametrize("unit", list(UNITS))
def test_kernels_equal_reference(kernels: ctypes.CDLL, unit: str, config: str) -> None:
    _compare(kernels, unit, config)


@pytest.mark.parametrize("config", ["nv_small", "nv_large"])
@pytest.mark.parametrize("unit", ["conv", "img", "chain"])
def test_kernels_with_dsp_equal_reference(dsp_kernels: ctypes.CDLL, unit: str, config: str) -> None:
    _compare(dsp_kernels, unit, config)


def _compare(kernels: ctypes.CDLL, unit: str, config: str) -> None:
    written = compared = 0
    for seed in range(FIRST_SEED, FIRST_SEED + CASES):
        case = make_case(unit, config, seed)
        reference = run_case(case, open_target("reference", config))
        target = KernelTarget(kernels, config)
        try:
            outcome = run_case(case, target)
        finally:
            target.close()
        if COMPARISON in outcome.errors:
            continue
        compared += 1
        assert target.calls > 0
        name = f"{unit} {config} seed {seed}: {case.summary}"
        assert reference.errors == () and outcome.errors == (), name
        for (_, base, before), expected, got in zip(
            case.segments, reference.memory, outcome.memory, strict=True
        ):
            differs = np.flatnonzero(expected != got)
            assert differs.size == 0, f"{name}: {differs.size} bytes, 0x{base + differs[0]:x}"
            written += int(np.count_nonzero(expected != before))
    assert written > 0 and 2 * compared > CASES


def _vectors() -> list[Path]:
    root = Path(os.environ.get("FWGEN_TESTDATA", Path(__file__).parents[3] / "shared"))
    return sorted((root / "nvdla" / "vectors").rglob("*.cfg"))


VECTORS = _vectors()


@pytest.mark.skipif(not VECTORS, reason="reference data not found (set FWGEN_TESTDATA)")
def test_kernels_replay_the_hardwares_vectors(kernels: ctypes.CDLL) -> None:
    compared = 0
    for path in VECTORS:
        target = KernelTarget(kernels, "nv_small")
        try:
            result = play_trace(read_trace(path), target, "nv_small", "kernels")
        finally:
            target.close()
        assert result.passed, f"{path.stem}: {result.reason}"
        compared += result.bytes_compared
    assert compared > 0


@pytest.mark.parametrize("name", ["convolution", "pointwise", "pooling", "normalisation"])
def test_wrong_numbers_of_words_are_errors_of_the_program(kernels: ctypes.CDLL, name: str) -> None:
    function = getattr(kernels, f"fwgen_kernel_{name}")
    for count in (0, 1, 7, 200):
        # All zero: blocks of 0 channels, which no program has.
        assert function((ctypes.c_uint32 * 256)(), count) == PROGRAM_ERROR, count


def test_structures_have_the_words_of_the_header(tmp_path: Path) -> None:
    """The generator's structures against the compiler's, by size and by offset."""
    post = Post(Cube(), 8, Converter(), (Stage(StageFlag.NONE),))
    zeros = {
        "fwgen_cube": Cube(),
        "fwgen_converter": Converter(),
        "fwgen_stage": Stage(StageFlag.NONE),
        "fwgen_post": replace(post, stages=()),
    }
    conv = Convolution(Cube(), *(0,) * 25, replace(post, stages=()))
    pool = Pooling(Cube(), Cube(), *(0,) * 12, PoolMethod.AVERAGE, 0, 0, (0,) * 8)
    zeros |= {
        "fwgen_convolution": conv,
        "fwgen_pointwise": Pointwise(Cube(), 0, 0, 0, replace(post, stages=())),
        "fwgen_pooling": pool,
        "fwgen_normalisation": Normalisation(
            Cube(), Cube(), 0, 0, 0, 0, 0, 0, NormaliseFlag.NONE, 0, Converter()
        ),
    }
    lines = [f'printf("{name} %zu\\n", sizeof(struct {name}));' for name in zeros]
    lines.append('printf("fwgen_lut %zu\\n", offsetof(struct fwgen_lut, l) + 2 * 257);')
    source = tmp_path / "sizes.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n"
        f'#include "arguments.h"\n#include "lut.h"\nint main(void) {{ {" ".join(lines)} }}\n'
    )
    program = tmp_path / "sizes"
    subprocess.run(
        ["gcc", "-std=c11", f"-I{RTOS / 'kernels'}", str(source), "-o", str(program)], check=True
    )
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    sizes = {line.split()[0]: int(line.split()[1]) for line in text.splitlines()}
    lut = Lut(*(0,) * 5, LutFlag.NONE, *(0,) * 3, *((0, 0),) * 4, (0,) * 65, (0,) * 257)
    assert sizes.pop("fwgen_lut") == len(lut.data())
    assert sizes == {name: 4 * len(value.words()) for name, value in zeros.items()}
