# SPDX-License-Identifier: Apache-2.0
"""Which operator caused a failure of the device.

Note [Late failures]
A kernel fails long after its operator has returned, and the next call that waits
reports it. Two tools name the operator:
- Blocking: the device is waited for after each operator. The failure is reported where
  it happened.
- Tracing: the last calls are kept. A failure that is reported later lists those that
  called the DIOPI function which the vendor's message names, or else the last ones.
"""

from __future__ import annotations

import collections
import dataclasses
import re
import threading
from collections.abc import Iterable
from typing import Any

import torch

from torch_dipu import _C, _env, _operators, _origin
from torch_dipu.debug import comparing, watching

_SHOWN = 3
# The function that a vendor's message names.
_FUNCTION = re.compile(r"\b(diopi\w+):")


@dataclasses.dataclass(frozen=True)
class _Launch:
    """One call of an operator."""

    operator: str
    function: str
    arguments: str
    device: int
    stream: int
    line: str

    def text(self) -> str:
        function = f" ({self.function})" if self.function else ""
        return (
            f"{self.operator}{function} on stream {self.stream} of device "
            f"{self.device}, called at {self.line}, with {self.arguments}"
        )


def _brief(name: str, value: Any) -> str:
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"{name}: {dtype}{list(value.shape)}"
    return f"{name}: {value}"


def _launch(call: _C.Call, function: str) -> _Launch:
    values = [
        pair
        for item in call.arguments()
        for pair in comparing.flatten(item.name, item.value)
    ]
    devices = [v.device for _, v in values if isinstance(v, torch.Tensor)]
    indices = [d.index for d in devices if d.type != "cpu" and d.index is not None]
    device = indices[0] if indices else torch.accelerator.current_device_index()
    return _Launch(
        call.name,
        function,
        ", ".join(_brief(name, value) for name, value in values),
        device,
        torch.accelerator.current_stream(device).stream_id,
        _origin.user_line(),
    )


class _Blocker:
    """Waits for each call that it sees."""

    def __init__(self, functions: dict[str, str]) -> None:
        self._functions = functions
        self._failed: dict[int, _Launch] = {}  # by device

    def before(self, call: _C.Call) -> _Launch:
        return _launch(call, self._functions.get(call.name, ""))

    def after(self, call: _C.Call, state: _Launch) -> None:
        try:
            torch.accelerator.synchronize(state.device)
        except RuntimeError as error:
            message = str(error.args[0]) if error.args else ""
            cause = self._cause(state, message)
            error.args = (f"{message}\nThe operator was {cause.text()}",)
            raise

    def _cause(self, launch: _Launch, message: str) -> _Launch:
        """The call that failed: an earlier one, when its failure is reported again."""
        named = _FUNCTION.search(message)
        first = self._failed.get(launch.device)
        if first is not None and named and named[1] != launch.function:
            return first
        self._failed[launch.device] = launch
        return launch

    def explain(self, device: int, message: str) -> str:
        return ""


class _Tracer:
    """Keeps the last calls that it sees."""

    def __init__(self, functions: dict[str, str], limit: int) -> None:
        self._functions = functions
        self._lock = threading.Lock()
        self._launches: collections.deque[_Launch] = collections.deque(maxlen=limit)

    def before(self, call: _C.Call) -> None:
        launch = _launch(call, self._functions.get(call.name, ""))
        with self._lock:
            self._launches.append(launch)

    def after(self, call: _C.Call, state: None) -> None:
        pass

    def explain(self, device: int, message: str) -> str:
        with self._lock:
            launches = [launch for launch in self._launches if launch.device == device]
        named = [x for x in launches if x.function and f"{x.function}:" in message]
        suspects = (named or launches)[-_SHOWN:]
        if not suspects:
            return ". No operator has been called since tracing began"
        if len(suspects) == 1:
            return f"\nThe operator was {suspects[0].text()}"
        listed = "".join(f"\n  {launch.text()}" for launch in reversed(suspects))
        return (
            f"\nThe operator may have been one of these, the latest first:{listed}\n"
            "DIPU_LAUNCH_BLOCKING=1 waits for each one and names it"
        )


_watcher: _Blocker | _Tracer | None = None


def _watch_all(watcher: _Blocker | _Tracer, operators: Iterable[str]) -> None:
    watching.watch(watcher, operators)
    _C._set_error_explainer(watcher.explain)


def read_environment() -> None:
    """Blocks or traces as the environment asks for.

    Raises:
        ValueError: A variable has a value that it must not have.
    """
    global _watcher
    blocking = _env.LAUNCH_BLOCKING.flag()
    limit = _env.TRACE_LAUNCHES.count() or 0
    if _watcher is not None:
        watching.watch(_watcher, ())
        _C._set_error_explainer(None)
        _watcher = None
    if not blocking and limit == 0:
        return
    functions = {op.name: op.function for op in _C._operators()}
    _watcher = _Blocker(functions) if blocking else _Tracer(functions, limit)
    _watch_all(_watcher, _operators.choose((".*",), "DIPU_LAUNCH_BLOCKING"))
