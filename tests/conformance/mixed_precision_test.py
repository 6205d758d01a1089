# SPDX-License-Identifier: Apache-2.0
"""Autocast and gradient scaling."""

from __future__ import annotations

import torch
from torch import nn


def test_autocast_chooses_the_dtype(device: str) -> None:
    a = torch.randn(4, 4, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        assert (a @ a).dtype == torch.bfloat16
        assert torch.softmax(a @ a, -1).dtype == torch.float32
    assert (a @ a).dtype == torch.float32


def test_gradient_scaling(device: str) -> None:
    model = nn.Linear(4, 2).to(device)
    before = model.weight.detach().cpu().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device, init_scale=4.0, growth_interval=1)
    loss = model(torch.ones(1, 4, device=device)).sum()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    assert torch.allclose(model.weight.grad.cpu(), torch.ones(2, 4))
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0
    assert torch.allclose(model.weight.detach().cpu(), before - 0.1)


def test_overflow_skips_the_step(device: str) -> None:
    model = nn.Linear(4, 2).to(device)
    before = model.weight.detach().cpu().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device, init_scale=4.0)
    loss = model(torch.full((1, 4), torch.inf, device=device)).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0
    assert torch.equal(model.weight.detach().cpu(), before)
