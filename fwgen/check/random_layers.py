"""Compares the emulated NVDLA with the NumPy reference on random layers.

    python -m fwgen.check.random_layers --unit conv --count 1000 --seed 1 --config nv_small

Every case is a legal register program with random shapes, modes and memory.
Both models run it; then every byte of memory, the interrupt status, the
pointers and the result counters must be equal. A difference is reported with
the seed that makes it again and, with --save, as a trace directory.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fwgen.accel.nvdla.registers import OFFSETS
from fwgen.check.random_calibrate import calibrate
from fwgen.check.random_conv import program_conv
from fwgen.check.random_pool import program_cdp, program_pdp
from fwgen.check.random_program import Builder, Bytes, LayerCase, Wait, Write, builder
from fwgen.check.random_sdp import SdpPlan, program_sdp
from fwgen.check.targets import CONFIGURATIONS, Target, open_target

_BLOCKS = (
    "CDMA", "CSC", "CMAC_A", "CMAC_B", "CACC", "SDP_RDMA", "SDP", "PDP_RDMA", "PDP", "CDP_RDMA",
    "CDP",
)  # fmt: skip

# Registers of a group that hold a result; read in both groups after the run.
_RESULTS = ("CACC.D_OUT_SATURATION", "SDP.D_STATUS")


# --- the units -----------------------------------------------------------------


def _convolution(b: Builder, image: bool, to_pdp: bool, ew: bool) -> None:
    programmed = program_conv(b, image)
    while programmed is None:
        programmed = program_conv(b, image)
    size, blocks = programmed.size, programmed.blocks
    plan = SdpPlan(
        flying=True,
        bits=programmed.bits,
        to_pdp=to_pdp,
        ew=ew,
        lut=ew and b.chance(0.5),
        x_stages=0.5,
    )
    if plan.lut:
        b.wait()
    b.select("SDP", "SDP_RDMA")
    sdp_blocks = program_sdp(b, size, plan)
    pdp_blocks: tuple[str, ...] = ()
    if to_pdp:
        b.select("PDP")
        pdp_blocks = program_pdp(b, stream=size)
    b.enable(*blocks, *sdp_blocks, *pdp_blocks)


def _conv(b: Builder) -> None:
    _convolution(b, image=False, to_pdp=False, ew=False)


def _image(b: Builder) -> None:
    _convolution(b, image=True, to_pdp=False, ew=False)


def _chain(b: Builder) -> None:
    if b.chance(0.6):
        _convolution(b, image=b.chance(0.3), to_pdp=b.chance(0.8), ew=b.chance(0.3))
    else:
        _sdp_alone(b, SdpPlan(to_pdp=True, ew=b.chance(0.3)))


def _size(b: Builder) -> tuple[int, int, int]:
    channels = b.between(1, 2 * b.config.atom + 3)
    if b.chance(0.04):
        return b.between(1, 200), b.between(1, 5), b.between(1, 300)
    return b.between(1, 9), b.between(1, 9), channels


def _sdp_alone(b: Builder, plan: SdpPlan) -> None:
    size = _size(b)
    b.note(f"sdp {size[0]}x{size[1]}x{size[2]}")
    if plan.lut:
        b.wait()
    b.select("SDP", "SDP_RDMA")
    blocks = program_sdp(b, size, plan)
    if plan.to_pdp:
        b.select("PDP")
        blocks += program_pdp(b, stream=size)
    b.enable(*blocks)


def _sdp(b: Builder) -> None:
    _sdp_alone(b, SdpPlan())


def _ew(b: Builder) -> None:
    _sdp_alone(b, SdpPlan(ew=True, x_stages=0.4))


def _lut(b: Builder) -> None:
    _sdp_alone(b, SdpPlan(ew=True, lut=True, x_stages=0.4))


def _pdp(b: Builder) -> None:
    b.select("PDP", "PDP_RDMA")
    b.enable(*program_pdp(b))


def _pdps(b: Builder) -> None:
    b.select("PDP", "PDP_RDMA")
    b.enable(*program_pdp(b, split=True))


def _cdp(b: Builder) -> None:
    b.enable(*program_cdp(b))


def _sequence(b: Builder) -> None:
    """Several operations with alternating groups, programmed ahead where that is legal."""
    for _ in range(b.between(2, 6)):
        single = (_conv, _image, _chain, _sdp, _ew, _pdp, _pdps, _cdp)
        single[int(b.rng.integers(len(single)))](b)


UNITS: dict[str, Callable[[Builder], None]] = {
    "conv": _conv,
    "img": _image,
    "sdp": _sdp,
    "ew": _ew,
    "lut": _lut,
    "pdp": _pdp,
    "pdps": _pdps,
    "cdp": _cdp,
    "chain": _chain,
    "sequence": _sequence,
}


def make_case(unit: str, config: str, seed: int) -> LayerCase:
    """The case of a unit, configuration and seed."""
    salt = zlib.crc32(f"{unit} {config}".encode())
    b = builder(config, (salt << 32) | seed)
    UNITS[unit](b)
    case = b.finish(unit, seed)
    return calibrate(case) if seed % 8 else case


# --- running and comparing -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a model left behind."""

    memory: tuple[Bytes, ...]
    status: dict[str, int]
    errors: tuple[str, ...]


def _settle(target: Target) -> None:
    while target.step():
        pass


def run_case(case: LayerCase, target: Target) -> Outcome:
    """Run a case on a fresh target."""
    views = []
    for space, base, data in case.segments:
        view = target.add_memory(space, base, data.size)
        view[:] = data
        views.append(view)
    for command in case.commands:
        if isinstance(command, Write):
            target.write(OFFSETS[command.register], command.value)
        else:
            _settle(target)
    _settle(target)
    status = {"GLB.S_INTR_STATUS": target.read(OFFSETS["GLB.S_INTR_STATUS"])}
    for block in _BLOCKS:
        for register in ("S_STATUS", "S_POINTER"):
            name = f"{block}.{register}"
            status[name] = target.read(OFFSETS[name])
    for name in _RESULTS:
        block = name.partition(".")[0]
        for group in (0, 1):
            target.write(OFFSETS[f"{block}.S_POINTER"], group)
            status[f"{name} of group {group}"] = target.read(OFFSETS[name])
    return Outcome(tuple(np.array(view) for view in views), status, tuple(target.guest_errors()))


def differences(case: LayerCase, reference: Outcome, emulator: Outcome) -> list[str]:
    """What differs, in words; empty when the models agree."""
    found = [f"reference refuses: {text}" for text in reference.errors[:2]]
    found += [f"emulator guest error: {text}" for text in emulator.errors[:2]]
    for (space, base, before), expected, got in zip(
        case.segments, reference.memory, emulator.memory, strict=True
    ):
        differs = np.flatnonzero(expected != got)
        if differs.size:
            at = int(differs[0])
            found.append(
                f"{differs.size} bytes differ in space {space}, first at 0x{base + at:x}: "
                f"reference 0x{expected[at]:02x}, emulator 0x{got[at]:02x}, "
                f"before 0x{before[at]:02x}"
            )
    for name, value in reference.status.items():
        if emulator.status[name] != value:
            found.append(f"{name}: reference 0x{value:x}, emulator 0x{emulator.status[name]:x}")
    return found


def compare(case: LayerCase, library: Path | None, second: str = "emulator") -> list[str]:
    """Run a case on the reference and on `second`; returns the differences."""
    outcomes = []
    for model in ("reference", second):
        target = open_target(model, case.config, library)
        try:
            outcomes.append(run_case(case, target))
        finally:
            target.close()
    return differences(case, outcomes[0], outcomes[1])


def shrink(case: LayerCase, library: Path | None) -> LayerCase:
    """Zero as many register writes as possible while the models still differ legally."""

    def still_differs(candidate: LayerCase) -> bool:
        found = compare(candidate, library)
        refused = ("reference refuses", "emulator guest error")
        return bool(found) and not any(text.startswith(refused) for text in found)

    if not still_differs(case):
        return case
    for index, command in enumerate(case.commands):
        if isinstance(command, Wait) or not command.value:
            continue
        if "S_LUT_ACCESS" in command.register or "OP_ENABLE" in command.register:
            continue
        commands = list(case.commands)
        commands[index] = Write(command.register, 0)
        candidate = replace(case, commands=tuple(commands))
        if still_differs(candidate):
            case = candidate
    return case


def save_trace(case: LayerCase, reference: Outcome, directory: Path) -> None:
    """Write a case as a trace whose checks expect the reference's memory."""
    name = f"{case.unit}_{case.config}_{case.seed}"
    target = directory / case.config / name
    target.mkdir(parents=True, exist_ok=True)
    lines = [f"// {case.summary}"]
    memories = {0: "pri_mem", 1: "sec_mem"}
    for index, ((space, base, before), after) in enumerate(
        zip(case.segments, reference.memory, strict=True)
    ):
        for suffix, data in (("in", before), ("out", after)):
            rows = ["{"]
            for at in range(0, data.size, 32):
                chunk = data[at : at + 32]
                payload = " ".join(f"0x{byte:02x}" for byte in chunk)
                rows.append(f"{{offset:0x{at:x}, size:{chunk.size}, payload:{payload}}},")
            rows.append("}")
            (target / f"{suffix}{index}.dat").write_text("\n".join(rows) + "\n")
        lines.append(f'mem_load({memories[space]}, 0x{base:x}, "in{index}.dat");')
    for command in case.commands:
        if isinstance(command, Write):
            lines.append(f"reg_write(NVDLA_{command.register}_0, 0x{command.value:x});")
    status = reference.status["GLB.S_INTR_STATUS"]
    names = {0: "SDP", 2: "CDP", 4: "PDP", 16: "cdma_dat", 18: "cdma_wt", 20: "CACC"}
    for bit in range(22):
        if status >> bit & 1:
            lines.append(f"intr_notify({names[bit & ~1]}_{bit & 1}, event_{bit});")
            lines.append(f"check_nothing(event_{bit});")
    # The unit that writes memory: PDP before CDP before SDP.
    last = f"event_{(status & 0xFFFF).bit_length() - 1}"
    for index, (space, base, before) in enumerate(case.segments):
        lines.append(
            f"check_file({last}, {memories[space]}, 0x{base:x}, 0x{before.size:x}, "
            f'"out{index}.dat");'
        )
    (target / f"{name}.cfg").write_text("\n".join(lines) + "\n")


# --- command line ------------------------------------------------------------------


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fwgen.check.random_layers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--unit", choices=[*UNITS, "all"], default="all")
    parser.add_argument("--config", choices=[*CONFIGURATIONS, "all"], default="nv_small")
    parser.add_argument("--count", type=int, default=100, help="cases a unit and configuration")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first case")
    parser.add_argument("--library", type=Path, help="emulator library; default: built on demand")
    parser.add_argument("--show", type=int, default=3, help="differences shown in full a unit")
    parser.add_argument("--shrink", action="store_true", help="simplify what is shown")
    parser.add_argument("--save", type=Path, help="write differing cases as traces to a directory")
    parser.add_argument("--self-check", action="store_true", help="reference only: is it legal?")
    return parser.parse_args(argv)


def _runs(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    configs = CONFIGURATIONS if options.config == "all" else (options.config,)
    units = tuple(UNITS) if options.unit == "all" else (options.unit,)
    for config in configs:
        for unit in units:
            yield unit, config


def _show(case: LayerCase, found: list[str], options: argparse.Namespace) -> None:
    print(f"DIFF {case.unit} {case.config} --seed {case.seed}: {case.summary}")
    for text in found[:4]:
        print(f"    {text}")
    if options.shrink and not options.self_check:
        small = shrink(case, options.library)
        for command in small.commands:
            if (
                isinstance(command, Write)
                and command.value
                and "LUT_ACCESS" not in command.register
            ):
                print(f"    {command.register} = 0x{command.value:x}")
    if options.save is not None:
        save_trace(case, run_case(case, open_target("reference", case.config)), options.save)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; returns 1 when anything differed."""
    options = _arguments(sys.argv[1:] if argv is None else argv)
    second = "reference" if options.self_check else "emulator"
    if options.library is None and not options.self_check:
        from fwgen.machine.emulator_build import model_library_path

        options.library = model_library_path()
    bad = 0
    for unit, config in _runs(options):
        started, differing, compared = time.monotonic(), 0, 0
        for seed in range(options.seed, options.seed + options.count):
            case = make_case(unit, config, seed)
            found = compare(case, options.library, second)
            compared += sum(data.size for _, _, data in case.segments)
            if found:
                differing += 1
                if differing <= options.show:
                    _show(case, found, options)
        bad += differing
        print(
            f"{unit:8} {config:20} {options.count} layers, {differing} differ, "
            f"{compared} bytes compared, {time.monotonic() - started:.1f} s",
            flush=True,
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
