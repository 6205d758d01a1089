# SPDX-License-Identifier: Apache-2.0
"""The tool behind autocompare: compares each call that it sees, and keeps a record.

See Note [Autocompare] in autocompare.py.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import threading
import warnings
from typing import Any

import torch

from torch_dipu import _C
from torch_dipu.debug import comparing, describing, judging, replaying, results
from torch_dipu.debug.comparing import Difference
from torch_dipu.debug.judging import Named
from torch_dipu.debug.results import Comparison, Report
from torch_dipu.debug.tolerances import Tolerances


@dataclasses.dataclass(frozen=True)
class Options:
    """What a comparison is made with; see `autocompare`."""

    against: str = "cpu"
    every: int = 1
    print_all: bool = True
    log: str = ""
    save: str = ""
    tolerances: Tolerances = dataclasses.field(
        default_factory=lambda: Tolerances({}, "")
    )


@dataclasses.dataclass(frozen=True)
class _Begun:
    """What has to be known of a call when it has been computed.

    Attributes:
        number: Which call of the operator it is, from 1.
        written: Arguments that it writes to.
        finite: Whether no argument holds NaN or infinity; True when it does not matter.
        coarse: See `judging.is_coarse`.
        copies: All arguments as they were, when wrong calls are saved.
    """

    number: int
    written: Named
    finite: bool
    coarse: bool
    copies: list[_C.Value]


def _find_not_finite(outputs: Named) -> list[Difference]:
    return [
        Difference(name, close=False, problem="NaN or infinity, which no argument has")
        for name, value in outputs
        if not comparing.is_finite(value)
    ]


def _summaries(outputs: dict[str, Any]) -> tuple[results.Summary, ...]:
    return tuple(
        results.summary_of(name, value)
        for name, value in outputs.items()
        if isinstance(value, torch.Tensor)
    )


class Comparer:
    """Compares the calls that it sees."""

    def __init__(self, options: Options) -> None:
        self.report = Report()
        self.process = os.getpid()
        self._options = options
        self._functions = {op.name: op.function for op in _C._operators()}
        self._lock = threading.Lock()  # guards the report and keeps lines together
        self._compared: set[str] = set()
        self._log = open(options.log, "a") if options.log else None  # noqa: SIM115

    def close(self) -> None:
        with self._lock:
            if self.report.not_compared:
                self._write_log(results.json_of_left_out(self.report.not_compared))
            if self._log is not None:
                with contextlib.suppress(OSError):
                    self._log.close()
            self._log = None

    def show_tally(self) -> None:
        """Says what has been compared, and what not."""
        with self._lock:
            lines = results.tally(
                self.report.comparisons,
                len(self._compared),
                self.report.not_compared,
            )
        describing.show("".join(f"autocompare:    {line}\n" for line in lines))

    def before(self, call: _C.Call) -> _Begun | None:
        with self._lock:
            self.report.calls[call.name] += 1
            number = self.report.calls[call.name]
            if (number - 1) % self._options.every:
                self._left_out(call.name).sampled += 1
                return None
        try:
            call.prepare_reference()
        except Exception as error:
            self._leave_out(call, str(error).split("\n")[0])
            return None
        arguments = call.arguments()
        written = [
            pair
            for item in arguments
            if item.written
            for pair in comparing.flatten(item.name, item.value)
        ]
        values = [
            value
            for item in arguments
            for _, value in comparing.flatten(item.name, item.value)
        ]
        finite = self._options.against != "finite" or all(
            comparing.is_finite(value) for value in values
        )
        coarse = judging.is_coarse(values, written)
        copies = call.copy_arguments() if self._options.save else []
        return _Begun(number, written, finite, coarse, copies)

    def after(self, call: _C.Call, state: _Begun | None) -> None:
        if state is None:
            return
        actual = judging.outputs(call.results(), state.written)
        compared: tuple[Named, list[Difference]] | None
        if self._options.against == "finite":
            compared = [], _find_not_finite(actual) if state.finite else []
        else:
            compared = self._compare(call, actual, state.coarse)
        changed = [
            Difference(name, close=False, problem="changed, though it is only read")
            for name in call.changed_arguments()
        ]
        expected, differences = compared or ([], [])
        if compared is not None or changed:
            self._report(
                call, state, differences + changed, dict(actual), dict(expected)
            )

    def _compare(
        self, call: _C.Call, actual: Named, coarse: bool
    ) -> tuple[Named, list[Difference]] | None:
        """What the CPU computes, and the differences; None when it cannot."""
        in_double = self._options.against == "float64"
        try:
            reference = judging.Reference(call, in_double, coarse)
        except Exception as error:
            self._leave_out(call, str(error).split("\n")[0])
            return None
        tolerances = self._options.tolerances
        return reference.outputs, judging.compare(call, actual, reference, tolerances)

    def _left_out(self, operator: str) -> results.LeftOut:
        return self.report.not_compared.setdefault(operator, results.LeftOut())

    def _leave_out(self, call: _C.Call, reason: str) -> None:
        with self._lock:
            left_out = self._left_out(call.name)
            left_out.refused += 1
            if left_out.refused == 1:
                left_out.reason = reason
                describing.show(f"autocompare:    {call.name} left out: {reason}\n")

    def _write_log(self, line: str) -> None:
        if self._log is None:
            return
        try:
            self._log.write(line)
            self._log.flush()
        except OSError as e:
            warnings.warn(
                f"{self._options.log} ends here: {e}", RuntimeWarning, stacklevel=2
            )
            self._log = None

    def _save(self, comparison: Comparison, arguments: list[_C.Value]) -> Comparison:
        """Saves the first wrong call of each operator; tells where in the result."""
        if not self._options.save or comparison.operator in self.report.wrong_operators:
            return comparison
        folder = pathlib.Path(self._options.save)
        name = f"{comparison.sequence:06}_{comparison.operator}.pt"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            replaying.save(folder / name, comparison, arguments)
        except (OSError, RuntimeError) as e:
            warnings.warn(
                f"{folder / name} cannot be saved: {e}", RuntimeWarning, stacklevel=2
            )
            return comparison
        return dataclasses.replace(comparison, saved=str(folder / name))

    def _report(
        self,
        call: _C.Call,
        state: _Begun,
        differences: list[Difference],
        actual: dict[str, Any],
        expected: dict[str, Any],
    ) -> None:
        close = all(difference.close for difference in differences)
        with self._lock:
            self.report.comparisons += 1
            comparison = Comparison(
                self.report.comparisons,
                call.name,
                self._functions.get(call.name, ""),
                state.number,
                tuple(differences),
                call.is_random,
                () if close and self._log is None else tuple(describing.user_stack()),
                () if self._log is None else _summaries(actual),
            )
            if not close:
                comparison = self._save(comparison, state.copies)
                self.report.wrong.append(comparison)
            self._compared.add(call.name)
            if self._log is not None:
                self._write_log(results.json_line(comparison))
            if self._options.print_all or not close:
                describing.show(results.text(comparison, actual, expected))
