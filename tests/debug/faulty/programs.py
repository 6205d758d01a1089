# SPDX-License-Identifier: Apache-2.0
"""Training steps that reach each kernel which the faulty operator library spoils.

Each is small, deterministic, and right on a right device.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "dipu"


def _randn(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes).to(DEVICE)


class _Picture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.last = nn.Conv2d(8, 8, 3)
        self.head = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.convolution(x)))
        x = F.avg_pool2d(F.max_pool2d(x, 2), 3, 2, padding=1, count_include_pad=False)
        x = torch.tanh(self.last(x))
        return self.head(x.flatten(1))


def pictures() -> None:
    """A convolutional network with weighted classes, by Adagrad."""
    model = _Picture().to(DEVICE)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1, fused=True)
    x, y = _randn(8, 3, 16, 16), torch.randint(5, (8,)).to(DEVICE)
    weight = torch.tensor([1.0, 2.0, 0.5, 3.0, 1.5]).to(DEVICE)
    F.cross_entropy(model(x), y, weight).backward()
    optimizer.step()


class _Words(nn.Module):
    WORDS, WIDTH = 11, 16

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(self.WORDS, self.WIDTH)
        self.norm = nn.LayerNorm(self.WIDTH)
        self.qkv = nn.Linear(self.WIDTH, 3 * self.WIDTH)
        self.gate = nn.Linear(self.WIDTH, self.WIDTH)
        self.up = nn.Linear(self.WIDTH, self.WIDTH)
        self.head = nn.Linear(self.WIDTH, self.WORDS, bias=False)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        length = x.shape[1]
        causal = torch.ones(length, length, device=DEVICE).tril()
        scores = torch.where(causal == 1, q @ k.transpose(1, 2), -1e4)
        return scores.softmax(-1) @ v

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.embedding(x)
        with torch.no_grad():
            # All biases are zero at the start, which would hide what ignores one.
            self.norm.bias.fill_(0.5)
        y = y + self.attend(self.norm(y))
        y = y + F.gelu(self.up(y)) * torch.sigmoid(self.gate(y)) + F.silu(y)
        return self.head(y).flatten(0, 1)


def words() -> None:
    """A language model with causal attention, by AdamW."""
    model = _Words().to(DEVICE)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=0.1, weight_decay=0.5, fused=True
    )
    text = torch.randint(_Words.WORDS, (4, 9)).to(DEVICE)
    logits = model(text[:, :-1])
    F.cross_entropy(logits, text[:, 1:].flatten()).backward()
    optimizer.step()


def _elementwise(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    positive = torch.exp(x) / torch.rsqrt(y.abs() + 1)
    rounded = torch.floor(3 * x)
    both = torch.maximum(x, y.masked_fill(y > 1.5, torch.nan)).nan_to_num(0.25)
    return [
        torch.add(x, y, alpha=0.5),
        x - y,
        x.t() * y.t(),
        positive / y[:, :1],
        torch.log(positive),
        torch.sqrt(F.relu(x)) + rounded,
        1 / torch.reciprocal(torch.where(y > 0, -0.0, y)),
        torch.clamp(x, -0.5, 0.5),
        both,
    ]


def numbers() -> None:
    """A regression whose features take elementwise operators, by hand."""
    x, y = _randn(6, 6), _randn(6, 6)
    y[0, 0] = 2.0
    x[0, 0] = -1.5
    factor = torch.ones(6, 6).to(DEVICE).requires_grad_()
    features = _elementwise(x, y)
    features[2] = features[2].contiguous()
    used = torch.cat([f.detach().nan_to_num(0, 0, 0) for f in features])
    predicted = (used.view(-1, 6, 6) * factor).sum(0)
    F.mse_loss(predicted, y).backward()
    big = torch.tensor([2**24 + 1, -3, 5]).to(DEVICE).abs()
    assert (big > 3).any()
    torch.tanh(factor.detach().half() * x.half())
    torch._foreach_mul_([factor.grad, y], 0.1)
    torch._foreach_add_([x, y], 1.0)


def tables() -> None:
    """Statistics, ranks and positions, with their gradients."""
    x = _randn(5, 8).requires_grad_()
    at = torch.randint(5, (3, 8)).to(DEVICE)
    ranked = x.sort(stable=True, dim=1)
    parts = [
        x.sum(0),
        x.mean(0),
        x.std(0),
        x.cumsum(0)[1],
        x.max(0).values,
        ranked.values[2],
        x.topk(2, 0).values[1],
        x.gather(0, at)[2],
        torch.zeros(5, 8, device=DEVICE).scatter_add(0, at, x[:3])[1],
        x.index_select(0, at[0, :3])[0],
    ]
    target = F.one_hot(x.argmax(0), 5).float().sum(1)
    loss = (torch.stack(parts).mean(0) - target).square().mean()
    loss.backward()


def draws() -> None:
    """Random numbers, and a layer that leaves out half of its inputs."""
    x = torch.empty(8192, device=DEVICE)
    x.normal_(1, 2)
    weight = torch.empty(8192, device=DEVICE).uniform_(-1, 1).requires_grad_()
    kept = torch.bernoulli(torch.full_like(x, 0.25))
    F.dropout(x * kept * weight, 0.5).square().mean().backward()
