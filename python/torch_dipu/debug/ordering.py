# SPDX-License-Identifier: Apache-2.0
"""What on one stream happens before what on another.

Note [Order of streams]
The launches of a stream are numbered. Each stream has a clock: of every stream, the
number of the last launch that is over before its own next launch begins. A mark of an
event keeps the clock of its stream; a stream that waits for it learns what the mark
keeps. So a launch happened before a later one exactly if the clock of the later one's
stream has reached its number.

The host has one clock too, for all threads: what it has waited for is over before
anything that is launched from then on. That threads may not know of each other's
waits can hide a race, but never accuses a program of one.

Streams do not wait for the default stream, nor it for them (core/abi/runtime.h).
"""

from __future__ import annotations

# Device and number of a stream.
Stream = tuple[int, int]
# Number of the last launch known to be over, by stream.
Clock = dict[Stream, int]


def _learn(clock: Clock, other: Clock) -> None:
    for stream, number in other.items():
        if clock.get(stream, 0) < number:
            clock[stream] = number


class Clocks:
    """The clocks of all streams. Not thread-safe."""

    def __init__(self) -> None:
        self._streams: dict[Stream, Clock] = {}
        self._marks: dict[int, Clock] = {}
        self._host: Clock = {}

    def _of(self, stream: Stream) -> Clock:
        """The clock of what is enqueued on `stream` now."""
        clock = self._streams.setdefault(stream, {})
        _learn(clock, self._host)
        return clock

    def last(self, stream: Stream) -> int:
        """Number of the last launch on `stream`, 0 before the first."""
        return self._of(stream).get(stream, 0)

    def launch(self, stream: Stream) -> int:
        """Counts a launch and returns its number."""
        clock = self._of(stream)
        clock[stream] = clock.get(stream, 0) + 1
        return clock[stream]

    def record(self, event: int, stream: Stream) -> None:
        """An event marks where `stream` is; an older mark of it is forgotten."""
        self._marks[event] = dict(self._of(stream))

    def wait(self, stream: Stream, event: int) -> None:
        """Later launches of `stream` wait for the mark, if there is one."""
        _learn(self._of(stream), self._marks.get(event, {}))

    def event_done(self, event: int) -> None:
        """The host knows that the mark has been reached."""
        _learn(self._host, self._marks.get(event, {}))

    def stream_done(self, stream: Stream) -> None:
        """The host knows that the stream is idle."""
        _learn(self._host, self._of(stream))

    def device_done(self, device: int) -> None:
        """The host knows that all streams of the device are idle."""
        for stream in list(self._streams):
            if stream[0] == device:
                self.stream_done(stream)

    def assume(self, stream: Stream, other: Stream, number: int) -> None:
        """Later launches of `stream` count as if they waited for that of `other`."""
        _learn(self._of(stream), {other: number})

    def is_before(self, other: Stream, number: int, stream: Stream) -> bool:
        """Whether the launch of `other` is over before the next one of `stream`."""
        return number <= self._of(stream).get(other, 0)

    def is_over(self, other: Stream, number: int) -> bool:
        """Whether the host knows that the launch is over."""
        return number <= self._host.get(other, 0)
