# SPDX-License-Identifier: Apache-2.0
"""Operators that PyTorch cannot compute on the CPU have references that can."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch_dipu

Results = tuple[torch.Tensor, ...]
# Exact in float32, which DIOPI takes.
EPS = 2.0**-17
MOMENTUM = 0.125
CHANNELS = 3


def _device(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*sizes).to(dtype).to("dipu")


def _counts() -> torch.Tensor:
    return torch.tensor([40, 17], dtype=torch.int32).to("dipu")


def _stats(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and 1 / deviation."""
    kind = torch.float64 if dtype == torch.float64 else torch.float32
    return _device(CHANNELS, dtype=kind), _device(CHANNELS, dtype=kind).abs() + 0.5


def batch_norm_stats(dtype: torch.dtype) -> Results:
    return torch.batch_norm_stats(_device(4, CHANNELS, 5, dtype=dtype), EPS)


def batch_norm_elemt(dtype: torch.dtype) -> Results:
    mean, invstd = _stats(dtype)
    x = _device(4, CHANNELS, 5, 2, dtype=dtype)
    out = torch.empty_like(x)
    torch.batch_norm_elemt(x, invstd, mean, mean, invstd, EPS, out=out)
    return out, torch.batch_norm_elemt(x, None, None, mean, invstd, EPS)


def batch_norm_gather_stats_with_counts(dtype: torch.dtype) -> Results:
    mean, invstd = (torch.stack([s, s * 1.5]) for s in _stats(dtype))
    running = [s.clone() for s in _stats(dtype)]
    counts = _counts().to(mean.dtype)
    found = torch.batch_norm_gather_stats_with_counts(
        _device(4, CHANNELS, dtype=dtype), mean, invstd, *running, MOMENTUM, EPS, counts
    )
    return *found, *running


def batch_norm_backward_reduce(dtype: torch.dtype) -> Results:
    x = _device(4, CHANNELS, 5, dtype=dtype)
    mean, invstd = _stats(dtype)
    return torch.batch_norm_backward_reduce(
        x * 2, x, mean, invstd, mean, True, True, True
    )


def batch_norm_backward_elemt(dtype: torch.dtype) -> Results:
    x = _device(4, CHANNELS, 5, dtype=dtype)
    mean, invstd = _stats(dtype)
    gradient = torch.batch_norm_backward_elemt(
        x * 2, x, mean, invstd, mean, mean, invstd, _counts()
    )
    return (gradient,)


def products(dtype: torch.dtype) -> Results:
    wide = torch.float32 if dtype.itemsize == 2 else dtype
    a, b = _device(2, 4, 5, dtype=dtype), _device(2, 5, 3, dtype=dtype)
    c = _device(2, 4, 3, dtype=dtype)
    out = torch.empty(0, dtype=wide, device="dipu")
    outs = [out.clone() for _ in range(4)]
    torch.mm(a[0], b[0], out_dtype=wide, out=outs[0])
    torch.bmm(a, b, out_dtype=wide, out=outs[1])
    torch.addmm(c[0], a[0], b[0], out_dtype=wide, out=outs[2])
    torch.baddbmm(c, a, b, out_dtype=wide, out=outs[3])
    return (
        torch.mm(a[0], b[0], out_dtype=wide),
        torch.bmm(a, b, out_dtype=wide),
        torch.addmm(c[0], a[0], b[0], out_dtype=wide),
        torch.baddbmm(c, a, b, out_dtype=wide),
        *outs,
    )


# By the operators that they call.
CASES: dict[Callable[[torch.dtype], Results], tuple[str, ...]] = {
    batch_norm_stats: ("batch_norm_stats",),
    batch_norm_elemt: ("batch_norm_elemt", "batch_norm_elemt.out"),
    batch_norm_gather_stats_with_counts: ("batch_norm_gather_stats_with_counts",),
    batch_norm_backward_reduce: ("batch_norm_backward_reduce",),
    batch_norm_backward_elemt: ("batch_norm_backward_elemt",),
    products: tuple(
        f"{name}.{form}"
        for name in ("addmm", "baddbmm", "bmm", "mm")
        for form in ("dtype", "dtype_out")
    ),
}
BOUNDS = {
    torch.float64: 1e-9,
    torch.float32: 1e-5,
    torch.float16: 2e-2,
    torch.bfloat16: 1e-1,
}
# Tested with their layers below.
ELSEWHERE = frozenset(
    {
        "_thnn_fused_gru_cell",
        "_thnn_fused_gru_cell_backward",
        "_thnn_fused_lstm_cell",
        "_thnn_fused_lstm_cell_backward_impl",
    }
)


def test_every_operator_without_a_kernel_of_the_cpu_has_a_case() -> None:
    lacking = {
        operator.name
        for operator in torch_dipu._C._operators()
        if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(
            f"aten::{operator.name}", "CPU"
        )
    }
    assert lacking == ELSEWHERE.union(*CASES.values())


def fallbacks() -> int:
    """How many calls have been computed on the CPU."""
    counters = torch_dipu.op_counters().items()
    return sum(count for name, count in counters if name.startswith("fallback."))


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_forced_to_the_cpu(
    case: Callable[[torch.dtype], Results], dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    expected = case(dtype)
    torch.manual_seed(0)
    before = fallbacks()
    with torch_dipu.force_fallback(*CASES[case]):
        found = case(dtype)
    assert fallbacks() == before + len(CASES[case])
    for ours, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(
            ours, reference, rtol=BOUNDS[dtype], atol=BOUNDS[dtype]
        )


@pytest.mark.parametrize("against", ["cpu", "float64"])
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_compared_with_the_cpu(
    case: Callable[[torch.dtype], Results], dtype: torch.dtype, against: str
) -> None:
    torch.manual_seed(0)
    with torch_dipu.autocompare(*CASES[case], against=against) as report:
        case(dtype)
    assert report.comparisons == len(CASES[case])
    assert report.left_out == {}
    assert report.wrong_operators == []


def test_sums_that_nobody_asks_for_are_left_alone() -> None:
    x = _device(4, CHANNELS, 5)
    mean, invstd = _stats(torch.float32)
    with torch_dipu.autocompare("batch_norm_backward_reduce") as report:
        for wanted in ((True, False, False), (False, True, True)):
            torch.batch_norm_backward_reduce(x, x, mean, invstd, mean, *wanted)
    assert report.comparisons == 2
    assert report.wrong == []


def test_comparing_is_no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    x = torch.randn(2, 3, 8, 8).to("dipu").requires_grad_()
    cells = [torch.nn.LSTMCell(4, 5).to("dipu"), torch.nn.GRUCell(4, 5).to("dipu")]
    weight = torch.randn(4, 3, 3, 3).to("dipu")
    functional = torch.nn.functional
    before = fallbacks()
    with torch_dipu.autocompare() as report:
        functional.conv2d(x, weight).sum().backward()
        functional.scaled_dot_product_attention(x, x, x).sum().backward()
        for cell in cells:
            cell(torch.randn(3, 4).to("dipu"))[0].sum().backward()
        products(torch.float32)
    assert fallbacks() == before
    assert report.calls.keys() >= ELSEWHERE
    assert report.left_out == {}
    assert report.wrong_operators == []


def test_a_wrong_type_of_out_is_refused() -> None:
    a = _device(2, 2, dtype=torch.float16)
    out = torch.empty(2, 2, dtype=torch.float64, device="dipu")
    with (
        torch_dipu.force_fallback("mm.dtype_out"),
        pytest.raises(RuntimeError, match="out tensor to have dtype Float"),
    ):
        torch.mm(a, a, out_dtype=torch.float32, out=out)
