"""Replay of traces: what passes, what fails and with which words."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from fwgen.check.replay import Case, find_cases, infer_config, replay, replay_many
from fwgen.cli.main import run as run_cli
from fwgen.errors import UsageError

_SDP = """
mem_init(pri_mem, 0x80000000, 64, ADDR);
mem_init(pri_mem, 0x80001000, 64, ONES);
reg_write(NVDLA_SDP_RDMA.D_DATA_CUBE_WIDTH_0, 7);
reg_write(NVDLA_SDP_RDMA.D_DATA_CUBE_CHANNEL_0, 7);
reg_write(NVDLA_SDP_RDMA.D_FEATURE_MODE_CFG_0, 0);
reg_write(NVDLA_SDP_RDMA.D_SRC_BASE_ADDR_LOW_0, 0x80000000);
reg_write(NVDLA_SDP_RDMA.D_SRC_LINE_STRIDE_0, 64);
reg_write(NVDLA_SDP_RDMA.D_SRC_SURFACE_STRIDE_0, 64);
reg_write(NVDLA_SDP_RDMA.D_SRC_DMA_CFG_0, 1);
reg_write(NVDLA_SDP.D_DATA_CUBE_WIDTH_0, 7);
reg_write(NVDLA_SDP.D_DATA_CUBE_CHANNEL_0, 7);
reg_write(NVDLA_SDP.D_DST_BASE_ADDR_LOW_0, 0x80001000);
reg_write(NVDLA_SDP.D_DST_LINE_STRIDE_0, 64);
reg_write(NVDLA_SDP.D_DST_SURFACE_STRIDE_0, 64);
reg_write(NVDLA_SDP.D_DST_DMA_CFG_0, 1);
reg_write(NVDLA_SDP.D_DP_BS_CFG_0, 1);
reg_write(NVDLA_SDP.D_DP_BN_CFG_0, 1);
reg_write(NVDLA_SDP.D_DP_EW_CFG_0, 1);
reg_write(NVDLA_SDP.D_CVT_SCALE_0, 1);
"""

_START = """
reg_write(NVDLA_SDP_RDMA.D_OP_ENABLE_0, 1);
reg_write(NVDLA_SDP.D_OP_ENABLE_0, 1);
"""

_NOTIFY = "intr_notify(SDP_0, done);\n"


def _golden() -> int:
    words = [0x8000_0000 + 4 * i for i in range(16)]
    return zlib.crc32(b"".join(word.to_bytes(4, "little") for word in words))


_CHECK = f"check_crc(done, pri_mem, 0x80001000, 64, {_golden():#x});\n"


def _case(tmp_path: Path, text: str, config: str = "nv_small") -> Path:
    directory = tmp_path / config / "copy"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "copy.cfg"
    path.write_text(text, encoding="utf-8")
    return path


def _play(tmp_path: Path, text: str) -> tuple[bool, str]:
    result = replay(_case(tmp_path, text), "nv_small", model="reference")
    return result.passed, result.reason


def test_a_copy_passes_and_counts_its_bytes(tmp_path: Path) -> None:
    result = replay(
        _case(tmp_path, _SDP + _START + _NOTIFY + _CHECK), "nv_small", model="reference"
    )
    assert (result.passed, result.reason, result.bytes_compared) == (True, "", 64)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_SDP + _START + _NOTIFY, "checks nothing"),
        (_SDP + _NOTIFY + _CHECK, 'interrupt never came: SDP_0 for "done"'),
        (_SDP + _START + "intr_notify(PDP_0, done);\n" + _CHECK, "nobody asked for"),
        (_SDP + _START + _NOTIFY + "check_crc(done, 1, 0x80001000, 64, 1);\n", "instead of 0x"),
        (
            "reg_write(NVDLA_GLB.S_INTR_MASK_0, 1);\n" + _SDP + _START + _NOTIFY + _CHECK,
            "pending but masked: SDP_0",
        ),
        (
            _SDP + _START + _NOTIFY + _CHECK + "reg_read_check(NVDLA_SDP.S_POINTER_0, 7);\n",
            "is 0x10000 instead of 0x7",
        ),
        (
            _SDP + _START + "reg_write(NVDLA_SDP.D_DATA_FORMAT_0, 5);\n" + _NOTIFY + _CHECK
            + "reg_write(NVDLA_SDP.S_POINTER_0, 1);\n" + _SDP.replace("ONES", "X"),
            "",
        ),
        (
            _SDP.replace("D_SRC_BASE_ADDR_LOW_0, 0x80000000", "D_SRC_BASE_ADDR_LOW_0, 0x100")
            + _START + _NOTIFY + _CHECK,
            "guest error",
        ),
        ("poll_reg_equal(NVDLA_SDP.S_STATUS_0, 1);\n" + _SDP, "polled for 0x1"),
    ],
)  # fmt: skip
def test_failures_say_why(tmp_path: Path, text: str, reason: str) -> None:
    passed, said = _play(tmp_path, text)
    if reason:
        assert not passed
        assert reason in said
    else:
        assert passed, said


def test_check_file_reports_the_first_difference(tmp_path: Path) -> None:
    path = _case(
        tmp_path, _SDP + _START + _NOTIFY + 'check_file(done, 1, 0x80001000, 64, "gold.dat");\n'
    )
    (path.parent / "gold.dat").write_text("{offset:0, size:4, payload:0x00 0x00 0x00 0x81}\n")
    result = replay(path, "nv_small", model="reference")
    assert "first at 0x80001003: 0x80 instead of 0x81" in result.reason


def test_same_interrupt_twice_raises_the_events_in_order(tmp_path: Path) -> None:
    # GLB.S_INTR_SET stands for the units; the wait separates the two.
    text = (
        "mem_init(pri_mem, 0x80000000, 4, X);\n"
        "intr_notify(SDP_0, first);\nintr_notify(SDP_0, second);\n"
        "reg_write(NVDLA_GLB.S_INTR_SET_0, 1);\n"
        "sync_wait(NVDLA_SDP, first);\n"
        "reg_read_check(NVDLA_GLB.S_INTR_STATUS_0, 0);\n"
        "reg_write(NVDLA_GLB.S_INTR_SET_0, 1);\n"
        "check_nothing(first);\ncheck_crc(second, 1, 0x80000000, 4, 0x2144df1c);\n"
    )
    passed, reason = _play(tmp_path, text)
    assert passed, reason


def test_configuration_comes_from_the_directory(tmp_path: Path) -> None:
    path = _case(tmp_path, _SDP, "nv_medium_512")
    assert infer_config(path) == "nv_medium_512"
    assert find_cases([tmp_path]) == [Case(path, "nv_medium_512")]
    assert find_cases([path.parent], "nv_large") == [Case(path, "nv_large")]


def test_no_case_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no trace"):
        find_cases([tmp_path])
    with pytest.raises(UsageError, match="no such"):
        find_cases([tmp_path / "absent"])


def test_many_cases_do_not_stop_at_a_bad_one(tmp_path: Path) -> None:
    good = _case(tmp_path, _SDP + _START + _NOTIFY + _CHECK)
    bad = good.parent / "bad.cfg"
    bad.write_text("reg_write(;\n")
    cases = [Case(bad, "nv_small"), Case(good, None), Case(good, "nv_small")]
    broken, unknown, fine = replay_many(cases, model="reference", jobs=2)
    assert broken.malformed and not broken.passed
    assert unknown.skipped and "configuration unknown" in unknown.reason
    assert fine.passed


@pytest.mark.slow
def test_reference_matches_every_published_vector(testdata: Path) -> None:
    cases = find_cases([testdata / "nvdla" / "vectors"])
    failed = [r.name for r in replay_many(cases, model="reference") if not r.passed]
    assert len(cases) >= 162
    assert failed == []


@pytest.mark.slow
def test_reference_matches_every_published_trace(testdata: Path) -> None:
    cases = find_cases([testdata / "nvdla" / "traces"])
    failed = [
        f"{r.config}/{r.name}: {r.reason}"
        for r in replay_many(cases, model="reference", jobs=2)
        if not r.passed
    ]
    assert failed == []


def test_reference_matches_a_sample_of_vectors(testdata: Path) -> None:
    cases = find_cases([testdata / "nvdla" / "vectors"])[::9]
    failed = [r.name for r in replay_many(cases, model="reference") if not r.passed]
    assert failed == []


def test_emulator_matches_a_sample_of_vectors(testdata: Path, model_library: Path) -> None:
    cases = find_cases([testdata / "nvdla" / "vectors"])[::9]
    failed = [r.reason for r in replay_many(cases, model_library) if not r.passed]
    assert failed == []


@pytest.mark.slow
def test_emulator_matches_everything_published(testdata: Path, model_library: Path) -> None:
    cases = find_cases([testdata / "nvdla" / "vectors", testdata / "nvdla" / "traces"])
    failed = [
        f"{r.config}/{r.name}: {r.reason}"
        for r in replay_many(cases, model_library, jobs=2)
        if not r.passed
    ]
    assert failed == []


def test_emulator_gives_the_same_verdicts(tmp_path: Path, model_library: Path) -> None:
    good = _case(tmp_path, _SDP + _START + _NOTIFY + _CHECK)
    assert replay(good, "nv_small", model_library).passed
    wrong = _case(tmp_path, _SDP + _START + _NOTIFY + "check_crc(done, 1, 0x80001000, 64, 1);\n")
    assert "instead of 0x00000001" in replay(wrong, "nv_small", model_library).reason
    silent = _case(tmp_path, _SDP + _NOTIFY + _CHECK)
    assert "never came" in replay(silent, "nv_small", model_library).reason


def test_command_line_exit_codes(
    tmp_path: Path, model_library: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        code = int(run_cli(["replay", *arguments]))
        return code, capfd.readouterr().out

    good = _case(tmp_path, _SDP + _START + _NOTIFY + _CHECK)
    code, out = run(str(good))
    assert (code, out) == (0, "PASS nv_small/copy: 64 bytes compared\n1 passed, 0 failed\n")
    code, out = run(str(good), "--json", "--model", "reference")
    assert code == 0
    assert json.loads(out)["bytes_compared"] == 64
    (good.parent / "other.cfg").write_text("check_nothing(never);\n")
    code, out = run(str(tmp_path))
    assert code == 1
    assert out.endswith("1 passed, 1 failed\n")
    assert run(str(good.parent / "other.cfg"))[0] == 3
    assert run(str(tmp_path / "nothing"))[0] == 2
    assert run(str(good), "--config", "nv_huge")[0] == 2
