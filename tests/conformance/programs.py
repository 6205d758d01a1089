# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run programs, each as the main module of its own process.

A plugin of pytest, which tests name in `pytest_plugins`.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator

import pytest

Run = Callable[[str], str]
Finish = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    """See nursery.py."""
    program = pathlib.Path(__file__).parent / "nursery.py"
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


def _write(code: str, folder: pathlib.Path) -> pathlib.Path:
    program = folder / "program.py"
    program.write_text(textwrap.dedent(code))
    return program


@pytest.fixture
def run(nursery: subprocess.Popen[str], tmp_path: pathlib.Path) -> Run:
    """`run(code)` gives the output of a program, which has to end by itself, with
    the status 0 and without a word on stderr."""

    def call(code: str) -> str:
        _write(code, tmp_path)
        assert nursery.stdin is not None and nursery.stdout is not None
        nursery.stdin.write(f"{tmp_path}\n")
        nursery.stdin.flush()
        status = nursery.stdout.readline().strip()
        assert (tmp_path / "err").read_text() == ""
        assert status == "0"
        return (tmp_path / "out").read_text()

    return call


@pytest.fixture
def finish(tmp_path: pathlib.Path) -> Finish:
    """`finish(code)` tells how a program ends in an interpreter that has imported
    nothing yet."""

    def call(code: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(_write(code, tmp_path))]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return call


@pytest.fixture
def run_anew(finish: Finish) -> Run:
    """As `run`, in an interpreter that has imported nothing yet."""

    def call(code: str) -> str:
        result = finish(code)
        assert result.stderr == ""
        assert result.returncode == 0
        return result.stdout

    return call
