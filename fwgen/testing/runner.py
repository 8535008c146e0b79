"""Runs a plan: builds the images one after the other, boots them side by side.

A test starts as soon as its images are built. Results come in the order of the plan,
whatever ends first. Ctrl-C ends every emulator; what was not done says so.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from fwgen.errors import FwgenError
from fwgen.testing.execute import Executor, failed, measure
from fwgen.testing.plan import Image, Plan, PlannedTest
from fwgen.testing.result import Report, Result, Verdict
from fwgen.testing.sizes import LAST_FILE, Sizes, read_baseline, write_baseline
from fwgen.testing.stopper import Stopper

_POLL_SECONDS = 0.5


class Watcher(Protocol):
    """Learns how a run goes on; every call but `started` comes from the calling thread."""

    def building(self, image: Image) -> None: ...
    def stage(self, line: str) -> None: ...
    def started(self, test: PlannedTest) -> None: ...
    def ended(self, result: Result) -> None:
        """As soon as it is known; several tests end in any order."""

    def reported(self, result: Result) -> None:
        """In the order of the plan."""


@dataclass(frozen=True, slots=True)
class RunnerOptions:
    """How to run a plan.

    Attributes:
        jobs: emulators at a time; 0: one a processor.
        update_baseline: write the sizes to the project's baseline file.
    """

    jobs: int = 0
    update_baseline: bool = False


def run_plan(plan: Plan, options: RunnerOptions, watcher: Watcher) -> Report:
    """Run all tests.

    Raises:
        UsageError: a file of sizes is damaged or cannot be written.
    """
    return _Run(plan, options, watcher).run()


class _Run:
    def __init__(self, plan: Plan, options: RunnerOptions, watcher: Watcher) -> None:
        self.plan = plan
        self.options = options
        self.watcher = watcher
        self.stopper = Stopper()
        self.executor = Executor(plan.project.root, self.stopper)
        self.last_file = plan.project.root / LAST_FILE
        self.baseline_file: Path | None = None
        if plan.suite.baseline is not None:
            self.baseline_file = plan.project.root / plan.suite.baseline
        self.last = read_baseline(self.last_file)
        self.before = dict(self.last)
        if self.baseline_file is not None:
            self.before |= read_baseline(self.baseline_file)
        self.results: dict[int, Result] = {}
        self.futures: dict[Future[Result], int] = {}
        self.shown = 0

    def run(self) -> Report:
        begin = time.monotonic()
        interrupted = False
        jobs = self.options.jobs or os.cpu_count() or 1
        pool = ThreadPoolExecutor(jobs, thread_name_prefix="fwgen-test")
        try:
            self._build_and_start(pool)
            while self.futures:
                self._collect(_POLL_SECONDS)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Also when a signal ends the program: no emulator may be left.
            self.stopper.stop()
            pool.shutdown(wait=True, cancel_futures=True)
        for future, number in self.futures.items():
            if future.done() and not future.cancelled():
                self.results[number] = future.result()
        for number, test in enumerate(self.plan.tests):
            if number not in self.results:
                self.results[number] = Result(test, Verdict.NOT_RUN, message="interrupted")
        self._show()
        results = tuple(self.results[number] for number in range(len(self.plan.tests)))
        notes = self._keep_sizes(results)
        return Report(self.plan.project.name, results, time.monotonic() - begin, interrupted, notes)

    def _build_and_start(self, pool: ThreadPoolExecutor) -> None:
        states: dict[Path, FwgenError | None] = {}
        wanted = self.plan.images()
        for number, test in enumerate(self.plan.tests):
            if test.skip is not None:
                self._add(number, Result(test, Verdict.SKIPPED, message=test.skip))
        self._start_ready(pool, states)
        for image in wanted:
            begin = time.monotonic()
            self.watcher.building(image)
            states[image.directory] = self._build(image)
            self._start_ready(pool, states, time.monotonic() - begin)
            self._collect(0)

    def _build(self, image: Image) -> FwgenError | None:
        from fwgen.pipeline import build_models

        try:
            build_models(
                image.models, image.board, image.directory, image.options, self.watcher.stage
            )
        except FwgenError as error:
            return error
        return None

    def _start_ready(
        self,
        pool: ThreadPoolExecutor,
        states: dict[Path, FwgenError | None],
        seconds: float = 0.0,
    ) -> None:
        """Start the tests whose images are built now, give up those whose images are not."""
        started = set(self.futures.values())
        for number, test in enumerate(self.plan.tests):
            if number in self.results or number in started:
                continue
            images = [image for image in (test.image, test.oracle) if image is not None]
            if any(image.directory not in states for image in images):
                continue
            errors = [e for image in images if (e := states[image.directory]) is not None]
            if errors and test.case is None:
                self._add(number, replace(failed(test, errors[0]), seconds=seconds))
            elif errors:
                message = f"the image is not built: {errors[0].message.splitlines()[0]}"
                result = Result(test, Verdict.FAILED, errors[0].exit_code, message)
                self._add(number, result)
            elif test.case is None:
                try:
                    result = measure(test, self.before.get(test.image.key))
                except FwgenError as error:
                    result = failed(test, error)
                self._add(number, replace(result, seconds=seconds))
            else:
                self.futures[pool.submit(self._work, test)] = number

    def _work(self, test: PlannedTest) -> Result:
        self.watcher.started(test)
        return self.executor.run(test)

    def _collect(self, seconds: float) -> None:
        done, _ = wait(self.futures, seconds, FIRST_COMPLETED)
        for future in done:
            self._add(self.futures.pop(future), future.result())

    def _add(self, number: int, result: Result) -> None:
        self.results[number] = result
        self.watcher.ended(result)
        self._show()

    def _show(self) -> None:
        """Report the results that all earlier ones have been reported for."""
        while self.shown < len(self.plan.tests) and self.shown in self.results:
            self.watcher.reported(self.results[self.shown])
            self.shown += 1

    def _keep_sizes(self, results: tuple[Result, ...]) -> tuple[str, ...]:
        """Remember the sizes of images that keep their budgets, for the next run."""
        good: dict[str, Sizes] = {}
        everything: dict[str, Sizes] = {}
        for result in results:
            if result.sizes is not None:
                everything[result.test.image.key] = result.sizes
                if result.verdict is Verdict.PASSED:
                    good[result.test.image.key] = result.sizes
        if good:
            write_baseline(self.last_file, {**self.last, **good})
        if not self.options.update_baseline or self.baseline_file is None:
            return ()
        write_baseline(self.baseline_file, {**read_baseline(self.baseline_file), **everything})
        return (f"wrote the sizes of {len(everything)} images to {self.baseline_file}",)
