"""What `fwgen test` will do: the images to build and the tests to run, in their order.

Expanding a project boots and builds nothing, so `--list` is quick and every mistake of
the tables is found before the first compiler starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fwgen.board.profile import list_boards, load_board
from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.errors import UsageError
from fwgen.project.file import FILE_NAME, Project
from fwgen.project.suite import BOARD, CPU, SIZE, matches
from fwgen.project.suite_schema import BudgetTable, CaseTable, FaultTable, SuiteTable
from fwgen.testing.select import Selection

_CPU_FAMILY = "cpu"


@dataclass(frozen=True, slots=True)
class Image:
    """One firmware.

    Attributes:
        key: its name in reports and baselines: BOARD or BOARD/MODEL.
        profile: name or file of the board.
        models: files, by number in the firmware.
        names: how the firmware names them.
        directory: of the build.
    """

    key: str
    board: Board
    profile: str
    models: tuple[Path, ...]
    names: tuple[str, ...]
    options: BuildOptions
    directory: Path


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """One test.

    Attributes:
        name: BOARD/MODEL/CASE, with +FAULT behind it; BOARD/size of an image.
        image: what is built, and booted if there is a case.
        model: name of the model that is run.
        case: None: only the image is built and measured.
        oracle: image of the board that computes the expected outputs.
        skip: why it cannot be run; None: it can.
        budgets: that hold for the image, or for an inference.
        timeout: seconds of wall-clock time.
    """

    name: str
    image: Image
    timeout: float
    model: str | None = None
    case: CaseTable | None = None
    fault: FaultTable | None = None
    oracle: Image | None = None
    skip: str | None = None
    budgets: tuple[BudgetTable, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """All tests of a project, in the order of their results."""

    project: Project
    suite: SuiteTable
    tests: tuple[PlannedTest, ...]

    def images(self) -> tuple[Image, ...]:
        """What must be built for tests that are not skipped, each once, in order of need."""
        found: dict[Path, Image] = {}
        for test in self.tests:
            if test.skip is None:
                for image in (test.image, test.oracle):
                    if image is not None:
                        found.setdefault(image.directory, image)
        return tuple(found.values())


def make_plan(
    project: Project, selection: Selection | None = None, timeout: float | None = None
) -> Plan:
    """The tests of a project.

    Args:
        selection: which of them; None for all.
        timeout: seconds for each, instead of the file's.

    Raises:
        UsageError: the project has no [test], a board is unknown, or nothing is selected.
    """
    suite = project.suite
    if suite is None:
        raise UsageError(
            "the project has no tests",
            where=str(project.root / FILE_NAME),
            expected="[test] with [[test.case]]",
            hints=("docs/testing.md explains the tables of [test].",),
        )
    tests: list[PlannedTest] = []
    for profile in suite.boards:
        board = load_board(profile)
        if board.qemu is None:
            raise UsageError(
                f"board '{board.name}' is not emulated",
                where=f"{project.root / FILE_NAME}, test.boards",
                expected="a board whose profile has a [qemu] table",
                hints=("See `fwgen boards list`.",),
            )
        if any(test.image.board.name == board.name for test in tests):
            raise UsageError(
                f"the board '{board.name}' is named twice",
                where=f"{project.root / FILE_NAME}, test.boards",
                expected="each board once",
            )
        tests += _Board(project, suite, profile, board).tests()
    if timeout is not None:
        tests = [replace(test, timeout=timeout) for test in tests]
    chosen = [test for test in tests if selection is None or selection.takes(test.name)]
    if not chosen:
        raise UsageError(
            f"no test matches '{selection}'" if selection is not None else "there is no test",
            where=str(project.root / FILE_NAME),
            expected="part of a test's name" if selection is not None else "[[test.case]]",
            hints=("fwgen test --list shows the names.",),
        )
    return Plan(project, suite, tuple(chosen))


class _Board:
    """The tests on one board."""

    def __init__(self, project: Project, suite: SuiteTable, profile: str, board: Board) -> None:
        self.project = project
        self.suite = suite
        self.profile = profile
        self.board = board

    def tests(self) -> list[PlannedTest]:
        names = self.project.model_names
        if self.suite.images == "one":
            return self._of_image(self._image(self.profile, self.board, range(len(names))))
        tests = []
        for number, name in enumerate(names):
            if any(self._wanted(case, (name,)) for case in self.suite.case):
                tests += self._of_image(self._image(self.profile, self.board, [number]))
        return tests

    def _wanted(self, case: CaseTable, names: Sequence[str]) -> bool:
        here = matches(self.board.name, case.boards)
        return here and any(matches(name, (case.model,)) for name in names)

    def _image(
        self, profile: str, board: Board, numbers: Sequence[int], *, bench: bool = False
    ) -> Image:
        """The project's image; with `bench`, the link instead of the application."""
        project, names = self.project, self.project.model_names
        each = self.suite.images == "each"
        key = f"{board.name}/{names[numbers[0]]}" if each else board.name
        options = project.options
        if each:
            mine = {names[n] for n in numbers}
            # What names other models of the project means nothing in this image.
            options = replace(
                options,
                exclusive=(),
                accelerators=tuple(a for a in options.accelerators if a[0] in mine),
            )
        folder = key.replace("/", "-")
        if bench and (options.app is not None or not options.link):
            folder += "-link"
            options = replace(options, app=None, link=True)
        return Image(
            key,
            board,
            profile,
            tuple(project.models[n] for n in numbers),
            tuple(names[n] for n in numbers),
            options,
            project.directory(folder),
        )

    def _of_image(self, image: Image) -> list[PlannedTest]:
        budgets = tuple(
            budget
            for budget in self.suite.budget
            if matches(self.board.name, budget.boards)
            and any(matches(name, (budget.model,)) for name in image.names)
        )
        tests = [PlannedTest(f"{image.key}/{SIZE}", image, self.suite.timeout, budgets=budgets)]
        fed = image
        if not image.options.link:
            numbers = [self.project.model_names.index(name) for name in image.names]
            fed = self._image(self.profile, self.board, numbers, bench=True)
        for case in self.suite.case:
            if not self._wanted(case, image.names):
                continue
            if case.console:
                tests += self._with_faults(
                    PlannedTest(
                        f"{image.key}/{case.name}",
                        image,
                        case.timeout or self.suite.timeout,
                        case=case,
                    )
                )
                continue
            for name in image.names:
                if matches(name, (case.model,)):
                    tests += self._with_faults(self._of_model(fed, case, name))
        return tests

    def _of_model(self, image: Image, case: CaseTable, model: str) -> PlannedTest:
        budgets = tuple(
            budget
            for budget in self.suite.budget
            if matches(self.board.name, budget.boards) and matches(model, (budget.model,))
        )
        test = PlannedTest(
            f"{self.board.name}/{model}/{case.name}",
            image,
            case.timeout or self.suite.timeout,
            model=model,
            case=case,
            budgets=budgets,
        )
        if case.reference is None:
            return test
        oracle: str | None = None
        if case.reference == CPU:
            oracle = self._cpu_board()
            if oracle is None:
                configs = ", ".join(a.config for a in self.board.accelerators)
                reason = f"no installed board computes {configs} on the CPU"
                return replace(test, skip=reason)
        elif case.reference.startswith(BOARD):
            oracle = case.reference.removeprefix(BOARD)
        if oracle is None:
            return test
        board = load_board(oracle)
        if board.name == self.board.name:
            return replace(test, skip="the board is its own reference")
        numbers = [self.project.model_names.index(name) for name in image.names]
        return replace(test, oracle=self._image(oracle, board, numbers, bench=True))

    def _cpu_board(self) -> str | None:
        """The board itself if it computes on its CPU, or one that does for its configuration."""
        wanted = {a.config.removeprefix("cpu_") for a in self.board.accelerators}
        if all(a.family == _CPU_FAMILY for a in self.board.accelerators):
            return self.profile
        for name in list_boards():
            board = load_board(name)
            configs = {
                a.config.removeprefix("cpu_") for a in board.accelerators if a.family == _CPU_FAMILY
            }
            if board.qemu is not None and wanted <= configs:
                return name
        return None

    def _with_faults(self, test: PlannedTest) -> list[PlannedTest]:
        assert test.case is not None
        tests = [test]
        for fault in self.suite.fault:
            if not matches(self.board.name, fault.boards) or not matches(
                test.case.name, fault.cases
            ):
                continue
            # Inferences under a fault take their time; the budgets are for the others.
            faulty = replace(test, name=f"{test.name}+{fault.name}", fault=fault, budgets=())
            if test.skip is None and not any(a.is_hardware for a in self.board.accelerators):
                faulty = replace(faulty, skip="the board has no emulated accelerator to fail")
            elif test.skip is None and test.case.console:
                faulty = replace(faulty, skip="faults need a case with expect or reference")
            tests.append(faulty)
        return tests
