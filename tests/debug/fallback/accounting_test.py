# SPDX-License-Identifier: Apache-2.0
"""Fallback accounting: what runs on the CPU is recorded."""

from __future__ import annotations

import re
import threading
import time
import warnings

import pytest
import torch
import torch_dipu

from tests.debug.fallback.cpu_only import (
    FORCED,
    NO_KERNEL,
    SCALED,
    here,
    only,
    ops,
    scaled,
)


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
