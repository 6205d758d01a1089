# SPDX-License-Identifier: Apache-2.0
"""Which operators ran where."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from torch_dipu import _C

_lock = threading.Lock()
_depth = 0


def op_counters() -> dict[str, int]:
    """Calls per operator since the process started; values never decrease.

    Keys are `fallback.<operator>` for operators that ran on the CPU because the
    vendor has no kernel for the call, and `native.<operator>` for operators that
    ran on the device while counting was on (`count_native_ops`). `<operator>` is
    the overload name, e.g. `add.Tensor`. `conversion.<function>` counts tensors that
    were converted because the vendor's DIOPI function lacks their type or layout.
    """
    return dict(_C._op_counters())


@contextlib.contextmanager
def count_native_ops() -> Iterator[None]:
    """Counts native operators within the block, on all threads. May be nested."""
    global _depth
    with _lock:
        _depth += 1
        before = _C._set_native_counting(True)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and not before:
                _C._set_native_counting(False)


def ops_report() -> dict[str, str]:
    """State of every DIOPI function in the vendor's operator library.

    Returns:
        Function name -> "found"; "missing" (the operators that need it run on the
        CPU); "mangled" (exported under a C++ name only: declare it `extern "C"`);
        "refused" (its signature has changed between revisions and the library
        does not say which one it has); or "disabled" (by the vendor).
    """
    return dict(_C._ops_report())
