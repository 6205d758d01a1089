# SPDX-License-Identifier: Apache-2.0
"""Who has used which memory, and which uses nothing orders.

Note [Shadow of memory]
For each allocation the last uses of its bytes are kept, by stream. Two uses of a byte
conflict if one of them writes and neither happens before the other. Two more mistakes
concern the memory itself, which belongs to the stream that it was allocated on:
- Memory is given back while another stream may still use it. It conflicts with the
  next write by the owner to memory that it got later, whether or not it is the same:
  which memory is reused depends on sizes and on luck.
- Another stream uses new memory without waiting for the owner, whose earlier work
  may still use it.
A conflict is told once: afterwards the later stream counts as if it had waited.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import enum
from collections.abc import Iterable

from torch_dipu.debug.ordering import Clocks, Stream
from torch_dipu.debug.regions import Region, overlap

# Python lines, the innermost first.
Place = tuple[str, ...]

# Uses of an allocation beyond which those that are over are forgotten.
_MANY_USES = 64
# Memory given back too early that is remembered per stream.
_MAX_EARLY = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """Memory is read or written by work of a stream.

    Attributes:
        stream: Where.
        number: Of the launch on that stream.
        region: The bytes.
        writes: Whether it writes.
        operator: What was called, such as "add.Tensor"; empty for the allocation.
        argument: Such as "self: float32[3]".
        place: Where it was called.
    """

    stream: Stream
    number: int
    region: Region
    writes: bool
    operator: str
    argument: str
    place: Place


class Mistake(enum.Enum):
    """What kind of synchronisation is missing."""

    NO_WAIT = "a stream does not wait for another"
    NO_RECORD_STREAM = "memory is freed while another stream uses it"
    NO_WAIT_FOR_MEMORY = "a stream does not wait for new memory"


@dataclasses.dataclass(frozen=True)
class Conflict:
    """Two uses that nothing orders.

    Attributes:
        mistake: Its kind.
        first: The use that was enqueued first.
        second: The use that should have waited.
        freed: Where the memory was given back; empty for other mistakes.
    """

    mistake: Mistake
    first: Use
    second: Use
    freed: Place = ()


def _latest(uses: Iterable[Use]) -> tuple[Use, ...]:
    """The last use by each stream, which waiting for is enough."""
    by_stream: dict[Stream, Use] = {}
    for use in uses:
        known = by_stream.get(use.stream)
        if known is None or known.number < use.number:
            by_stream[use.stream] = use
    return tuple(by_stream.values())


@dataclasses.dataclass(frozen=True)
class _Early:
    """Memory that was given back while it may be used."""

    uses: tuple[Use, ...]
    serial: int
    place: Place


class _Block:
    """One allocation, or memory of which no allocation has been seen."""

    def __init__(self, begin: int, size: int) -> None:
        self.begin = begin
        self.end = begin + size
        self.allocation: Use | None = None
        self.serial = 0
        self.uses: dict[tuple[Stream, Region, bool], Use] = {}
        self.many = _MANY_USES


class Shadow:
    """The memory of one device. Not thread-safe."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self._begins: list[int] = []  # sorted
        self._blocks: dict[int, _Block] = {}
        self._early: dict[Stream, collections.deque[_Early]] = {}
        self._serial = 0  # counts allocations and frees

    def _overlapping(self, begin: int, end: int) -> list[_Block]:
        i = max(0, bisect.bisect_right(self._begins, begin) - 1)
        found = []
        while i < len(self._begins) and self._begins[i] < end:
            block = self._blocks[self._begins[i]]
            if begin < block.end:
                found.append(block)
            i += 1
        return found

    def _add(self, block: _Block) -> None:
        bisect.insort(self._begins, block.begin)
        self._blocks[block.begin] = block

    def _remove(self, blocks: list[_Block]) -> None:
        for block in blocks:
            del self._begins[bisect.bisect_left(self._begins, block.begin)]
            del self._blocks[block.begin]

    def _block(self, begin: int, size: int) -> _Block:
        """The allocation that holds the bytes; made up if none is known."""
        known = self._overlapping(begin, begin + size)
        if known and known[0].begin <= begin and begin + size <= known[0].end:
            return known[0]
        first = min([begin, *(other.begin for other in known)])
        last = max([begin + size, *(other.end for other in known)])
        block = _Block(first, last - first)
        for other in known:
            block.uses |= other.uses
        self._remove(known)
        self._add(block)
        return block

    def allocate(self, begin: int, size: int, owner: Stream, place: Place) -> None:
        """Memory is handed out to `owner`."""
        self._serial += 1
        self._remove(self._overlapping(begin, begin + size))
        block = _Block(begin, size)
        block.serial = self._serial
        block.allocation = Use(
            owner,
            self._clocks.last(owner),
            Region(begin, size),
            writes=True,
            operator="",
            argument=f"{size} bytes",
            place=place,
        )
        self._add(block)

    def free(
        self,
        begin: int,
        size: int,
        owner: Stream,
        users: list[Stream],
        place: Place,
    ) -> None:
        """Memory is given back to `owner`, once `users` have done with it."""
        self._serial += 1
        blocks = self._overlapping(begin, begin + size)
        self._remove(blocks)
        waited = {owner, *users}
        uses = _latest(
            use
            for block in blocks
            for use in block.uses.values()
            if use.stream not in waited and not self._is_before(use, owner)
        )
        if uses:
            early = self._early.setdefault(owner, collections.deque(maxlen=_MAX_EARLY))
            early.append(_Early(uses, self._serial, place))

    def _is_before(self, use: Use, stream: Stream) -> bool:
        return self._clocks.is_before(use.stream, use.number, stream)

    def judge(self, use: Use, begin: int, size: int) -> list[Conflict]:
        """The earlier uses that one conflicts with, which is to be launched.

        Args:
            use: Its number is the next of its stream.
            begin: Address of the allocation, or of what is known to be part of one.
            size: Its bytes.
        """
        block = self._block(begin, size)
        found = self._conflicts(use, block)
        if use.writes:
            found += self._early_frees(use, block)
        return found

    def remember(
        self, use: Use, begin: int, size: int, conflicts: list[Conflict]
    ) -> None:
        """A use that was judged is launched; `conflicts` have been told."""
        for conflict in conflicts:
            first = conflict.first
            self._clocks.assume(use.stream, first.stream, first.number)
        self._remember(use, self._block(begin, size))

    def drop(self, use: Use) -> None:
        """A use that is remembered did not happen after all."""
        key = use.stream, use.region, use.writes
        for block in self._overlapping(use.region.begin, use.region.end):
            if block.uses.get(key) is use:
                del block.uses[key]

    def _conflicts(self, use: Use, block: _Block) -> list[Conflict]:
        others = _latest(
            other
            for other in block.uses.values()
            if other.stream != use.stream
            and (other.writes or use.writes)
            and not self._is_before(other, use.stream)
            and overlap(other.region, use.region)
        )
        found = [Conflict(Mistake.NO_WAIT, other, use) for other in others]
        allocation = block.allocation
        if (
            not found
            and allocation is not None
            and allocation.stream != use.stream
            and not self._is_before(allocation, use.stream)
        ):
            found.append(Conflict(Mistake.NO_WAIT_FOR_MEMORY, allocation, use))
        return found

    def _early_frees(self, use: Use, block: _Block) -> list[Conflict]:
        """Memory that the stream got back too early, when it writes to newer memory."""
        early = self._early.get(use.stream)
        owner = block.allocation.stream if block.allocation else None
        if not early or owner != use.stream:
            return []
        found = []
        for _ in range(len(early)):
            freed = early.popleft()
            uses = [u for u in freed.uses if not self._is_before(u, use.stream)]
            if uses and block.serial > freed.serial:
                mistake = Mistake.NO_RECORD_STREAM
                found += [Conflict(mistake, u, use, freed.place) for u in uses]
            elif uses:
                early.append(freed)
        return found

    def _remember(self, use: Use, block: _Block) -> None:
        if use.writes:  # what conflicts with one before it conflicts with it
            block.uses = {
                key: other
                for key, other in block.uses.items()
                if not use.region.covers(other.region)
            }
        block.uses[use.stream, use.region, use.writes] = use
        if len(block.uses) > block.many:
            self._forget(block)

    def _forget(self, block: _Block) -> None:
        """Forgets uses that can conflict with nothing any more."""
        block.uses = {
            key: use
            for key, use in block.uses.items()
            if not self._clocks.is_over(use.stream, use.number)
        }
        block.many = max(_MANY_USES, 2 * len(block.uses))
