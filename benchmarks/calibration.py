# SPDX-License-Identifier: Apache-2.0
"""How fast the processor runs right now, to be printed beside a time."""

from __future__ import annotations

import time

_STEPS = 10000


def loop_ns() -> int:
    """Nanoseconds that a fixed loop takes."""
    start = time.perf_counter_ns()
    for _ in range(_STEPS):
        pass
    return time.perf_counter_ns() - start
