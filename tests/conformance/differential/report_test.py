# SPDX-License-Identifier: Apache-2.0
"""The command that writes the report, run as users run it."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys


def _start(folder: pathlib.Path, ops: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.conformance.differential.report"]
    command += [f"--out={folder}", f"--ops={ops}", "--kinds=op", "--dtypes=float32"]
    return subprocess.Popen(
        [*command, "--jobs=1", "--samples=2"], stdout=subprocess.PIPE, text=True
    )


def _entries(folder: pathlib.Path) -> list[str]:
    report = json.loads((folder / "report.json").read_text())
    return [entry["name"] for entry in report["entries"]]


def test_it_writes_what_it_was_asked_for(tmp_path: pathlib.Path) -> None:
    process = _start(tmp_path, "^(add|mul)$")
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert _entries(tmp_path) == ["add", "mul"]
    assert "<html" in (tmp_path / "report.html").read_text()


def test_a_run_that_is_ended_keeps_what_was_done(tmp_path: pathlib.Path) -> None:
    process = _start(tmp_path, "")
    assert process.stdout is not None
    first = next(line for line in process.stdout if line.startswith("[1/"))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 1
    assert "ended after" in output
    assert first.split()[2] in _entries(tmp_path)
