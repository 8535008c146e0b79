"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fwgen.cache import cache_directory

pytest_plugins = ("pytester",)

# pytester gives its runs another HOME; the emulator is not to be built anew there.
CACHE = cache_directory()
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"


def test_unused_it_imports_nothing_of_fwgen(pytester: pytest.Pytester) -> None:
    """Whoever has fwgen in his environment must not pay for it in every run."""
    pytester.makepyfile(
        """
        import sys
        def test_light():
            found = {name for name in sys.modules if name.split(".")[0] == "fwgen"}
            assert found == {"fwgen", "fwgen.pytest_plugin"}
            assert not {"numpy", "click", "rich", "msgspec", "jinja2"} & set(sys.modules)
        """
    )
    result = pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)


def test_a_board_of_ones_own(pytester: pytest.Pytester) -> None:
    """Fixtures and parameters called `board` are the user's, with and without our option."""
    pytester.makepyfile(
        test_fixture="""
        import pytest
        @pytest.fixture
        def board():
            return "mine"
        def test_mine(board):
            assert board == "mine"
        """,
        test_parameter="""
        import pytest
        @pytest.mark.parametrize("board", [1, 2])
        def test_parameter(board):
            assert board in (1, 2)
        """,
    )
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=3)
    options = ("--fwgen-board", "mps2-an385", "--fwgen-board", "mps2-an386")
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=3)


def test_without_a_board(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(board): pass")
    result = pytester.runpytest_subprocess()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*no board for the fixture `board`: give --fwgen-board*"])


def test_boards_of_the_project(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("digits.nvdla").write_bytes((DIGITS / "digits.nvdla").read_bytes())
    pytester.path.joinpath("fwgen.toml").write_text(
        'board = "mps2-an385"\n[[model]]\nfile = "digits.nvdla"\n'
        '[test]\nboards = ["mps2-an386", "mps3-an547"]\n'
    )
    pytester.makepyfile("def test_it(board): print('on', board.name, board.board.cpu.core)")
    result = pytester.runpytest_subprocess("-v", "-s")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*on mps2-an386 cortex-m4*", "*on mps3-an547 cortex-m55*"])
    pytester.path.joinpath("fwgen.toml").write_text("board = 3\n")
    result = pytester.runpytest_subprocess()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*fwgen.toml:1, board*"])


def test_options_are_documented(pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess("--help").stdout.fnmatch_lines(["*--fwgen-board=NAME*"])
    pytester.runpytest_subprocess("--fixtures").stdout.fnmatch_lines(["*A board: build, boot*"])


TESTS = """
import numpy as np
import pytest
from fwgen.errors import DeviceError, UsageError

IMAGE = np.load({image!r})
SCORES = np.load({scores!r})

def test_right(board):
    answer = board.infer({{"image": IMAGE}}, {{"scores": SCORES}})
    assert answer.passed and answer.bytes_compared == 16
    assert (answer.output.reshape(10) == SCORES.reshape(10)).all()
    assert answer.cycles > 0 and answer.microseconds > 0
    assert board.build().size()["text"] > 10000

def test_wrong(board):
    answer = board.infer({{"image": IMAGE}}, {{"scores": SCORES + np.int8(1)}})
    assert not answer.passed and answer.inference.comparisons[0].different == 10

def test_fault(board):
    board.build({model!r}, operation_names=False)
    board.boot(faults=["irq-lost:3"])
    with pytest.raises(DeviceError, match="did not raise its interrupt"):
        board.infer({{"image": IMAGE}}, timeout_ms=20)
    assert board.infer({{"image": IMAGE}}, {{"scores": SCORES}}).passed

def test_arguments(board):
    with pytest.raises(UsageError, match="no value for the input image"):
        board.infer({{}})
    with pytest.raises(UsageError, match="no build option 'shel'"):
        board.build(shel=False)
    with pytest.raises(UsageError, match="elements of type float64"):
        board.infer({{"image": IMAGE.astype(float)}})

def test_guest_error_is_noticed(board):
    board.boot(faults=["dma-error:0"])
    board.infer({{"image": IMAGE}})

def test_guest_error_is_wanted(board):
    board.allow_guest_errors = True
    board.boot(faults=["dma-error:0"])
    board.infer({{"image": IMAGE}})
    assert board.guest_errors

def test_failure_shows_the_console(board):
    board.running.target()
    board.running.session.link.send_text(b"status\\n")
    board.infer({{"image": IMAGE}})
    assert not board.console
"""


@pytest.mark.qemu
def test_on_a_board(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FWGEN_CACHE", str(CACHE))
    subprocess.run(
        [sys.executable, DIGITS / "reference.py", "--image", "3", "--save", pytester.path],
        check=True,
        capture_output=True,
    )
    model = pytester.path / "digits.nvdla"
    model.write_bytes((DIGITS / "digits.nvdla").read_bytes())
    (pytester.path / "fwgen.toml").write_text(
        'board = "mps2-an386"\n[[model]]\nfile = "digits.nvdla"\n'
    )
    values = {n: str(pytester.path / f"{n}.npy") for n in ("image", "scores")}
    pytester.makepyfile(TESTS.format(model=str(model), **values))
    result = pytester.runpytest_subprocess(
        "--fwgen-board", "mps2-an385", "-W", "error", "--junitxml=report.xml"
    )
    result.assert_outcomes(passed=6, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_guest_error_is_noticed*",
            "guest errors:",
            "*test_failure_shows_the_console*",
            "*console of mps2-an385*",
            "*ERROR*test_guest_error_is_noticed*",
        ]
    )
    info = json.loads((pytester.path / "build" / "mps2-an385" / "build_info.json").read_text())
    assert info["board"] == "mps2-an385"
