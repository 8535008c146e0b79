"""The pytest plugin of fwgen: `pytest --fwgen-board NAME`, and the fixture `board`.

pytest imports this module in every run of an environment that has fwgen, so it imports
nothing but pytest; the fixture imports the rest when a test uses it. The names of boards
are given to a fixture of our own, `fwgen_board_name`, and not to `board`: a project that
has a fixture or a parameter `board` of its own does not notice us.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from fwgen.testing.fixture import BoardUnderTest, Builds

NAME_FIXTURE = "fwgen_board_name"
_BOARD: pytest.StashKey[BoardUnderTest] = pytest.StashKey()
_CONSOLE_LINES = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    group = parser.getgroup("fwgen", "fwgen: firmware in the emulator")
    group.addoption(
        "--fwgen-board",
        action="append",
        default=[],
        metavar="NAME",
        help="Board for the fixture `board`: name or profile file; again for more boards. "
        "Default: the boards of the project.",
    )
    group.addoption(
        "--fwgen-project",
        metavar="DIR",
        help="Folder of fwgen.toml; default: pytest's root folder.",
    )
    group.addoption(
        "--fwgen-timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="Wall-clock time for one boot, all its inferences included; default 60.",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that use the fixture once on every board."""
    if NAME_FIXTURE not in metafunc.fixturenames:
        return
    names = metafunc.config.getoption("--fwgen-board") or _project_boards(metafunc.config)
    metafunc.parametrize(NAME_FIXTURE, names, scope="session")


def _root(config: pytest.Config) -> Path:
    given = config.getoption("--fwgen-project")
    return config.invocation_params.dir / given if given else config.rootpath


def _project_boards(config: pytest.Config) -> list[str]:
    from fwgen.errors import FwgenError
    from fwgen.project.file import is_project, read_project

    root = _root(config)
    if not is_project(root):
        raise pytest.UsageError(
            f"no board for the fixture `board`: give --fwgen-board NAME, or put fwgen.toml into "
            f"{root}"
        )
    try:
        project = read_project(root)
    except FwgenError as error:
        raise pytest.UsageError(str(error)) from None
    return list(project.suite.boards) if project.suite is not None else [project.board]


@pytest.fixture(scope="session")
def fwgen_builds(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Builds:
    """Images of this run, each built once."""
    from fwgen.testing.fixture import Builds

    return Builds(_root(request.config), tmp_path_factory)


@pytest.fixture
def board(
    fwgen_board_name: str, fwgen_builds: Builds, request: pytest.FixtureRequest
) -> Iterator[BoardUnderTest]:
    """A board: build, boot, infer, console (docs/testing.md). Ends what it has booted."""
    from fwgen.testing.fixture import BoardUnderTest

    limit = request.config.getoption("--fwgen-timeout")
    under_test = BoardUnderTest(fwgen_board_name, fwgen_builds, limit)
    request.node.stash[_BOARD] = under_test
    try:
        yield under_test
        errors = under_test.guest_errors
    finally:
        under_test.close()
    if errors and not under_test.allow_guest_errors:
        pytest.fail("guest errors:\n" + "\n".join(errors), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the console under a failed test."""
    report = yield
    if report.when == "call" and report.failed and _BOARD in item.stash:
        under_test = item.stash[_BOARD]
        tail = "\n".join(under_test.console.splitlines()[-_CONSOLE_LINES:])
        if tail:
            report.sections.append((f"console of {under_test.name}", tail))
    return report
