# SPDX-License-Identifier: Apache-2.0
"""scaled_dot_product_attention, by its decomposition into native operators."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

B, H, L, D = 2, 3, 5, 8


def inputs(device: str) -> list[torch.Tensor]:
    return [
        torch.randn(B, H, L, D, generator=torch.Generator().manual_seed(i))
        .to(device)
        .requires_grad_()
        for i in range(3)
    ]


MASKS = {
    "none": {},
    "causal": {"is_causal": True},
    "bool": {"attn_mask": torch.ones(L, L, dtype=torch.bool).tril()},
    "float": {"attn_mask": torch.linspace(-1, 1, L * L).reshape(L, L)},
    "empty_row": {"attn_mask": torch.ones(L, L, dtype=torch.bool).tril(-1)},
    "scale": {"scale": 0.3},
}


def to(options: dict, device: str) -> dict:
    return {
        k: v.to(device) if isinstance(v, torch.Tensor) else v
        for k, v in options.items()
    }


@pytest.mark.parametrize("mask", MASKS)
def test_attention(no_fallback, device: str, mask: str) -> None:
    host, there = inputs("cpu"), inputs(device)
    expected = F.scaled_dot_product_attention(*host, **MASKS[mask])
    expected.sum().backward()
    options = to(MASKS[mask], device)
    with no_fallback():
        got = F.scaled_dot_product_attention(*there, **options)
        got.sum().backward()
    assert torch.allclose(got.detach().cpu(), expected, atol=1e-5)
    for a, b in zip(there, host, strict=True):
        assert torch.allclose(a.grad.cpu(), b.grad, atol=1e-5)


def test_attention_with_dropout(no_fallback, device: str) -> None:
    with no_fallback():
        y = F.scaled_dot_product_attention(*inputs(device), dropout_p=0.5)
        y.sum().backward()
    assert y.shape == (B, H, L, D)


def test_multi_head_attention_module(no_fallback, device: str) -> None:
    module = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    x = torch.randn(2, 6, 16)
    expected, _ = module(x, x, x)
    there = module.to(device)
    y = x.to(device)
    with no_fallback():
        got, _ = there(y, y, y)
    assert torch.allclose(got.detach().cpu(), expected, atol=1e-5)
