# SPDX-License-Identifier: Apache-2.0
"""The sessions on the pages of docs/ go as they are printed."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

PAGES = sorted(pathlib.Path("docs").glob("debugging*.md"))
RUN = """
import doctest, sys
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
result = doctest.testfile(
    sys.argv[1], module_relative=False, encoding="utf-8", optionflags=flags
)
sys.exit(1 if result.failed or not result.attempted else 0)
"""


def test_there_are_both_languages() -> None:
    assert [page.name for page in PAGES] == ["debugging.md", "debugging.zh.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_session(page: pathlib.Path) -> None:
    """Each page in a process of its own, because counters only grow."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(page)],
        env=os.environ.copy(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_languages_have_the_same_code() -> None:
    english, chinese = (
        re.findall(r"```.*?```", page.read_text("utf-8"), re.DOTALL) for page in PAGES
    )
    assert english == chinese
