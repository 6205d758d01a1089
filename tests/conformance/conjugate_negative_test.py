# SPDX-License-Identifier: Apache-2.0
"""Conjugate and negative views.

Trap: copying one through `_copy_from` recursed until the stack overflowed,
because resolving the mark copies.
"""

from __future__ import annotations

import pytest
import torch


@pytest.fixture
def host() -> torch.Tensor:
    return torch.randn(3, 4, dtype=torch.complex64)


def test_conjugate_view_copies_to_the_host(device: str, host: torch.Tensor) -> None:
    there = host.to(device).conj()
    assert there.is_conj()
    assert torch.equal(there.cpu(), host.conj().resolve_conj())


def test_conjugate_view_copies_to_the_device(device: str, host: torch.Tensor) -> None:
    assert torch.equal(host.conj().to(device).cpu(), host.conj().resolve_conj())


def test_conjugate_view_as_target(device: str, host: torch.Tensor) -> None:
    for source in (host, host.conj()):
        there = torch.zeros_like(host, device=device)
        there.conj().copy_(source)
        assert torch.equal(there.cpu(), source.conj().resolve_conj())


@pytest.mark.parametrize("marked", [False, True])
def test_conjugate_view_copies_on_the_device(
    device: str, host: torch.Tensor, marked: bool
) -> None:
    there = host.to(device).t()
    there = there.conj() if marked else there
    expected = host.t().conj() if marked else host.t()
    assert torch.equal(there.clone().cpu(), expected.resolve_conj())
    assert torch.equal(there.resolve_conj().cpu(), expected.resolve_conj())


def test_negative_view(device: str, host: torch.Tensor) -> None:
    there = host.to(device).conj().imag
    assert there.is_neg()
    assert torch.equal(there.cpu(), host.conj().imag.resolve_neg())
    assert torch.equal(there.resolve_neg().cpu(), -host.imag)
    there.copy_(torch.ones(3, 4))
    assert torch.equal(there.cpu(), torch.ones(3, 4))


def test_operators_on_marked_views(device: str, host: torch.Tensor) -> None:
    there = host.to(device).conj()
    assert torch.allclose((there * 2).cpu(), host.conj() * 2)
    assert there[0, 0].item() == host.conj()[0, 0].item()


def test_zero_tensor_is_copied(device: str) -> None:
    zero = torch._efficientzerotensor((3,), device=device)
    x = torch.ones(3, device=device)
    x.copy_(zero)
    assert torch.equal(x.cpu(), torch.zeros(3))
