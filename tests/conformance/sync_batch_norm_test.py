# SPDX-License-Identifier: Apache-2.0
"""The parts of a batch normalization over several devices.

torch.nn.SyncBatchNorm calls them and exchanges statistics between; the CPU has none
of them. Here two halves of a batch play two devices, and the whole batch on the CPU
tells what has to come out.
"""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

EPS = 1e-5
MOMENTUM = 0.1
FORWARD = (
    "batch_norm_stats",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_elemt",
)
BACKWARD = ("batch_norm_backward_reduce", "batch_norm_backward_elemt")
DTYPES = [
    (torch.float64, 1e-9),
    (torch.float32, 1e-4),
    (torch.float16, 2e-2),
    (torch.bfloat16, 1e-1),
]


class _Forward:
    """Normalizes the halves of a batch with the statistics of both."""

    def __init__(self, parts: list[torch.Tensor], weight, bias) -> None:
        self.parts = parts
        stats = [torch.batch_norm_stats(part, EPS) for part in parts]
        channels = parts[0].shape[1]
        device = parts[0].device
        self.counts = torch.tensor(
            [part.numel() / channels for part in parts],
            dtype=stats[0][0].dtype,
        ).to(device)
        self.running_mean = torch.zeros(channels, dtype=stats[0][0].dtype).to(device)
        self.running_var = torch.ones(channels, dtype=stats[0][0].dtype).to(device)
        self.mean, self.invstd = torch.batch_norm_gather_stats_with_counts(
            parts[0],
            torch.stack([mean for mean, _ in stats]),
            torch.stack([invstd for _, invstd in stats]),
            self.running_mean,
            self.running_var,
            MOMENTUM,
            EPS,
            self.counts,
        )
        self.out = [
            torch.batch_norm_elemt(part, weight, bias, self.mean, self.invstd, EPS)
            for part in parts
        ]


@pytest.mark.parametrize(("dtype", "bound"), DTYPES)
def test_it_is_the_batch_norm_of_the_whole(
    native, device: str, dtype: torch.dtype, bound: float
) -> None:
    x = torch.randn(6, 3, 4, 5, dtype=torch.float64).to(dtype)
    grad = torch.randn(6, 3, 4, 5, dtype=torch.float64).to(dtype)
    kind = torch.float64 if dtype == torch.float64 else torch.float32
    weight, bias = torch.rand(3, dtype=kind) + 0.5, torch.randn(3, dtype=kind)
    exact = x.double().requires_grad_()
    w, b = weight.double().requires_grad_(), bias.double().requires_grad_()
    mean, var = torch.zeros(3).double(), torch.ones(3).double()
    expected = F.batch_norm(exact, mean, var, w, b, True, MOMENTUM, EPS)
    expected.backward(grad.double())

    def close(got: torch.Tensor, wanted: torch.Tensor) -> None:
        torch.testing.assert_close(got.cpu().double(), wanted, atol=bound, rtol=bound)

    parts = [x[:2].to(device), x[2:].to(device)]
    grads = [grad[:2].to(device), grad[2:].to(device)]
    weight, bias = weight.to(device), bias.to(device)
    with native(*FORWARD):
        forward = _Forward(parts, weight, bias)
    close(torch.cat(forward.out), expected)
    close(forward.running_mean, mean)
    close(forward.running_var, var)
    with native(*BACKWARD):
        sums = [
            torch.batch_norm_backward_reduce(
                g, part, forward.mean, forward.invstd, weight, True, True, True
            )
            for g, part in zip(grads, parts, strict=True)
        ]
        sum_dy, sum_dy_xmu = sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]
        grad_inputs = [
            torch.batch_norm_backward_elemt(
                g,
                part,
                forward.mean,
                forward.invstd,
                weight,
                sum_dy,
                sum_dy_xmu,
                forward.counts.to(torch.int32),
            )
            for g, part in zip(grads, parts, strict=True)
        ]
    close(torch.cat(grad_inputs), exact.grad)
    close(sums[0][2] + sums[1][2], w.grad)
    close(sums[0][3] + sums[1][3], b.grad)


def test_equal_parts_need_one_count(native, device: str) -> None:
    parts = [torch.randn(2, 3, 7).to(device) for _ in range(2)]
    stats = [torch.batch_norm_stats(part, EPS) for part in parts]
    running_mean, running_var = torch.zeros(3).to(device), torch.ones(3).to(device)
    with native("batch_norm_gather_stats_with_counts"):
        mean, invstd = torch.batch_norm_gather_stats(
            parts[0],
            torch.stack([mean for mean, _ in stats]),
            torch.stack([invstd for _, invstd in stats]),
            running_mean,
            running_var,
            MOMENTUM,
            EPS,
            14,
        )
    whole = torch.cat(parts).cpu()
    var, expected = torch.var_mean(whole, (0, 2), correction=0)
    torch.testing.assert_close(mean.cpu(), expected)
    torch.testing.assert_close(invstd.cpu(), (var + EPS).rsqrt())
    torch.testing.assert_close(running_mean.cpu(), expected * MOMENTUM)
    unbiased = torch.var(whole, (0, 2))
    torch.testing.assert_close(running_var.cpu(), 0.9 + unbiased * MOMENTUM)


def test_one_count_needs_rows(device: str) -> None:
    x, row = torch.randn(2, 3).to(device), torch.ones(3).to(device)
    with pytest.raises(RuntimeError, match="a row for each part of the batch"):
        torch.batch_norm_gather_stats(x, row, row, None, None, MOMENTUM, EPS, 2)


def test_the_module_accepts_the_device(device: str) -> None:
    """Without a process group it is an ordinary batch normalization."""
    module = torch.nn.SyncBatchNorm(3).to(device)
    x = torch.randn(4, 3, 5)
    expected = torch.nn.BatchNorm1d(3)(x)
    torch.testing.assert_close(module(x.to(device)).cpu(), expected)
