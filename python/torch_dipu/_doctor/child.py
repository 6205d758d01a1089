# SPDX-License-Identifier: Apache-2.0
"""The process in which the doctor does what could end or stop a process.

It is a program: python -m torch_dipu._doctor.child DESCRIPTOR TASK [ARGUMENT]...
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from torch_dipu._doctor import tasks
from torch_dipu._doctor.process import LAST_STEP

_PR_SET_PDEATHSIG = 1

_TASKS: dict[str, Callable[..., None]] = {
    "entry_point": tasks.entry_point,
    "host": tasks.host,
    "vendor": tasks.vendor,
}


class Teller:
    """Tells the doctor, at once, what happens; see process.py."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def step(self, name: str, least_s: float = 0.0) -> None:
        """A step begins, which may take the limit or `least_s`."""
        self._send(step=name, least_s=least_s)

    def result(self, name: str, value: Any) -> None:
        """Something was seen."""
        self._send(result=name, value=value)

    def error(self, text: str) -> None:
        """The task cannot go on."""
        self._send(error=text)

    def _send(self, **event: Any) -> None:
        data = json.dumps(event).encode() + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]


def _live_no_longer_than_the_doctor() -> None:
    """A crash here is expected: it leaves no dump, and nobody waits for this child."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(descriptor: str, task: str, *arguments: str) -> int:
    """Does one task and tells how it went."""
    _live_no_longer_than_the_doctor()
    tell = Teller(int(descriptor))
    try:
        _TASKS[task](tell, *arguments)
    except BaseException as e:  # foreign code may raise anything
        plain = isinstance(e, RuntimeError | ImportError | OSError)
        tell.error(str(e) if plain and str(e) else f"{type(e).__name__}: {e}")
    tell.step(LAST_STEP)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
