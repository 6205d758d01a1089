# SPDX-License-Identifier: Apache-2.0
"""Tests of summary."""

import json
import pathlib

from tools import summary

_PYTEST = """<testsuites><testsuite name="pytest" errors="1" failures="1"
 skipped="2" tests="10"/></testsuites>"""
_GTEST = """<testsuites tests="5" failures="1" disabled="1" errors="0">
<testsuite name="A" tests="3" failures="1" disabled="0" errors="0"/>
<testsuite name="B" tests="2" failures="0" disabled="1" errors="0"/>
</testsuites>"""


def _event(label: str, report: pathlib.Path, attempt: int = 1) -> str:
    output = {"name": "test.xml", "uri": report.as_uri()}
    case = {"label": label, "run": 1, "shard": 1, "attempt": attempt}
    result = {"testActionOutput": [output], "status": "PASSED"}
    return json.dumps({"id": {"testResult": case}, "testResult": result})


def _write(path: pathlib.Path, text: str) -> pathlib.Path:
    path.write_text(text)
    return path


def test_adds_up_both_kinds_of_report(tmp_path: pathlib.Path) -> None:
    pytest_report = _write(tmp_path / "pytest report.xml", _PYTEST)
    gtest_report = _write(tmp_path / "gtest.xml", _GTEST)
    one = _write(tmp_path / "1.json", _event("//a:x", pytest_report) + "\n{}\n")
    two = _write(tmp_path / "2.json", _event("//a:y", gtest_report))
    assert str(summary.count([one, two])) == "9 passed, 3 failed, 3 skipped"


def test_last_attempt_of_a_test_counts(tmp_path: pathlib.Path) -> None:
    first = _write(tmp_path / "first.xml", _PYTEST)
    last = _write(tmp_path / "last.xml", _GTEST)
    lines = [_event("//a:x", first), _event("//a:x", last, attempt=2)]
    events = _write(tmp_path / "events.json", "\n".join(lines))
    assert str(summary.count([events])) == "3 passed, 1 failed, 1 skipped"


def test_run_without_tests_counts_nothing(tmp_path: pathlib.Path) -> None:
    events = _write(tmp_path / "events.json", "{}\n")
    assert str(summary.count([events])) == "0 passed, 0 failed, 0 skipped"
