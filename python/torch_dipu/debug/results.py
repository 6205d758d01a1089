# SPDX-License-Identifier: Apache-2.0
"""What comparisons have found, as objects, as text and as lines of JSON."""

from __future__ import annotations

import collections
import dataclasses
import json
import shlex
from collections.abc import Mapping
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
        saved: File with the call for `python -m torch_dipu replay`; "" without one.
    """

    sequence: int
    operator: str
    function: str
    call: int
    differences: tuple[Difference, ...]
    random: bool
    stack: tuple[str, ...]
    results: tuple[Summary, ...] = ()
    saved: str = ""

    @property
    def close(self) -> bool:
        return all(difference.close for difference in self.differences)


@dataclasses.dataclass
class LeftOut:
    """Calls of one operator that were not compared.

    Attributes:
        sampled: Those that only every N-th call is compared of.
        refused: Those that the CPU cannot compute.
        reason: Why it cannot, the first time.
    """

    sampled: int = 0
    refused: int = 0
    reason: str = ""

    def add(self, other: LeftOut) -> None:
        """Adds the calls of another run."""
        self.sampled += other.sampled
        self.refused += other.refused
        self.reason = self.reason or other.reason


def tally(
    comparisons: int, operators: int, left_out: Mapping[str, LeftOut]
) -> list[str]:
    """What a run has compared and what not, in lines.

    Args:
        comparisons: Of calls.
        operators: That were compared.
        left_out: By operator.
    """
    if comparisons:
        lines = [f"{comparisons} comparisons of {operators} operators"]
    elif left_out:
        lines = ["compared nothing: every call was left out"]
    else:
        lines = ["compared nothing: no chosen operator was called"]
    sampled = [left.sampled for left in left_out.values() if left.sampled]
    if sampled:
        lines.append(
            f"left out: {sum(sampled)} calls of {len(sampled)} operators by sampling"
        )
    for name, left in left_out.items():
        if left.refused:
            lines.append(f"left out: {left.refused} calls of {name}: {left.reason}")
    return lines


class Report:
    """What has been compared so far. All threads may read it at any time.

    Attributes:
        comparisons: How many calls have been compared.
        calls: How many there were, by operator.
        wrong: Comparisons with differences, in their order.
        not_compared: Calls that were left out, by operator. Of those that the CPU
            cannot compute it is only known whether they have changed arguments that
            are only read.
    """

    def __init__(self) -> None:
        self.comparisons = 0
        self.calls: collections.Counter[str] = collections.Counter()
        self.wrong: list[Comparison] = []
        self.not_compared: dict[str, LeftOut] = {}

    @property
    def left_out(self) -> dict[str, str]:
        """Why the CPU could not compute calls, by operator."""
        left_out = self.not_compared.copy()
        return {name: left.reason for name, left in left_out.items() if left.refused}

    @property
    def first(self) -> Comparison | None:
        """The first call whose results are wrong."""
        return self.wrong[0] if self.wrong else None

    @property
    def wrong_operators(self) -> list[str]:
        """Names of the operators that were wrong, in the order of their first time."""
        return list(dict.fromkeys(comparison.operator for comparison in self.wrong))


def json_of_left_out(left_out: Mapping[str, LeftOut]) -> str:
    """The line for the log with what was left out of it."""
    fields = {name: dataclasses.asdict(left) for name, left in left_out.items()}
    return json.dumps({"left_out": fields}) + "\n"


def json_line(comparison: Comparison) -> str:
    """A line for the log."""
    fields = dataclasses.asdict(comparison) | {"close": comparison.close}
    return json.dumps(fields, allow_nan=True) + "\n"


def replay_command(saved: str) -> str:
    """What repeats a saved call, for a shell."""
    return f"python -m torch_dipu replay {shlex.quote(saved)}"


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
    if comparison.saved:
        lines.append(f"\trepeat it: {replay_command(comparison.saved)}")
    return "".join(line + "\n" for line in lines)
