# SPDX-License-Identifier: Apache-2.0
"""Capture: which operators are called, and how often."""

from __future__ import annotations

import pytest
import torch
import torch_dipu
from torch.nn import functional


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(6.0).reshape(2, 3).to("dipu")


def test_calls_are_counted_in_their_order(x: torch.Tensor) -> None:
    with torch_dipu.capture_ops() as captured:
        for _ in range(2):
            x = x * 2 + 1
    x.exp()
    assert captured.sequence == ["mul.Tensor", "add.Tensor"] * 2
    assert captured.counts == {"mul.Tensor": 2, "add.Tensor": 2}


def test_only_chosen_operators(x: torch.Tensor) -> None:
    with torch_dipu.capture_ops("add.out") as captured:
        x * 2 + 1
    assert captured.sequence == ["add.Tensor"]


def test_gradients_and_optimizers_are_seen(x: torch.Tensor) -> None:
    weight = torch.ones(4, 3, device="dipu", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, fused=True)
    with torch_dipu.capture_ops() as captured:
        functional.linear(x, weight).sum().backward()
        optimizer.step()
    assert captured.counts["mm"] == 2
    assert captured.counts["_fused_sgd_"] == 1


def test_calls_on_the_cpu_are_seen(x: torch.Tensor) -> None:
    with torch_dipu.force_fallback("exp"), torch_dipu.capture_ops() as captured:
        x.exp()
    assert captured.sequence == ["exp"]


def test_calls_that_fail_are_seen(x: torch.Tensor) -> None:
    with (
        torch_dipu.capture_ops("sum.*") as captured,
        pytest.raises(IndexError),
    ):
        x.sum(5)
    assert captured.sequence == ["sum.dim_IntList"]


def test_blocks_are_nested(x: torch.Tensor) -> None:
    with torch_dipu.capture_ops() as outer:
        with torch_dipu.capture_ops("exp") as inner:
            x.exp()
        x.sin()
    assert inner.sequence == ["exp"]
    assert outer.sequence == ["exp", "sin"]
