# SPDX-License-Identifier: Apache-2.0
"""Tensors of two devices do not meet in one operator."""

from __future__ import annotations

import pytest
import torch

CALLS = {
    "mm": lambda a, b: torch.mm(a, b),
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "addmm": lambda a, b: torch.addmm(a, a, b),
    "cat": lambda a, b: torch.cat([a, b]),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "embedding": lambda a, b: torch.nn.functional.embedding(b.long(), a),
    "layer_norm": lambda a, b: torch.layer_norm(a, [2], b[0], b[0]),
    "foreach": lambda a, b: torch._foreach_add_([a], [b]),
    "add": lambda a, b: a + b,
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_mixed_devices_are_refused(name, device, second_device):
    a = torch.ones(2, 2, device=torch.device(device, 0))
    b = torch.ones(2, 2, device=second_device)
    with pytest.raises(RuntimeError, match="same device"):
        CALLS[name](a, b)
    # The mistake leaves both devices usable.
    assert (a + a).sum().item() == 8
    assert (b + b).sum().item() == 8


@pytest.mark.parametrize("name", sorted(CALLS))
def test_host_operands_are_refused(name, device):
    a = torch.ones(2, 2, device=device)
    b = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match=r"same device|expected device|cpu"):
        CALLS[name](a, b)
    assert (a + a).sum().item() == 8


def test_device_index_into_a_host_tensor_is_refused(device):
    with pytest.raises((RuntimeError, IndexError)) as raised:
        torch.ones(3)[torch.tensor([0], device=device)]
    assert "INTERNAL ASSERT" not in str(raised.value)
