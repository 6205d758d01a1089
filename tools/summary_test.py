# SPDX-License-Identifier: Apache-2.0
"""Tests of summary."""

import pathlib

from tools import summary

_PYTEST = """<testsuites><testsuite name="pytest" errors="1" failures="1"
 skipped="2" tests="10"/></testsuites>"""
_GTEST = """<testsuites tests="5" failures="1" disabled="1" errors="0">
<testsuite name="A" tests="3" failures="1" disabled="0" errors="0"/>
<testsuite name="B" tests="2" failures="0" disabled="1" errors="0"/>
</testsuites>"""


def _report(folder: pathlib.Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "test.xml").write_text(text)


def test_adds_up_both_kinds_of_report(tmp_path: pathlib.Path) -> None:
    _report(tmp_path / "a" / "x_test", _PYTEST)
    _report(tmp_path / "b" / "y_test", _GTEST)
    assert str(summary.count([tmp_path])) == "9 passed, 3 failed, 3 skipped"


def test_folder_without_reports_counts_nothing(tmp_path: pathlib.Path) -> None:
    assert str(summary.count([tmp_path])) == "0 passed, 0 failed, 0 skipped"
