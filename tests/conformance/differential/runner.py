# SPDX-License-Identifier: Apache-2.0
"""Does one task: all checks of one entry."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from tests.conformance.differential import (
    catalogue,
    modules,
    operators,
    optimizers,
    randomness,
    sides,
)
from tests.conformance.differential.compare import Tolerances
from tests.conformance.differential.entry import LATER, CheckResult, Result, Task
from tests.conformance.differential.layout import tensors_of
from tests.conformance.differential.tolerance import tolerances

_CASES = {
    "op": operators.cases,
    "foreach": operators.cases,
    "module": modules.cases,
    "optimizer": optimizers.cases,
}

# Called with what is done next, so that a crash can be told where it was.
Announce = Callable[[str], None]


class _Run:
    """The state of a task while it is done."""

    def __init__(self, task: Task, announce: Announce) -> None:
        self._task = task
        self._announce = announce
        self._operators = sides.Operators()
        self._random: sides.Case | None = None
        self._families = set(catalogue.families(task.entry))
        self.result = Result(task.entry)

    def check(self, name: str) -> None:
        found = CheckResult()
        if name == "random":
            self._distribution(found)
        else:
            self._compare(name, found)
        if found.samples or found.refused or found.problems:
            self.result.checks[name] = found

    def finish(self) -> None:
        self.result.native = sorted(self._operators.native)
        self.result.fallback = sorted(self._operators.fallback)
        self.result.families = [f for f in LATER if f in self._families]

    def _tolerances(self, check: str) -> Tolerances:
        entry = self._task.entry
        loosened = self._task.loosening(check)
        return tolerances(catalogue.info(entry), catalogue.dtype(entry), loosened)

    def _compare(self, name: str, found: CheckResult) -> None:
        entry = self._task.entry
        accepted = self._tolerances(name)
        strides = self._task.strides(name)
        for case in _CASES[entry.kind](entry, name, self._task.samples[name]):
            case = dataclasses.replace(case, strides=strides)
            self._announce(f"{name}: {case.label}")
            both = sides.check(case, accepted, found, self._operators)
            if both.device and both.device.error:
                self.result.tainted = True
            self._families |= catalogue.families_of_results(
                tensors_of(both.host.results)
            )
            if both.host.random and self._random is None:
                self._random = case

    def _distribution(self, found: CheckResult) -> None:
        if self._random is None or self._random.indefinite:
            return
        case = self._random
        self._announce(f"random: {case.label}")
        found.samples = 1
        self._operators.start()
        problem = randomness.problem(case.call, case.arguments, sides.DEVICE)
        self._operators.stop()
        if problem:
            found.report(f"{case.label}: {problem}")


def run(task: Task, announce: Announce) -> Result:
    """Runs the checks of a task in order, and says how each went."""
    start = time.process_time()
    running = _Run(task, announce)
    for name in task.samples:
        try:
            running.check(name)
        except Exception as error:  # in the test or in PyTorch's samples
            text = f"cannot be checked: {type(error).__name__}: {error}"
            check = running.result.checks.setdefault(name, CheckResult())
            check.report(text)
            running.result.tainted = True
    running.finish()
    running.result.seconds = time.process_time() - start
    return running.result
