# SPDX-License-Identifier: Apache-2.0
"""Fused steps of optimizers with the rate as a number or as a tensor, and
assertions on the device."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from tests.conformance.both_sides import compare
from tests.conformance.comparing import DEVICE, assert_near
from tests.conformance.conftest import Expectation
from tests.conformance.inputs import FLOATS

aten = torch.ops.aten


def _state(dtype: torch.dtype = torch.float32) -> list[list[Tensor]]:
    """Parameters, gradients, and two states of positive numbers."""
    shapes = [(3, 4), (5,), (0,)]
    return [
        [torch.randn(s).abs().to(dtype) for s in shapes],
        [torch.randn(s).to(dtype) for s in shapes],
        [torch.rand(s).to(dtype) for s in shapes],
        [torch.rand(s).to(dtype) for s in shapes],
        [torch.tensor(2.0) for _ in shapes],
    ]


def _there(lists: list[list[Tensor]]) -> list[list[Tensor]]:
    return [[t.to(DEVICE) for t in tensors] for tensors in lists]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("maximize", [False, True])
def test_adagrad(native: Expectation, maximize: bool, dtype: torch.dtype) -> None:
    host = _state(dtype)
    there = _there(host)
    options = {"lr_decay": 0.1, "weight_decay": 0.2, "eps": 1e-6}
    for p, g, s, _, steps in (host, there):
        expectation = native("_fused_adagrad_")
        step = torch._fused_adagrad_
        if p[0].device.type == DEVICE:
            with expectation:
                step(p, g, s, steps, lr=0.1, maximize=maximize, **options)
        else:
            step(p, g, s, steps, lr=0.1, maximize=maximize, **options)
    assert_near(there[0], host[0])
    assert_near(there[2], host[2])


RATES = {
    "adam": torch._fused_adam_,
    "adamw": torch._fused_adamw_,
    "sgd": torch._fused_sgd_,
    "adagrad": torch._fused_adagrad_,
}


def _step(name: str, lists: list[list[Tensor]], lr: float | Tensor) -> None:
    p, g, first, second, steps = lists
    if name == "sgd":
        RATES[name](
            p,
            g,
            first,
            weight_decay=0.1,
            momentum=0.9,
            lr=lr,
            dampening=0.2,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )
    elif name == "adagrad":
        RATES[name](
            p,
            g,
            first,
            steps,
            lr=lr,
            lr_decay=0.1,
            weight_decay=0.1,
            eps=1e-6,
            maximize=False,
        )
    else:
        RATES[name](
            p,
            g,
            first,
            second,
            [],
            steps,
            lr=lr,
            beta1=0.9,
            beta2=0.99,
            weight_decay=0.1,
            eps=1e-6,
            amsgrad=False,
            maximize=False,
        )


@pytest.mark.parametrize("place", ["cpu", DEVICE])
@pytest.mark.parametrize("name", RATES)
def test_rate_in_a_tensor(native: Expectation, name: str, place: str) -> None:
    host = _state()
    there = _there(host)
    _step(name, host, 0.05)
    with native(f"_fused_{name}_.tensor_lr"):
        _step(name, there, torch.tensor(0.05, device=place))
    assert_near(there[0], host[0])


def test_assertions_that_hold(native: Expectation) -> None:
    for value in (torch.tensor(True), torch.tensor([2.5]), torch.tensor([[-1]])):
        with native("_assert_async", "_assert_async.msg"):
            torch._assert_async(value.to(DEVICE))
            torch._assert_async(value.to(DEVICE), "never seen")
    torch.accelerator.synchronize()
    token = torch.tensor([3.0])
    compare(
        native("_assert_async.msg"),
        lambda value, token: aten._functional_assert_async.msg(value, "no", token),
        [torch.tensor(True), token],
    )
    with pytest.raises(RuntimeError, match="expected one"):
        torch._assert_async(torch.ones(2, device=DEVICE))


_FAILS = """
import torch, torch_dipu
torch._assert_async(torch.zeros(1, device="dipu"), "the sum is off")
torch.accelerator.synchronize()
"""


def test_assertion_that_fails(native: Expectation) -> None:
    # The error of the device stays, so another process has to have it.
    result = subprocess.run(
        [sys.executable, "-c", _FAILS], capture_output=True, text=True
    )
    assert result.returncode != 0
    assert "the sum is off" in result.stderr
