# SPDX-License-Identifier: Apache-2.0
"""Runs what could end or stop a process in a process of its own.

The child tells through a pipe which step it begins and what it has seen, one line of
JSON each, so that a child that dies has told what came before.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from torch_dipu._command import DOCTOR_CHILD, PACKAGE

LAST_STEP = "end the process"
# Python and torch come from a disk that may be slow; that is no fault of a vendor.
START_S = 120.0
_POLL_S = 0.05
_KILL_S = 5.0
_KEPT_OUTPUT = 4096
_KEPT_LINES = 5


@dataclasses.dataclass
class Outcome:
    """What became of a child.

    Attributes:
        results: What it has seen, by name.
        step: Where it was when it died or gave up.
        error: Why it gave up: the text of an exception; "" when it did not.
        death: How it died before it was done; "" when it did not.
        output: The last of what it printed.
    """

    results: dict[str, Any] = dataclasses.field(default_factory=dict)
    step: str = "start Python"
    error: str = ""
    death: str = ""
    output: str = ""

    @property
    def lines(self) -> list[str]:
        """The last lines that it printed, for the details of a finding."""
        last = self.output.strip().splitlines()[-_KEPT_LINES:]
        return [f"printed: {line}" for line in last]


@dataclasses.dataclass(frozen=True)
class Runner:
    """Starts children.

    Attributes:
        limit: Seconds that a step may take.
        environ: Their environment.
    """

    limit: float
    environ: Mapping[str, str]

    def run(self, task: str, *arguments: str) -> Outcome:
        """Runs a task of child.py to its end, however it ends.

        A child that exceeds the limit is killed with all that it has started.
        """
        events, events_in = os.pipe()
        output, output_in = os.pipe()
        with contextlib.ExitStack() as open_files:
            for descriptor in (events, output):
                open_files.callback(os.close, descriptor)
            try:
                process = subprocess.Popen(
                    [*_interpreter(), DOCTOR_CHILD, str(events_in), task, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=output_in,
                    stderr=output_in,
                    env=dict(self.environ),
                    pass_fds=[events_in],
                    start_new_session=True,
                )
            finally:
                os.close(events_in)
                os.close(output_in)
            watch = _Watch(process, events, output, self.limit)
            try:
                watch.follow()
            finally:
                watch.end()
            return watch.outcome


def _interpreter() -> list[str]:
    """This interpreter with its options, up to and including -m."""
    words = sys.orig_argv
    for i in range(2, len(words)):
        if words[i] == PACKAGE and words[i - 1].endswith("m"):
            return [sys.executable, *words[1:i]]
    return [sys.executable, "-m"]


class _Watch:
    """Follows one child."""

    def __init__(
        self, process: subprocess.Popen[bytes], events: int, output: int, limit: float
    ) -> None:
        self.outcome = Outcome()
        self._process = process
        self._limit = limit
        self._deadline = time.monotonic() + START_S
        self._allowed = START_S
        self._partial = b""
        self._printed = b""
        self._takers = {events: self._take_events, output: self._take_output}

    def follow(self) -> None:
        """Reads until the child has ended or its time is over."""
        while True:
            ended = self._has_ended()
            if ended:
                self._kill_group()  # what it has started may hold the pipes
            wait = 0.0 if ended else _POLL_S
            ready, _, _ = select.select(list(self._takers), [], [], wait)
            for descriptor in ready:
                if data := os.read(descriptor, 65536):
                    self._takers[descriptor](data)
                else:
                    del self._takers[descriptor]
            if ended and not ready:
                return
            if time.monotonic() > self._deadline:
                break
        if not self._has_ended():
            self.outcome.death = f"did not end within {self._allowed:g} s"

    def end(self) -> None:
        """Kills what is left of the child and says how it ended."""
        self._kill_group()
        outcome = self.outcome
        try:
            status = self._process.wait(_KILL_S)
        except subprocess.TimeoutExpired:
            outcome.death += " and cannot be killed: it waits inside the driver"
            status = 0
        if not outcome.death and not outcome.error:
            outcome.death = _describe(status, outcome.step)
        outcome.output = self._printed.decode(errors="backslashreplace")

    def _has_ended(self) -> bool:
        """Whether the child has ended; its id stays taken until it is waited for."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def _kill_group(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _take_output(self, data: bytes) -> None:
        self._printed = (self._printed + data)[-_KEPT_OUTPUT:]

    def _take_events(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._take_event(json.loads(line))

    def _take_event(self, event: dict[str, Any]) -> None:
        if "step" in event:
            self._allowed = max(self._limit, event["least_s"])
            self._deadline = time.monotonic() + self._allowed
            if not self.outcome.error:
                self.outcome.step = event["step"]
        elif "error" in event:
            self.outcome.error = event["error"]
        else:
            self.outcome.results[event["result"]] = event["value"]


def _describe(status: int, step: str) -> str:
    """How a child ended; "" when it ended well."""
    if status < 0:
        number = -status
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        text = signal.strsignal(number)
        return f"was ended by {name} ({text})" if text else f"was ended by {name}"
    if status > 0 or step != LAST_STEP:
        return f"ended itself with status {status}"
    return ""
