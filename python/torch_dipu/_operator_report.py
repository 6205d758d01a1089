# SPDX-License-Identifier: Apache-2.0
"""`python -m torch_dipu ops`: which operators the vendor's library computes."""

from __future__ import annotations

import collections
import sys

from torch_dipu import _C, _load

_FOUND = "found"


def text() -> str:
    """One line per DIOPI function, with its state (see `ops_report`) and its operators.

    First come those that operators lack, which therefore run on the CPU, and last
    those that nobody misses.
    """
    states = _C._ops_report()
    operators = collections.defaultdict(list)
    for operator, function in _C._operator_functions():
        operators[function].append(operator)

    def place(function: str) -> tuple[int, str]:
        if states[function] == _FOUND:
            return 1, function
        return (0 if operators[function] else 2), function

    lines = []
    for function in sorted(states, key=place):
        line = f"{states[function]:8} {function:40} {', '.join(operators[function])}"
        lines.append(
            line.rstrip() + (": on the CPU" if place(function)[0] == 0 else "")
        )
    found = sum(state == _FOUND for state in states.values())
    return "\n".join([f"operator functions: {found} of {len(states)} found", *lines])


def main() -> int:
    """Prints the report.

    Returns:
        The status: 1 when there is no vendor to report of.
    """
    info = _C._vendor_info()
    if not info:
        print(_load.failure() or "no vendor is loaded", file=sys.stderr)
        return 1
    print(f"{info['name']} {info['version']}, {info['file']}")
    print(text())
    print(
        "Operators without a DIOPI function are computed by others or on the CPU; "
        "torch_dipu.fallback_report() tells what a program ran on the CPU."
    )
    return 0
