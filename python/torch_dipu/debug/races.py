# SPDX-License-Identifier: Apache-2.0
"""What the stream sanitizer has found, for people and programs."""

from __future__ import annotations

import dataclasses
import re
import threading

from torch_dipu._origin import NO_LINE
from torch_dipu.debug.ordering import Stream
from torch_dipu.debug.shadow import Conflict, Mistake, Place, Use

_FILE_AND_LINE = re.compile(r".*?:\d+(?= )")


class StreamOrderError(RuntimeError):
    """Two streams use memory in an order that nothing guarantees."""


def stream_name(stream: Stream) -> str:
    """A stream, as messages call it."""
    device, number = stream
    if number == 0:
        return f"the default stream of dipu:{device}"
    return f"stream {number} of dipu:{device}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _places(place: Place, verb: str) -> str:
    lines = place or (NO_LINE,)
    return "".join(f"\n    {verb} {line}" for line in lines)


def _use_text(use: Use) -> str:
    if not use.operator:
        text = f"{use.argument} were allocated on {stream_name(use.stream)}"
    else:
        verb = "writes" if use.writes else "reads"
        text = f"{use.operator} {verb} {use.argument} on {stream_name(use.stream)}"
    return f"\n  {text}{_places(use.place, 'called at')}"


def _line(place: Place) -> str:
    """The innermost line, without the function."""
    found = _FILE_AND_LINE.match(place[0]) if place else None
    return found[0] if found else NO_LINE


_TITLES = {
    Mistake.NO_WAIT: "two streams use the same memory and nothing orders them",
    Mistake.NO_RECORD_STREAM: (
        "memory was freed while another stream may use it, without record_stream"
    ),
    Mistake.NO_WAIT_FOR_MEMORY: (
        "new memory is used by another stream than it was allocated on, whose "
        "earlier work may still use it"
    ),
}


@dataclasses.dataclass
class Finding:
    """A mistake between two places of the program.

    Attributes:
        mistake: Its kind.
        first: The use that was enqueued first, when it was found first.
        second: The use that should have waited.
        freed: Where memory was freed too early; empty for other mistakes.
        count: How often it has happened.
    """

    mistake: Mistake
    first: Use
    second: Use
    freed: Place
    count: int = 0

    def __str__(self) -> str:
        freed = ""
        if self.freed:
            freed = f"\n  it was freed{_places(self.freed, 'at')}"
        return (
            f"{_TITLES[self.mistake]}{_use_text(self.first)}{freed}"
            f"{_use_text(self.second)}\n  cure: {_cure(self)}"
        )


def _cure(finding: Finding) -> str:
    first, second = finding.first, finding.second
    early, late = stream_name(first.stream), stream_name(second.stream)
    wait = f"let {late} wait for {early}: late.wait_stream(early)"
    if finding.mistake is Mistake.NO_RECORD_STREAM:
        return (
            f"call tensor.record_stream(stream) with {early} before the tensor is "
            f"freed at {_line(finding.freed)}, or {wait}, before "
            f"{_line(second.place)}"
        )
    if finding.mistake is Mistake.NO_WAIT_FOR_MEMORY:
        return (
            f"{wait}, after the allocation at {_line(first.place)}, or allocate "
            f"while {late} is current"
        )
    return f"{wait}, after {_line(first.place)} and before {_line(second.place)}"


def _brief(use: Use) -> str:
    return f"{use.operator or 'allocation'} at {_line(use.place)}"


class StreamReport:
    """What has been found so far. All threads may read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._findings: dict[tuple[object, ...], Finding] = {}
        self.calls = 0
        """How many calls of operators and copies have been looked at."""

    @property
    def findings(self) -> list[Finding]:
        """One for each pair of operators and places, in the order of discovery."""
        with self._lock:
            return list(self._findings.values())

    def add(self, conflict: Conflict) -> Finding:
        """Counts a conflict; returns the finding, whose count is 1 if it is new."""
        first, second = conflict.first, conflict.second
        # Operators are called from no line, or from one that calls several.
        key = (
            conflict.mistake,
            (first.operator, *first.place[:1]),
            (second.operator, *second.place[:1]),
            conflict.freed[:1],
        )
        with self._lock:
            finding = self._findings.get(key)
            if finding is None:
                finding = Finding(conflict.mistake, first, second, conflict.freed)
                self._findings[key] = finding
            finding.count += 1
            return finding

    def __str__(self) -> str:
        found = self.findings
        if not found:
            return f"no findings in {_counted(self.calls, 'call')}"
        lines = [
            f"{_counted(finding.count, 'time')}: {finding.mistake.value}: "
            f"{_brief(finding.first)}, {_brief(finding.second)}"
            for finding in found
        ]
        total = _counted(len(found), "finding")
        return "\n".join([*lines, f"{total} in {_counted(self.calls, 'call')}"])
