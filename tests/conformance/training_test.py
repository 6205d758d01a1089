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
from torch.nn import functional as F

STEPS = 20


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)

    @staticmethod
    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(16, 20), torch.randint(5, (16,))


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1, groups=2, bias=False),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))

    @staticmethod
    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(8, 3, 12, 12), torch.randint(5, (8,))


class Transformer(nn.Module):
    """Two pre-norm blocks with causal attention, as language models have."""

    WIDTH = 16
    HEADS = 2
    WORDS = 11

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(self.WORDS, self.WIDTH)
        self.position = nn.Parameter(torch.randn(8, self.WIDTH))
        self.blocks = nn.ModuleList(self._block() for _ in range(2))
        self.norm = nn.LayerNorm(self.WIDTH)
        self.head = nn.Linear(self.WIDTH, self.WORDS)

    def _block(self) -> nn.ModuleDict:
        width = self.WIDTH
        return nn.ModuleDict(
            {
                "norm1": nn.LayerNorm(width),
                "qkv": nn.Linear(width, 3 * width),
                "out": nn.Linear(width, width),
                "norm2": nn.LayerNorm(width),
                "mlp": nn.Sequential(
                    nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
                ),
            }
        )

    def _attend(self, block: nn.ModuleDict, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.HEADS, width // self.HEADS)
        q, k, v = (
            part.view(shape).transpose(1, 2)
            for part in block["qkv"](x).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return block["out"](y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.embedding(x) + self.position
        for block in self.blocks:
            y = y + self._attend(block, block["norm1"](y))
            y = y + block["mlp"](block["norm2"](y))
        return self.head(self.norm(y)).flatten(0, 1)

    @classmethod
    def batch(cls) -> tuple[torch.Tensor, torch.Tensor]:
        words = torch.randint(cls.WORDS, (4, 9))
        return words[:, :-1], words[:, 1:].flatten()


MODELS = {"mlp": Mlp, "cnn": Cnn, "transformer": Transformer}

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
    batch: tuple[torch.Tensor, torch.Tensor],
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
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
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
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    gradients = [p.grad for p in model.parameters()]
    return [t.detach().cpu().double() for t in [loss, *gradients]]


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


@pytest.mark.parametrize("name", ["mlp", "transformer"])
def test_first_bfloat16_step(device: str, name: str) -> None:
    model, batch = MODELS[name](), MODELS[name].batch()
    exact = first_step(*place(model, batch, "cpu", torch.float64))
    got = first_step(*place(model, batch, device, torch.bfloat16))
    assert got[0].item() == pytest.approx(exact[0].item(), rel=2e-2)


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
    F.cross_entropy(model(x), y).backward()
    with no_fallback():
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert gradients.cpu().norm().item() == pytest.approx(0.01, rel=1e-4)


def test_dropout_trains_without_fallback(no_fallback, device: str) -> None:
    model = nn.Sequential(nn.Linear(20, 32), nn.Dropout(0.5), nn.Linear(32, 5))
    with no_fallback():
        train(*place(model, Mlp.batch(), device, torch.float32), OPTIMIZERS["adamw"])
