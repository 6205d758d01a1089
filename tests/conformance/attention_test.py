# SPDX-License-Identifier: Apache-2.0
"""scaled_dot_product_attention, fused where the device can, else by its parts."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

FORWARD = "_scaled_dot_product_fused_attention_overrideable"
BACKWARD = f"{FORWARD}_backward"

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


# Batch, heads of queries and of keys, queries, keys, features.
FUSED = {
    "plain": ((2, 3, 3, 5, 5, 16), {}),
    "causal": ((2, 3, 3, 33, 33, 16), {"is_causal": True}),
    "other length": ((1, 2, 2, 7, 70, 16), {}),
    "groups": ((2, 6, 2, 9, 9, 16), {"enable_gqa": True}),
    "scale": ((1, 2, 2, 4, 4, 8), {"scale": 0.375}),
}


@pytest.mark.parametrize("case", FUSED)
@pytest.mark.parametrize(
    ("dtype", "bound"),
    [
        (torch.float64, 1e-10),
        (torch.float32, 2e-5),
        (torch.float16, 2e-2),
        (torch.bfloat16, 1e-1),
    ],
)
def test_fused(
    native, no_fallback, device: str, case: str, dtype: torch.dtype, bound: float
) -> None:
    (batch, heads, key_heads, queries, keys, features), options = FUSED[case]
    host = [
        torch.randn(batch, n, tokens, features, dtype=torch.float64).to(dtype)
        for n, tokens in ((heads, queries), (key_heads, keys), (key_heads, keys))
    ]
    there = [t.to(device).requires_grad_() for t in host]
    exact = [t.double().requires_grad_() for t in host]
    with sdpa_kernel(SDPBackend.MATH):
        expected = F.scaled_dot_product_attention(*exact, **options)
    gradient = torch.randn_like(expected)
    expected.backward(gradient)
    with native(FORWARD, BACKWARD):
        got = F.scaled_dot_product_attention(*there, **options)
        got.backward(gradient.to(dtype).to(device))
    assert got.dtype == dtype
    torch.testing.assert_close(got.cpu().double(), expected, atol=bound, rtol=bound)
    for a, b in zip(there, exact, strict=True):
        torch.testing.assert_close(
            a.grad.cpu().double(), b.grad, atol=bound, rtol=bound
        )


def test_a_scale_keeps_its_precision(no_fallback, device: str) -> None:
    """DIOPI's is a float32, which is not enough for float64."""
    q, k, v = (torch.randn(1, 2, 4, 8, dtype=torch.float64) for _ in range(3))
    expected = F.scaled_dot_product_attention(q, k, v, scale=0.3)
    with no_fallback():
        got = F.scaled_dot_product_attention(
            q.to(device), k.to(device), v.to(device), scale=0.3
        )
    torch.testing.assert_close(got.cpu(), expected, atol=1e-13, rtol=1e-13)


@pytest.mark.parametrize(
    "backend", [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
)
def test_scripts_that_name_another_fused_kernel(native, device: str, backend) -> None:
    q, k, v = (t.detach() for t in inputs(device))
    with sdpa_kernel(backend), native(FORWARD):
        F.scaled_dot_product_attention(q, k, v)


def test_fused_takes_any_layout(native, device: str) -> None:
    packed = torch.randn(2, 6, 3, 4, 8)  # batch, tokens, what, heads, features
    host = [packed[:, :, i].transpose(1, 2) for i in range(3)]
    there = packed.to(device)
    views = [there[:, :, i].transpose(1, 2) for i in range(3)]
    with native(FORWARD):
        got = F.scaled_dot_product_attention(*views)
    expected = F.scaled_dot_product_attention(*host)
    torch.testing.assert_close(got.cpu(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"dropout_p": 0.5},
        {"attn_mask": torch.zeros(L, L)},
        {"is_causal": True},
    ],
)
def test_what_is_not_fused_can_be_told(device: str, options: dict) -> None:
    """Causal attention of other lengths, masks and dropout need the parts."""
    q, k, v = (t.detach() for t in inputs(device))
    there = to(options, device)
    if "is_causal" in options:
        k, v = k[:, :, :3], v[:, :, :3]
    F.scaled_dot_product_attention(q, k, v, **there)
    with (
        sdpa_kernel(SDPBackend.OVERRIDEABLE),
        pytest.raises(RuntimeError, match=r"fused attention does not cover"),
    ):
        F.scaled_dot_product_attention(q, k, v, **there)


@pytest.mark.parametrize("tokens_first", [False, True])
def test_fused_results_are_laid_out_as_on_the_cpu(
    native, device: str, tokens_first: bool
) -> None:
    x = torch.randn(2, 5, 3, 16) if tokens_first else torch.randn(2, 3, 5, 16)
    x = x.transpose(1, 2) if tokens_first else x
    expected = F.scaled_dot_product_attention(x, x, x)
    there = x.to(device)
    with native(FORWARD):
        got = F.scaled_dot_product_attention(there, there, there)
    assert got.stride() == expected.stride()
