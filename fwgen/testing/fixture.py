"""What the fixture `board` of the pytest plugin gives to a test."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.emulate import open_build
from fwgen.errors import UsageError
from fwgen.project.build import build_project
from fwgen.project.file import FILE_NAME, is_project
from fwgen.testing.bench import Answer, Bench, Built, Running, Value

if TYPE_CHECKING:
    import pytest


class Builds:
    """Builds each image of a pytest run once.

    Args:
        root: where the project's fwgen.toml is, if there is one; paths of models are
            relative to it.
        folders: for images of models; a project's go to its own build folder.
    """

    def __init__(self, root: Path, folders: pytest.TempPathFactory) -> None:
        self.root = root
        self._folders = folders
        self._built: dict[tuple[object, ...], Built] = {}

    def project(self, bench: Bench, changes: Mapping[str, Any]) -> Built:
        """The project's image; with changed options in a folder of its own.

        Raises:
            FwgenError: as build_project.
        """
        if not is_project(self.root):
            raise UsageError(
                "there is no project to build",
                where=str(self.root),
                expected=f"a folder with {FILE_NAME}, or board.build(MODEL)",
            )
        key = (bench.board.name, None, *sorted((k, repr(v)) for k, v in changes.items()))
        if key not in self._built:
            folder = self._folders.mktemp("firmware") if changes else None
            # Workers of pytest-xdist share the project's build folder.
            with _lock(self.root / "build" / ".fwgen" / "lock"):
                result = build_project(
                    self.root, board=bench.profile, directory=folder, changes=changes
                )
            self._built[key] = Built(open_build(result.directory, bench.profile))
        return self._built[key]

    def models(self, bench: Bench, models: Sequence[Path], options: BuildOptions) -> Built:
        """An image of models.

        Raises:
            FwgenError: as pipeline.build_models.
        """
        paths = [self.root / model for model in models]
        key = (bench.board.name, tuple(paths), repr(options))
        if key not in self._built:
            folder = self._folders.mktemp("firmware")
            self._built[key] = bench.build(paths, folder, options)
        return self._built[key]


class BoardUnderTest:
    """The fixture: one board, on which a test builds and boots.

    Attributes:
        name: of the board.
        allow_guest_errors: set it in a test that provokes them; otherwise they fail it.
    """

    def __init__(self, profile: str, builds: Builds, limit: float) -> None:
        self._bench = Bench(profile)
        self._builds = builds
        self._limit = limit
        self._built: Built | None = None
        self._running: list[Running] = []
        self.name = self._bench.board.name
        self.allow_guest_errors = False

    @property
    def board(self) -> Board:
        """The facts of the profile."""
        return self._bench.board

    def build(self, *models: str | Path, **options: Any) -> Built:
        """Build an image; what `boot` boots from now on.

        Args:
            models: files; without any, the project's image.
            options: fields of BuildOptions.

        Raises:
            UsageError: no such option, no project; or as the build raises it.
        """
        known = set(BuildOptions.__dataclass_fields__)
        for name in options:
            if name not in known:
                raise UsageError(
                    f"there is no build option '{name}'",
                    expected="one of " + ", ".join(sorted(known)),
                )
        if models:
            paths = [Path(model) for model in models]
            self._built = self._builds.models(self._bench, paths, BuildOptions(**options))
        else:
            self._built = self._builds.project(self._bench, options)
        return self._built

    def boot(self, *, faults: Sequence[str] = (), limit: float | None = None) -> Running:
        """Boot the image (the project's, if none was built); it ends with the test.

        Args:
            faults: of the emulated accelerators (docs/emulator.md).
            limit: seconds of wall-clock time instead of --fwgen-timeout.

        Raises:
            FwgenError: as the build and QemuSession.start raise it.
        """
        built = self._built or self.build()
        running = built.boot(faults=faults, limit=limit or self._limit)
        running.__enter__()
        self._running.append(running)
        return running

    @property
    def running(self) -> Running:
        """The firmware that was booted last; booted now if there is none."""
        return self._running[-1] if self._running else self.boot()

    def infer(
        self,
        inputs: Mapping[str, Value],
        expect: Mapping[str, Value] | None = None,
        *,
        model: int | str = 0,
        timeout_ms: int = 0,
    ) -> Answer:
        """Run one inference on `running`; arguments and errors as Running.infer."""
        return self.running.infer(inputs, expect, model=model, timeout_ms=timeout_ms)

    @property
    def console(self) -> str:
        """The console's text so far; "" before the first boot."""
        return self._running[-1].console if self._running else ""

    @property
    def guest_errors(self) -> tuple[str, ...]:
        """What the firmware of all boots did wrong to the accelerators."""
        return tuple(error for running in self._running for error in running.guest_errors)

    def close(self) -> None:
        """End what was booted."""
        for running in self._running:
            running.close()


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One process at a time; the lock ends with the process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
