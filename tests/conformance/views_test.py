# SPDX-License-Identifier: Apache-2.0
"""Views share memory, and resizing changes what a tensor refers to.

Trap: a view operator that falls back returns a copy, and what is written to it
is lost.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

View = Callable[[torch.Tensor], torch.Tensor]

VIEWS: dict[str, View] = {
    "view": lambda t: t.view(2, 12),
    "reshape": lambda t: t.reshape(-1),
    "as_strided": lambda t: t.as_strided((3, 2), (2, 1), 5),
    "select": lambda t: t[1],
    "slice": lambda t: t[:, 1:3],
    "transpose": lambda t: t.transpose(0, 2),
    "permute": lambda t: t.permute(2, 0, 1),
    "diagonal": lambda t: t.diagonal(0, 1, 2),
    "unfold": lambda t: t.unfold(2, 2, 2),
    "expand": lambda t: t[:1].expand(1, 3, 4),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "squeeze": lambda t: t[:1].squeeze(0),
    "narrow": lambda t: t.narrow(1, 1, 2),
    "split": lambda t: t.split(2, dim=2)[1],
    "chunk": lambda t: t.chunk(2, dim=2)[1],
    "unbind": lambda t: t.unbind(1)[1],
    "detach": lambda t: t.detach(),
    "view_dtype": lambda t: t.view(torch.int32),
    "movedim": lambda t: t.movedim(0, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_aliases(device: str, name: str) -> None:
    host = torch.arange(24.0).reshape(2, 3, 4)
    there = host.to(device)
    host_view, view = VIEWS[name](host), VIEWS[name](there)
    assert view.device == there.device
    assert view.data_ptr() - there.data_ptr() == host_view.data_ptr() - host.data_ptr()
    assert (view.shape, view.stride()) == (host_view.shape, host_view.stride())
    host_view[..., 0].zero_()
    view[..., 0].zero_()
    assert torch.equal(there.cpu(), host)


def test_view_as_complex_and_real_alias(device: str) -> None:
    pairs = torch.arange(8.0).reshape(4, 2).to(device)
    numbers = torch.view_as_complex(pairs)
    assert numbers.data_ptr() == pairs.data_ptr()
    torch.view_as_real(numbers)[:, 1] = 0
    assert torch.equal(pairs.cpu()[:, 1], torch.zeros(4))


def test_views_take_part_in_autograd(device: str) -> None:
    x = torch.arange(6.0, device=device).requires_grad_()
    y = x * 2
    y.view(2, 3)[0].mul_(3)
    y.sum().backward()
    assert torch.equal(x.grad.cpu(), torch.tensor([6.0, 6, 6, 2, 2, 2]))


def test_resize_keeps_what_fits(device: str) -> None:
    x = torch.arange(6.0).to(device)
    x.resize_(2, 2)
    assert torch.equal(x.cpu(), torch.arange(4.0).reshape(2, 2))
    x.resize_(100)
    assert torch.equal(x[:6].cpu(), torch.arange(6.0))
    x.resize_(0)
    assert x.numel() == 0
    y = torch.empty(0, device=device)
    y.resize_(2, 3, 4, 5, memory_format=torch.channels_last)
    assert y.stride() == (60, 1, 15, 3)


def test_out_argument_is_resized(device: str) -> None:
    x = torch.arange(6.0).to(device)
    out = torch.empty(0, device=device)
    torch.add(x, 1, out=out)
    assert torch.equal(out.cpu(), torch.arange(6.0) + 1)


def test_set_shares_storage(device: str) -> None:
    x = torch.arange(6.0).to(device)
    y = torch.empty(0, device=device).set_(x)
    z = torch.empty(0, device=device).set_(x.untyped_storage(), 2, (2,), (1,))
    z.zero_()
    assert torch.equal(y.cpu(), torch.tensor([0.0, 1, 0, 0, 4, 5]))
    z.set_()
    assert z.numel() == 0
    with pytest.raises(RuntimeError, match="device"):
        torch.empty(0).set_(x.untyped_storage())


def test_untyped_storage_resizes(device: str) -> None:
    x = torch.arange(4.0).to(device)
    x.untyped_storage().resize_(64)
    assert torch.equal(x.cpu(), torch.arange(4.0))
    assert x.untyped_storage().nbytes() == 64
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0


def test_empty_reports_what_it_cannot_make(device: str) -> None:
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device=device)
    with pytest.raises(RuntimeError, match="pinned"):
        torch.empty(2, device=device, pin_memory=True)
    with pytest.raises((RuntimeError, IndexError), match="99"):
        torch.empty(2, device=f"{device}:99")


def test_deterministic_fill(device: str) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(8, device=device).cpu().isnan().all()
        assert torch.empty(8, 2, device=device).t().cpu().isnan().all()
    finally:
        torch.use_deterministic_algorithms(False)
