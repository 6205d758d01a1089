# SPDX-License-Identifier: Apache-2.0
"""`python -m torch_dipu compare` and `replay`."""

from __future__ import annotations

import argparse
import pathlib
import sys

from torch_dipu.debug import autocompare, logs, page, replaying, results


def _sum_up(log: logs.Log) -> bool:
    """Prints what a log says; whether something was compared and all is right."""
    first = logs.first_wrong(log.lines)
    for total in logs.totals(log.lines):
        if total.wrong:
            print(f"wrong: {total.operator}, {total.wrong} of {total.calls} calls")
    for line in log.tally():
        print(line)
    if first is None:
        return bool(log.lines)
    print(f"first: {first['operator']}, call {first['call']}")
    for frame in first["stack"]:
        print(f"  called at {frame}")
    if first.get("saved"):
        print(f"  repeat it: {results.replay_command(first['saved'])}")
    return False


def _compare_runs(left: logs.Log, right: logs.Log) -> bool:
    """Prints where two runs part; whether they do not."""
    divergence = logs.first_divergence(left.lines, right.lines)
    if divergence is None and all(line.get("random") for line in left.lines):
        print("compared nothing: the logs have no calls but such as draw at random")
        return False
    if divergence is None:
        print(f"no divergence in {len(left.lines)} calls")
        return True
    line = divergence.left or divergence.right or {}
    print(f"first divergence: {line['operator']}, call {line['call']}")
    print(f"  {divergence.reason}")
    for frame in line["stack"]:
        print(f"  called at {frame}")
    return False


def compare(arguments: list[str]) -> int:
    """Sums up the log of a run, or compares those of two.

    Returns:
        The status: 1 when a result is wrong, the runs part or nothing was compared, 2
        for wrong arguments.
    """
    parser = argparse.ArgumentParser(prog="python -m torch_dipu compare")
    parser.add_argument("log", help="written by DIPU_AUTOCOMPARE_LOG")
    parser.add_argument("other", nargs="?", help="log of another run, to compare with")
    parser.add_argument("--html", metavar="FILE", help="write a page")
    options = parser.parse_args(arguments)
    try:
        log = logs.read(options.log)
        if options.html:
            text = page.render(log, f"Comparisons of {options.log}")
            pathlib.Path(options.html).write_text(text, encoding="utf-8")
        if options.other:
            return 0 if _compare_runs(log, logs.read(options.other)) else 1
        return 0 if _sum_up(log) else 1
    except (ValueError, OSError) as e:
        print(e, file=sys.stderr)
        return 2


def replay(arguments: list[str]) -> int:
    """Repeats a saved call and compares it.

    Returns:
        The status: 1 when a result is wrong or was not compared, 2 for wrong
        arguments.
    """
    parser = argparse.ArgumentParser(prog="python -m torch_dipu replay")
    parser.add_argument("file", help="saved by DIPU_AUTOCOMPARE_SAVE")
    options = parser.parse_args(arguments)
    try:
        saved = replaying.load(options.file)
    except ValueError as e:
        print(e, file=sys.stderr)
        return 2
    name = saved["operator"].replace(".", r"\.")
    with autocompare.autocompare(name, print_all=True) as report:
        replaying.replay(options.file)
    if not report.comparisons:
        print("compared nothing: the call was left out")
    return 1 if report.wrong or not report.comparisons else 0
