"""The trace grammar: what is read, and what is said about what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fwgen.check.memory_file import TraceError, read_dat
from fwgen.check.trace import (
    CheckCrc,
    CheckFile,
    IntrNotify,
    MemInit,
    MemLoad,
    Poll,
    RegRead,
    RegWrite,
    Space,
    SyncWait,
    read_trace,
)
from fwgen.errors import ExitCode


def _write(directory: Path, text: str, name: str = "case.cfg") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_command_is_read(tmp_path: Path) -> None:
    _write(tmp_path, "{\n{offset:0x4, size:4, payload:0x01 010 9},\n}\n", "data.dat")
    trace = read_trace(
        _write(
            tmp_path,
            """// a comment
mem_init(pri_mem, 0x80000000, 0x20, ALL_ZERO); // trailing
mem_init(1, 0x80001000, "data.dat", ONES, ready);
mem_load(sec_mem, 256, "data.dat");
mem_reserve(pri_mem, 0x80002000, 64); mem_release(pri_mem, 0x80002000);
reg_write(NVDLA_SDP.D_DP_BS_CFG_0, 0x53);
reg_read(NVDLA_SDP.S_STATUS_0);
reg_read_check(NVDLA_SDP.S_POINTER_0, 0);
poll_reg_equal(NVDLA_CDMA.S_CBUF_FLUSH_STATUS_0,0x1);
poll_field_equal(NVDLA_SDP.S_STATUS_0, STATUS_1, 2);
poll_field_equal(NVDLA_SDP.S_STATUS_0.STATUS_1, 2);
sync_notify(NVDLA_CDMA, later);
  sync_wait ( NVDLA_SDP , later ) ;

intr_notify(sdp_1, done);
intr_notify(cdma_dat_0, loaded);
check_crc(done, 1, 0x80000000, 0x20, 0x190a55ad);
check_file(done, pri_mem, 0x80000000, 8, "data.dat");
check_nothing(loaded);
""",
        )
    )
    init, filled, load, _reserve = trace.memory
    assert init == MemInit(2, Space.DRAM, 0x8000_0000, 0x20, "ALL_ZERO")
    assert isinstance(filled, MemInit) and (filled.size, filled.pattern) == (8, "ONES")
    assert isinstance(load, MemLoad) and load.space == Space.SRAM and load.image is not None
    # Octal 010 is 8, the tail of a short payload is zero.
    assert load.image.chunks == ((4, bytes([1, 8, 9, 0])),)
    write, read, check, poll, field, same, _notify, wait = trace.steps
    assert write == RegWrite(6, "NVDLA_SDP.D_DP_BS_CFG_0", 0x9058, 0x53)
    assert isinstance(read, RegRead) and read.expected is None
    assert isinstance(check, RegRead) and check.expected == 0
    assert isinstance(poll, Poll) and (poll.offset, poll.mask) == (0x300C, 0xFFFFFFFF)
    assert isinstance(field, Poll) and (field.mask, field.expected) == (0x30000, 0x20000)
    assert isinstance(same, Poll) and same.mask == field.mask
    assert isinstance(wait, SyncWait)
    assert trace.interrupts == (IntrNotify(15, 1, "done"), IntrNotify(16, 16, "loaded"))
    assert isinstance(trace.checks[0], CheckCrc) and isinstance(trace.checks[1], CheckFile)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("reg_write(NVDLA_SDP.D_DP_BS_CFG_0, 0x53)", "cannot read"),
        ("reg_write(NVDLA_SDP.D_DP_BS_CFG_0);", "1 arguments"),
        ("reg_write(NVDLA_SDP.D_DP_BS_CFG_0, five);", "a number"),
        ("reg_write(NVDLA_SDP.D_DP_BS_CFG_0, 0x100000000);", "a 32-bit value"),
        ("reg_write(NVDLA_SDP.D_DP_BX_CFG_0, 0);", "unknown register"),
        ("reg_write(NVDLA_SDP.D_DP_BS_CFG_0,, 0);", "cannot read"),
        ("reg_wrote(NVDLA_SDP.D_DP_BS_CFG_0, 0);", '"reg_write"'),
        ("mem_init(third_mem, 0, 4, ALL_ZERO);", "unknown memory"),
        ("mem_init(pri_mem, 0, 4, NOISE);", "unknown pattern"),
        ("mem_init(pri_mem, 0, 0x7fffffffffff, ALL_ZERO);", "too large"),
        ("mem_load(pri_mem, 0, data.dat);", '"quoted"'),
        ("intr_notify(SDP_2, done);", "unknown interrupt"),
        ("intr_notify(GPU_0, done);", "unknown interrupt"),
        ("check_crc(done, 1, 0x2, 0x20, 0);", "multiples of 4"),
        ("check_crc(done, 1, 0x4, 0x0, 0);", "at least one word"),
        ("check_nothing(never);", "nothing raises"),
        ("poll_field_equal(NVDLA_SDP.S_STATUS_0, STATUS_9, 1);", "no field"),
        ("poll_field_equal(NVDLA_SDP.S_STATUS_0, STATUS_1, 9);", "does not fit"),
        ('check_file(done, 1, 0, 8, "absent.dat");', "does not exist"),
        ("what is this", "cannot read"),
    ],
)
def test_malformed_lines_name_file_and_line(tmp_path: Path, line: str, expected: str) -> None:
    path = _write(tmp_path, f"intr_notify(SDP_0, done);\n\n{line}\n")
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert caught.value.where == f"{path}:3"
    assert expected in str(caught.value)
    assert caught.value.exit_code == ExitCode.MODEL


def test_unknown_register_offers_near_names(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        read_trace(_write(tmp_path, "reg_write(NVDLA_SDP.D_DP_BX_CFG_0, 0);\n"))
    assert "NVDLA_SDP.D_DP_BS_CFG_0" in caught.value.hints[0]


def test_absent_memory_file_is_a_note(tmp_path: Path) -> None:
    trace = read_trace(_write(tmp_path, 'mem_load(pri_mem, 0x80000000, "pixels.dat");\n'))
    assert trace.notes == ("line 1: pixels.dat is absent, memory left zero",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{offset:0x0, size:4}", "2 fields"),
        ("{offset:0x0, size:4, payload:0x100}", "above 0xff"),
        ("{offset:0x0, size:1, payload:1 2}", "2 bytes of payload"),
        ("{offset:zero, size:1, payload:1}", "not a number"),
        ("{offset:0, length:1, payload:1}", '"size:"'),
        ("{offset:0, size:0x7fffffff, payload:1}", "too large"),
    ],
)
def test_malformed_memory_files(tmp_path: Path, text: str, expected: str) -> None:
    path = _write(tmp_path, "{\n# comment\n" + text + "\n}\n", "bad.dat")
    with pytest.raises(TraceError) as caught:
        read_dat(path)
    assert caught.value.where == f"{path}:3"
    assert expected in str(caught.value)


def test_binary_input_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "case.cfg"
    path.write_bytes(b"\xff\xfe\x00reg_write")
    with pytest.raises(TraceError, match="cannot read trace"):
        read_trace(path)
