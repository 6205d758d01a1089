#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage merger and report generator for `bazel coverage`.

As merger of one test it turns the gcov JSON and .dat files of --coverage_dir
into LCOV; as report generator it joins the .dat files that --reports_file
names. Runs with the standard library alone, outside the locked environment.
"""

import argparse
import collections
import gzip
import json
import pathlib
import re

# Source file -> line number -> executions.
Counts = dict[str, collections.Counter[int]]


def read_lcov(path: pathlib.Path, counts: Counts) -> None:
    """Adds the line counts of an LCOV file."""
    source = ""
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("SF:"):
            source = line[3:]
        elif line.startswith("DA:") and source:
            number, executions = line[3:].split(",")[:2]
            counts[source][int(number)] += int(executions)


def read_gcov(path: pathlib.Path, counts: Counts) -> None:
    """Adds the line counts of a gcov JSON file."""
    with gzip.open(path, "rt") as stream:
        files = json.load(stream).get("files", [])
    for entry in files:
        for line in entry["lines"]:
            counts[entry["file"]][line["line_number"]] += line["count"]


def render(counts: Counts, skip: list[re.Pattern[str]]) -> str:
    """Renders LCOV, leaving out the files that `skip` matches."""
    records = []
    for source in sorted(counts):
        if any(pattern.fullmatch(source) for pattern in skip):
            continue
        lines = counts[source]
        records.append(f"SF:{source}\n")
        records += [f"DA:{number},{lines[number]}\n" for number in sorted(lines)]
        hit = sum(1 for executions in lines.values() if executions)
        records.append(f"LH:{hit}\nLF:{len(lines)}\nend_of_record\n")
    return "".join(records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coverage_dir", type=pathlib.Path)
    parser.add_argument("--reports_file", type=pathlib.Path)
    parser.add_argument("--output_file", type=pathlib.Path, required=True)
    parser.add_argument("--filter_sources", action="append", default=[])
    args, _ = parser.parse_known_args()
    counts: Counts = collections.defaultdict(collections.Counter)
    reports: list[pathlib.Path] = []
    if args.reports_file:
        names = args.reports_file.read_text().split()
        reports += [pathlib.Path(name) for name in names if name.endswith(".dat")]
    if args.coverage_dir:
        reports += sorted(args.coverage_dir.rglob("*.dat"))
        for path in sorted(args.coverage_dir.rglob("*.gcov.json.gz")):
            read_gcov(path, counts)
    for path in reports:
        if path.exists():
            read_lcov(path, counts)
    skip = [re.compile(pattern) for pattern in args.filter_sources]
    args.output_file.write_text(render(counts, skip))


if __name__ == "__main__":
    main()
