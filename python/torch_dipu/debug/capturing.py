# SPDX-License-Identifier: Apache-2.0
"""Capture: which operators a piece of a program calls, and how often."""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Iterator

from torch_dipu import _C, _operators
from torch_dipu.debug import watching


class CapturedOps:
    """Operators that have been called so far. All threads may read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.sequence: list[str] = []
        """Names in the order of the calls."""

    @property
    def counts(self) -> collections.Counter[str]:
        """Calls of each operator."""
        with self._lock:
            return collections.Counter(self.sequence)

    def before(self, call: _C.Call) -> None:
        with self._lock:
            self.sequence.append(call.name)

    def after(self, call: _C.Call, state: None) -> None:
        pass


@contextlib.contextmanager
def capture_ops(*patterns: str) -> Iterator[CapturedOps]:
    """Notes the calls of the operators that the patterns describe within the block.

    Calls that raise an exception are noted too, and so are those that run on the CPU.

    Args:
        *patterns: As for `force_fallback`; none means all.

    Yields:
        What has been called, which grows.

    Raises:
        ValueError: A pattern is not a regular expression.
    """
    chosen = _operators.choose(patterns or (".*",), "capture_ops")
    captured = CapturedOps()
    watching.watch(captured, chosen)
    try:
        yield captured
    finally:
        watching.watch(captured, ())
