"""The driver for CFI flash on QEMU's models: Intel command set (two x16 chips) and AMD (x16).

The flash is a file, so what the driver wrote is looked at from outside too.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RTOS = HERE.parent.parent / "rtos"
pytestmark = pytest.mark.qemu


@dataclass(frozen=True)
class Machine:
    qemu: tuple[str, ...]
    core: str
    ram: int
    base: int
    size: int
    block: int
    drive: str
    keeps_zeros: bool


MACHINES = {
    # pflash 1 of `virt`: 64 MiB at 0x04000000, two 16-bit Intel chips, 256 KiB blocks.
    "intel": Machine(
        ("-M", "virt", "-cpu", "cortex-a15", "-m", "64"),
        "cortex-a15",
        0x40100000,
        0x04000000,
        64 << 20,
        256 << 10,
        "if=pflash,unit=1,format=raw,file=",
        keeps_zeros=False,
    ),
    # `musicpal`: an AMD chip of 8 MiB at the top of memory, 16 bits, 64 KiB blocks.
    "amd": Machine(
        (
            "-M",
            "musicpal",
        ),
        "arm926ej-s",
        0x00100000,
        0xFE000000,
        8 << 20,
        64 << 10,
        "if=pflash,unit=0,format=raw,file=",
        keeps_zeros=True,
    ),
}
OFFSET_BLOCKS = 4


@pytest.mark.parametrize("name", MACHINES)
def test_cfi_flash(name: str, tmp_path: Path) -> None:
    machine = MACHINES[name]
    if shutil.which("arm-none-eabi-gcc") is None or shutil.which("qemu-system-arm") is None:
        pytest.skip("arm-none-eabi-gcc and qemu-system-arm are needed")
    elf = build(machine, tmp_path)
    flash = tmp_path / "flash"
    with flash.open("wb") as file:
        file.truncate(machine.size)
    for boots in (1, 2):
        command = ["qemu-system-arm", *machine.qemu, "-display", "none", "-monitor", "none"]
        command += ["-serial", "null", "-nic", "none", "-drive", machine.drive + str(flash)]
        command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(elf)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        said = result.stdout + result.stderr
        assert result.returncode == 0 and "done" in said, said
        assert "FAILED" not in said and said.count("ok ") == 10 + machine.keeps_zeros, said
        contents = flash.read_bytes()
        start = OFFSET_BLOCKS * machine.block
        pattern = bytes((i * 7 + (i >> 8) + boots) & 0xFF for i in range(4096))
        raw = contents[start : start + 2 * machine.block]
        assert raw[: machine.block] == b"\xff" * machine.block
        assert raw[machine.block : machine.block + 2048] == pattern[2048:]
        assert raw[machine.block + 2048 :] == b"\xff" * (machine.block - 2048)
        assert last_value(contents, start + 2 * machine.block, machine.block, b"boots") == boots
        assert last_value(contents, start + 2 * machine.block, machine.block, b"counter") == 199
        assert contents[:start] == bytes(start)


def last_value(contents: bytes, start: int, block: int, key: bytes) -> int:
    """The value of a key, read as docs/update.md says; program units of 4 bytes."""
    best = (0, 0)
    for number in range(2):
        magic, sequence, crc = struct.unpack_from("<4sII", contents, start + number * block)
        head = contents[start + number * block :][:8]
        if magic == b"FGWS" and crc == zlib.crc32(head):
            best = max(best, (sequence, number))
    at = start + best[1] * block + 12
    found = -1
    while True:
        crc, key_length, kind, length = struct.unpack_from("<IBBH", contents, at)
        if key_length == 0xFF:
            return found
        end = at + 8 + key_length + length
        assert crc == zlib.crc32(contents[at + 4 : end]) and kind == 1
        if contents[at + 8 : at + 8 + key_length] == key:
            found = int.from_bytes(contents[at + 8 + key_length : end], "little")
        at = (end - start + 3) // 4 * 4 + start


def build(machine: Machine, folder: Path) -> Path:
    elf = folder / "cfi.elf"
    flags = ["-std=gnu11", "-Os", "-g", "-marm", f"-mcpu={machine.core}", "-mno-unaligned-access"]
    flags += ["-mfloat-abi=soft", "-ffreestanding", "-DFWGEN_NVMEM=1", "-DFWGEN_HOST_TEST"]
    flags += ["-nostartfiles", "-Wall", "-Wextra", f"-I{RTOS / 'include'}"]
    flags += [f"-I{HERE.parent / 'rtos/host'}", f"-T{HERE / 'fixtures/bare.ld'}"]
    flags += [f"-Wl,--defsym=__ram={machine.ram:#x}", "--specs=nosys.specs"]
    flags += [f"-DFLASH_BASE={machine.base:#x}u", f"-DFLASH_SIZE={machine.size:#x}u"]
    flags += [f"-DBLOCK={machine.block:#x}u", f"-DOFFSET={OFFSET_BLOCKS * machine.block:#x}u"]
    flags += [f"-DKEEPS_ZEROS={machine.keeps_zeros:d}"]
    sources = [HERE / "fixtures/start.S", HERE / "fixtures/cfi.c"]
    sources += [RTOS / f"nvmem/{name}.c" for name in ("cfi", "nvmem", "store")]
    sources += [RTOS / "link/crc32.c", next(RTOS.glob("startup/*/memory.c"))]
    command = ["arm-none-eabi-gcc", *flags, *map(str, sources), "-o", str(elf)]
    subprocess.run(command, check=True, timeout=120)
    return elf
