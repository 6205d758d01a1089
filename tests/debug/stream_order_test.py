# SPDX-License-Identifier: Apache-2.0
"""What the stream sanitizer computes with: regions, clocks and the shadow of memory."""

from __future__ import annotations

import itertools
import random

import pytest
import torch
from torch_dipu.debug import regions
from torch_dipu.debug.ordering import Clocks, Stream
from torch_dipu.debug.regions import Region, overlap, region_of
from torch_dipu.debug.shadow import Mistake, Shadow, Use

A: Stream = (0, 0)
B: Stream = (0, 1)
C: Stream = (0, 2)
SIZE = 512
EVENT = 77


def bytes_of(tensor: torch.Tensor) -> set[int]:
    indices = itertools.product(*map(range, tensor.shape))
    starts = {
        tensor.element_size()
        * (
            tensor.storage_offset()
            + sum(i * s for i, s in zip(index, tensor.stride(), strict=True))
        )
        for index in indices
    }
    return {start + i for start in starts for i in range(tensor.element_size())}


def region(tensor: torch.Tensor) -> Region:
    item = tensor.element_size()
    found = region_of(
        tensor.storage_offset() * item, item, tensor.shape, tensor.stride()
    )
    assert found is not None
    return found


def views() -> list[torch.Tensor]:
    """Views of one storage: slices, steps, transposes, windows and types."""
    x = torch.zeros(4, 6, 5, dtype=torch.int16)
    flat = x.view(-1)
    found = [
        x,
        x[0],
        x[:, 2],
        x[:, :, 3],
        x[1:3, ::2, 1:4],
        x[1:3, 1::2, 1:4],
        x.transpose(0, 2)[1],
        x.permute(2, 0, 1)[1:3, :, ::3],
        flat[::7],
        flat[3::7],
        flat[5],
        flat[10:20].view(torch.int8)[1:3],
        flat.unfold(0, 10, 4),
        x[0, 0, :1].expand(9),
        torch.as_strided(flat, (3, 4), (10, 12), 5),
    ]
    source = random.Random(0)
    for _ in range(60):
        index = tuple(
            slice(source.randrange(size), None, source.randrange(1, 4))
            for size in x.shape
        )
        found.append(x[index])
    return found


def test_regions_have_the_bytes_of_tensors() -> None:
    for view in views():
        held = bytes_of(view)
        assert (region(view).begin, region(view).end) == (min(held), max(held) + 1)


def test_regions_overlap_where_tensors_do() -> None:
    pairs = list(itertools.combinations(views(), 2))
    expected = [bool(bytes_of(one) & bytes_of(two)) for one, two in pairs]
    assert {True, False} == set(expected)
    for (one, two), shared in zip(pairs, expected, strict=True):
        assert overlap(region(one), region(two)) is shared
        assert overlap(region(two), region(one)) is shared


def test_dense_regions_are_one_run() -> None:
    assert region(torch.zeros(3, 4, 5).permute(2, 0, 1)) == Region(0, 240)
    assert region_of(0, 4, (3, 0), (1, 1)) is None


@pytest.mark.parametrize("step", [8, 12])
def test_large_regions_are_compared_in_few_steps(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins in the last gap of the first."""
    address, rows = 0x7F0000000000, 10**5
    left = region_of(address, 4, (rows, 4), (8, 1))
    right = region_of(address + 32 * (rows - 1) - 16, 4, (rows, 4), (step, 1))
    assert left and right
    meetings = 0
    meet = regions._meet

    def counting(delta: int, one: Region, two: Region) -> bool:
        nonlocal meetings
        meetings += 1
        return meet(delta, one, two)

    monkeypatch.setattr(regions, "_meet", counting)
    assert not overlap(left, right)
    assert not overlap(right, left)
    assert meetings < 20


def test_a_region_covers_what_lies_in_its_run() -> None:
    assert Region(0, 100).covers(Region(8, 4, ((16, 3),)))
    assert not Region(0, 40).covers(Region(8, 4, ((16, 3),)))
    assert not Region(0, 4, ((8, 5),)).covers(Region(0, 4))


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def test_a_stream_knows_its_own_launches(clocks: Clocks) -> None:
    assert clocks.last(A) == 0
    assert (clocks.launch(A), clocks.launch(A)) == (1, 2)
    assert clocks.is_before(A, 2, A)
    assert not clocks.is_before(A, 1, B)


def test_a_wait_orders_what_was_marked(clocks: Clocks) -> None:
    first = clocks.launch(A)
    clocks.record(EVENT, A)
    second = clocks.launch(A)
    clocks.wait(B, EVENT)
    assert clocks.is_before(A, first, B)
    assert not clocks.is_before(A, second, B)


def test_an_event_stands_for_its_last_mark(clocks: Clocks) -> None:
    clocks.launch(A)
    clocks.record(EVENT, A)
    number = clocks.launch(B)
    clocks.record(EVENT, B)
    clocks.wait(C, EVENT)
    assert clocks.is_before(B, number, C)
    assert not clocks.is_before(A, 1, C)
    clocks.wait(C, EVENT + 1)  # never recorded


def test_waits_are_passed_on(clocks: Clocks) -> None:
    number = clocks.launch(A)
    clocks.record(EVENT, A)
    clocks.wait(B, EVENT)
    clocks.record(EVENT, B)
    clocks.wait(C, EVENT)
    assert clocks.is_before(A, number, C)


@pytest.mark.parametrize("way", ["event", "stream", "device"])
def test_the_host_tells_all_streams(clocks: Clocks, way: str) -> None:
    number = clocks.launch(A)
    clocks.record(EVENT, A)
    if way == "event":
        clocks.event_done(EVENT)
    elif way == "stream":
        clocks.stream_done(A)
    else:
        clocks.device_done(1)
        assert not clocks.is_over(A, number)
        clocks.device_done(0)
    assert clocks.is_over(A, number)
    assert clocks.is_before(A, number, C)


class Program:
    """Calls on the shadow, with lines as places."""

    def __init__(self) -> None:
        self.clocks = Clocks()
        self.shadow = Shadow(self.clocks)
        self.line = 0

    def place(self) -> tuple[str, ...]:
        self.line += 1
        return (f"line {self.line}",)

    def allocate(self, stream: Stream, begin: int = 0) -> None:
        self.shadow.allocate(begin, SIZE, stream, self.place())

    def free(self, owner: Stream, *users: Stream, begin: int = 0) -> None:
        self.shadow.free(begin, SIZE, owner, list(users), self.place())

    def wait(self, stream: Stream, other: Stream) -> None:
        self.clocks.record(EVENT, other)
        self.clocks.wait(stream, EVENT)

    def use(
        self,
        stream: Stream,
        writes: bool,
        bytes_used: tuple[int, int] = (0, SIZE),
        begin: int = 0,
    ) -> list[tuple[Mistake, Stream]]:
        number = self.clocks.launch(stream)
        low, high = bytes_used
        part = Region(begin + low, high - low)
        use = Use(stream, number, part, writes, "op", "x", self.place())
        found = self.shadow.judge(use, begin, SIZE)
        self.shadow.remember(use, begin, SIZE, found)
        return [(conflict.mistake, conflict.first.stream) for conflict in found]


@pytest.fixture
def program() -> Program:
    return Program()


@pytest.mark.parametrize(
    ("first", "second", "races"),
    [(False, False, False), (True, False, True), (False, True, True)],
)
def test_a_write_is_needed(
    program: Program, first: bool, second: bool, races: bool
) -> None:
    program.use(A, first)
    assert program.use(B, second) == ([(Mistake.NO_WAIT, A)] if races else [])


def test_a_conflict_is_told_once(program: Program) -> None:
    program.use(A, True)
    assert program.use(B, False) == [(Mistake.NO_WAIT, A)]
    assert program.use(B, True) == []
    program.use(A, True)
    assert program.use(B, True) == [(Mistake.NO_WAIT, A)]


def test_only_shared_bytes_conflict(program: Program) -> None:
    program.use(A, True, (0, 100))
    assert program.use(B, True, (100, 200)) == []
    assert program.use(C, True, (99, 101)) == [
        (Mistake.NO_WAIT, A),
        (Mistake.NO_WAIT, B),
    ]


def test_an_older_use_is_not_hidden_by_a_newer_read(program: Program) -> None:
    program.use(A, True)
    program.wait(B, A)
    program.use(B, False)
    assert program.use(C, False) == [(Mistake.NO_WAIT, A)]
    assert program.use(C, True) == [(Mistake.NO_WAIT, B)]


def test_memory_freed_too_early(program: Program) -> None:
    program.allocate(A)
    program.use(B, False)
    program.free(A)
    program.allocate(A, begin=SIZE)
    assert program.use(A, False, begin=SIZE) == [], "reads what it will write"
    assert program.use(A, True, begin=SIZE) == [(Mistake.NO_RECORD_STREAM, B)]
    assert program.use(A, True, begin=SIZE) == []


def test_memory_that_was_there_before_is_not_what_was_freed(program: Program) -> None:
    program.allocate(A, begin=SIZE)
    program.allocate(A)
    program.use(B, False)
    program.free(A)
    assert program.use(A, True, begin=SIZE) == []


def test_recorded_users_are_waited_for(program: Program) -> None:
    program.allocate(A)
    program.use(B, False)
    program.free(A, B)
    program.allocate(A)
    assert program.use(A, True) == []


def test_an_owner_that_waits_later_makes_no_mistake(program: Program) -> None:
    program.allocate(A)
    program.use(B, False)
    program.free(A)
    program.allocate(A)
    program.wait(A, B)
    assert program.use(A, True) == []


def test_new_memory_belongs_to_its_stream(program: Program) -> None:
    program.use(A, True, begin=SIZE)
    program.allocate(A)
    assert program.use(A, True) == []
    program.allocate(A, begin=2 * SIZE)
    assert program.use(B, True, begin=2 * SIZE) == [(Mistake.NO_WAIT_FOR_MEMORY, A)]


def test_nothing_to_wait_for_in_new_memory(program: Program) -> None:
    program.use(A, True, begin=SIZE)
    program.wait(B, A)
    program.allocate(A)
    assert program.use(B, True) == [], "nothing was launched after the wait"


def test_unknown_memory_may_turn_out_to_be_part_of_a_block(program: Program) -> None:
    clocks, shadow = program.clocks, program.shadow
    part = Use(A, clocks.launch(A), Region(100, 8), True, "copy", "8 bytes", ())
    assert shadow.judge(part, 100, 8) == []
    shadow.remember(part, 100, 8, [])
    assert program.use(B, False) == [(Mistake.NO_WAIT, A)]


def test_a_use_that_did_not_happen_is_dropped(program: Program) -> None:
    shadow = program.shadow
    use = Use(B, program.clocks.launch(B), Region(0, 8), True, "op", "x", ())
    shadow.remember(use, 0, SIZE, [])
    shadow.drop(use)
    assert program.use(A, True) == []
    shadow.drop(use)  # is gone


def test_uses_that_are_over_are_forgotten(program: Program) -> None:
    for i in range(1000):
        program.use(A, True, (i % 500, i % 500 + 1))
        program.clocks.stream_done(A)
    block = program.shadow._block(0, SIZE)
    assert len(block.uses) <= 65
