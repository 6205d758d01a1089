# SPDX-License-Identifier: Apache-2.0
"""What comparisons have found, as objects, as text and as lines of JSON."""

from __future__ import annotations

import collections
import dataclasses
import json
from typing import Any

import torch

from torch_dipu.debug import describing
from torch_dipu.debug.comparing import Difference


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One call of an operator, compared.

    Attributes:
        sequence: Position among the comparisons of this tool, from 1.
        operator: "add.Tensor".
        function: Of DIOPI; "" when the operator is hand-written.
        call: Which call of the operator it was, from 1.
        differences: Of results, written arguments and changed arguments.
        stack: Innermost Python callers; empty in threads that compute gradients.
    """

    sequence: int
    operator: str
    function: str
    call: int
    differences: tuple[Difference, ...]
    stack: tuple[str, ...]

    @property
    def close(self) -> bool:
        return all(difference.close for difference in self.differences)


class Report:
    """What has been compared so far. All threads may read it at any time."""

    def __init__(self) -> None:
        self.comparisons = 0
        self.calls: collections.Counter[str] = collections.Counter()
        self.wrong: list[Comparison] = []

    @property
    def first(self) -> Comparison | None:
        """The first call whose results are wrong."""
        return self.wrong[0] if self.wrong else None

    @property
    def wrong_operators(self) -> list[str]:
        """Names of the operators that were wrong, in the order of their first time."""
        return list(dict.fromkeys(comparison.operator for comparison in self.wrong))


def json_line(comparison: Comparison) -> str:
    """A line for the log."""
    fields = dataclasses.asdict(comparison) | {"close": comparison.close}
    return json.dumps(fields, allow_nan=True) + "\n"


def _verdict(difference: Difference) -> str:
    word = "allclose" if difference.close else "not_allclose"
    if difference.problem:
        return f"{word}: {difference.problem}"
    if difference.max_absolute == 0:
        return word
    errors = (
        f"{word}: max absolute {difference.max_absolute:.3g}, "
        f"relative {difference.max_relative:.3g}, ulp {difference.max_ulp:.3g}"
    )
    if difference.worst is None:
        return errors
    return f"{errors}, {difference.wrong} wrong, worst at {list(difference.worst)}"


def text(
    comparison: Comparison, actual: dict[str, Any], expected: dict[str, Any]
) -> str:
    """What the console shows.

    Args:
        comparison: To be shown.
        actual: Values of the device by the names of the differences.
        expected: The same of the CPU.
    """
    lines = []
    for difference in comparison.differences:
        lines.append(f"autocompare:    {comparison.operator} {difference.name}:")
        for side in (actual, expected):
            value = side.get(difference.name)
            if isinstance(value, torch.Tensor):
                lines.append("\t" + describing.tensor_text(value))
        lines.append("\t" + _verdict(difference))
    if not comparison.close:
        lines += [f"\tcalled at {frame}" for frame in comparison.stack]
    return "".join(line + "\n" for line in lines)
