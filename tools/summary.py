# SPDX-License-Identifier: Apache-2.0
"""Adds up the test reports of `bazel test` and prints one closing line.

Usage: summary.py <testlogs folder>... Prints `N passed, N failed, N skipped`
and exits with 1 when a test failed or none ran.
"""

import dataclasses
import os
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


@dataclasses.dataclass
class Counts:
    """Test cases by outcome."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, suite: ElementTree.Element) -> None:
        """Adds one <testsuite>; Bazel, pytest and GoogleTest differ a little."""

        def number(name: str) -> int:
            return int(suite.get(name) or 0)

        failed = number("failures") + number("errors")
        skipped = number("skipped") + number("disabled")
        self.failed += failed
        self.skipped += skipped
        self.passed += max(0, number("tests") - failed - skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count(folders: list[pathlib.Path]) -> Counts:
    """Counts the cases in every test.xml below the folders."""
    counts = Counts()
    for folder in folders:
        for current, _, files in os.walk(folder.resolve()):
            if "test.xml" in files:
                report = ElementTree.parse(pathlib.Path(current) / "test.xml")
                for suite in report.getroot().iter("testsuite"):
                    counts.add(suite)
    return counts


def main() -> int:
    counts = count([pathlib.Path(name) for name in sys.argv[1:]])
    print(counts)
    return 1 if counts.failed or not counts.passed else 0


if __name__ == "__main__":
    sys.exit(main())
