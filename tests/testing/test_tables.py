"""The [test] tables of fwgen.toml: what they say, and every way to get them wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fwgen.cli.main import run
from fwgen.errors import UsageError
from fwgen.project.file import read_project
from fwgen.testing.plan import make_plan
from fwgen.testing.select import Selection

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
HEAD = """\
board = "mps2-an385"

[[model]]
file = "digits.nvdla"

[[model]]
file = "other.nvdla"
"""
CASE = """
[[test.case]]
name = "one"
inputs = { image = "random:1" }
reference = "ref.py:f"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("digits.nvdla", "other.nvdla"):
        (tmp_path / name).write_bytes(DIGITS.read_bytes())
    (tmp_path / "ref.py").write_text("def f(image): return image\n")
    return tmp_path


def names(folder: Path, text: str, select: str | None = None, head: str = HEAD) -> list[str]:
    (folder / "fwgen.toml").write_text(head + text)
    selection = Selection(select) if select is not None else None
    return [test.name for test in make_plan(read_project(folder), selection).tests]


def test_every_model_on_every_board(folder: Path) -> None:
    text = '[test]\nboards = ["mps3-an547", "mps2-an385"]\n' + CASE
    assert names(folder, text) == [
        "mps3-an547/size",
        "mps3-an547/digits/one",
        "mps3-an547/other/one",
        "mps2-an385/size",
        "mps2-an385/digits/one",
        "mps2-an385/other/one",
    ]
    assert names(folder, text, "other and not mps3") == ["mps2-an385/other/one"]


def test_an_image_for_each_model(folder: Path) -> None:
    text = '[test]\nimages = "each"\n' + CASE.replace("inputs", 'model = "dig*"\ninputs')
    assert names(folder, text) == ["mps2-an385/digits/size", "mps2-an385/digits/one"]
    (size, case) = make_plan(read_project(folder)).tests
    assert [path.name for path in size.image.models] == ["digits.nvdla"]
    assert size.image == case.image


def test_faults_only_where_they_are_wanted(folder: Path) -> None:
    fault = '[[test.fault]]\nname = "x"\nspec = ["irq-lost"]\nexpect = "recovers"\n'
    text = '[test]\nboards = ["mps2-an385", "mps2-an385-cpu"]\n' + CASE + fault
    found = names(folder, text, "digits")
    assert found[1] == "mps2-an385/digits/one+x"
    skipped = [t for t in make_plan(read_project(folder)).tests if t.skip]
    assert [t.name for t in skipped] == [
        "mps2-an385-cpu/digits/one+x",
        "mps2-an385-cpu/other/one+x",
    ]
    assert names(folder, text + 'boards = ["*-cpu"]\n')[1] == "mps2-an385/digits/one"


def test_the_cpu_as_reference(folder: Path) -> None:
    names(folder, "[test]\n" + CASE.replace("ref.py:f", "cpu"))
    (_, digits, other) = make_plan(read_project(folder)).tests
    assert digits.oracle is not None and digits.oracle == other.oracle
    # The same configuration of the hardware, computed by kernels on the CPU.
    assert digits.oracle.board.accelerators[0].config == "cpu_nv_small"
    names(folder, '[test]\nboards = ["mps2-an385-cpu"]\n' + CASE.replace("ref.py:f", "cpu"))
    (_, digits, _) = make_plan(read_project(folder)).tests
    assert digits.skip == "the board is its own reference"


def test_an_application_without_link_is_fed_in_an_image_of_its_own(folder: Path) -> None:
    (folder / "a.c").write_text("int unused;\n")
    head = HEAD.replace(
        "[[model]]", '[app]\nsources = ["a.c"]\n[build]\nlink = false\n[[model]]', 1
    )
    console = '[[test.case]]\nname = "talks"\nconsole = ["hello"]\n'
    names(folder, "[test]\n" + CASE + console, head=head)
    plan = make_plan(read_project(folder))
    by_name = {test.name: test.image for test in plan.tests}
    shipped, fed = by_name["mps2-an385/size"], by_name["mps2-an385/digits/one"]
    assert by_name["mps2-an385/talks"] == shipped
    assert (shipped.options.link, fed.options.link) == (False, True)
    assert shipped.options.app is not None and fed.options.app is None
    assert shipped.directory != fed.directory


BAD = {
    "no source": (CASE.replace('reference = "ref.py:f"\n', ""), "nothing to compare with"),
    "two sources": (CASE + 'expect = { a = "ref.py" }\n', "expect and reference"),
    "no file": (CASE.replace("random:1", "none.npy"), "no such file: none.npy"),
    "no function": (CASE.replace("ref.py:f", "ref.py"), "'ref.py' is no reference"),
    "no seed": (CASE.replace("random:1", "random:x"), "'x' is no seed"),
    "model": (CASE + 'model = "digit"\n', "'digit' matches no model"),
    "size": (CASE.replace('"one"', '"size"'), "'size' is the name of the test"),
    "twice": (CASE + CASE, "two cases are called 'one'"),
    "console": (
        '[[test.case]]\nname = "a"\nconsole = ["x"]\n',
        "reads an application's console",
    ),
    "budget": (CASE + "[[test.budget]]\n", "a budget without a limit"),
    "negative": (CASE + "[[test.budget]]\nflash = -1\n", "bad value -1"),
    "key": (CASE + "input = 1\n", "unknown key 'input'"),
    "fault": (
        CASE + '[[test.fault]]\nname = "f"\nspec = ["x"]\nexpect = "recover"\n',
        "'recover' is not known",
    ),
    "fault's case": (
        CASE + '[[test.fault]]\nname = "f"\nspec = ["x"]\nexpect = "recovers"\ncases = ["two"]\n',
        "'two' matches no case",
    ),
    "baseline": ('[test]\nbaseline = "../x.json"\n' + CASE, "leaves the project"),
    "runs": (CASE + "runs = 0\n", "bad value 0"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_mistakes_name_the_line(folder: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        names(folder, text)
    where = re.match(r".*fwgen\.toml:(\d+), test", str(caught.value.where))
    assert where is not None
    lines = (HEAD + text).splitlines()
    assert len(HEAD.splitlines()) < int(where[1]) <= len(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no tests"),
        ('[test]\nboards = ["mps2-an38"]\n', "unknown board"),
        ('[test]\nboards = ["vim3l"]\n', "not emulated"),
        ('[test]\nboards = ["mps2-an385", "mps2-an385"]\n', "named twice"),
    ],
)
def test_boards_and_projects_without_tests(folder: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        names(folder, text)


def test_list_builds_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names(folder, CASE)
    before = sorted(folder.rglob("*"))
    assert run(["test", str(folder / "fwgen.toml"), "--list", "-k", "digits"]) == 0
    assert capsys.readouterr().out.splitlines() == ["mps2-an385/digits/one"]
    assert run(["test", str(folder), "-k", "nothing-like-it"]) == 2
    assert "no test matches 'nothing-like-it'" in capsys.readouterr().err
    assert run(["test", str(folder), "--update-baseline"]) == 2
    assert "no baseline file" in capsys.readouterr().err
    assert sorted(folder.rglob("*")) == before
