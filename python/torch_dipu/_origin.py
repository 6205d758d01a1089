# SPDX-License-Identifier: Apache-2.0
"""Which line of the user's program the calling thread is in."""

from __future__ import annotations

import os
import re
import sys
import types
from collections.abc import Iterator
from typing import cast

import torch

NO_LINE = "no Python line"
# Code of libraries, and code that was compiled from no file of the user's.
_LIBRARIES = (
    os.path.dirname(torch.__file__) + os.sep,
    os.path.dirname(__file__) + os.sep,
    "<eval_with_key>",
    "<frozen ",
)
# A line of a formatted traceback.
_TRACE_LINE = re.compile(r'File "(.+)", line (\d+)')


def user_frames() -> Iterator[types.FrameType]:
    """The thread's frames outside of the libraries, the innermost first."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_LIBRARIES):
            yield frame
        frame = frame.f_back


def _innermost_line() -> str:
    """Where the thread's frames leave the libraries; empty if they never do."""
    frame = next(user_frames(), None)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def _forward_line(node: torch.autograd.graph.Node) -> str:
    """Where the forward of `node` was called; empty without anomaly detection."""
    # A property, whatever its type says.
    metadata = cast("dict[str, list[str]]", node.metadata)
    for entry in reversed(metadata.get("traceback_", [])):
        found = _TRACE_LINE.search(entry)
        if found and not found[1].startswith(_LIBRARIES):
            return f"{found[1]}:{found[2]}"
    return ""


def user_line() -> str:
    """The innermost line outside torch that the calling thread is in.

    Within backward the name of the autograd node is added, and the line is that of
    the forward where `torch.autograd.detect_anomaly` has kept it. Threads of autograd
    have no line else.

    Returns:
        Such as "train.py:12", "train.py:12 (backward of MmBackward0)" or
        "no Python line".
    """
    node = torch._C._current_autograd_node()
    if node is None:
        return _innermost_line() or NO_LINE
    line = _forward_line(node) or _innermost_line() or NO_LINE
    return f"{line} (backward of {node.name()})"
