# SPDX-License-Identifier: Apache-2.0
"""Tensors that change their device without becoming other objects.

Trap: without a shallow-copy type in common, `module.to(device)` replaces its
parameters and an optimizer that was made before keeps the CPU's.
"""

from __future__ import annotations

import copy
import threading

import torch
from torch import nn


def test_module_to_keeps_parameters(device: str) -> None:
    model = nn.Linear(3, 2)
    weight, bias = model.weight, model.bias
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.to(device)
    assert model.weight is weight
    assert model.bias is bias
    assert weight.device.type == device
    before = weight.detach().cpu().clone()
    model(torch.ones(1, 3, device=device)).sum().backward()
    optimizer.step()
    assert not torch.equal(model.weight.detach().cpu(), before)
    model.cpu()
    assert model.weight is weight
    assert weight.device.type == "cpu"


def test_gradients_move_with_the_module(device: str) -> None:
    model = nn.Linear(3, 2)
    model(torch.ones(1, 3)).sum().backward()
    gradient = model.weight.grad
    expected = gradient.clone()
    model.to(device)
    assert model.weight.grad.device.type == device
    assert torch.equal(model.weight.grad.cpu(), expected)


def test_set_data(device: str) -> None:
    x = torch.zeros(2, requires_grad=True)
    x.data = torch.ones(3, device=device)
    assert x.device.type == device
    assert x.shape == (3,)
    (x * 2).sum().backward()
    assert torch.equal(x.grad.cpu(), torch.full((3,), 2.0))
    x.grad = None
    x.data = torch.ones(4)
    assert x.device.type == "cpu"


def test_deepcopy(device: str) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(device)
    other = copy.deepcopy(model)
    for a, b in zip(
        model.state_dict().values(), other.state_dict().values(), strict=True
    ):
        assert b.device.type == device
        assert a.data_ptr() != b.data_ptr()
        assert torch.equal(a.cpu(), b.cpu())
    shared = torch.arange(4.0).to(device)
    pair = copy.deepcopy([shared, shared[1:]])
    pair[1].zero_()
    assert torch.equal(pair[0].cpu(), torch.tensor([0.0, 0, 0, 0]))


def test_equal(device: str) -> None:
    x = torch.arange(4.0).to(device)
    assert torch.equal(x, x.clone())
    assert not torch.equal(x, x + 1)
    assert not torch.equal(x, x[:3])
    assert torch.equal(x[:0], x[:0])


def test_other_thread_sees_its_own_current_device(
    device: str, second_device: torch.device
) -> None:
    seen = []

    def work() -> None:
        seen.append(torch.empty(1, device=device).device.index)

    with torch.device(second_device):
        assert torch.empty(1).device == second_device
    torch.accelerator.set_device_index(1)
    try:
        assert torch.empty(1, device=device).device.index == 1
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        torch.accelerator.set_device_index(0)
    assert seen == [0]
