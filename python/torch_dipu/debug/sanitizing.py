# SPDX-License-Identifier: Apache-2.0
"""The stream sanitizer: uses of memory that no synchronisation orders.

Note [Stream sanitizer]
Operators are seen as by any other tool (Note [Watchers]): before a call, its arguments
are read or written on the current stream of their device, as the schema says; after
it, its results have been written. Copies between memories are seen one by one where
they are enqueued, also those of a fallback to the CPU. Marks of events, waits, and
what allocators do come from Note [Observed happenings] (core/observe/observer.h): they
are kept in their order, and taken before anything is judged.

What is not seen: kernels that are launched around PyTorch, and what the CPU itself
does with pinned memory.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator

from torch_dipu import _C, _command, _env
from torch_dipu.debug import describing, uses, watching
from torch_dipu.debug.ordering import Clocks, Stream
from torch_dipu.debug.races import StreamOrderError, StreamReport
from torch_dipu.debug.regions import Region
from torch_dipu.debug.shadow import Conflict, Shadow, Use
from torch_dipu.debug.uses import HOST, Begun, Tensor, Used

_MODES = ("warn", "silent", "error")
# Guards the sanitizers, and keeps happenings in their order.
_lock = threading.RLock()


def _renew_lock() -> None:
    """In the child of a fork the thread that held it is gone."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


class _Sanitizer:
    """Judges the calls that it sees."""

    def __init__(self, mode: str) -> None:
        self.report = StreamReport()
        self.process = os.getpid()
        self._mode = mode
        self._clocks = Clocks()
        self._memory: dict[int, Shadow] = {}  # by device
        self._thread = threading.local()

    def _shadow(self, device: int) -> Shadow:
        if device not in self._memory:
            self._memory[device] = Shadow(self._clocks)
        return self._memory[device]

    def _calls(self) -> list[Begun]:
        """Those that this thread is in, the innermost last."""
        calls: list[Begun] = self._thread.__dict__.setdefault("calls", [])
        while calls and calls[-1].call.is_over:
            self._drop(calls.pop())
        return calls

    def _drop(self, failed: Begun) -> None:
        """Forgets what a call would have used, had it not failed."""
        with _lock:
            for used in failed.uses:
                self._shadow(used.device).drop(used.use)

    def before(self, call: _C.Call) -> Begun:
        begun = Begun(call, tuple(uses.here()), {}, uses.tensors_of(call.arguments()))
        self._calls().append(begun)
        with _lock:
            _take_happenings()
            self.report.calls += 1
            self._use(begun, [t for t in begun.tensors if t.device != HOST])
        return begun

    def after(self, call: _C.Call, state: Begun) -> None:
        results = uses.tensors_of(call.results())
        calls = self._calls()
        if calls and calls[-1] is state:
            calls.pop()
        given = {(t.device, t.region) for t in state.tensors}
        new = [
            t for t in results if t.device != HOST and (t.device, t.region) not in given
        ]
        with _lock:
            _take_happenings()
            self._use(state, new)

    def _use(self, begun: Begun, tensors: list[Tensor]) -> None:
        """Judges what a call reads and writes on the current streams."""
        used = []
        for tensor in tensors:
            stream = begun.stream_of(tensor.device)
            use = Use(
                stream,
                self._clocks.last(stream) + 1,
                tensor.region,
                tensor.writes,
                begun.call.name,
                tensor.text,
                begun.place,
            )
            used.append(Used(use, tensor.device, tensor.base, tensor.size))
        self._launch(used)
        begun.uses += used

    def _launch(self, used: list[Used]) -> None:
        """Judges all uses of a launch, then remembers them.

        Raises:
            StreamOrderError: There is a conflict, and the mode says so. The launch must
                not happen then, and is not remembered.
        """
        conflicts = [
            self._shadow(device).judge(use, base, size)
            for use, device, base, size in used
        ]
        self._tell([conflict for found in conflicts for conflict in found])
        for stream in {use.stream for use, *_ in used}:
            self._clocks.launch(stream)
        for (use, device, base, size), found in zip(used, conflicts, strict=True):
            self._shadow(device).remember(use, base, size, found)

    def copied(
        self, sides: list[tuple[int, int, bool]], size: int, stream: Stream
    ) -> None:
        """Judges a copy before it is enqueued. Called with the lock.

        Args:
            sides: Device, address and whether it is written, of both sides.
            size: In bytes.
            stream: Where it is enqueued.
        """
        calls = self._calls()
        begun = calls[-1] if calls else None
        place = begun.place if begun else tuple(uses.here())
        used = []
        for device, address, writes in sides:
            known = begun.argument_at(device, address) if begun else None
            if device == HOST and not _C._is_pinned(address):
                continue
            if device != HOST and known is not None:
                continue  # judged with the call's arguments
            use = Use(
                stream,
                self._clocks.last(stream) + 1,
                Region(address, size),
                writes,
                begun.call.name if begun else "copy",
                known.text if known else f"{size} bytes",
                place,
            )
            base, length = (known.base, known.size) if known else (address, size)
            used.append(Used(use, device, base, length))
        if begun is None:
            self.report.calls += 1
        self._launch(used)

    def happened(self, it: _C.Happening) -> None:
        """Learns what a happening orders. Called with the lock."""
        clocks = self._clocks
        device = it.stream[0]
        match it.kind:
            case _C.Happened.RECORD:
                clocks.record(it.address, it.stream)
            case _C.Happened.WAIT:
                clocks.wait(it.stream, it.address)
            case _C.Happened.EVENT_DONE:
                clocks.event_done(it.address)
            case _C.Happened.STREAM_DONE:
                clocks.stream_done(it.stream)
            case _C.Happened.DEVICE_DONE:
                clocks.device_done(device)
            case _C.Happened.ALLOCATE:
                self._shadow(device).allocate(
                    it.address, it.bytes, it.stream, tuple(it.place)
                )
            case _C.Happened.FREE:
                self._shadow(device).free(
                    it.address, it.bytes, it.stream, it.users, tuple(it.place)
                )

    def _tell(self, conflicts: list[Conflict]) -> None:
        """Reports conflicts.

        Raises:
            StreamOrderError: There is one, and the mode says so.
        """
        findings = [self.report.add(conflict) for conflict in conflicts]
        if self._mode == "error" and findings:
            raise StreamOrderError(f"sanitize_streams: {findings[0]}")
        if self._mode == "warn":
            for finding in findings:
                if finding.count == 1:
                    describing.show(f"sanitize_streams: {finding}\n")


# Replaced as a whole.
_active: tuple[_Sanitizer, ...] = ()


def _take_happenings() -> None:
    """Tells all sanitizers what has happened since. Called with the lock."""
    for it in _C._take_happenings():
        for sanitizer in _active:
            sanitizer.happened(it)


def _drain() -> None:
    """Keeps happenings from piling up while nothing is judged."""
    # Whoever holds the lock takes them anyway, and this thread may be amid a judgement.
    amid = _lock._is_owned()  # type: ignore[attr-defined]
    if not amid and _lock.acquire(blocking=False):
        try:
            _take_happenings()
        finally:
            _lock.release()


def _copied(
    to: int, to_device: int, source: int, from_device: int, size: int, stream: Stream
) -> None:
    sides = [(from_device, source, False), (to_device, to, True)]
    with _lock:
        _take_happenings()
        for sanitizer in _active:
            sanitizer.copied(sides, size, stream)


def _start(sanitizer: _Sanitizer) -> None:
    global _active
    with _lock:
        _take_happenings()
        _active = (*_active, sanitizer)
        _C._observe_happenings(uses.here, _copied, _drain)
    operators = [op.name for op in _C._operators()]
    watching.watch(sanitizer, operators + _C._copy_operators())


def _stop(sanitizer: _Sanitizer) -> None:
    global _active
    if sanitizer.process != os.getpid():
        return  # a child: nothing is observed, and locks of others are held for ever
    watching.watch(sanitizer, ())
    with _lock:
        _take_happenings()
        _active = tuple(other for other in _active if other is not sanitizer)
        if not _active:
            _C._observe_happenings(None, None, None)


@contextlib.contextmanager
def sanitize_streams(mode: str = "warn") -> Iterator[StreamReport]:
    """Finds work of several streams that nothing orders, within the block.

    Reported are two streams that use the same memory, one of them writing, where
    neither waits for the other; memory that is freed while another stream may use it,
    without `record_stream`; and memory that another stream than its own uses without
    waiting for that. What was enqueued before the block is taken for done.

    Args:
        mode: "warn" prints each finding once, "silent" only reports it, and "error"
            raises it where the second use is called, before it is enqueued if it is
            one of an argument.

    Yields:
        The report, which grows.

    Raises:
        ValueError: The mode is none of these.
        StreamOrderError: Something is found, and the mode is "error".
    """
    if mode not in _MODES:
        raise ValueError(f"mode={mode!r}: use one of {', '.join(_MODES)}")
    sanitizer = _Sanitizer(mode)
    _start(sanitizer)
    try:
        yield sanitizer.report
    finally:
        _stop(sanitizer)


_from_environment: _Sanitizer | None = None


def _print_summary() -> None:
    sanitizer = _from_environment
    if sanitizer is not None and sanitizer.process == os.getpid():
        describing.show(f"sanitize_streams: {sanitizer.report}\n")


def read_environment() -> None:
    """Sanitizes if the environment asks for it.

    Raises:
        ValueError: The variable has a value that it must not have.
    """
    global _from_environment
    choice = _env.SANITIZE_STREAMS.choice()
    if _from_environment is not None:
        _stop(_from_environment)
        if _from_environment.report.calls:
            _print_summary()
        _from_environment = None
        atexit.unregister(_print_summary)
    if choice != "0":
        _from_environment = _Sanitizer("error" if choice == "error" else "warn")
        _start(_from_environment)
        if not _command.is_report():
            atexit.register(_print_summary)
