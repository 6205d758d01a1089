# SPDX-License-Identifier: Apache-2.0
"""Fallbacks that compute in the device's memory, which droplet's host can use."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
from collections.abc import Callable

import pytest
import torch
import torch_dipu

from tests.debug.fallback.cpu_only import SCALED, only, ops, scaled


@pytest.fixture(autouse=True)
def in_place(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIPU_FALLBACK_IN_PLACE", "1")


def _with_kernel(name: str, kernel: Callable[..., object]) -> torch.library.Library:
    """Gives an operator of the library its CPU kernel until the result ends."""
    library = torch.library.Library("dipu_accounting", "FRAGMENT")
    library.impl(name, kernel, "CPU")
    return library


def test_arguments_are_not_copied(x: torch.Tensor) -> None:
    result = scaled(x)
    assert result.device == x.device
    assert result.tolist() == (x.cpu() * 3).tolist()
    fallback = only()
    assert (fallback.operator, fallback.calls) == (SCALED, 1)
    assert (fallback.bytes_to_cpu, fallback.bytes_to_device) == (0, x.nbytes)


def test_what_is_written_is_not_copied_back(x: torch.Tensor) -> None:
    expected = (x.cpu() * 3).tolist()
    assert ops.scaled_(x) is x
    assert x.tolist() == expected
    assert (only().bytes_to_cpu, only().bytes_to_device) == (0, 0)


def test_views_write_their_part_only(x: torch.Tensor) -> None:
    column = x[:, 1]
    ops.scaled_(column)
    expected = torch.arange(12.0).reshape(3, 4)
    expected[:, 1] *= 3
    assert x.tolist() == expected.tolist()
    assert (only().bytes_to_cpu, only().bytes_to_device) == (0, 0)


def test_the_host_waits_for_the_device_and_is_waited_for() -> None:
    big = torch.ones(1 << 22, device="dipu")
    for _ in range(5):
        big.mul_(2)
        ops.scaled_(big)
        big.sub_(1)
    value = 1.0
    for _ in range(5):
        value = value * 2 * 3 - 1
    assert torch.all(big == value).item()


def test_other_streams_are_waited_for_as_with_copies() -> None:
    big = torch.ones(1 << 22, device="dipu")
    side = torch.Stream("dipu")
    side.wait_stream(torch.accelerator.current_stream())
    with side:
        big.mul_(5)
        ops.scaled_(big)
    torch.accelerator.current_stream().wait_stream(side)
    assert torch.all(big == 15).item()


@pytest.mark.parametrize("size", [(0,), (2, 2), (3, 4)])
def test_out_may_be_resized(x: torch.Tensor, size: tuple[int, ...]) -> None:
    out = torch.empty(size, device="dipu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is resized
        assert ops.scaled.out(x, out=out) is out
    assert out.tolist() == (x.cpu() * 3).tolist()
    assert only().bytes_to_cpu == 0, "what is read needs no copy"


def test_out_that_is_an_argument_too_is_copied(x: torch.Tensor) -> None:
    expected = (x.cpu() * 3).tolist()
    ops.scaled.out(x, out=x)
    assert x.tolist() == expected
    assert (only().bytes_to_cpu, only().bytes_to_device) == (x.nbytes, x.nbytes)


def test_a_result_that_is_a_view_stays_one(x: torch.Tensor) -> None:
    library = _with_kernel("inner", lambda x: x[1:])
    row = ops.inner(x)
    row.zero_()
    assert x[1:].count_nonzero().item() == 0
    assert x[0].tolist() == [0, 1, 2, 3]
    del library


def test_an_image_keeps_the_memory() -> None:
    kept = []
    library = _with_kernel("inner", lambda x: kept.append(x) or x * 1)
    x = torch.full((1 << 20,), 7.0, device="dipu")
    ops.inner(x)
    del x
    gc.collect()
    torch.accelerator.empty_cache()
    others = [torch.zeros(1 << 20, device="dipu") for _ in range(4)]
    torch.accelerator.synchronize()
    assert torch.all(kept[0] == 7).item()
    assert len(others) == 4
    del library


def test_a_call_that_fails_leaves_the_device_usable(x: torch.Tensor) -> None:
    def fail(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("on purpose")

    library = _with_kernel("failing", fail)
    with pytest.raises(ValueError, match="on purpose"):
        ops.failing(x)
    assert x.sum().item() == 66
    del library


def test_autocompare_still_sees_what_a_forced_operator_reads(
    x: torch.Tensor,
) -> None:
    with torch_dipu.force_fallback("add.Tensor"), torch_dipu.autocompare("add.Tensor"):
        result = x + x
    assert result.tolist() == (x.cpu() * 2).tolist()


PROGRAM = """
import torch, torch_dipu
x = torch.arange(12.0).to("dipu")
with torch_dipu.force_fallback("add.Tensor"):
    x + x
(fallback,) = torch_dipu.fallbacks()
print(fallback.bytes_to_cpu)
"""


@pytest.mark.parametrize(("value", "copied"), [("1", "0"), ("0", "48"), ("", "0")])
def test_the_environment_decides_at_the_start(
    monkeypatch: pytest.MonkeyPatch, value: str, copied: str
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK_IN_PLACE", value)
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == copied
