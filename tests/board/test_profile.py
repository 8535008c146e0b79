"""Board profiles: those of the project, and every way to get one wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fwgen.board.profile import list_boards, load_board
from fwgen.errors import UsageError

GOOD = """\
name = "good"
description = "A board for tests"
docs = []

[cpu]
core = "cortex-m4"
clock_hz = 25_000_000
irq_controller = "nvic"
external_irqs = 32
prio_bits = 3

[[memory]]
name = "rom"
base = 0x00000000
size = "4MiB"
use = ["code", "constants", "dma"]

[[memory]]
name = "ram"
base = 0x20000000
size = 0x400000
use = ["data", "tensors", "dma"]
load = "rom"

[console]
driver = "cmsdk_uart"
base = 0x40004000
irq_rx = 0
irq_tx = 1
clock_hz = 25_000_000

[[accelerator]]
name = "dla0"
family = "nvdla"
config = "nv_small"
base = 0x50000000
irq = 29
irq_priority = 4
clock_hz = 25_000_000
"""
NVMEM = """
[[memory]]
name = "store"
base = 0x30000000
size = "64KiB"
use = ["nvmem"]
[nvmem]
driver = "ram"
memory = "store"
erase_size = "4KiB"
[[nvmem.partition]]
name = "a"
offset = 0
size = "8KiB"
[[nvmem.partition]]
name = "b"
offset = 0x2000
size = "8KiB"
"""


def write(folder: Path, text: str, name: str = "good") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_good_one(tmp_path: Path) -> None:
    board = load_board(write(tmp_path, GOOD))
    assert board.memory("rom").size == board.memory("ram").size == 4 << 20
    assert (board.code.name, board.data.name, board.vector_table) == ("rom", "ram", 0)
    assert board.cpu.syscall_priority == 2 and board.cpu.lowest_priority == 7
    assert board.accelerators[0].window == 0x20000
    assert board.console.receive_irq == 0
    assert load_board(str(write(tmp_path, GOOD + NVMEM))).nvmem is not None


# (old text, new text, line of the error, key, message, expected)
WRONG = [
    ("[cpu]", "[cpu]\ncoer = 1", "coer = 1", "cpu.coer", "unknown key 'coer'", "'core'"),
    ("docs = []", "docs = []\nmemry = 1", "memry", "memry", "unknown key", "'memory'"),
    ("docs = []", "docs = []\nmemories = []", "memories", "memories", "unknown key", "'memory'"),
    ("irq = 29", "irq = 29\nzzz = 2", "zzz", "accelerator[0].zzz", "unknown key", "one of"),
    ('core = "cortex-m4"\n', "", "[cpu]", "cpu", "'cpu.core' is missing", "one of cortex-m3"),
    ("cortex-m4", "cortex-m6", "cortex-m6", "cpu.core", "'cortex-m6' is not known", "'cortex-m"),
    ("cmsdk_uart", "cmdsk_uart", "cmdsk", "console.driver", "not known", "'cmsdk_uart'"),
    ("nv_small", "nv_smal", "nv_smal", "accelerator[0].config", "nvdla configuration", "nv_small"),
    ('"nvdla"', '"nvdle"', "nvdle", "accelerator[0].family", "accelerator family", "nvdla"),
    ('"4MiB"', '"4MB"', '"4MB"', "memory[0].size", "'4MB' is not a size", "4MiB"),
    ('"4MiB"', "4.0", "4.0", "memory[0].size", "bad value 4.0", ""),
    ('"4MiB"', "0", "size = 0", "memory[0].size", "bad value 0", ""),
    ('"4MiB"', "0x3fff01", "0x3fff01", "memory[0].size", "not aligned", "multiple of 0x40"),
    ('"4MiB"', '"1GiB"', "0x20000000", "memory[1].base", "overlaps memory 'rom'", ""),
    ("0x400000", "0xf0000000", "0xf0000000", "memory[1].size", "32-bit", ""),
    ("0x20000000", "0x20000020", "0x20000020", "memory[1].base", "not aligned", "0x40"),
    ("0x20000000", "-64", "-64", "memory[1].base", "bad value -64", ""),
    ("0x20000000", '"here"', '"here"', "memory[1].base", "expected `int`", ""),
    ('name = "ram"', 'name = "rom"', 'name = "rom"', "memory[1].name", "is taken", ""),
    ('name = "ram"', 'name = "RAM"', '"RAM"', "memory[1].name", "bad value 'RAM'", ""),
    ('load = "rom"', 'load = "rim"', "rim", "memory[1].load", "unknown memory 'rim'", "'rom'"),
    ('load = "rom"', 'load = "ram"', "load", "memory[1].load", "no initial contents", ""),
    ('"tensors", "dma"', '"tensor", "dma"', "tensor", "memory[1].use[1]", "'tensor'", "'tensors'"),
    ('"tensors", "dma"', '"tensors"', "[[memory]]", "memory", "accelerators can reach", "dma"),
    ('"data", ', "", "[[memory]]", "memory", "no memory for variables", "data"),
    ('"code", ', "", "[[memory]]", "memory", "no memory for the program", "code"),
    (', "constants"', "", "[[memory]]", "memory", "no memory for constants", "constants"),
    ('["data", ', '["data", "data", ', '"data", "data"', "memory[1].use[1]", "given twice", ""),
    ("irq = 29", "irq = 32", "irq = 32", "accelerator[0].irq", "interrupt 32 does not", "0 to 31"),
    ("irq = 29", "irq = 1", "irq = 1", "accelerator[0].irq", "taken by console.irq_tx", ""),
    ("irq_rx = 0", "irq_rx = 99", "irq_rx", "console.irq_rx", "does not exist", "0 to 31"),
    ("irq_rx = 0\nirq_tx = 1\n", "", "[console]", "console", "no interrupt", "'irq'"),
    ("irq_rx = 0", "irq_rx = 0\nirq = 3", "irq = 3", "console.irq", "combined interrupt", ""),
    ("irq_priority = 4", "irq_priority = 1", "irq_priority", "accelerator[0].irq_priority",
     "too urgent", "2 (max_syscall_priority) to 7"),
    ("irq_priority = 4", "irq_priority = 8", "irq_priority", "accelerator[0].irq_priority",
     "does not exist with 3 priority bits", "2 to 7"),
    ("irq = 29", "power_on = [{register = 0x40020002, write = 1}]\nirq = 29", "0x40020002",
     "accelerator[0].power_on[0].register", "not aligned", "multiple of 0x4"),
    ("irq = 29", "power_on = [{register = 0x40020000}]\nirq = 29", "power_on",
     "accelerator[0].power_on[0]", "either writes or waits", "`write`, or `mask`"),
    ("irq = 29", "power_on = [{register = 4, write = 1, mask = 1}]\nirq = 29", "power_on",
     "accelerator[0].power_on[0]", "either writes or waits", "`write`, or `mask`"),
    ("irq = 29", "power_on = [{register = 4, mask = 1, value = 2}]\nirq = 29", "power_on",
     "accelerator[0].power_on[0].mask", "never become 0x2", "the bits of the value"),
    ("prio_bits = 3", "prio_bits = 9", "prio_bits", "cpu.prio_bits", "bad value 9", ""),
    ("prio_bits = 3", "prio_bits = 3\nmax_syscall_priority = 8", "max_sys",
     "cpu.max_syscall_priority", "does not exist", "1 to 7"),
    ("external_irqs = 32", "external_irqs = 241", "241", "cpu.external_irqs", "more than", "240"),
    ('"nvic"', '"gicv2"', "gicv2", "cpu.irq_controller", "has no gicv2", "'nvic'"),
    ("prio_bits = 3", 'prio_bits = 3\nfpu = "fpv5-d16"', "fpu", "cpu.fpu", "has no fpv5", "fpv4"),
    ("prio_bits = 3", "prio_bits = 3\nvector_table = 0x20000000", "vector", "cpu.vector_table",
     "lies in no memory for code", "0x0 to 0x3fffff"),
    ("prio_bits = 3", "prio_bits = 3\nvector_table = 0x80", "vector", "cpu.vector_table",
     "not aligned", "multiple of 0x100"),
    ("0x50000000", "0x20010000", "0x20010000", "accelerator[0].base", "overlaps memory 'ram'", ""),
    ("0x50000000", "0x40004000", "0x40004000", "console.base", "overlaps 'dla0'", ""),
    ("0x50000000", "0x50000100", "0x50000100", "accelerator[0].base", "not aligned", "0x1000"),
    ("0x50000000", "0xffff0000", "0xffff0000", "accelerator[0].base", "above the 32-bit", ""),
    ("irq = 29", "irq = 29\nreset_register = 0x5001fffc", "0x5001fffc",
     "accelerator[0].reset_register", "overlaps 'dla0'", ""),
    ("irq = 29", "irq = 29\nreset_register = 0x50020002", "0x50020002",
     "accelerator[0].reset_register", "not aligned", "multiple of 0x4"),
    ("irq = 29", "irq = 29\nreset_register = 0", "reset_register",
     "accelerator[0].reset_register", "address 0", ""),
    ("irq_tx = 1", "irq_tx = 1\nbaud = 2000000", "baud", "console.baud", "cannot be made",
     "at most 1562500"),
    ("clock_hz = 25_000_000\n\n[[acc", "clock_hz = 0\n\n[[acc", "clock_hz = 0",
     "console.clock_hz", "bad value 0", ""),
    ("irq = 29", 'irq = 29\nsram = "rim"', "sram", "accelerator[0].sram", "unknown", "'rom'"),
    ("[console]", "[[console]]", "[[console]]", "console", "not a table", "[console]"),
    ("[[accelerator]]", "[accelerator]", "[accelerator]", "accelerator", "not an array", "[["),
    ("irq_priority = 4\nclock_hz = 25_000_000\n",
     'clock_hz = 25_000_000\n[flash]\nmethod = "uboot-ymodem"', "uboot-ymodem",
     "flash.method", "needs an address to load to", "load_address"),
    ("irq_priority = 4\nclock_hz = 25_000_000\n",
     'clock_hz = 25_000_000\n[flash]\nmethod = "manual"\npage_size = 1024',
     "page_size", "flash.page_size", "'manual' erases no pages", "stm32-uart"),
    ("docs = []", 'docs = "x"', "docs", "docs", "expected `array`", ""),
    ("docs = []", "docs = []\nverified = 1", "verified", "verified", "expected `bool`", ""),
    ('name = "good"', 'name = "Good one"', "Good one", "name", "bad value", ""),
]  # fmt: skip
WRONG_NVMEM = [
    ('memory = "store"', 'memory = "stor"', 'memory = "stor"', "nvmem.memory", "unknown", "store"),
    ('memory = "store"', 'memory = "ram"', 'memory = "ram"', "nvmem.memory", "not for non-vol", ""),
    ("offset = 0x2000", "offset = 0x1000", "0x1000", "nvmem.partition[1].offset", "overlaps", ""),
    ("offset = 0x2000", "offset = 0x2001", "0x2001", "nvmem.partition[1].offset", "aligned", ""),
    ("offset = 0x2000\nsize", "offset = 0xf000\nsize", "8KiB", "nvmem.partition[1].size",
     "4096 bytes behind", ""),
    ('name = "b"', 'name = "a"', 'name = "a"', "nvmem.partition[1].name", "is taken", ""),
]  # fmt: skip


def check_wrong(tmp_path: Path, text: str, case: tuple[str, str, str, str, str, str]) -> None:
    old, new, line_text, key, message, expected = case
    assert old in text
    wrong = text.replace(old, new, 1)
    file = write(tmp_path, wrong)
    with pytest.raises(UsageError) as info:
        load_board(file)
    error = info.value
    match = re.fullmatch(r"(.*):(\d+), (\S+)", error.where or "")
    assert match, error.where
    assert match.group(1) == str(file)
    assert line_text in wrong.splitlines()[int(match.group(2)) - 1]
    assert match.group(3) == key
    assert message.lower() in error.message.lower()
    assert expected in (error.expected or "")
    assert error.exit_code == 2


@pytest.mark.parametrize("case", WRONG, ids=lambda c: c[1].strip()[-40:])
def test_wrong_key(tmp_path: Path, case: tuple[str, str, str, str, str, str]) -> None:
    check_wrong(tmp_path, GOOD, case)


@pytest.mark.parametrize("case", WRONG_NVMEM, ids=lambda c: c[1])
def test_wrong_nvmem(tmp_path: Path, case: tuple[str, str, str, str, str, str]) -> None:
    check_wrong(tmp_path, GOOD + NVMEM, case)


@pytest.mark.parametrize(
    ("contents", "where", "message"),
    [
        (b'name = "x"\nbase == 1\n', ":2", "not valid TOML"),
        (b'name = "x"\nname = "y"\n', ":2", "not valid TOML"),
        (b'[cpu]\ncore = "x', ":2", "not valid TOML"),
        (b"name = '\xff'", "byte 8", "not UTF-8"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "", "nested too deeply"),
        (b"x = " + b"9" * 5000, "", "number too long"),
        (b"#" * (2 << 20), "", "too large"),
        (b"", ":1", "'name' is missing"),
    ],
)
def test_not_a_profile(tmp_path: Path, contents: bytes, where: str, message: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(contents)
    with pytest.raises(UsageError) as info:
        load_board(file)
    assert message in info.value.message
    assert where in (info.value.where or "") and str(file) in (info.value.where or "")


def test_windows_line_ends_count_right(tmp_path: Path) -> None:
    file = tmp_path / "good.toml"
    file.write_bytes(GOOD.replace("cortex-m4", "cortex-x").replace("\n", "\r\n").encode())
    with pytest.raises(UsageError, match="cortex-x") as info:
        load_board(file)
    assert info.value.where == f"{file}:6, cpu.core"


def test_extends_merges_tables_and_named_arrays(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    file = write(
        tmp_path,
        """\
name = "child"
extends = "good"
[cpu]
clock_hz = 50_000_000
[[memory]]
name = "extra"
base = 0x60000000
size = "16MiB"
use = ["tensors", "dma"]
[[memory]]
name = "ram"
size = "2MiB"
""",
        "child",
    )
    board = load_board(file)
    assert board.name == "child" and board.description == "A board for tests"
    assert (board.cpu.core, board.cpu.clock_hz) == ("cortex-m4", 50_000_000)
    assert [(m.name, m.size >> 20) for m in board.memories] == [
        ("rom", 4),
        ("ram", 2),
        ("extra", 16),
    ]


CPU_ACCELERATOR = """
[[accelerator]]
name = "dla0"
family = "cpu"
config = "cpu_nv_small"
"""


def test_another_family_replaces_an_accelerator(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    extends = 'name = "child"\nextends = "good"\n'
    board = load_board(write(tmp_path, extends + CPU_ACCELERATOR, "child"))
    (accelerator,) = board.accelerators
    assert (accelerator.family, accelerator.is_hardware) == ("cpu", False)
    assert (accelerator.base, accelerator.irq, accelerator.clock_hz) == (None, None, None)


@pytest.mark.parametrize("line", ["base = 0x50000000", "irq = 29", "clock_hz = 1000000"])
def test_the_cpu_has_no_registers(tmp_path: Path, line: str) -> None:
    write(tmp_path, GOOD)
    text = f'name = "child"\nextends = "good"\n{CPU_ACCELERATOR}{line}\n'
    with pytest.raises(UsageError, match="it is no hardware") as caught:
        load_board(write(tmp_path, text, "child"))
    assert caught.value.where is not None and line.split()[0] in caught.value.where


@pytest.mark.parametrize("key", ["base", "irq", "clock_hz"])
def test_hardware_has_registers(tmp_path: Path, key: str) -> None:
    accelerator = GOOD.index("[[accelerator]]")
    text = GOOD[:accelerator] + re.sub(rf"(?m)^{key} = .*\n", "", GOOD[accelerator:])
    with pytest.raises(UsageError, match=f"the key '{key}' is missing"):
        load_board(write(tmp_path, text))


def test_errors_point_into_the_file_that_is_wrong(tmp_path: Path) -> None:
    base = write(tmp_path, GOOD.replace("prio_bits", "prio_bit"), "base")
    child = write(tmp_path, 'name = "child"\nextends = "base"\n[cpu]\nprio_bits = 3\n', "child")
    with pytest.raises(UsageError, match="prio_bit") as info:
        load_board(child)
    assert info.value.where == f"{base}:10, cpu.prio_bit"
    write(tmp_path, GOOD, "base")
    child.write_text('extends = "base"\nname = "child"\n\n[cpu]\nprio_bits = "three"\n')
    with pytest.raises(UsageError) as info:
        load_board(child)
    assert info.value.where == f"{child}:5, cpu.prio_bits"


def test_extends_that_lead_nowhere(tmp_path: Path) -> None:
    one = write(tmp_path, 'extends = "two"\n', "one")
    write(tmp_path, '\nextends = "one"\n', "two")
    with pytest.raises(UsageError, match="one -> two -> one") as info:
        load_board(one)
    assert info.value.where == f"{tmp_path / 'two.toml'}:2, extends"
    one.write_text('extends = "one"')
    with pytest.raises(UsageError, match="circle"):
        load_board(one)
    one.write_text('extends = "nothing"')
    with pytest.raises(UsageError, match="'nothing', does not exist"):
        load_board(one)
    one.write_text("extends = 3")
    with pytest.raises(UsageError, match="not text"):
        load_board(one)


def test_unknown_boards() -> None:
    with pytest.raises(UsageError, match="unknown board 'mps2-an358'") as info:
        load_board("mps2-an358")
    assert "mps2-an385" in info.value.hints[0]
    for name in ("", "..", "soc", "no/such.toml", "nosuch.toml"):
        with pytest.raises(UsageError):
            load_board(name)


def test_user_folders_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, 'extends = "mps3-an547"\nname = "mine"\n', "mine")
    monkeypatch.setenv("FWGEN_BOARDS", f"{tmp_path / 'absent'}:{tmp_path}")
    assert {"good", "mine", "mps2-an385"} <= set(list_boards())
    assert load_board("mine").cpu.core == "cortex-m55"
    write(tmp_path, GOOD, "other")
    with pytest.raises(UsageError, match="not the name of its file"):
        load_board("other")


def test_every_board_of_the_project_loads() -> None:
    names = list_boards()
    assert {
        "mps2-an385",
        "mps2-an386",
        "mps2-an500",
        "mps3-an547",
        "mps3-an547-nv-large",
    } <= set(names)
    for name in names:
        board = load_board(name)
        assert board.name == name
        if board.verified:
            assert board.docs, f"{name} is called verified but names no document"
        if board.qemu is not None:
            assert board.qemu.differences, name


def test_a_thousand_damaged_profiles_never_crash(tmp_path: Path) -> None:
    """Cut, doubled and replaced lines: a board or a UsageError, nothing else."""
    import random

    source = random.Random(7)
    lines = (GOOD + NVMEM).splitlines()
    file = tmp_path / "good.toml"
    for _ in range(1000):
        damaged = list(lines)
        for _ in range(source.randint(1, 3)):
            place = source.randrange(len(damaged))
            choice = source.randrange(4)
            if choice == 0:
                del damaged[place]
            elif choice == 1:
                damaged.insert(place, source.choice(lines))
            elif choice == 2:
                key = damaged[place].partition("=")[0]
                value = source.choice(["-1", "0", "[]", "{}", '""', "1e9", "true", "9" * 30])
                damaged[place] = f"{key}= {value}"
            else:
                damaged[place] = damaged[place][: source.randrange(len(damaged[place]) + 1)]
        file.write_text("\n".join(damaged))
        try:
            load_board(file)
        except UsageError as error:
            assert error.where and str(file) in error.where
