# SPDX-License-Identifier: Apache-2.0
"""Adds up the test cases of `bazel test` runs and prints one closing line.

Usage: summary.py <events.json>... where each file comes from one run with
--build_event_json_file. Prints `N passed, N failed, N skipped` and exits with 1
when a case failed or none ran. Cached results count like fresh ones.
"""

import dataclasses
import json
import pathlib
import sys
import urllib.parse
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


def reports(events: pathlib.Path) -> list[pathlib.Path]:
    """Returns the reports of one run; of repeated attempts the last."""
    found: dict[tuple[str, ...], pathlib.Path] = {}
    for line in events.read_text().splitlines():
        event = json.loads(line)
        if "testResult" not in event:
            continue
        case = event["id"]["testResult"]
        key = tuple(str(case.get(name)) for name in ("label", "run", "shard"))
        for output in event["testResult"].get("testActionOutput", []):
            if output["name"] == "test.xml":
                path = urllib.parse.urlparse(output["uri"]).path
                found[key] = pathlib.Path(urllib.parse.unquote(path))
    return list(found.values())


def count(runs: list[pathlib.Path]) -> Counts:
    """Counts the cases of all runs."""
    counts = Counts()
    for events in runs:
        for report in reports(events):
            for suite in ElementTree.parse(report).getroot().iter("testsuite"):
                counts.add(suite)
    return counts


def main() -> int:
    counts = count([pathlib.Path(name) for name in sys.argv[1:]])
    print(counts)
    return 1 if counts.failed or not counts.passed else 0


if __name__ == "__main__":
    sys.exit(main())
