# SPDX-License-Identifier: Apache-2.0
"""Logs of comparisons: reading, summing up, and comparing those of two runs."""

from __future__ import annotations

import collections
import dataclasses
import json
import math
import pathlib
from collections.abc import Iterable
from typing import Any

from torch_dipu.debug import results
from torch_dipu.debug.results import LeftOut

Line = dict[str, Any]
_FIELDS = frozenset(
    {"call", "close", "differences", "operator", "results", "sequence", "stack"}
)


@dataclasses.dataclass(frozen=True)
class Log:
    """What a log says.

    Attributes:
        lines: One for each comparison.
        left_out: Calls that were not compared, by operator; those of a process that was
            killed are not known.
    """

    lines: list[Line]
    left_out: dict[str, LeftOut]

    def tally(self) -> list[str]:
        """What was compared and what not, in lines."""
        return results.tally(len(self.lines), len(counts(self.lines)), self.left_out)


def _line(text: str) -> Line:
    """One comparison, or what was left out."""
    line = json.loads(text)
    missing = _FIELDS - line.keys()
    if missing and line.keys() != {"left_out"}:
        raise KeyError(*missing)
    return line


def read(path: str | pathlib.Path) -> Log:
    """A log, of one run or of several.

    Raises:
        ValueError: The file cannot be read, or a line is none of a comparison.
    """
    try:
        texts = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise ValueError(f"{path} cannot be read: {e}") from e
    log = Log([], {})
    for number, text in enumerate(texts, 1):
        try:
            line = _line(text)
            for name, fields in line.get("left_out", {}).items():
                log.left_out.setdefault(name, LeftOut()).add(LeftOut(**fields))
        except (ValueError, KeyError, AttributeError, TypeError) as e:
            raise ValueError(f"{path}:{number}: no line of a comparison") from e
        if "left_out" not in line:
            log.lines.append(line)
    return log


@dataclasses.dataclass
class Total:
    """Of one operator; `saved` is the file of its first wrong call, if there is one."""

    operator: str
    function: str
    calls: int = 0
    wrong: int = 0
    max_absolute: float = 0.0
    max_relative: float = 0.0
    max_ulp: float = 0.0
    saved: str = ""


def totals(lines: Iterable[Line]) -> list[Total]:
    """One total for each operator, those with wrong calls first."""
    by_operator: dict[str, Total] = {}
    for line in lines:
        name = line["operator"]
        total = by_operator.setdefault(name, Total(name, line.get("function", "")))
        total.calls += 1
        total.wrong += not line["close"]
        total.saved = total.saved or line.get("saved", "")
        for difference in line["differences"]:
            for field in ("max_absolute", "max_relative", "max_ulp"):
                worst = max(getattr(total, field), difference[field])
                setattr(total, field, worst)
    return sorted(by_operator.values(), key=lambda t: (-t.wrong, t.operator))


def first_wrong(lines: Iterable[Line]) -> Line | None:
    """The first comparison that found something wrong."""
    return next((line for line in lines if not line["close"]), None)


@dataclasses.dataclass(frozen=True)
class Divergence:
    """Where two runs part.

    Attributes:
        left: Line of the first log; None when it ended.
        right: Line of the second one.
        reason: In words.
    """

    left: Line | None
    right: Line | None
    reason: str


def _close(a: float, b: float, size: float, relative: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= relative * size


def _difference(left: Line, right: Line, relative: float) -> str:
    if left["operator"] != right["operator"]:
        return f"{left['operator']} here and {right['operator']} there"
    for a, b in zip(left["results"], right["results"], strict=False):
        if (a["dtype"], a["sizes"]) != (b["dtype"], b["sizes"]):
            return (
                f"{a['name']} is {a['dtype']}{a['sizes']} and {b['dtype']}{b['sizes']}"
            )
        size = max(a["absolute_sum"], b["absolute_sum"])
        for field in ("sum", "absolute_sum"):
            if not _close(a[field], b[field], size, relative):
                return (
                    f"the {field} of {a['name']} is {a[field]:.9g} and {b[field]:.9g}"
                )
    if len(left["results"]) != len(right["results"]):
        return "another number of results"
    return ""


def first_divergence(
    left: list[Line], right: list[Line], relative: float = 1e-3
) -> Divergence | None:
    """Where the results of two runs of one program part; None when they do not.

    Sums over the results are compared, in the order of the calls. Operators that draw
    random numbers are passed over: generators of vendors differ.

    Args:
        left: Lines of one run.
        right: Lines of the other one.
        relative: How far sums may be apart, in units of the sum of absolute values.
    """
    for a, b in zip(left, right, strict=False):
        same = a["operator"] == b["operator"]
        if same and a.get("random"):
            continue
        if reason := _difference(a, b, relative):
            return Divergence(a, b, reason)
    if len(left) == len(right):
        return None
    shorter = min(len(left), len(right))
    rest = (left[shorter:] or right[shorter:])[0]
    if len(left) > len(right):
        return Divergence(rest, None, "the second run has fewer calls")
    return Divergence(None, rest, "the first run has fewer calls")


def counts(lines: Iterable[Line]) -> collections.Counter[str]:
    """Comparisons of each operator."""
    return collections.Counter(line["operator"] for line in lines)
