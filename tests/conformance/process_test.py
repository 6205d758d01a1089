# SPDX-License-Identifier: Apache-2.0
"""What core Python reads of the device module."""

from __future__ import annotations

import torch


def test_accelerator_is_the_device(device: str) -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator().type == device
    assert (
        torch.accelerator.device_count()
        == torch.get_device_module(device).device_count()
    )


def test_capability_names_dtypes_that_work(device: str) -> None:
    dtypes = torch.accelerator.get_device_capability()["supported_dtypes"]
    assert {torch.float32, torch.int64, torch.bool} <= set(dtypes)
    for dtype in dtypes:
        quantized_or_raw = "torch.q" in str(dtype) or "bits" in str(dtype)
        if not quantized_or_raw:
            assert torch.empty(2, dtype=dtype).to(device).dtype == dtype


def test_default_device(device: str) -> None:
    torch.set_default_device(device)
    try:
        assert torch.zeros(2).device.type == device
        assert torch.randn(2).device.type == device
        assert torch.arange(3).device.type == device
        assert torch.nn.Linear(2, 2).weight.device.type == device
    finally:
        torch.set_default_device(None)


def test_printing(device: str) -> None:
    x = torch.arange(3.0, device=device)
    assert repr(x) == f"tensor([0., 1., 2.], device='{device}:0')"
