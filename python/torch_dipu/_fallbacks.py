# SPDX-License-Identifier: Apache-2.0
"""Operators that run on the CPU: what they cost, and whether they may."""

from __future__ import annotations

import atexit
import dataclasses
import re
import sys

from torch_dipu import _C, _env, _environ, _operators, _origin

_allowed: list[re.Pattern[str]] = []


@dataclasses.dataclass(frozen=True)
class Fallback:
    """What one operator has cost that ran on the CPU for one reason.

    Attributes:
        operator: With its overload, "add.Tensor"; "mylib::op" outside aten.
        reason: Completes the sentence "it runs on the CPU: ...".
        calls: Calls that are finished.
        seconds: From the beginning of each call until its results are back, with
            copies and the wait for what the device still computes, but without
            fallbacks within this one.
        bytes_to_cpu: Copied to the CPU; 0 where it uses the device's memory in place.
        bytes_to_device: Copied back.
        line: Of the user's program, where the first call came from: "train.py:12",
            followed by the autograd node if that was in a backward.
    """

    operator: str
    reason: str
    calls: int
    seconds: float
    bytes_to_cpu: int
    bytes_to_device: int
    line: str


def fallbacks() -> list[Fallback]:
    """What ran on the CPU since the start or `reset_fallbacks`, the slowest first."""
    found = [
        Fallback(
            operator=record.op,
            reason=record.reason,
            calls=record.calls,
            seconds=record.nanoseconds / 1e9,
            bytes_to_cpu=record.bytes_to_host,
            bytes_to_device=record.bytes_to_device,
            line=record.line,
        )
        for record in _C._fallback_records()
    ]
    return sorted(found, key=lambda fallback: -fallback.seconds)


def reset_fallbacks() -> None:
    """Lets `fallbacks` begin anew. `op_counters` and the budget go on."""
    _C._reset_fallback_records()


def _size(count: int) -> str:
    """At most 10 characters."""
    number, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return f"{count} B" if unit == "B" else f"{number:.1f} {unit}"


def _row(operator: str, costs: Fallback) -> tuple[str, ...]:
    return (
        operator,
        str(costs.calls),
        f"{costs.seconds * 1e3:.3f}",
        _size(costs.bytes_to_cpu),
        _size(costs.bytes_to_device),
        costs.line,
        costs.reason,
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    """Aligns columns: texts to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = range(1, 5)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def fallback_report() -> str:
    """`fallbacks` as a table for people, with a line of totals."""
    found = fallbacks()
    if not found:
        return "no operator ran on the CPU"
    total = Fallback(
        operator="total",
        reason="",
        calls=sum(fallback.calls for fallback in found),
        seconds=sum(fallback.seconds for fallback in found),
        bytes_to_cpu=sum(fallback.bytes_to_cpu for fallback in found),
        bytes_to_device=sum(fallback.bytes_to_device for fallback in found),
        line="",
    )
    titles = ("operator", "calls", "ms", "to CPU", "back", "first line", "reason")
    rows = [_row(fallback.operator, fallback) for fallback in found]
    return _table([titles, *rows, _row(total.operator, total)])


def _allows(operator: str) -> bool:
    names = _operators.names_of(operator)
    return any(pattern.fullmatch(name) for pattern in _allowed for name in names)


def _allow_list() -> list[re.Pattern[str]]:
    variable = _env.FALLBACK_ALLOW_LIST
    return _operators.compile_patterns(_operators.split(variable.text()), variable.name)


def _apply_mode() -> None:
    _C._set_fallback_mode(_env.FALLBACK.choice())


def _apply_budget() -> None:
    _C._set_fallback_budget(_env.FALLBACK_BUDGET.count())


def _apply_allow_list() -> None:
    _allowed[:] = _allow_list()
    _C._fallback_allow_list_changed()


def _apply_in_place() -> None:
    _C._set_fallback_in_place(_env.FALLBACK_IN_PLACE.flag())


_SETTINGS = {
    _env.FALLBACK: _apply_mode,
    _env.FALLBACK_BUDGET: _apply_budget,
    _env.FALLBACK_ALLOW_LIST: _apply_allow_list,
    _env.FALLBACK_IN_PLACE: _apply_in_place,
    _env.FALLBACK_SUMMARY: _env.FALLBACK_SUMMARY.flag,
}


def check_environment() -> None:
    """Reads the settings without an effect.

    Raises:
        ValueError: A variable has a value that it must not have.
    """
    _env.FALLBACK.choice()
    _env.FALLBACK_BUDGET.count()
    _allow_list()
    _env.FALLBACK_IN_PLACE.flag()
    _env.FALLBACK_SUMMARY.flag()


def _print_summary() -> None:
    if _env.FALLBACK_SUMMARY.flag():
        print(f"torch_dipu fallbacks:\n{fallback_report()}", file=sys.stderr)


def start() -> None:
    """Applies the settings, now and whenever `os.environ` is changed.

    Raises:
        ValueError: A variable has a value that it must not have.
    """
    _C._set_fallback_frontend(_origin.user_line, _allows)
    for variable, apply in _SETTINGS.items():
        apply()
        _environ.watch(variable.name, apply)
    # An import that failed may have asked for it before.
    atexit.unregister(_print_summary)
    atexit.register(_print_summary)
