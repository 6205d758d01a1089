# SPDX-License-Identifier: Apache-2.0
"""Sums results up, as plain data for JSON."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tests.conformance.differential.entry import DTYPES, LATER, Result

KINDS = ("op", "foreach", "module", "optimizer")
STATUSES = ("native", "mixed", "fallback", "fails", "untested")


@dataclasses.dataclass(frozen=True)
class Total:
    """Entries of one kind and dtype.

    Attributes:
        kind: The kind.
        dtype: The dtype.
        counts: Entries by status.
        counted: Entries outside the families that come later, and tested.
        native: Those of `counted` that agree with the CPU and never fall back.
    """

    kind: str
    dtype: str
    counts: dict[str, int]
    counted: int
    native: int

    @property
    def share(self) -> float:
        """Part of `counted` that is native."""
        return self.native / self.counted if self.counted else 0.0


def _total(kind: str, dtype: str, results: Sequence[Result]) -> Total:
    counts = Counter(result.status for result in results)
    now = [r for r in results if not r.families and r.status != "untested"]
    return Total(
        kind=kind,
        dtype=dtype,
        counts={status: counts[status] for status in STATUSES},
        counted=len(now),
        native=sum(result.status == "native" for result in now),
    )


def totals(results: Iterable[Result]) -> list[Total]:
    """Per kind and dtype, those that have entries."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.entry.kind, result.entry.dtype), []).append(result)
    return [
        _total(kind, dtype, groups[kind, dtype])
        for kind in KINDS
        for dtype in DTYPES
        if (kind, dtype) in groups
    ]


def later(results: Iterable[Result]) -> dict[str, list[str]]:
    """Names of the entries of each family that comes later."""
    names: dict[str, set[str]] = {family: set() for family in LATER}
    for result in results:
        for family in result.families:
            names[family].add(result.entry.name)
    return {family: sorted(found) for family, found in names.items()}


def blocking(results: Iterable[Result]) -> list[tuple[str, int]]:
    """Operators that fall back, and how many counted entries each keeps from native.

    Those that keep most come first.
    """
    counts: Counter[str] = Counter()
    for result in results:
        if not result.families:
            counts.update(result.fallback)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _entry(result: Result) -> dict[str, Any]:
    return {
        **dataclasses.asdict(result.entry),
        "status": result.status,
        "path": result.path,
        "error": result.error,
        "families": result.families,
        "native": result.native,
        "fallback": result.fallback,
        "problems": result.problems,
        "checks": {n: dataclasses.asdict(c) for n, c in result.checks.items()},
        "seconds": round(result.seconds, 3),
    }


def as_json(device: str, results: Sequence[Result]) -> dict[str, Any]:
    """The report as data."""
    return {
        "device": device,
        "totals": [
            {**dataclasses.asdict(t), "share": round(t.share, 4)}
            for t in totals(results)
        ],
        "later": later(results),
        "blocking": [list(item) for item in blocking(results)],
        "entries": [_entry(result) for result in results],
    }


def as_text(results: Sequence[Result]) -> str:
    """A table of totals for the terminal."""
    head = f"{'kind':10} {'dtype':9} " + " ".join(f"{s:>8}" for s in STATUSES)
    lines = [f"{head} {'share':>7}"]
    for total in totals(results):
        counts = " ".join(f"{total.counts[s]:8}" for s in STATUSES)
        lines.append(f"{total.kind:10} {total.dtype:9} {counts} {total.share:7.1%}")
    lines.append("share: native among the tested entries outside the later families")
    return "\n".join(lines)
