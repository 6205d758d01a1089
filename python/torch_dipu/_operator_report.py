# SPDX-License-Identifier: Apache-2.0
"""`python -m torch_dipu ops`: which operators the vendor's library computes."""

from __future__ import annotations

import collections
import sys

from torch_dipu import _C, _load

_FOUND = "found"


def text() -> str:
    """One line per DIOPI function, those that the library lacks first.

    Each has its state, see `ops_report`, and the operators that need it. Operators of
    a function that was not found run on the CPU.
    """
    states = _C._ops_report()
    operators = collections.defaultdict(list)
    for operator, function in _C._operator_functions():
        operators[function].append(operator)
    native = {operator.name for operator in _C._operators()}
    lines = []
    for function in sorted(states, key=lambda name: (states[name] == _FOUND, name)):
        needed_by = operators[function]
        on_cpu = bool(needed_by) and not native.intersection(needed_by)
        line = f"{states[function]:8} {function:40} {', '.join(needed_by)}"
        lines.append(line.rstrip() + (": on the CPU" if on_cpu else ""))
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
