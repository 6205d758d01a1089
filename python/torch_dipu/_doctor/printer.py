# SPDX-License-Identifier: Apache-2.0
"""Shows a report: in colour on a terminal, else as plain text."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

from torch_dipu._doctor.report import Finding, Report, Section

# A line with the style that rich gives it.
_Line = tuple[str, str]


def _finding(finding: Finding) -> Iterator[_Line]:
    yield "red", f"    cause: {finding.cause}"
    for detail in finding.details:
        yield "", f"           {detail}"
    yield "bold", f"    cure:  {finding.cure}"


def _section(section: Section) -> Iterator[_Line]:
    mark, style = ("!!", "bold red") if section.findings else ("ok", "bold green")
    yield style, f"[{mark}] {section.title}"
    width = max(map(len, section.facts), default=0)
    for name, value in section.facts.items():
        yield "", f"    {name:{width}}  {value}"
    for note in section.notes:
        yield "yellow", f"    note:  {note}"
    for finding in section.findings:
        yield from _finding(finding)


def lines(report: Report) -> Iterator[_Line]:
    """The report, line by line."""
    for section in report.sections:
        yield from _section(section)
    count = len(report.findings)
    if count:
        yield "bold red", f"{count} finding{'s' if count > 1 else ''}"
    else:
        yield "bold green", "the installation is whole"


def show(report: Report) -> None:
    """Prints the report to standard output."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # whatever the locale
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:  # which is one of the findings
            pass
        else:
            console = Console(highlight=False)
            for style, line in lines(report):
                console.print(Text(line, style), soft_wrap=True)
            return
    for _, line in lines(report):
        print(line)
