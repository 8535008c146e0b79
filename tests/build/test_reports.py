"""Stack bounds, sizes, image formats and error texts from small inputs written by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from fwgen.build.artefacts import flat_binary, intel_hex, write_file
from fwgen.build.elf import Image, Section, Symbol
from fwgen.build.scons import explain
from fwgen.build.size import Piece, read_pieces, size_report
from fwgen.build.stack import (
    find_cycle,
    parse_functions,
    read_frames,
    resolve_indirect,
    stack_report,
)
from fwgen.build.toolchain import Toolchain
from fwgen.codegen.linker import LinkMap, LinkRegion
from fwgen.errors import FitError, TaskError

LISTING = """\

firmware.elf:     file format elf32-littlearm

Disassembly of section .text:

00000100 <Reset_Handler>:
     100:\tpush\t{r4, lr}
     102:\tbl\t200 <main>
     106:\tpop\t{r4, pc}

00000200 <main>:
     200:\tstmdb\tsp!, {r4, r5, r6, r7, lr}
     204:\tsub\tsp, #24
     206:\tbl\t300 <leaf>
     20a:\tbeq.n\t206 <main+0x6>
     20c:\tb.w\t400 <through>

00000300 <leaf>:
     300:\tstr.w\tlr, [sp, #-4]!
     304:\tbx\tlr

00000400 <through>:
     400:\tpush\t{r3, lr}
     402:\tldr\tr3, [pc, #4]\t@ (408 <through+0x8>)
     404:\tblx\tr3
     406:\tpop\t{r3, pc}
     408:\t.word\t0x00000300

00000500 <self.part.0>:
     500:\tpush\t{lr}
     502:\tbl\t600 <other>
     506:\tpop\t{pc}

00000600 <other>:
     600:\tpush\t{r4, r5, lr}
     602:\tbl\t500 <self.part.0>
     606:\tpop\t{r4, r5, pc}
"""


def image(*symbols: Symbol, data: bytes = b"") -> Image:
    sections = (Section(".rodata", 0x1000, 0x1000, len(data), True, False, False, data),)
    return Image(sections if data else (), {s.name: s for s in symbols}, 0x101)


def test_frames_and_calls_from_machine_code() -> None:
    functions = parse_functions(LISTING, {})
    assert {f.name: f.frame for f in functions.values()} == {
        "Reset_Handler": 8,
        "main": 44,
        "leaf": 4,
        "through": 8,
        "self.part.0": 4,
        "other": 12,
    }
    assert functions[0x200].calls == {0x300, 0x400}
    assert functions[0x400].indirect == 1 and functions[0x300].indirect == 0


def test_the_compilers_word_goes_first() -> None:
    assert parse_functions(LISTING, {"leaf": 40})[0x300].frame == 40


ARM_LISTING = """
00000400 <outer>:
     400:\tpush\t{r4, r5, r6, lr}
     404:\tbllt\t00000440 <inner>
     408:\tbls\t00000400 <outer>
     40c:\tblxne\tr3
     410:\tbxeq\tlr
     414:\tstr\tlr, [sp, #-4]!
     418:\tbhi\t00000460 <last>
     41c:\tpopcc\t{r4, r5, r6, pc}

00000440 <inner>:
     440:\tvpush\t{d8-d11}
     444:\tbxne\tr2

00000460 <last>:
     460:\tbleq\t00000460 <last>
"""


def test_arm_code() -> None:
    """Conditional calls, tail calls and returns, as the listing says by hand."""
    functions = parse_functions(ARM_LISTING, {})
    outer, inner, last = (functions[address] for address in (0x400, 0x440, 0x460))
    assert (outer.frame, outer.calls, outer.indirect) == (20, {0x440, 0x460}, 1)
    assert (inner.frame, inner.calls, inner.indirect) == (32, set(), 1)
    assert last.calls == {0x460}  # recursion, where a branch to the start is a loop


def test_bounds_add_up() -> None:
    report = stack_report(parse_functions(LISTING, {}), image(), ["main"], [0x101], {})
    (task,) = report.tasks
    assert task.bytes == 44 + 8 + 32 + 32
    assert task.path == ("main", "through")
    assert report.main == 8 + 44 + 8
    assert report.unresolved == ("through",)


def test_recursion_is_found() -> None:
    functions = parse_functions(LISTING, {})
    assert find_cycle(functions, [0x100]) is None
    cycle = find_cycle(functions, [0x500])
    assert cycle == ["self.part.0", "other", "self.part.0"]
    with pytest.raises(TaskError, match="recursion: other -> self.part.0 -> other"):
        stack_report(functions, image(), ["other"], [0x101], {})


def test_a_function_that_calls_itself() -> None:
    text = "00000100 <loop>:\n     100:\tpush\t{lr}\n     102:\tbl\t100 <loop>\n"
    assert find_cycle(parse_functions(text, {}), [0x100]) == ["loop", "loop"]


def test_calls_through_a_table() -> None:
    owners = {"through": "obj/rtos/link/answer.o"}
    functions = parse_functions(LISTING, {})
    table = struct.pack("<3I", 0, 0x301, 0x12345)
    symbol = Symbol("requests", 0x1000, 12, "STT_OBJECT")
    assert resolve_indirect(functions, image(symbol, data=table), owners) == []
    assert functions[0x400].calls == {0x300}
    assert resolve_indirect(parse_functions(LISTING, {}), image(), owners) == ["through"]
    other = {"through": "obj/rtos/app/main.o"}
    assert resolve_indirect(functions, image(symbol, data=table), other) == ["through"]


def test_frames_from_the_compilers_files(tmp_path: Path) -> None:
    (tmp_path / "a.ci").write_text(
        'node: { title: "a.c:f" label: "f\\na.c:2:38\\n40 bytes (static)" }\n'
        'node: { title: "memset" label: "memset\\nstring.h:33:9" shape : ellipse }\n'
    )
    assert read_frames(tmp_path) == {"f": 40}
    (tmp_path / "b.ci").write_text(
        'node: { title: "g" label: "g\\nb.c:1:1\\n8 bytes (dynamic)" }\n'
    )
    with pytest.raises(TaskError, match="g takes a variable amount"):
        read_frames(tmp_path)


MAP = """\
Discarded input sections

 .text.unused   0x00000000       0x40 obj/kernel/tasks.o

Linker script and memory map

.text           0x00000100       0x6c
 *(.text .text.*)
 .text.vTaskDelay
                0x00000100       0x20 obj/kernel/tasks.o
                0x00000100                vTaskDelay
 .text.fwgen_execute
                0x00000120       0x30 obj/rtos/exec/executor.o
 *fill*         0x00000150        0x4 \n\
 .text          0x00000154       0x18 /usr/lib/libc_nano.a(libc_a-memcpy.o)

.bss            0x20000000       0x50
 .bss.engine_stacks
                0x20000000       0x40 obj/rtos/exec/accel.o
 .bss.tick      0x20000040       0x10 obj/kernel/tasks.o

.debug_info     0x00000000      0x123
 .debug_info    0x00000000      0x123 obj/kernel/tasks.o
"""


def test_sizes_by_component_and_region() -> None:
    sections = (
        Section(".text", 0x100, 0x100, 0x6C, True, False, True, bytes(0x6C)),
        Section(".stack", 0x20001000, 0x20001000, 0x80, False, True, False, b""),
        Section(".bss", 0x20000000, 0x20000000, 0x50, False, True, False, b""),
        Section(".ram_tensors", 0x20002000, 0x20002000, 0x200, False, True, False, b""),
    )
    regions = [("flash", 0, 0x1000), ("ram", 0x20000000, 0x4000)]
    report = size_report(sections, read_pieces(MAP), regions)
    table = {c.name: (c.text, c.data, c.bss) for c in report.components}
    assert table == {
        "kernel": (0x20, 0, 0x10),
        "driver + executor": (0x30, 0, 0),
        "C library": (0x18, 0, 0),
        "task stacks": (0, 0, 0x40),
        "main stack": (0, 0, 0x80),
        "tensors": (0, 0, 0x200),
        "padding": (4, 0, 0),
    }
    assert (report.text, report.data, report.bss) == (0x6C, 0, 0x2D0)
    assert [(r.name, r.used) for r in report.regions] == [("flash", 0x6C), ("ram", 0x2D0)]


def test_merged_texts_count_once() -> None:
    """The linker's map says 0x20 bytes of text, of which it has merged 8 with the next."""
    section = Section(".rodata", 0x100, 0x100, 0x40, True, False, False, bytes(0x40))
    pieces = {
        ".rodata": [
            Piece(0x100, 0x20, "obj/rtos/ports/cortex_a/timer.o", ".rodata.str1.1"),
            Piece(0x118, 0x28, "obj/rtos/link/answer.o", ".rodata"),
        ]
    }
    report = size_report([section], pieces, [("flash", 0, 0x1000)])
    assert {c.name: c.text for c in report.components} == {
        "kernel port": 0x18,
        "link + shell": 0x28,
    }


def test_initialised_variables_count_in_both_regions() -> None:
    data = Section(".data", 0x20000000, 0x200, 8, True, True, False, bytes(8))
    report = size_report((data,), {}, [("flash", 0, 0x1000), ("ram", 0x20000000, 0x1000)])
    assert [region.used for region in report.regions] == [8, 8]


def test_gaps_that_align_what_follows_are_used() -> None:
    sections = (
        Section(".vectors", 0, 0, 0xC0, True, False, False, bytes(0xC0), 4),
        # 0x24 bytes to the next line of the caches, as the planner rounds.
        Section(".constants.a", 0x100, 0x100, 0x5C, True, False, False, bytes(0x5C), 64),
        Section(".text", 0x180, 0x180, 0x10, True, False, True, bytes(0x10), 4),
        Section(".bss", 0x20000000, 0x20000000, 0x14, False, True, False, b"", 4),
        # Tables of 16 KiB, then room that others could have.
        Section(".noinit", 0x20004000, 0x20004000, 0x20, False, True, False, b"", 0x4000),
        Section(".tensors", 0x20006000, 0x20006000, 0x100, False, True, False, b""),
    )
    report = size_report(sections, {}, [("flash", 0, 0x1000), ("ram", 0x20000000, 0x8000)])
    assert [region.used for region in report.regions] == [
        0xC0 + 0x5C + 0x24 + 0x10,
        0x4020 + 0x100,
    ]


def test_flat_binary_fills_gaps() -> None:
    sections = [
        Section("b", 0x108, 0x108, 2, True, False, False, b"bb"),
        Section("a", 0x20000000, 0x100, 3, True, True, False, b"aaa"),
        Section("far", 0x6000, 0x6000, 1, True, False, False, b"f"),
        Section("z", 0x200, 0x200, 9, False, True, False, b""),
    ]
    assert flat_binary(sections, 0x100, 0x1000) == (0x100, b"aaa\0\0\0\0\0bb")
    assert flat_binary(sections, 0x8000, 0x9000) == (0x8000, b"")


def test_intel_hex_can_be_read_back() -> None:
    from intelhex import IntelHex

    first = bytes(range(256)) * 2
    sections = [
        Section("a", 0xFFF0, 0xFFF0, len(first), True, False, False, first),
        Section("b", 0x60000001, 0x60000001, 3, True, False, False, b"xyz"),
    ]
    from io import StringIO

    read = IntelHex(StringIO(intel_hex(sections, 0x101)))
    assert read.gets(0xFFF0, len(first)) == first
    assert read.gets(0x60000001, 3) == b"xyz"
    assert read.start_addr == {"EIP": 0x101}
    assert len(read) == len(first) + 3


def test_same_contents_keep_their_time(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_file(path, b"1")
    before = path.stat().st_mtime_ns
    write_file(path, b"1")
    assert path.stat().st_mtime_ns == before
    write_file(path, b"2")
    assert path.read_bytes() == b"2"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


LINK = LinkMap(
    regions=(
        LinkRegion("FLASH_CODE", "rx", 0, 0x1000, "flash", "program code"),
        LinkRegion("RAM_DATA", "rw", 0x20000000, 0x1000, "ram", "variables and stacks"),
    ),
    vector_region="FLASH_CODE",
    vector_address="0x00000000",
    vector_mask=127,
    code_region="FLASH_CODE",
    data_region="RAM_DATA",
    data_load_region="FLASH_CODE",
    main_stack_bytes=1024,
    constants=(),
    arenas=(),
)

NO_TOOLS = Toolchain("/bin/false ", "0", "none")


@pytest.mark.parametrize(
    ("output", "kind", "part"),
    [
        ("ld: region `RAM_DATA' overflowed by 1 bytes", FitError, "need 1 bytes more than ram"),
        ("x: undefined reference to `_sbrk'", TaskError, "uses the heap: _sbrk"),
        ("x: undefined reference to `foo'", TaskError, "undefined foo"),
        ("ld: fwgen: the vector table is not aligned", TaskError, "vector table is not aligned"),
        ("src/a.c:3:7: error: 'x' undeclared", TaskError, "'x' undeclared"),
        ("some\nother\ntrouble", TaskError, "trouble"),
    ],
)
def test_errors_become_one_sentence(
    output: str, kind: type[Exception], part: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fwgen.build.scons._largest_symbols", lambda *_args: [(7, "big")])
    error = explain(output, tmp_path, NO_TOOLS, LINK)
    assert isinstance(error, kind)
    assert part in str(error)


def test_a_compiler_error_shows_the_command(tmp_path: Path) -> None:
    output = (
        "cc -o obj/src/a.o -c src/a.c\n"
        "cc -o obj/src/b.o -c src/b.c\n"
        "src/a.c:3:7: error: bad\n"
        "scons: *** [obj/src/a.o] Error 1\n"
    )
    error = explain(output, tmp_path, NO_TOOLS, LINK)
    assert error.where == "src/a.c:3:7"
    assert error.hints == ("The command was: cc -o obj/src/a.o -c src/a.c",)
