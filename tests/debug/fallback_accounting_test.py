# SPDX-License-Identifier: Apache-2.0
"""Fallback accounting: what runs on the CPU is recorded, and can be forbidden.

`scaled` and its like are operators that only the CPU has.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator

import pytest
import torch
import torch_dipu
from torch_dipu import Fallback

NO_KERNEL = "the device has no kernel for it"
FORCED = "it is forced to"
SCALED = "dipu_accounting::scaled"

_cpu_calls: list[str] = []


def _scale_in_place(x: torch.Tensor) -> torch.Tensor:
    _cpu_calls.append("scaled_")
    return x.mul_(3)


_LIBRARY = torch.library.Library("dipu_accounting", "DEF")
_LIBRARY.define("scaled(Tensor x) -> Tensor")
_LIBRARY.define("scaled_(Tensor(a!) x) -> Tensor(a!)")
_LIBRARY.define("scaled.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
_LIBRARY.define("failing(Tensor x) -> Tensor")
_LIBRARY.define("inner(Tensor x) -> Tensor")
_LIBRARY.define("outer(Tensor x) -> Tensor")
_LIBRARY.impl("scaled", lambda x: x * 3, "CPU")
_LIBRARY.impl("scaled_", _scale_in_place, "CPU")
_LIBRARY.impl("scaled.out", lambda x, *, out: torch.mul(x, 3, out=out), "CPU")
ops = torch.ops.dipu_accounting
scaled = ops.scaled


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DIPU_FALLBACK", "silent")
    torch_dipu.reset_fallbacks()
    _cpu_calls.clear()
    yield
    torch_dipu.reset_fallbacks()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(12.0).reshape(3, 4).to("dipu")


def here(lines_ago: int = 0) -> str:
    """The caller's line, or one above it, as records have it."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    caller = frame.f_back
    return f"{caller.f_code.co_filename}:{caller.f_lineno - lines_ago}"


def only() -> Fallback:
    (fallback,) = torch_dipu.fallbacks()
    return fallback


def test_a_call_is_recorded(x: torch.Tensor) -> None:
    scaled(x)
    line = here(lines_ago=1)
    fallback = only()
    assert fallback.operator == SCALED
    assert fallback.reason == NO_KERNEL
    assert fallback.calls == 1
    assert 0 < fallback.seconds < 60
    assert fallback.bytes_to_cpu == fallback.bytes_to_device == x.nbytes
    assert fallback.line == line


def test_what_the_device_computes_is_not(x: torch.Tensor) -> None:
    (x + x).relu().cpu()
    assert torch_dipu.fallbacks() == []


def test_calls_add_up_and_the_first_line_stays(x: torch.Tensor) -> None:
    scaled(x)
    line = here(lines_ago=1)
    one = only()
    scaled(x)
    fallback = only()
    assert (fallback.calls, fallback.bytes_to_cpu) == (2, 2 * one.bytes_to_cpu)
    assert fallback.seconds > one.seconds
    assert fallback.line == line


def test_the_line_is_looked_for_once(x: torch.Tensor) -> None:
    asked = []

    def line() -> str:
        asked.append(1)
        return "somewhere:1"

    _C = torch_dipu._C
    _C._set_fallback_frontend(line, torch_dipu._fallbacks._allows)
    try:
        for _ in range(5):
            scaled(x)
    finally:
        _C._set_fallback_frontend(
            torch_dipu._origin.user_line, torch_dipu._fallbacks._allows
        )
    assert (len(asked), only().line) == (1, "somewhere:1")


def test_what_a_signal_raises_meanwhile_is_not_lost(x: torch.Tensor) -> None:
    def interrupt() -> str:
        raise KeyboardInterrupt

    _C = torch_dipu._C
    _C._set_fallback_frontend(interrupt, torch_dipu._fallbacks._allows)
    try:
        with pytest.raises(KeyboardInterrupt):
            scaled(x)
    finally:
        _C._set_fallback_frontend(
            torch_dipu._origin.user_line, torch_dipu._fallbacks._allows
        )
    scaled(x)
    assert only().calls == 1


def test_lines_of_torch_are_passed_over(x: torch.Tensor) -> None:
    class Scale(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.line = here(lines_ago=-1)
            return scaled(x)

    module = Scale()
    torch.nn.Sequential(module)(x)
    assert only().line == module.line


def test_each_reason_has_a_record() -> None:
    image = torch.ones(1, 1, 4, 4, dtype=torch.uint8, device="dipu")

    def enlarge(image: torch.Tensor) -> None:
        torch.nn.functional.interpolate(image, scale_factor=2, mode="bilinear")

    enlarge(image)
    with torch_dipu.force_fallback("upsample_bilinear2d"):
        enlarge(image)
        enlarge(image.float())
    refused, forced = sorted(torch_dipu.fallbacks(), key=lambda f: f.calls)
    assert refused.operator == forced.operator == "upsample_bilinear2d"
    assert refused.reason == "the vendor's function does not support this dtype"
    assert (forced.calls, forced.reason) == (2, FORCED)


def test_out_is_not_read(x: torch.Tensor) -> None:
    ops.scaled.out(x, out=torch.empty_like(x))
    fallback = only()
    assert fallback.operator == SCALED + ".out"
    assert fallback.bytes_to_cpu == fallback.bytes_to_device == x.nbytes


def test_only_the_range_of_a_view_is_copied(x: torch.Tensor) -> None:
    scaled(x[1])
    assert only().bytes_to_cpu < x.nbytes
    assert only().bytes_to_device == x[1].nbytes


def test_the_time_is_that_of_the_call(x: torch.Tensor) -> None:
    with torch.library._scoped_library("dipu_accounting", "FRAGMENT") as library:
        library.impl("inner", lambda x: time.sleep(0.05) or x * 1, "CPU")
        ops.inner(x)
    assert only().seconds >= 0.05


def test_a_fallback_within_another_counts_by_itself(x: torch.Tensor) -> None:
    with torch.library._scoped_library("dipu_accounting", "FRAGMENT") as library:
        library.impl("inner", lambda x: time.sleep(0.3) or x * 1, "CPU")
        library.impl("outer", lambda host: ops.inner(x).cpu(), "CPU")
        ops.outer(x)
    inner, outer = torch_dipu.fallbacks()
    assert inner.operator == "dipu_accounting::inner"
    assert outer.seconds < 0.3 <= inner.seconds
    # Its argument, and the result of the inner one.
    assert outer.bytes_to_cpu == 2 * x.nbytes
    assert inner.bytes_to_cpu == x.nbytes


def test_a_call_that_fails_is_recorded(x: torch.Tensor) -> None:
    def fail(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("on purpose")

    with torch.library._scoped_library("dipu_accounting", "FRAGMENT") as library:
        library.impl("failing", fail, "CPU")
        with pytest.raises(ValueError, match="on purpose"):
            ops.failing(x)
    assert (only().calls, only().bytes_to_device) == (1, 0)


def test_operators_that_the_cpu_lacks_too_are_recorded() -> None:
    """They are computed by others on the CPU, with copies of their own."""
    image = torch.randn(1, 1, 8, 8, device="dipu")
    weight = torch.randn(1, 1, 3, 3, device="dipu")
    with torch_dipu.force_fallback("conv2d"):
        result = torch.nn.functional.conv2d(image, weight)
    fallback = only()
    assert fallback.operator == "convolution_overrideable"
    assert fallback.bytes_to_cpu == image.nbytes + weight.nbytes
    assert fallback.bytes_to_device == result.nbytes


def test_threads_lose_no_call(x: torch.Tensor) -> None:
    def work() -> None:
        for _ in range(50):
            scaled(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (only().calls, only().bytes_to_cpu) == (200, 200 * x.nbytes)


def test_reset_begins_anew(x: torch.Tensor) -> None:
    scaled(x)
    counters = torch_dipu.op_counters()
    torch_dipu.reset_fallbacks()
    assert torch_dipu.fallbacks() == []
    assert torch_dipu.op_counters() == counters
    scaled(x)
    assert only().line == here(lines_ago=1)
    assert only().calls == 1
    name = f"fallback.{SCALED}"
    assert torch_dipu.op_counters()[name] == counters[name] + 1


def test_backward_names_its_call_and_its_node() -> None:
    x = torch.ones(2, device="dipu", requires_grad=True)
    y = (x * x).sum()
    with torch_dipu.force_fallback("mul.Tensor"):
        y.backward()
        line = here(lines_ago=1)
    assert only().line == f"{line} (backward of MulBackward0)"


def test_backward_names_the_forward_that_anomaly_detection_kept() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(check_nan=False):
            x = torch.ones(2, device="dipu", requires_grad=True)
            y = (x * x).sum()
            line = here(lines_ago=1)
            with torch_dipu.force_fallback("mul.Tensor"):
                y.backward()
    assert only().line == f"{line} (backward of MulBackward0)"


def test_threads_of_backward_have_no_line() -> None:
    x = torch.ones(2, device="dipu", requires_grad=True)
    y = (x * x).sum()
    with (
        torch_dipu.force_fallback("mul.Tensor"),
        torch.autograd.set_multithreading_enabled(True),
    ):
        y.backward()
    assert only().line == "no Python line (backward of MulBackward0)"


def test_the_report_has_all_of_it(x: torch.Tensor) -> None:
    assert torch_dipu.fallback_report() == "no operator ran on the CPU"
    scaled(x)
    line = re.escape(here(lines_ago=1))
    titles, row, total = torch_dipu.fallback_report().splitlines()
    assert (
        re.sub(" +", " ", titles) == "operator calls ms to CPU back first line reason"
    )
    assert re.fullmatch(rf"{SCALED} +1 +\d+\.\d+ +48 B +48 B  {line}  {NO_KERNEL}", row)
    assert re.fullmatch(r"total +1 +\d+\.\d+ +48 B +48 B", total)


def test_error_names_operator_reason_line_and_cure(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError) as caught:
        scaled(x)
    line = here(lines_ago=1)
    text = str(caught.value)
    assert f"operator {SCALED} would run on the CPU: {NO_KERNEL} ({line})" in text
    assert "DIPU_FALLBACK=error" in text
    assert "DIPU_FALLBACK_ALLOW_LIST" in text


def test_error_comes_before_anything_is_done(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch_dipu.op_counters()
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError):
        ops.scaled_(x)
    assert _cpu_calls == []
    assert torch.equal(x.cpu(), torch.arange(12.0).reshape(3, 4))
    assert torch_dipu.op_counters() == before
    assert torch_dipu.fallbacks() == []
    monkeypatch.setenv("DIPU_FALLBACK", "silent")
    ops.scaled_(x)
    assert _cpu_calls == ["scaled_"]
    assert only().line == here(lines_ago=2)


def test_what_is_forced_never_raises(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    monkeypatch.setenv("DIPU_FALLBACK_BUDGET", "0")
    with torch_dipu.force_fallback("add.out"):
        x + x
    assert only().reason == FORCED


def test_allowed_operators_run(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError):
        scaled(x)
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", "geqrf, dipu_accounting::.*d")
    scaled(x)
    torch.geqrf(x)
    with pytest.raises(NotImplementedError):
        ops.scaled_(x)  # a pattern describes the whole name
    monkeypatch.delenv("DIPU_FALLBACK_ALLOW_LIST")
    with pytest.raises(NotImplementedError):
        scaled(x)


@pytest.mark.parametrize("name", ["angle", "angle.out"])
def test_families_are_allowed_as_in_the_list_of_forced_operators(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    z = torch.ones(2, dtype=torch.complex64, device="dipu")
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError, match="operator angle would run"):
        z.angle()
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", name)
    z.angle()


def test_composites_are_allowed_as_in_the_list_of_forced_operators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = torch.ones(1, 1, 4, 4, dtype=torch.int64, device="dipu")
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError, match="convolution_overrideable"):
        torch.nn.functional.conv2d(image, image)
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", "conv2d")
    torch.nn.functional.conv2d(image, image)


def test_warnings_name_the_line_once(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "warn")
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", "dipu_accounting::quiet")
    with torch.library._scoped_library("dipu_accounting", "FRAGMENT") as library:
        for name in ("loud", "quiet"):
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, lambda x: x * 1, "CPU")
        for _ in range(2):
            ops.quiet(x)
            ops.loud(x)
            line = here(lines_ago=1)
    printed = capfd.readouterr().err
    assert printed.count(" runs on the CPU") == 1
    assert f"loud runs on the CPU: {NO_KERNEL} ({line})" in printed


def test_a_budget_turns_excess_into_an_error(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK_BUDGET", "2")
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", "geqrf")
    scaled(x)
    torch.geqrf(x)
    ops.scaled.out(x, out=torch.empty_like(x))
    with pytest.raises(NotImplementedError, match=r"2 calls .*DIPU_FALLBACK_BUDGET"):
        scaled(x)
    torch.geqrf(x)
    monkeypatch.setenv("DIPU_FALLBACK_BUDGET", "1")
    scaled(x)
    with pytest.raises(NotImplementedError, match=SCALED):
        scaled(x)
    monkeypatch.delenv("DIPU_FALLBACK_BUDGET")
    scaled(x)


def test_a_budget_of_error(x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    monkeypatch.setenv("DIPU_FALLBACK_BUDGET", "1")
    scaled(x)
    with pytest.raises(NotImplementedError, match=SCALED):
        scaled(x)


WRONG = [
    ("DIPU_FALLBACK", "loud", "use one of warn, silent, error"),
    ("DIPU_FALLBACK_ALLOW_LIST", "add(", "is not a regular expression"),
    ("DIPU_FALLBACK_BUDGET", "-1", "use a whole number"),
    ("DIPU_FALLBACK_BUDGET", "many", "use a whole number"),
    ("DIPU_FALLBACK_BUDGET", "1e3", "use a whole number"),
    ("DIPU_FALLBACK_SUMMARY", "perhaps", "use 1 or 0"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_values_are_refused(name: str, value: str, message: str) -> None:
    before = os.environ.get(name)
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        os.environ[name] = value
    assert os.environ.get(name) == before


def run(code: str, *arguments: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *(arguments or ("-c", code))],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_wrong_values_are_named_at_import() -> None:
    status, _, errors = run("import torch_dipu", DIPU_FALLBACK_BUDGET="many")
    assert status == 1
    assert "DIPU_FALLBACK_BUDGET='many': use a whole number" in errors


PROGRAM = """
import os, torch, torch_dipu
for _ in range(3):
    torch.geqrf(torch.ones(2, 2, device="dipu"))
"""


def test_summary_at_the_end_of_a_process_that_fails() -> None:
    environment = {"DIPU_FALLBACK_SUMMARY": "1", "DIPU_FALLBACK_BUDGET": "2"}
    status, _, errors = run(PROGRAM, **environment)
    assert status == 1
    assert "NotImplementedError" in errors
    assert re.search(rf"geqrf +2 .*<string>:4 +{NO_KERNEL}\n", errors), errors


def test_summary_can_be_asked_for_meanwhile() -> None:
    ask = PROGRAM + 'os.environ["DIPU_FALLBACK_SUMMARY"] = "1"'
    assert re.search(r"geqrf +3 ", run(ask)[2])


def test_the_command_prints_the_operators() -> None:
    status, output, errors = run("", "-m", "torch_dipu", "ops")
    assert (status, errors) == (0, "")
    assert re.search(r"found +diopiAdd +.*add\.Tensor", output)
