# SPDX-License-Identifier: Apache-2.0
"""Exceptions have reasons, and known failures that pass are errors."""

from __future__ import annotations

import pytest

from tests.conformance.differential import floor, plan, rules
from tests.conformance.differential.entry import (
    CHECKS,
    CheckResult,
    Entry,
    Result,
    Tolerance,
)

SIN = Entry("op", "sin", "float32")
EXCEPTIONS = """
skips:
- {entry: sin, dtypes: [float32], checks: [out], reason: why}
failures:
- {entry: "s*", checks: [forward], reason: why}
- {entry: sin, checks: [extremal], rare: true, reason: why}
tolerances:
- {entry: sin, checks: [backward], rtol: 0.1, atol: 0.2, reason: why}
"""


def result(**checks: list[str]) -> Result:
    found = {name: CheckResult(1, problems=p) for name, p in checks.items()}
    return Result(SIN, checks=found)


def judged(thorough: bool = False, **checks: list[str]) -> list[str]:
    return rules.parse(EXCEPTIONS).judge(result(**checks), thorough)


def test_skipped_checks_are_not_run() -> None:
    parsed = rules.parse(EXCEPTIONS)
    assert parsed.checks(SIN) == [check for check in CHECKS if check != "out"]
    assert parsed.checks(Entry("op", "sin", "float64")) == list(CHECKS)
    assert parsed.checks(Entry("module", "sin", "float32")) == list(CHECKS)


def test_tolerances_reach_their_check() -> None:
    (task,) = plan.whole([SIN], rules.parse(EXCEPTIONS), 0)
    assert task.loosening("backward") == Tolerance(0.1, 0.2)
    assert task.loosening("forward") == Tolerance(0.0, 0.0)


def test_known_failures_are_accepted() -> None:
    assert judged(forward=["wrong"]) == []


def test_other_failures_are_not() -> None:
    (problem,) = judged(forward=["wrong"], backward=["bad"])
    assert problem == "op sin float32: backward: bad"


def test_a_known_failure_that_passes_is_an_error() -> None:
    (problem,) = judged(forward=[])
    assert "passes though" in problem


def test_a_rare_failure_may_hide_from_few_samples() -> None:
    assert judged(extremal=[]) == []
    assert len(judged(thorough=True, extremal=[])) == 1


def test_a_crash_is_a_failure() -> None:
    entry = Entry("op", "cos", "float32")
    crashed = Result(entry, crash="crashes: SIGSEGV")
    assert rules.Rules().judge(crashed, False) == ["op cos float32: crashes: SIGSEGV"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("skips: [{entry: sin}]", "no reason"),
        ("skips: [{entry: sin, reason: why, dtype: x}]", "unknown keys"),
        ("skips: [{entry: sin, reason: why, checks: [x]}]", "unknown checks"),
        ("skip: []", "unknown sections"),
    ],
)
def test_wrong_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(rules.RuleError, match=message):
        rules.parse(text)


def test_names_of_no_entry_are_found() -> None:
    (problem,) = rules.unmatched(
        rules.parse("skips: [{entry: sun, reason: why}]"), [SIN]
    )
    assert "sun" in problem


def test_the_floor_keeps_native_entries_native() -> None:
    native = result(forward=[])
    recorded = floor.parse(floor.write([native]))
    assert recorded == {SIN}
    assert floor.fallen(recorded, [native]) == []
    native.fallback = ["sin.out"]
    assert floor.fallen(recorded, [native]) == [
        "op sin float32: was native and falls back: sin.out"
    ]


def test_failing_entries_are_not_recorded() -> None:
    assert floor.parse(floor.write([result(forward=["wrong"])])) == set()


def test_shards_cover_the_fixed_sample_once() -> None:
    entries = [Entry("op", f"op{i}", d) for i in range(50) for d in ("float32", "bool")]
    none = rules.Rules()
    whole = [task.entry for task in plan.fixed(entries, none, 0, 1)]
    parts = [t.entry for i in range(4) for t in plan.fixed(entries, none, i, 4)]
    assert sorted(parts) == sorted(whole)
    assert {entry for entry in entries if entry.dtype == "float32"} <= set(whole)
