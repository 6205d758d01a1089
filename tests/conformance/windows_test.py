# SPDX-License-Identifier: Apache-2.0
"""Pooling, unpooling and unfolding."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TOLERANCES = {
    torch.float32: 2e-5,
    torch.float64: 1e-10,
    torch.float16: 4e-3,
    torch.bfloat16: 3e-2,
}

Function = Callable[[torch.Tensor], torch.Tensor]


def layouts(x: torch.Tensor) -> list[torch.Tensor]:
    """`x` as it is, transposed in memory, and channels-last."""
    found = [x, x.transpose(-1, -2).contiguous().transpose(-1, -2)]
    if x.dim() == 5:
        found.append(x.contiguous(memory_format=torch.channels_last_3d))
    return found


def check(function: Function, x: torch.Tensor, device: str) -> None:
    """Compares values and gradients with the CPU's in float64, in all layouts."""
    tolerance = TOLERANCES[x.dtype]
    expected_x = x.detach().double().requires_grad_()
    expected = function(expected_x)
    g = torch.randn(expected.shape).to(x.dtype)
    expected.backward(g.double())
    for arranged in layouts(x):
        got_x = arranged.to(device).requires_grad_()
        got = function(got_x)
        got.backward(g.to(device))
        assert got.dtype == x.dtype
        for a, b in ((got, expected), (got_x.grad, expected_x.grad)):
            torch.testing.assert_close(
                a.detach().cpu().double(),
                b.detach(),
                rtol=tolerance,
                atol=4 * tolerance,
            )


def distinct(*shape: int) -> torch.Tensor:
    """Values that 16 bits tell apart, so that maxima are where they are."""
    count = torch.Size(shape).numel()
    return (torch.randperm(count).reshape(shape) - count // 2) / 8


POOLS = {
    "max": (
        ("max_pool3d_with_indices", "max_pool3d_with_indices_backward"),
        [
            lambda x: functional.max_pool3d(x, 2),
            lambda x: functional.max_pool3d(x, (3, 2, 3), 2, (1, 0, 1)),
            lambda x: functional.max_pool3d(x, 2, 1, 0, (1, 2, 3)),
            lambda x: functional.max_pool3d(x, 3, 2, 1, ceil_mode=True),
        ],
    ),
    "average": (
        ("avg_pool3d", "avg_pool3d_backward"),
        [
            lambda x: functional.avg_pool3d(x, 2),
            lambda x: functional.avg_pool3d(x, (3, 2, 3), 2, (1, 0, 1)),
            lambda x: functional.avg_pool3d(x, 3, 2, 1, ceil_mode=True),
            lambda x: functional.avg_pool3d(x, 3, 2, 1, count_include_pad=False),
            lambda x: functional.avg_pool3d(x, 2, divisor_override=3),
        ],
    ),
    "adaptive_average": (
        ("_adaptive_avg_pool3d", "_adaptive_avg_pool3d_backward"),
        [
            lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 4)),
            lambda x: functional.adaptive_avg_pool3d(x, (None, 5, 2)),
        ],
    ),
    "adaptive_max": (
        ("adaptive_max_pool3d", "adaptive_max_pool3d_backward"),
        [
            lambda x: functional.adaptive_max_pool3d(x, (2, 3, 4)),
            lambda x: functional.adaptive_max_pool3d(x, 1),
        ],
    ),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", POOLS)
def test_three_dimensions(native, device: str, name: str, dtype: torch.dtype) -> None:
    operators, functions = POOLS[name]
    x = distinct(2, 3, 5, 6, 7).to(dtype)
    with native(*operators):
        for function in functions:
            check(function, x, device)
            check(function, x[0], device)


def test_indices_and_layout(native, device: str) -> None:
    x = distinct(2, 3, 4, 6, 5).contiguous(memory_format=torch.channels_last_3d)
    with native("max_pool3d_with_indices"):
        got, where = functional.max_pool3d(x.to(device), 2, return_indices=True)
    expected, expected_where = functional.max_pool3d(x, 2, return_indices=True)
    assert torch.equal(got.cpu(), expected)
    assert torch.equal(where.cpu(), expected_where)
    assert got.stride() == expected.stride()


def test_layout_of_images(native, device: str) -> None:
    x = distinct(2, 3, 4, 6).contiguous(memory_format=torch.channels_last)
    y, where = functional.max_pool2d(x, 2, return_indices=True)
    with native("_adaptive_avg_pool2d", "max_unpool2d"):
        small = functional.adaptive_avg_pool2d(x.to(device), (2, 3))
        large = functional.max_unpool2d(y.to(device), where.to(device), 2)
    for got, expected in (
        (small, functional.adaptive_avg_pool2d(x, (2, 3))),
        (large, functional.max_unpool2d(y, where, 2)),
    ):
        assert got.stride() == expected.stride()
        torch.testing.assert_close(got.cpu(), expected)


def test_nan_wins(device: str) -> None:
    x = torch.zeros(1, 1, 2, 2, 2)
    x[0, 0, 1, 0, 1] = float("nan")
    assert functional.max_pool3d(x.to(device), 2).isnan().all()


def test_pooling_into_given_tensors(native, device: str) -> None:
    x = distinct(1, 2, 4, 4, 4)
    on_device = x.to(device)
    out = torch.empty(0, device=device)
    where = torch.empty(0, dtype=torch.int64, device=device)
    flat = torch.empty(0, device=device)
    with native(
        "adaptive_avg_pool3d.out",
        "max_pool3d_with_indices.out",
        "adaptive_avg_pool2d.out",
    ):
        torch.ops.aten.adaptive_avg_pool3d.out(on_device, [2, 2, 2], out=out)
        expected = functional.adaptive_avg_pool3d(x, 2)
        torch.testing.assert_close(out.cpu(), expected)
        torch.ops.aten.max_pool3d_with_indices.out(
            on_device, [2], out=out, indices=where
        )
        torch.ops.aten.adaptive_avg_pool2d.out(on_device[0], [2, 2], out=flat)
    assert torch.equal(out.cpu(), functional.max_pool3d(x, 2))
    torch.testing.assert_close(flat.cpu(), functional.adaptive_avg_pool2d(x[0], 2))


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("dtype", FLOATS[:2])
def test_unpooling(native, device: str, dims: int, dtype: torch.dtype) -> None:
    pool = (functional.max_pool2d, functional.max_pool3d)[dims - 2]
    unpool = (functional.max_unpool2d, functional.max_unpool3d)[dims - 2]
    pooled, where = pool(distinct(2, 3, *[4] * dims), 2, return_indices=True)
    pooled = pooled.to(dtype)
    with native(f"max_unpool{dims}d"):
        for cut in (slice(None), 0):
            got = unpool(pooled[cut].to(device), where[cut].to(device), 2)
            assert torch.equal(got.cpu(), unpool(pooled[cut], where[cut], 2))


def test_unpooling_is_differentiable(native, device: str) -> None:
    pooled, where = functional.max_pool2d(distinct(1, 2, 4, 4), 2, return_indices=True)
    x = pooled.to(device).requires_grad_()
    with native("max_unpool2d"):
        y = functional.max_unpool2d(x, where.to(device), 2)
    (y * y).sum().backward()
    assert torch.equal(x.grad.cpu(), 2 * pooled)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_fractional(native, device: str, dims: int, dtype: torch.dtype) -> None:
    x = distinct(2, 3, *(7, 8, 9)[:dims]).to(dtype)
    samples = torch.rand(2, 3, dims, dtype=dtype)
    pool = getattr(functional, f"fractional_max_pool{dims}d")
    size = (4, 3, 5)[:dims]

    samples[0, 0] = 1.5  # taken as it is, though none should be above 1

    def draw(x: torch.Tensor) -> torch.Tensor:
        batch = x.shape[0] if x.dim() == dims + 2 else 1
        fractions = samples[:batch].to(x.device, x.dtype)
        return pool(x, 2, size, _random_samples=fractions)

    with native(f"fractional_max_pool{dims}d", f"fractional_max_pool{dims}d_backward"):
        check(draw, x, device)
        check(draw, x[0], device)


UNFOLDS = [
    {"kernel_size": 2},
    {"kernel_size": (3, 2), "dilation": 2, "padding": 1, "stride": (1, 2)},
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("arguments", UNFOLDS)
def test_columns(native, device: str, dtype: torch.dtype, arguments: dict) -> None:
    x = torch.randn(2, 3, 6, 7).to(dtype)
    with native("im2col", "col2im"):
        check(lambda x: functional.unfold(x, **arguments), x, device)
        check(lambda x: functional.unfold(x, **arguments), x[0], device)
        columns = functional.unfold(x, **arguments)
        check(lambda x: functional.fold(x, (6, 7), **arguments), columns, device)


def test_columns_that_do_not_fit_are_refused(device: str) -> None:
    with pytest.raises(RuntimeError, match=r"kernel|block"):
        functional.unfold(torch.zeros(1, 1, 2, 2, device=device), 5)
    with pytest.raises(RuntimeError, match=r"divisible|block"):
        functional.fold(torch.zeros(1, 5, 4, device=device), (3, 3), 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unfolding_a_dimension(native, device: str, dtype: torch.dtype) -> None:
    x = torch.randn(3, 9, 4).to(dtype)
    with native("unfold_backward"):
        check(lambda x: x.unfold(1, 3, 1), x, device)
        check(lambda x: x.unfold(1, 2, 3), x, device)
        check(lambda x: x.unfold(-1, 4, 2), x, device)
    number = torch.tensor(2.0, device=device, dtype=dtype, requires_grad=True)
    with native("unfold_backward"):
        number.unfold(0, 1, 1).sum().backward()
        assert number.grad.item() == 1
        number.unfold(0, 0, 1).sum().backward()
    assert number.grad.item() == 1


def batch_norm_arguments(device: str, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(4, 3, 5, generator=generator).to(dtype)
    weight, bias, mean = torch.randn(3, 3, generator=generator).unbind()
    variance = torch.rand(3, generator=generator) + 0.5
    kept = torch.float64 if dtype is torch.float64 else torch.float32
    rest = (t.to(kept).to(device) for t in (weight, bias, mean, variance))
    return (x.to(device), *rest)


BATCH_NORMS = {
    "_native_batch_norm_legit.no_stats": lambda x, w, b, m, v: (
        torch.ops.aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5)
    ),
    "_batch_norm_with_update": lambda x, w, b, m, v: (
        *torch.ops.aten._batch_norm_with_update(x, w, b, m, v, 0.1, 1e-5),
        m,
        v,
    ),
    "batch_norm_update_stats": lambda x, w, b, m, v: (
        *torch.ops.aten.batch_norm_update_stats(x, m, v, 0.1),
        m,
        v,
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", BATCH_NORMS)
def test_batch_norm_forms(native, device: str, name: str, dtype: torch.dtype) -> None:
    expected = BATCH_NORMS[name](*batch_norm_arguments("cpu", dtype))
    with native(name):
        got = BATCH_NORMS[name](*batch_norm_arguments(device, dtype))
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-5, atol=1e-5)


EVALUATIONS = {
    "native_batch_norm": lambda x, w, b, m, v: torch.native_batch_norm(
        x, w, b, m, v, False, 0.1, 1e-5
    ),
    "_native_batch_norm_legit": lambda x, w, b, m, v: (
        torch.ops.aten._native_batch_norm_legit(x, w, b, m, v, False, 0.1, 1e-5)
    ),
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_evaluation_saves_no_statistics(native, device: str, name: str) -> None:
    expected = EVALUATIONS[name](*batch_norm_arguments("cpu", torch.float32))
    with native(name):
        got = EVALUATIONS[name](*batch_norm_arguments(device, torch.float32))
    assert [tuple(t.shape) for t in got] == [(4, 3, 5), (0,), (0,)]
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-5, atol=1e-5)


def test_gradient_of_an_evaluation(native, device: str) -> None:
    def run(device: str) -> torch.Tensor:
        x, w, b, m, v = batch_norm_arguments(device, torch.float32)
        x.requires_grad_()
        y = functional.batch_norm(x, m, v, w, b, training=False)
        y.square().sum().backward()
        return x.grad

    expected = run("cpu")
    with native("native_batch_norm", "native_batch_norm_backward"):
        got = run(device)
    torch.testing.assert_close(got.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_batch_norm_backward_form(native, device: str) -> None:
    def run(device: str) -> tuple[torch.Tensor, ...]:
        x, w, b, m, v = batch_norm_arguments(device, torch.float32)
        update = torch.ops.aten._batch_norm_with_update
        y, mean, invstd, kept = update(x, w, b, m, v, 0.1, 1e-5)
        return torch.ops.aten.batch_norm_backward(
            y, x, w, m, v, mean, invstd, True, 1e-5, [True] * 3, kept
        )

    expected = run("cpu")
    with native("batch_norm_backward"):
        got = run(device)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-4, atol=1e-4)


def test_batch_norm_into_given_tensors(native, device: str) -> None:
    x, w, b, m, v = batch_norm_arguments(device, torch.float32)
    outs = [torch.empty(0, device=device) for _ in range(3)]
    names = ("out", "save_mean", "save_invstd")
    legit = torch.ops.aten._native_batch_norm_legit
    with native("_native_batch_norm_legit.out"):
        legit.out(x, w, b, m, v, True, 0.1, 1e-5, **dict(zip(names, outs, strict=True)))
    arguments = batch_norm_arguments("cpu", torch.float32)
    expected = legit(*arguments, True, 0.1, 1e-5)
    for got, wanted in zip(outs, expected, strict=True):
        torch.testing.assert_close(got.cpu(), wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(m.cpu(), arguments[3])


@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_product_with_activation(
    native, device: str, dtype: torch.dtype, gelu: bool
) -> None:
    bias, a, b = torch.randn(5), torch.randn(4, 3), torch.randn(3, 5)
    cpu = [t.to(dtype) for t in (bias, a, b)]
    expected = torch._addmm_activation(*cpu, beta=0.5, alpha=2, use_gelu=gelu)
    with native("_addmm_activation"):
        got = torch._addmm_activation(
            *(t.to(device) for t in cpu), beta=0.5, alpha=2, use_gelu=gelu
        )
    tolerance = TOLERANCES[dtype]
    torch.testing.assert_close(got.cpu(), expected, rtol=tolerance, atol=tolerance)
