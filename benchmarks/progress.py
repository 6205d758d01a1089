# SPDX-License-Identifier: Apache-2.0
"""Says how far a benchmark is, whose figures come at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator


def rounds(count: int, what: str) -> Iterator[int]:
    """Numbers the rounds from 0 and reports each on the error output."""
    for number in range(count):
        start = time.monotonic()
        yield number
        seconds = time.monotonic() - start
        print(
            f"{what}: round {number + 1} of {count}, {seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )
