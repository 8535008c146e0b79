"""Power is cut at each flash operation of an update (host/power.c), under the sanitizers.

FWGEN_POWER_CUTS=long tries every operation of all geometries; the default takes some.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from packages import DEVICE, make_package

from fwgen.package.faults import Fault
from fwgen.package.verify import verify

HERE = Path(__file__).resolve().parent
RTOS = HERE.parent.parent / "rtos"
SOURCES = [
    *(f"nvmem/{name}.c" for name in ("nvmem", "store", "package", "slots", "update", "sha256")),
    "link/crc32.c",
]
SLOT = 8192

# erase block, program unit, blocks of each store, every how many operations, second cuts
SHORT = [
    (4096, 4, 2, 41, 1),
    (512, 16, 3, 11, 1),
    (256, 16, 4, 11, 1),
    (1024, 64, 2, 1, 1),
    (4096, 512, 3, 2, 0),
]
FOR_MUTANTS = [(1024, 64, 2, 1, 0), (512, 16, 3, 11, 0)]
LONG = [
    (512, 1, 3, 1, 0),
    (4096, 4, 2, 1, 1),
    (1024, 8, 2, 1, 1),
    (256, 16, 4, 1, 3),
    (512, 16, 3, 1, 3),
    (8192, 32, 2, 1, 3),
    (1024, 64, 2, 1, 10),
    (4096, 256, 2, 1, 10),
    (4096, 512, 3, 1, 10),
]

Build = Callable[..., Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles host/power.c with the runtime: (file, old text, new text) of a mutant -> file."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc not found: the runtime's host tests need it")
    root = tmp_path_factory.mktemp("power")

    def compile_(mutant: tuple[str, str, str] | None = None) -> Path:
        folder = Path(tempfile_in(root))
        sources = []
        for name in SOURCES:
            text = (RTOS / name).read_text()
            if mutant is not None and mutant[0] == name:
                # However the lines are broken.
                pattern = r"\s+".join(map(re.escape, mutant[1].split()))
                text, count = re.subn(pattern, lambda _: mutant[2].lstrip(), text)
                assert count == 1, f"{name} no longer has the mutant's text"
            copy = folder / name
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(text)
            sources.append(str(copy))
        shutil.copy(RTOS / "nvmem/bytes.h", folder / "nvmem/bytes.h")
        flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-DFWGEN_NVMEM=1"]
        flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        flags += [f"-I{RTOS / 'include'}", f"-I{HERE.parent / 'rtos/host'}", "-DFWGEN_HOST_TEST"]
        output = folder / "power"
        own = [str(HERE / "host/board.c"), str(HERE / "host/power.c")]
        subprocess.run(["gcc", *flags, *own, *sources, "-o", str(output)], check=True, timeout=120)
        return output

    return compile_


def tempfile_in(root: Path) -> str:
    number = sum(1 for _ in root.iterdir())
    folder = root / f"build{number}"
    folder.mkdir()
    return str(folder)


@pytest.fixture(scope="module")
def simulator(build: Build) -> Path:
    return build()


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("packages")
    files = []
    for name, seed, weights in (("old", 1, 1500), ("new", 2, 2477)):
        data = make_package(name, seed=seed, weights=weights)
        assert verify(data, DEVICE) is Fault.GOOD
        files.append(folder / name)
        files[-1].write_bytes(data)
    return files[0], files[1]


def play(
    simulator: Path, packages: tuple[Path, Path], geometry: tuple[int, int, int, int, int]
) -> subprocess.CompletedProcess[str]:
    erase, program, blocks, stride, doubles = geometry
    numbers = map(str, (erase, program, SLOT, blocks, stride, doubles))
    return subprocess.run(
        [str(simulator), *map(str, packages), *numbers],
        capture_output=True,
        text=True,
        timeout=7200,
        check=False,
    )


GEOMETRIES = LONG if os.environ.get("FWGEN_POWER_CUTS") == "long" else SHORT


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda g: "-".join(map(str, g)))
def test_every_cut_leaves_the_old_or_the_new_model(
    simulator: Path, packages: tuple[Path, Path], geometry: tuple[int, int, int, int, int]
) -> None:
    result = play(simulator, packages, geometry)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr[-2000:]
    counts = re.match(r"cuts (\d+), double cuts (\d+), stuck bits (\d+)", result.stdout)
    assert counts and all(int(count) > 0 for count in counts.groups()[:1]), result.stdout
    assert int(counts[3]) > 500


# What would be wrong with the protocol: the simulator must find each.
MUTANTS = {
    "more is noted than was written": (
        "nvmem/update.c",
        "    fwgen_set32(&value[NOTE_DONE], transfer.next);",
        "    fwgen_set32(&value[NOTE_DONE], transfer.next + target()->device->erase_size);",
    ),
    "a note of another package counts": (
        "nvmem/update.c",
        "        memcmp(&value[NOTE_DIGEST], transfer.digest,\n"
        "               sizeof(transfer.digest)) != 0) {",
        "        value[NOTE_DIGEST] == 256u) {",
    ),
    "a half-written header is written again": (
        "nvmem/update.c",
        "    return is_written(true) ? noted() : FWGEN_PACKAGE_HEADER;",
        "    return noted();",
    ),
    "the running slot is free": (
        "nvmem/slots.c",
        "        if (slot != state.confirmed && slot != state.running) {",
        "        if (slot == 0u || slot != state.running) {",
    ),
    "a block's header first": (
        "nvmem/store.c",
        "    for (uint32_t from = first_record(store);\n",
        "    if (result == FWGEN_OK) {\n"
        "        (void)memset(buffer, 0xff, first_record(store));\n"
        "        fwgen_set32(buffer, MAGIC);\n"
        "        fwgen_set32(&buffer[4], sequence);\n"
        "        fwgen_set32(&buffer[8], fwgen_crc32(0, buffer, 8));\n"
        "        result = append(store, target, 0, first_record(store));\n"
        "    }\n"
        "    for (uint32_t from = first_record(store);\n",
    ),
    "torn records go unnoticed": (
        "nvmem/store.c",
        "    store->torn = !is_blank(store, store->tail);",
        "    store->torn = false;",
    ),
    "records without a checksum": (
        "nvmem/store.c",
        "    return fwgen_crc32(0, &buffer[4], length - 4u) == fwgen_get32(buffer);",
        "    return true;",
    ),
    "nothing is read back": (
        "nvmem/nvmem.c",
        "                              : compare(partition, offset, data, length);",
        "                              : FWGEN_OK;",
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_simulator_finds_what_is_wrong(
    build: Build, packages: tuple[Path, Path], mutant: str
) -> None:
    simulator = build(MUTANTS[mutant])
    results = (play(simulator, packages, geometry) for geometry in FOR_MUTANTS)
    assert any(result.returncode != 0 for result in results)
