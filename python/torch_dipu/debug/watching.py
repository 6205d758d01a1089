# SPDX-License-Identifier: Apache-2.0
"""Watchers: what looks at the calls of chosen operators.

Note [Watchers]
An operator that somebody watches is called through `_on_call`; all others are not
touched. Watchers see a call in the order of their installation before it is computed,
and in the reverse order afterwards. What they compute themselves nobody watches.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Protocol

import torch

from torch_dipu import _C


class Watcher(Protocol):
    """Looks at calls; the calls of several threads may overlap."""

    def before(self, call: _C.Call) -> Any:
        """Looks at the arguments. What it returns is given to `after`."""

    def after(self, call: _C.Call, state: Any) -> None:
        """Looks at the results. Not called when the operator raised an exception."""


_lock = threading.Lock()
_chosen: dict[int, tuple[Watcher, frozenset[str]]] = {}
# Replaced as a whole, so that reading needs no lock.
_by_operator: dict[str, tuple[Watcher, ...]] = {}


def _on_call(call: _C.Call) -> None:
    watchers = _by_operator.get(call.name, ())
    # Modes of the user's program must not see what watchers compute.
    with torch._C.DisableTorchFunction():
        states = [watcher.before(call) for watcher in watchers]
    call.run()
    with torch._C.DisableTorchFunction():
        for watcher, state in zip(reversed(watchers), reversed(states), strict=True):
            watcher.after(call, state)


def _apply() -> None:
    global _by_operator
    by_operator: dict[str, tuple[Watcher, ...]] = {}
    for watcher, names in _chosen.values():
        for name in names:
            by_operator[name] = (*by_operator.get(name, ()), watcher)
    # An operator must have its watchers before its calls come here, and a call that
    # comes late finds none.
    _by_operator = by_operator
    _C._set_observer(_on_call)
    _C._choose_operators(_C.Tool.OBSERVE, sorted(by_operator))


def watch(watcher: Watcher, operators: Iterable[str]) -> None:
    """Lets `watcher` see the calls of exactly `operators`, from now on, on all threads.

    Args:
        watcher: One that watches already gets the new operators instead.
        operators: Names as in `_operators.choose`; none ends the watching.
    """
    names = frozenset(operators)
    with _lock:
        if names:
            _chosen[id(watcher)] = (watcher, names)
        else:
            _chosen.pop(id(watcher), None)
        _apply()
