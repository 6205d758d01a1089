# SPDX-License-Identifier: Apache-2.0
"""Tensors in files, and in other libraries' hands."""

from __future__ import annotations

import io
import pickle

import pytest
import torch
from torch import nn


def test_save_and_load(device: str) -> None:
    x = torch.arange(6.0).reshape(2, 3).to(device)
    file = io.BytesIO()
    torch.save({"x": x, "row": x[1]}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["x"].device == x.device
    assert torch.equal(loaded["x"].cpu(), x.cpu())
    loaded["row"].zero_()
    assert torch.equal(loaded["x"][1].cpu(), torch.zeros(3))


def test_map_location(device: str) -> None:
    file = io.BytesIO()
    torch.save(torch.ones(2, device=device), file)
    file.seek(0)
    assert torch.load(file, map_location="cpu").device.type == "cpu"
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    assert torch.load(file, map_location=device).device.type == device


def test_state_dict(device: str) -> None:
    model = nn.Linear(2, 2).to(device)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = nn.Linear(2, 2)
    other.load_state_dict(torch.load(file, map_location="cpu"))
    assert torch.equal(other.weight, model.weight.cpu())


def test_optimizer_state(device: str) -> None:
    model = nn.Linear(2, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2, device=device)).sum().backward()
    optimizer.step()
    other = torch.optim.Adam(model.parameters())
    other.load_state_dict(optimizer.state_dict())
    moment = other.state[model.weight]["exp_avg"]
    assert moment.device.type == device
    assert torch.equal(moment.cpu(), optimizer.state[model.weight]["exp_avg"].cpu())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64])
def test_pickle(device: str, dtype: torch.dtype) -> None:
    x = torch.arange(4).to(dtype).to(device)
    y = pickle.loads(pickle.dumps(x))
    assert y.device == x.device
    assert torch.equal(y.cpu(), x.cpu())


def test_numpy_needs_the_host(device: str) -> None:
    x = torch.arange(4.0).to(device)
    with pytest.raises(TypeError, match="cpu"):
        x.numpy()
    assert x.cpu().numpy().sum() == 6
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
