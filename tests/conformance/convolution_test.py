# SPDX-License-Identifier: Apache-2.0
"""Convolution and its transpose, of one to three dimensions."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

NATIVE = {
    "plain": (lambda: nn.Conv2d(3, 4, 3), (2, 3, 8, 8)),
    "padding": (lambda: nn.Conv2d(3, 4, 3, padding=1), (2, 3, 8, 8)),
    "stride": (lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1), (2, 3, 9, 9)),
    "dilation": (lambda: nn.Conv2d(3, 4, 3, dilation=2), (2, 3, 9, 9)),
    "groups": (lambda: nn.Conv2d(4, 8, 3, groups=2), (2, 4, 8, 8)),
    "depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4), (2, 4, 8, 8)),
    "pointwise": (lambda: nn.Conv2d(3, 4, 1, bias=False), (2, 3, 8, 8)),
    "same": (lambda: nn.Conv2d(3, 4, 3, padding="same"), (2, 3, 8, 8)),
    "reflect": (
        lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"),
        (2, 3, 8, 8),
    ),
    "one_dimension": (lambda: nn.Conv1d(3, 4, 3), (2, 3, 8)),
    "no_batch": (lambda: nn.Conv2d(3, 4, 3), (3, 8, 8)),
    "three_dimensions": (lambda: nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4)),
    "groups_3d": (
        lambda: nn.Conv3d(4, 8, (1, 3, 2), stride=2, padding=1, groups=2),
        (2, 4, 5, 6, 4),
    ),
    "transposed": (
        lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1),
        (2, 3, 5, 5),
    ),
    "transposed_groups": (
        lambda: nn.ConvTranspose2d(4, 6, (3, 2), padding=1, groups=2),
        (2, 4, 5, 5),
    ),
    "transposed_dilation": (
        lambda: nn.ConvTranspose2d(3, 4, 3, dilation=2, output_padding=1),
        (2, 3, 5, 5),
    ),
    "transposed_no_bias": (
        lambda: nn.ConvTranspose2d(3, 4, 2, stride=2, bias=False),
        (2, 3, 5, 5),
    ),
    "transposed_1d": (lambda: nn.ConvTranspose1d(3, 4, 3), (2, 3, 5)),
    "transposed_3d": (
        lambda: nn.ConvTranspose3d(2, 3, 3, stride=2, padding=1),
        (2, 2, 3, 4, 3),
    ),
}


def run(
    module: nn.Module, x: torch.Tensor, device: str
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    module = copy.deepcopy(module).to(device)
    x = x.detach().to(device).requires_grad_()
    y = module(x)
    (y * y).sum().backward()
    gradients = [x.grad, *(p.grad for p in module.parameters())]
    return y.detach().cpu(), [g.cpu() for g in gradients]


def check(module: nn.Module, x: torch.Tensor, device: str) -> None:
    expected, expected_gradients = run(module, x, "cpu")
    got, gradients = run(module, x, device)
    assert torch.allclose(got, expected, atol=1e-4)
    for a, b in zip(gradients, expected_gradients, strict=True):
        assert a.shape == b.shape
        assert torch.allclose(a, b, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("name", NATIVE)
def test_native(native, device: str, name: str) -> None:
    make, shape = NATIVE[name]
    with native("convolution_overrideable", "convolution_backward_overrideable"):
        check(make(), torch.randn(shape), device)


def test_channels_last(native, device: str) -> None:
    module = nn.Conv2d(3, 4, 3, padding=1).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
    with native("convolution_overrideable", "convolution_backward_overrideable"):
        check(module, x, device)
        y = copy.deepcopy(module).to(device)(x.to(device))
    assert y.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["three_dimensions", "transposed", "transposed_3d"])
def test_types(native, device: str, name: str, dtype: torch.dtype) -> None:
    make, shape = NATIVE[name]
    module = make()
    x = torch.randn(shape)
    expected, expected_gradients = run(module.double(), x.double(), "cpu")
    with native("convolution_overrideable", "convolution_backward_overrideable"):
        got, gradients = run(module.to(dtype), x.to(dtype), device)
    tolerance = {torch.float64: 1e-10, torch.float16: 2e-2, torch.bfloat16: 0.15}
    pairs = zip((got, *gradients), (expected, *expected_gradients), strict=True)
    for a, b in pairs:
        bound = tolerance[dtype] * (1 + b.abs().max())
        assert (a.double() - b).abs().max() < bound


def test_channels_last_3d(native, device: str) -> None:
    last = torch.channels_last_3d
    module = nn.Conv3d(3, 4, 3, padding=1).to(memory_format=last)
    x = torch.randn(2, 3, 4, 5, 6).contiguous(memory_format=last)
    with native("convolution_overrideable", "convolution_backward_overrideable"):
        check(module, x, device)
        y = copy.deepcopy(module).to(device)(x.to(device))
    assert y.is_contiguous(memory_format=last)


SLOW = {
    "slow_conv_transpose2d": ((2, 3, 5, 5), (3, 4, 2, 3), (2, 2), (1, 0)),
    "slow_conv_transpose3d": ((2, 3, 4, 4, 4), (3, 4, 2, 2, 3), (2, 1, 1), (1, 0, 1)),
    "slow_conv_dilated2d": ((2, 3, 5, 5), (4, 3, 2, 3), (2, 1), (1, 0)),
    "slow_conv_dilated3d": ((2, 3, 4, 4, 4), (4, 3, 2, 2, 3), (2, 1, 1), (1, 0, 1)),
    "_slow_conv2d_forward": ((2, 3, 5, 5), (4, 3, 2, 3), (2, 1), (1, 0)),
    "slow_conv3d_forward": ((2, 3, 4, 4, 4), (4, 3, 2, 2, 3), (2, 1, 1), (1, 0, 1)),
}


@pytest.mark.parametrize("name", SLOW)
def test_by_the_name_of_an_algorithm(native, device: str, name: str) -> None:
    shape, kernel, stride, padding = SLOW[name]
    x, w = torch.randn(shape), torch.randn(kernel)
    b = torch.randn(4)
    function = getattr(torch.ops.aten, name)
    for image in (x, x[0]):
        if name.endswith("forward") and image.dim() < x.dim():
            continue
        expected = function(image, w, kernel[2:], b, stride, padding)
        with native("convolution_overrideable"):
            on_device, weight, bias = (t.to(device) for t in (image, w, b))
            got = function(on_device, weight, kernel[2:], bias, stride, padding)
        assert torch.allclose(got.cpu(), expected, atol=1e-4)


def test_only_wanted_gradients(device: str) -> None:
    module = nn.Conv2d(3, 4, 3).to(device)
    module.weight.requires_grad_(False)
    module(torch.randn(1, 3, 5, 5, device=device)).sum().backward()
    assert module.weight.grad is None
    assert module.bias.grad.cpu().tolist() == [9.0] * 4


def test_zero_batch(device: str) -> None:
    module = nn.Conv2d(3, 4, 3).to(device)
    assert module(torch.randn(0, 3, 5, 5, device=device)).shape == (0, 4, 3, 3)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_images_on_the_cpu_are_refused(device: str, dims: int) -> None:
    make = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)[dims - 1]
    image = torch.randn(1, 1, *[5] * dims)
    with pytest.raises(RuntimeError, match="same"), torch.no_grad():
        make(1, 1, 3).to(device)(image)
    with pytest.raises(RuntimeError, match="same"), torch.no_grad():
        make(1, 1, 3, dilation=2).to(device)(image)
