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
class Summary:
    """One tensor that the device has computed.

    Attributes:
        name: Of the result or written argument.
        dtype: "float32".
        sizes: Of its dimensions.
        sum: Of its elements, in float64.
        absolute_sum: Of their absolute values.
    """

    name: str
    dtype: str
    sizes: tuple[int, ...]
    sum: float
    absolute_sum: float


def summary_of(name: str, tensor: torch.Tensor) -> Summary:
    """Sums over a tensor of any device."""
    values = tensor.cpu()
    if values.is_complex():
        values = torch.view_as_real(values)
    values = values.double()
    return Summary(
        name,
        str(tensor.dtype).removeprefix("torch."),
        tuple(tensor.shape),
        float(values.sum()),
        float(values.abs().sum()),
    )


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One call of an operator, compared.

    Attributes:
        sequence: Position among the comparisons of this tool, from 1.
        operator: "add.Tensor".
        function: Of DIOPI; "" when the operator is hand-written.
        call: Which call of the operator it was, from 1.
        differences: Of results, written arguments and changed arguments.
        random: Whether the operator draws random numbers.
        stack: Innermost Python callers; empty in threads that compute gradients.
        results: Sums over what the device has computed, for comparing runs.
    """

    sequence: int
    operator: str
    function: str
    call: int
    differences: tuple[Difference, ...]
    random: bool
    stack: tuple[str, ...]
    results: tuple[Summary, ...] = ()

    @property
    def close(self) -> bool:
        return all(difference.close for difference in self.differences)


class Report:
    """What has been compared so far. All threads may read it at any time.

    Attributes:
        comparisons: How many calls have been compared.
        calls: How many there were, by operator.
        wrong: Comparisons with differences, in their order.
        left_out: Why the CPU could not compute calls, by operator. Of those calls it
            is only known whether they have changed arguments that are only read.
    """

    def __init__(self) -> None:
        self.comparisons = 0
        self.calls: collections.Counter[str] = collections.Counter()
        self.wrong: list[Comparison] = []
        self.left_out: dict[str, str] = {}

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
        lines.append("\t" + difference.verdict())
    if not comparison.close:
        lines += [f"\tcalled at {frame}" for frame in comparison.stack]
    return "".join(line + "\n" for line in lines)
