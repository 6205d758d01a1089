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
import dataclasses
import sys
import threading
from collections.abc import Iterator

import torch

from torch_dipu import _C, _env
from torch_dipu.debug import comparing, describing, watching
from torch_dipu.debug.ordering import Clocks, Stream
from torch_dipu.debug.races import StreamOrderError, StreamReport
from torch_dipu.debug.regions import Region, region_of
from torch_dipu.debug.shadow import Conflict, Place, Shadow, Use

_MODES = ("warn", "silent", "error")
_HOST = -1
# An argument that copies write, though their schemas do not say so.
_WRITTEN = "dst"
# Guards the sanitizers, and keeps happenings in their order.
_lock = threading.RLock()


def _here() -> list[str]:
    """The Python lines that the calling thread is in, the innermost first."""
    lines = describing.user_stack()
    node = torch._C._current_autograd_node()
    if node is not None and lines:
        lines[0] += f" (backward of {node.name()})"
    return lines


@dataclasses.dataclass(frozen=True)
class _Tensor:
    """An argument or result in memory of a device, or in pinned memory."""

    name: str
    text: str
    device: int
    base: int
    size: int
    region: Region
    writes: bool


def _tensor(name: str, value: object, writes: bool) -> _Tensor | None:
    """None for what lies nowhere: numbers, and tensors without elements."""
    if not isinstance(value, torch.Tensor) or value.device.type not in ("dipu", "cpu"):
        return None
    on_host = value.device.type == "cpu"
    if value.layout != torch.strided or (on_host and value.numel() == 0):
        return None
    base, size, address = _C._memory_of(value)
    region = region_of(address, value.itemsize, value.shape, value.stride())
    if region is None:
        return None
    dtype = str(value.dtype).removeprefix("torch.")
    text = f"{name}: {dtype}{list(value.shape)}"
    device = _HOST if on_host else value.device.index
    return _Tensor(name, text, device, base, size, region, writes)


def _tensors(values: list[_C.Value]) -> list[_Tensor]:
    found = [
        _tensor(name, value, item.written or item.name == _WRITTEN)
        for item in values
        for name, value in comparing.flatten(item.name or "result", item.value)
    ]
    return [tensor for tensor in found if tensor is not None]


@dataclasses.dataclass
class _Begun:
    """A call that a thread is in."""

    call: _C.Call
    place: Place
    streams: dict[int, Stream]
    tensors: list[_Tensor]

    def stream_of(self, device: int) -> Stream:
        if device not in self.streams:
            current = torch.accelerator.current_stream(device)
            self.streams[device] = (device, current.stream_id)
        return self.streams[device]

    def argument_at(self, device: int, address: int) -> _Tensor | None:
        """Whose storage holds the address."""
        for tensor in self.tensors:
            inside = tensor.base <= address < tensor.base + tensor.size
            if tensor.device == device and inside:
                return tensor
        return None


class _Sanitizer:
    """Judges the calls that it sees."""

    def __init__(self, mode: str) -> None:
        self.report = StreamReport()
        self._mode = mode
        self._clocks = Clocks()
        self._memory: dict[int, Shadow] = {}  # by device
        self._thread = threading.local()

    def _shadow(self, device: int) -> Shadow:
        if device not in self._memory:
            self._memory[device] = Shadow(self._clocks)
        return self._memory[device]

    def _calls(self) -> list[_Begun]:
        """Those that this thread is in, the innermost last."""
        calls: list[_Begun] = self._thread.__dict__.setdefault("calls", [])
        while calls and calls[-1].call.is_over:
            calls.pop()
        return calls

    def before(self, call: _C.Call) -> _Begun:
        begun = _Begun(call, tuple(_here()), {}, _tensors(call.arguments()))
        self._calls().append(begun)
        with _lock:
            _take_happenings()
            self.report.calls += 1
            self._use(begun, [t for t in begun.tensors if t.device != _HOST])
        return begun

    def after(self, call: _C.Call, state: _Begun) -> None:
        results = _tensors(call.results())
        calls = self._calls()
        if calls and calls[-1] is state:
            calls.pop()
        given = {(t.device, t.region) for t in state.tensors}
        new = [
            t
            for t in results
            if t.device != _HOST and (t.device, t.region) not in given
        ]
        with _lock:
            _take_happenings()
            self._use(state, new)

    def _use(self, begun: _Begun, tensors: list[_Tensor]) -> None:
        """Judges what a call reads and writes on the current streams."""
        numbers: dict[Stream, int] = {}
        conflicts: list[Conflict] = []
        for tensor in tensors:
            stream = begun.stream_of(tensor.device)
            if stream not in numbers:
                numbers[stream] = self._clocks.launch(stream)
            use = Use(
                stream,
                numbers[stream],
                tensor.region,
                tensor.writes,
                begun.call.name,
                tensor.text,
                begun.place,
            )
            shadow = self._shadow(tensor.device)
            conflicts += shadow.use(use, tensor.base, tensor.size)
        self._tell(conflicts)

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
        place = begun.place if begun else tuple(_here())
        number = 0
        conflicts: list[Conflict] = []
        for device, address, writes in sides:
            known = begun.argument_at(device, address) if begun else None
            if device == _HOST and not _C._is_pinned(address):
                continue
            if device != _HOST and known is not None:
                continue  # judged with the call's arguments
            number = number or self._clocks.launch(stream)
            use = Use(
                stream,
                number,
                Region(address, size),
                writes,
                begun.call.name if begun else "copy",
                known.text if known else f"{size} bytes",
                place,
            )
            base, length = (known.base, known.size) if known else (address, size)
            conflicts += self._shadow(device).use(use, base, length)
        if begun is None:
            self.report.calls += 1
        self._tell(conflicts)

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
        _C._observe_happenings(_here, _copied)
    operators = [op.name for op in _C._operators()]
    watching.watch(sanitizer, operators + _C._copy_operators())


def _stop(sanitizer: _Sanitizer) -> None:
    global _active
    watching.watch(sanitizer, ())
    with _lock:
        _take_happenings()
        _active = tuple(other for other in _active if other is not sanitizer)
        if not _active:
            _C._observe_happenings(None, None)


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
    if _from_environment is not None:
        print(f"sanitize_streams: {_from_environment.report}", file=sys.stderr)


def read_environment() -> None:
    """Sanitizes if the environment asks for it.

    Raises:
        ValueError: The variable has a value that it must not have.
    """
    global _from_environment
    choice = _env.SANITIZE_STREAMS.choice()
    if _from_environment is not None:
        _stop(_from_environment)
        _from_environment = None
        atexit.unregister(_print_summary)
    if choice != "0":
        _from_environment = _Sanitizer("error" if choice == "error" else "warn")
        _start(_from_environment)
        atexit.register(_print_summary)
