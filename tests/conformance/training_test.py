# SPDX-License-Identifier: Apache-2.0
"""Whole models train on the device alone and as on the CPU.

Float32 curves of two correct runs drift apart, so that only float64 is compared
over many steps; in float32 the first step may be off by as much as float32 is
on the CPU, see `errors`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

from tests.conformance.models import MODELS, Batch, Cnn, Dropout, Mlp

STEPS = 20


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True
    ),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3, weight_decay=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3),
    "amsgrad": lambda p: torch.optim.AdamW(p, lr=1e-3, amsgrad=True),
    "fused_adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
    "fused_adam": lambda p: torch.optim.Adam(p, lr=1e-3, fused=True, weight_decay=1e-3),
    "fused_sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "single_tensor": lambda p: torch.optim.AdamW(p, lr=1e-3, foreach=False),
}


def place(
    model: nn.Module,
    batch: Batch,
    device: str,
    dtype: torch.dtype,
) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    x, y = batch
    x = x.to(device, dtype) if x.is_floating_point() else x.to(device)
    return copy.deepcopy(model).to(device, dtype), x, y.to(device)


def train(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    make_optimizer: Callable[..., torch.optim.Optimizer],
    steps: int = STEPS,
) -> list[float]:
    optimizer = make_optimizer(model.parameters())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.loss(x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


# All optimizers on the small models; the large ones cost more than they show.
_PAIRS = [(name, opt) for name in ("mlp", "cnn", "transformer") for opt in OPTIMIZERS]
_PAIRS += [(name, "adamw") for name in MODELS if (name, "adamw") not in _PAIRS]


@pytest.mark.parametrize(("name", "optimizer"), _PAIRS)
def test_float64_curves_are_those_of_the_cpu(
    no_fallback, device: str, name: str, optimizer: str
) -> None:
    model, batch = MODELS[name](), MODELS[name].batch()
    expected = train(*place(model, batch, "cpu", torch.float64), OPTIMIZERS[optimizer])
    there = place(model, batch, device, torch.float64)
    with no_fallback():
        losses = train(*there, OPTIMIZERS[optimizer])
    assert losses == pytest.approx(expected, rel=1e-6)
    assert losses[-1] < losses[0]


def first_step(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor
) -> list[torch.Tensor]:
    loss = model.loss(x, y)
    loss.backward()
    gradients = [p.grad for p in model.parameters()]
    return [t.detach().cpu().double() for t in [loss, *gradients]]


def model_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """The loss of the first step, whose gradients are computed too."""
    return first_step(model, x, y)[0].item()


def errors(got: list[torch.Tensor], exact: list[torch.Tensor]) -> list[float]:
    """Largest deviation of each tensor, relative to its largest element."""
    return [
        ((g - e).abs().max() / e.abs().max().clamp_min(1e-12)).item()
        for g, e in zip(got, exact, strict=True)
    ]


@pytest.mark.parametrize("name", MODELS)
def test_first_float32_step_is_as_exact_as_the_cpu(
    no_fallback, device: str, name: str
) -> None:
    model, batch = MODELS[name](), MODELS[name].batch()
    exact = first_step(*place(model, batch, "cpu", torch.float64))
    cpu = first_step(*place(model, batch, "cpu", torch.float32))
    there = place(model, batch, device, torch.float32)
    with no_fallback():
        got = first_step(*there)
    allowed = 4 * max(*errors(cpu, exact), torch.finfo(torch.float32).eps)
    assert max(errors(got, exact)) <= allowed


@pytest.mark.parametrize("name", ["mlp", "transformer", "llama"])
def test_first_bfloat16_step(no_fallback, device: str, name: str) -> None:
    model, batch = MODELS[name](), MODELS[name].batch()
    exact = model_loss(*place(model, batch, "cpu", torch.float64))
    there = place(model, batch, device, torch.bfloat16)
    with no_fallback():
        got = model_loss(*there)
    assert got == pytest.approx(exact, rel=2e-2)


@pytest.mark.parametrize("name", MODELS)
def test_first_step_of_bfloat16_autocast(no_fallback, device: str, name: str) -> None:
    model, batch = MODELS[name](), MODELS[name].batch()
    exact = model_loss(*place(model, batch, "cpu", torch.float64))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cpu = model_loss(*place(model, batch, "cpu", torch.float32))
    there = place(model, batch, device, torch.float32)
    with no_fallback(), torch.autocast(device, dtype=torch.bfloat16):
        got = model_loss(*there)
    # A deep network without much data is off by more on the CPU already.
    allowed = max(2e-2 * exact, 2 * abs(cpu - exact))
    assert got == pytest.approx(exact, abs=allowed)


def test_evaluation_uses_running_statistics(no_fallback, device: str) -> None:
    model, batch = Cnn(), Cnn.batch()
    cpu, x, y = place(model, batch, "cpu", torch.float64)
    there, dx, dy = place(model, batch, device, torch.float64)
    train(cpu, x, y, OPTIMIZERS["sgd"], steps=3)
    train(there, dx, dy, OPTIMIZERS["sgd"], steps=3)
    with torch.no_grad(), no_fallback():
        got = there.eval()(dx)
    assert torch.allclose(got.cpu(), cpu.eval()(x).detach(), rtol=1e-6)


def test_gradient_clipping(no_fallback, device: str) -> None:
    model, x, y = place(Mlp(), Mlp.batch(), device, torch.float32)
    model.loss(x, y).backward()
    with no_fallback():
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert gradients.cpu().norm().item() == pytest.approx(0.01, rel=1e-4)


def test_dropout_trains_without_fallback(no_fallback, device: str) -> None:
    there = place(Dropout(), Dropout.batch(), device, torch.float32)
    with no_fallback():
        train(*there, OPTIMIZERS["adamw"])
