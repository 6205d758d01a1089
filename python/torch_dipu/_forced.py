# SPDX-License-Identifier: Apache-2.0
"""Forced fallback: computing chosen operators on the CPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from torch_dipu import _C, _env, _operators

CONFIG_FILE = ".dipu_force_fallback_op_list.config"

_lock = threading.Lock()
_from_environment: list[str] = []
_from_blocks: list[list[str]] = []


def _apply() -> None:
    """Forces what the environment and the blocks that are entered ask for."""
    names = {name for block in (_from_environment, *_from_blocks) for name in block}
    _C._choose_operators(_C.Tool.FORCE_FALLBACK, sorted(names))


def read_environment() -> None:
    """Forces what DIPU_FORCE_FALLBACK_OPS_LIST and the configuration file name.

    Raises:
        ValueError: One of the patterns is not a regular expression, or the file
            cannot be read.
    """
    variable = _env.FORCE_FALLBACK
    chosen = _operators.choose(_operators.split(variable.text()), variable.name)
    chosen += _operators.choose_from_file(CONFIG_FILE, "force no operators")
    with _lock:
        _from_environment[:] = chosen
        _apply()


@contextlib.contextmanager
def force_fallback(*patterns: str) -> Iterator[None]:
    """Computes the operators that the patterns describe on the CPU within the block.

    It holds for all threads. Blocks may be nested; DIPU_FORCE_FALLBACK_OPS_LIST holds
    beside them. The operators are counted as `fallback.<operator>`.

    Args:
        *patterns: Regular expressions that describe whole names, such as "add.out",
            "conv2d" or ".*". "add.out" stands for all forms of add; composite
            operators such as conv2d stand for those that compute them.

    Raises:
        ValueError: A pattern is not a regular expression.
    """
    chosen = _operators.choose(patterns, "force_fallback")
    with _lock:
        _from_blocks.append(chosen)
        _apply()
    try:
        yield
    finally:
        with _lock:
            # By identity: equal blocks of several threads are not the same one.
            _from_blocks[:] = [b for b in _from_blocks if b is not chosen]
            _apply()
