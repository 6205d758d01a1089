# SPDX-License-Identifier: Apache-2.0
"""The stream sanitizer, beside schedules that show which programs race."""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import os
from collections.abc import Callable, Iterator

import pytest
import torch
import torch_dipu
from torch_dipu import _C
from torch_dipu.debug import uses
from torch_dipu.debug.shadow import Mistake

from tests.debug import racing_programs
from tests.debug.race_free_programs import CLEAN
from tests.debug.racing_programs import RACES
from tests.debug.stream_programs import Program, current, new_stream, ramp, settled

SEEDS = range(16)
# More than any race needs to be seen.
MANY_SEEDS = 200
LIBRARY = os.path.join(
    os.path.dirname(os.environ["DIPU_VENDOR_LIBRARY"]), "libdipu_softdevice.so"
)


def name_of(program: Program) -> str:
    return program.__name__


def marked(program: Callable[..., object], mark: str) -> str:
    """The line that bears the comment, as places begin with it."""
    lines, first = inspect.getsourcelines(program)
    file = inspect.getsourcefile(program)
    found = [i for i, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
    assert len(found) == 1, mark
    return f"{file}:{first + found[0]} "


def values(program: Program) -> list[list[float]]:
    """What the program computes, read when all is over."""
    results = program()
    torch.accelerator.synchronize(0)
    torch.accelerator.synchronize(1)
    return [result.double().cpu().flatten().tolist() for result in results]


@pytest.fixture(scope="module")
def softdevice() -> Iterator[ctypes.CDLL]:
    torch.zeros(1, device="dipu")
    library = ctypes.CDLL(LIBRARY)
    library.soft_schedule_set.argtypes = [ctypes.c_uint64]
    yield library
    library.soft_schedule_clear()


@pytest.mark.parametrize("program", RACES, ids=name_of)
def test_races_are_named(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    with torch_dipu.sanitize_streams() as report:
        values(program)
    (finding,) = report.findings
    assert finding.count == 1
    assert finding.first.place[0].startswith(marked(program, "first"))
    assert finding.second.place[0].startswith(marked(program, "second"))
    assert finding.first.stream != finding.second.stream
    assert (finding.first.writes, finding.second.writes) != (False, False)
    if "# freed" in inspect.getsource(program):
        assert finding.freed[0].startswith(marked(program, "freed"))
    else:
        assert finding.freed == ()
    printed = capfd.readouterr().out
    assert f"sanitize_streams: {finding}\n" in printed
    assert "cure: " in printed


@pytest.mark.parametrize("program", CLEAN, ids=name_of)
def test_programs_without_races_are_not_accused(program: Program) -> None:
    with torch_dipu.sanitize_streams("silent") as report:
        values(program)
    assert [str(finding) for finding in report.findings] == []
    assert report.calls > 0


@pytest.mark.parametrize("program", RACES, ids=name_of)
def test_some_schedule_shows_the_race(
    softdevice: ctypes.CDLL, program: Program
) -> None:
    results = []
    for seed in range(MANY_SEEDS):
        assert softdevice.soft_schedule_set(seed) == 0
        with torch_dipu.sanitize_streams("silent") as report:
            results.append(values(program))
        assert len(report.findings) == 1, "whatever the schedule"
        if results[-1] != results[0]:
            break
    softdevice.soft_schedule_clear()
    assert results[-1] != results[0]


@pytest.mark.parametrize("program", CLEAN, ids=name_of)
def test_no_schedule_changes_a_program_without_races(
    softdevice: ctypes.CDLL, program: Program
) -> None:
    expected = values(program)
    for seed in SEEDS:
        assert softdevice.soft_schedule_set(seed) == 0
        with torch_dipu.sanitize_streams("silent") as report:
            assert values(program) == expected
        assert report.findings == []
    softdevice.soft_schedule_clear()


def test_what_a_finding_says() -> None:
    with torch_dipu.sanitize_streams("silent") as report:
        values(racing_programs.read_after_write)
    text = str(report.findings[0])
    assert "nothing orders them" in text
    assert "add_.Tensor writes self: float32[1000] on the default stream of" in text
    assert "mul.Tensor reads self: float32[1000] on stream " in text
    first, second = (
        marked(racing_programs.read_after_write, mark).strip()
        for mark in ("first", "second")
    )
    assert "wait for the default stream of dipu:0: late.wait_stream(early)" in text
    assert f"after {first} and before {second}" in text
    assert " values\n" in text, "the stack goes on to the callers"


def test_a_missing_record_stream_says_so() -> None:
    with torch_dipu.sanitize_streams("silent") as report:
        values(racing_programs.freed_without_record_stream)
    text = str(report.findings[0])
    assert "without record_stream" in text
    assert "call tensor.record_stream(stream) with stream " in text


def test_a_pair_of_places_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    x, side = ramp(), new_stream()
    with torch_dipu.sanitize_streams() as report:
        for _ in range(3):
            x.add_(1)
            with side:
                x * 2
            torch.accelerator.synchronize()
    (finding,) = report.findings
    assert finding.count == 3
    assert capfd.readouterr().out.count("sanitize_streams:") == 1
    assert str(report).startswith("3 times: ")
    assert str(report).endswith(f"1 finding in {report.calls} calls")


def test_an_error_comes_before_the_second_use_is_enqueued() -> None:
    x, side = ramp(), new_stream()
    with (
        torch_dipu.sanitize_streams("error"),
        pytest.raises(torch_dipu.StreamOrderError, match="nothing orders them"),
    ):
        x.fill_(1)
        with side:
            x.fill_(2)
    torch.accelerator.synchronize()
    assert x.tolist() == [1.0] * x.numel()


def test_an_error_within_backward_comes_from_there() -> None:
    x, side = ramp(), new_stream()
    w = torch.ones_like(x).requires_grad_()
    y = (w * x).sum()
    torch.accelerator.synchronize()
    with (
        torch_dipu.sanitize_streams("error"),
        pytest.raises(torch_dipu.StreamOrderError, match="backward of MulBackward0"),
    ):
        with side:
            x.data.zero_()  # past the check of autograd
        y.backward()
    torch.accelerator.synchronize()
    assert w.grad is None


def test_memory_from_before_the_block_has_an_owner_too() -> None:
    x, side = ramp(), new_stream()
    with torch_dipu.sanitize_streams("silent") as report:
        with side:
            y = x * 2
        del x
        z = torch.zeros(1000, device="dipu")
    torch.accelerator.synchronize()
    (finding,) = report.findings
    assert finding.mistake is Mistake.NO_RECORD_STREAM
    assert (finding.first.operator, finding.second.operator) == ("mul.Tensor", "zero_")
    assert (y.shape, z.shape) == ((1000,), (1000,))


def test_what_was_enqueued_before_the_block_is_taken_for_done() -> None:
    x, side = ramp(), new_stream()
    with side:
        x.add_(1)
    with torch_dipu.sanitize_streams("silent") as report:
        x.mul_(2)
    torch.accelerator.synchronize()
    assert report.findings == []


def test_an_unknown_mode_is_refused() -> None:
    with (
        pytest.raises(ValueError, match="use one of warn, silent, error"),
        torch_dipu.sanitize_streams("loud"),
    ):
        pass


def test_blocks_are_nested_and_end() -> None:
    x, side = ramp(), new_stream()
    with torch_dipu.sanitize_streams("silent") as outer:
        with torch_dipu.sanitize_streams("silent") as inner:
            x.add_(1)
        with side:
            x.add_(1)
    with side:
        x.add_(1)
    x.add_(1)
    torch.accelerator.synchronize()
    assert (len(outer.findings), len(inner.findings)) == (1, 0)
    assert (outer.calls, inner.calls) == (2, 1)


def test_other_tools_work_beside_it() -> None:
    x, side = ramp(), new_stream()
    with torch_dipu.sanitize_streams("silent") as report:
        with torch_dipu.capture_ops() as captured:
            x.add_(1)
            with side:
                x.add_(1)
        torch.accelerator.synchronize()
    assert captured.sequence == ["add_.Tensor"] * 2
    assert len(report.findings) == 1


def test_copies_are_no_operators_of_other_tools() -> None:
    with torch_dipu.capture_ops() as captured:
        ramp().clone()[0].item()
    assert captured.sequence == []


def test_a_refused_launch_did_not_happen() -> None:
    x, side = ramp(), new_stream()
    with torch_dipu.sanitize_streams("error") as report:
        x.fill_(1)
        for _ in range(2):
            with side, pytest.raises(torch_dipu.StreamOrderError):
                x.fill_(2)
        y = x * 2
    torch.accelerator.synchronize()
    assert y.tolist() == [2.0] * x.numel()
    assert [finding.count for finding in report.findings] == [2]


def test_a_failed_operator_has_used_nothing() -> None:
    x, side = ramp(), new_stream()
    (few,) = settled(torch.ones(7))
    with torch_dipu.sanitize_streams("silent") as report:
        with side, pytest.raises(RuntimeError, match="size"):
            x.add_(few)
        x.mul_(2)
    torch.accelerator.synchronize()
    assert report.calls == 2
    assert report.findings == []


@pytest.mark.parametrize("outside", [False, True])
def test_what_autocompare_copies_is_not_judged(outside: bool) -> None:
    x, side = ramp().view(20, 50), new_stream()
    with contextlib.ExitStack() as stack:
        if outside:
            stack.enter_context(torch_dipu.autocompare(".*"))
        report = stack.enter_context(torch_dipu.sanitize_streams("silent"))
        if not outside:
            stack.enter_context(torch_dipu.autocompare(".*"))
        x[:, ::2].add_(1)
        with side:
            x[:, 1::2].mul_(2)
        assert report.findings == []
        x.sub_(1)
    (finding,) = report.findings
    assert (finding.first.operator, finding.second.operator) == (
        "mul_.Tensor",
        "sub_.Tensor",
    )
    torch.accelerator.synchronize()


def test_an_interrupt_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts = [KeyboardInterrupt()]

    def here() -> list[str]:
        if interrupts:
            raise interrupts.pop()
        return []

    monkeypatch.setattr(uses, "here", here)
    with (
        torch_dipu.sanitize_streams("silent"),
        pytest.raises(KeyboardInterrupt),
    ):
        torch.empty(10, device="dipu")
        for _ in range(10**6):
            pass
    assert not interrupts


def test_happenings_do_not_pile_up() -> None:
    events = [current_event() for _ in range(3)]
    with torch_dipu.sanitize_streams("silent"):
        _C._take_happenings()
        side = new_stream()
        for _ in range(1000):
            side.query()
        assert _C._count_happenings() < 10
        for i in range(20_000):
            events[i % 3].record()
        assert _C._count_happenings() < 10_000


def current_event() -> torch.Event:
    return current().record_event()


def test_a_wrong_value_is_refused() -> None:
    with pytest.raises(ValueError, match="use one of 0, 1, error"):
        os.environ["DIPU_SANITIZE_STREAMS"] = "yes"
    assert "DIPU_SANITIZE_STREAMS" not in os.environ


def test_it_may_be_switched_on_and_off_at_any_time(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with contextlib.ExitStack() as stack:
        stack.callback(os.environ.pop, "DIPU_SANITIZE_STREAMS", None)
        os.environ["DIPU_SANITIZE_STREAMS"] = "1"
        values(racing_programs.read_after_write)
    assert "\n1 finding in " in capfd.readouterr().out
    values(racing_programs.read_after_write)
    assert capfd.readouterr().out == ""
