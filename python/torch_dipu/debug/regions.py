# SPDX-License-Identifier: Apache-2.0
"""Which bytes a tensor occupies, and whether two tensors share some."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

# Of how many runs of one region the overlap with another region is computed; those
# beyond are taken for disjoint. Only regions with unlike strides need that many.
_MAX_RUNS = 1 << 16

# Distance in bytes between two neighbours in a dimension, and their number.
Step = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Region:
    """Runs of bytes of one length at regular distances.

    Attributes:
        begin: Address of the first byte.
        run: Length of each run.
        steps: How they repeat, the largest distance first; none means one run.
    """

    begin: int
    run: int
    steps: tuple[Step, ...] = ()

    @property
    def end(self) -> int:
        """Address behind the last byte."""
        return self.begin + _span(self.run, self.steps)

    def covers(self, other: Region) -> bool:
        """Whether it has all bytes of `other`. May say no where it has."""
        if self == other:
            return True
        return not self.steps and self.begin <= other.begin and other.end <= self.end


def _span(run: int, steps: Iterable[Step]) -> int:
    return run + sum(distance * (count - 1) for distance, count in steps)


def region_of(
    address: int, item: int, sizes: Sequence[int], strides: Sequence[int]
) -> Region | None:
    """The bytes of a tensor; None if it has no elements.

    Args:
        address: Of the first element.
        item: Bytes of an element.
        sizes: Elements per dimension.
        strides: Elements between neighbours in a dimension.
    """
    if 0 in sizes:
        return None
    moves = [(s * item, n) for n, s in zip(sizes, strides, strict=True) if n > 1 and s]
    run = item
    steps: list[Step] = []
    for distance, count in sorted(moves):
        if not steps and distance <= run:
            run += distance * (count - 1)
        elif steps and distance == steps[-1][0] * steps[-1][1]:
            steps[-1] = (steps[-1][0], steps[-1][1] * count)
        else:
            steps.append((distance, count))
    return Region(address, run, tuple(reversed(steps)))


def _hits(run: int, steps: tuple[Step, ...], low: int, high: int) -> bool:
    """Whether a region that begins at 0 has a byte from `low` to before `high`."""
    if not steps:
        return low < run and high > 0
    (distance, count), inner = steps[0], steps[1:]
    span = _span(run, inner)
    first = max(0, (low - span) // distance + 1)
    last = min(count - 1, (high - 1) // distance)
    if span <= distance and last - first >= 2:
        return True  # one lies between both ends as a whole
    return any(
        _hits(run, inner, low - i * distance, high - i * distance)
        for i in range(first, last + 1)
    )


def _meet(delta: int, one: Region, two: Region) -> bool:
    """Whether the runs of `one`, moved to `delta`, meet those of `two`, moved to 0."""
    if not one.steps:
        return _hits(two.run, two.steps, delta, delta + one.run)
    if not two.steps:
        return _hits(one.run, one.steps, -delta, two.run - delta)
    if one.steps[0][0] < two.steps[0][0]:
        return _meet(-delta, two, one)
    distance, count = one.steps[0]
    inner = Region(0, one.run, one.steps[1:])
    other = Region(0, two.run, two.steps)
    low, high = 0, count - 1
    if distance == two.steps[0][0]:
        # Only how far apart the two are in this dimension matters.
        other = Region(0, two.run, two.steps[1:])
        low = 1 - two.steps[0][1]
    # Those between which `inner` and `other` touch at all.
    low = max(low, (-delta - inner.end) // distance + 1)
    high = min(high, (other.end - delta - 1) // distance, low + _MAX_RUNS)
    return any(_meet(delta + i * distance, inner, other) for i in range(low, high + 1))


def overlap(one: Region, two: Region) -> bool:
    """Whether the two share a byte."""
    if one.end <= two.begin or two.end <= one.begin:
        return False
    return _meet(one.begin - two.begin, one, two)
