# SPDX-License-Identifier: Apache-2.0
"""Settings that take effect when `os.environ` is changed.

Note [Watched environment]
`os.environ` is given a subclass of its class, which reports changes of variables
that somebody watches. Nothing is called and nothing slows down otherwise. A change
that goes around `os.environ`, such as C's setenv, is not seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable

_watchers: dict[str, Callable[[], object]] = {}


class _WatchedEnviron(type(os.environ)):  # type: ignore[misc]
    def __setitem__(self, key: str, value: str) -> None:
        before = self.get(key)
        super().__setitem__(key, value)
        _report(key, before)

    def __delitem__(self, key: str) -> None:
        before = self.get(key)
        super().__delitem__(key)
        _report(key, before)


def _report(key: str, before: str | None) -> None:
    """Tells the watcher; a value that it refuses is taken back."""
    watcher = _watchers.get(key)
    if watcher is None:
        return
    try:
        watcher()
    except ValueError:
        del _watchers[key]
        try:
            if before is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = before
        finally:
            _watchers[key] = watcher
        raise


def watch(name: str, changed: Callable[[], object]) -> None:
    """Calls `changed` after each change of the variable `name` in `os.environ`.

    Args:
        name: Of the variable; it has at most one watcher.
        changed: Reads the variable. Raises ValueError to refuse the value: the
            variable then keeps the one it had, and who set it gets the exception.
    """
    _watchers[name] = changed
    if not isinstance(os.environ, _WatchedEnviron):
        os.environ.__class__ = _WatchedEnviron
