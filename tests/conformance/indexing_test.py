# SPDX-License-Identifier: Apache-2.0
"""Elements at given positions: combined, replaced, taken and listed."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
import torch

from tests.conformance.both_sides import (
    check,
    check_gradients,
    check_inplace,
    check_out,
)
from tests.conformance.comparing import assert_same
from tests.conformance.inputs import FLOATS, INTEGERS, layouts, make, name

ALL = (*FLOATS, *INTEGERS, torch.bool)
NAN = float("nan")


def index_of(count: int, size: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(0, size, (count,)).to(dtype)


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_index_add(native, dtype: torch.dtype) -> None:
    for dim, index_type in itertools.product((0, 1, -1), (torch.int64, torch.int32)):
        x = make(dtype, 5, 6, 7)
        source = make(dtype, 5, 6, 7)
        index = index_of(x.shape[dim], x.shape[dim], index_type)
        for y, z in zip(layouts(x), layouts(source), strict=True):
            check(native, "index_add", torch.index_add, y, dim, index, z)
        check_inplace(native, "index_add_", "index_add_", x, dim, index, source)
    if dtype is not torch.bool:
        check(native, "index_add", torch.index_add, x, -1, index, source, alpha=2)


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_index_copy(native, dtype: torch.dtype) -> None:
    for dim in (0, 1, -1):
        x = make(dtype, 5, 6, 7)
        index = torch.randperm(x.shape[dim])[:3]
        for y in layouts(x):
            source = make(dtype, 5, 6, 7).narrow(dim, 1, 3)
            check(native, "index_copy", torch.index_copy, y, dim, index, source)
            check_inplace(native, "index_copy_", "index_copy_", y, dim, index, source)


def test_index_add_and_copy_at_the_edges(native, no_fallback) -> None:
    x, source = make(torch.float64, 4, 3), make(torch.float64, 2, 3)
    index = torch.tensor([3, 1])
    none = torch.zeros(0, dtype=torch.int64)
    for operator in ("index_add", "index_copy"):
        function = getattr(torch, operator)
        check(native, operator, function, x, 0, none, source[:0])
        one, zero = torch.tensor(2.0), torch.tensor([0])
        check(native, operator, function, one, 0, zero, torch.tensor(5.0))
        check_out(
            native,
            operator + ".out",
            lambda *a, f=function, **kw: f(a[0], 0, *a[1:], **kw),
            *(x, index, source),
        )
        check_gradients(no_fallback, function, x, 0, index, source)
    # Only index_copy takes one element for a vector.
    scalar = torch.tensor(9.0).double()
    check(native, "index_copy", torch.index_copy, x[0], 0, torch.tensor(1), scalar)


def test_index_fill_counts_from_the_end(native) -> None:
    x, index = torch.arange(5.0), torch.tensor([-1, -5, 2])
    with native("index_fill_.int_Scalar"):
        got = x.to("dipu").index_fill(0, index.to("dipu"), 9.0)
    assert torch.equal(got.cpu(), x.index_fill(0, index, 9.0))


REDUCTIONS = ("prod", "mean", "amax", "amin")


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_index_reduce(native, reduce: str, include_self: bool) -> None:
    for dtype, dim in itertools.product((*FLOATS, *INTEGERS), (0, 1, -1)):
        x, source = make(dtype, 4, 5, 3, low=1, high=4), make(dtype, 4, 5, 3)
        if not dtype.is_floating_point:
            source = make(dtype, 4, 5, 3, low=1, high=3)
        index = index_of(x.shape[dim], x.shape[dim])
        for y in layouts(x):
            args = (y, dim, index, source, reduce)
            options = {"include_self": include_self}
            check(native, "index_reduce", torch.index_reduce, *args, **options)
        check_inplace(native, "index_reduce_", "index_reduce_", x, *args[1:], **options)


@pytest.mark.filterwarnings("ignore:index_reduce")
def test_index_reduce_of_nan_and_backward(native, no_fallback) -> None:
    x, index = torch.ones(3, 2), torch.tensor([1, 1])
    source = torch.tensor([[NAN, 3.0], [5.0, NAN]])
    for reduce in REDUCTIONS:
        check(native, "index_reduce", torch.index_reduce, x, 0, index, source, reduce)
    args = (x, index, source)
    check_out(
        native,
        "index_reduce.out",
        lambda *a, **kw: torch.index_reduce(a[0], 0, *a[1:], "amax", **kw),
        *args,
    )
    x, source = make(torch.float64, 3, 2), make(torch.float64, 2, 2)
    check_gradients(no_fallback, torch.index_reduce, x, 0, index, source, "mean")


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ("sum", *REDUCTIONS))
def test_scatter_reduce(native, reduce: str, include_self: bool) -> None:
    for dtype, dim in itertools.product((*FLOATS, *INTEGERS), (0, 1, -1)):
        x, source = make(dtype, 4, 5, 6, low=1, high=4), make(dtype, 4, 5, 6)
        if not dtype.is_floating_point:
            source = make(dtype, 4, 5, 6, low=1, high=3)
        index = torch.randint(0, 3, (3, 4, 5))
        for y, z in zip(layouts(x), layouts(source), strict=True):
            args = (y, dim, index, z, reduce)
            options = {"include_self": include_self}
            check(native, "scatter_reduce.two", torch.scatter_reduce, *args, **options)
        check_inplace(
            native, "scatter_reduce_.two", "scatter_reduce_", x, *args[1:], **options
        )


def test_scatter_reduce_at_the_edges(native, no_fallback) -> None:
    def out(x: torch.Tensor, *args: torch.Tensor, **kw: torch.Tensor) -> torch.Tensor:
        return torch.scatter_reduce(x, 1, *args, "amin", **kw)

    x, source = make(torch.float64, 3, 4), make(torch.float64, 3, 4)
    index = torch.randint(0, 4, (3, 4))
    check_out(native, "scatter_reduce.two_out", out, x, index, source)
    check(native, "scatter_reduce.two", out, x, index[:, :0], source)
    scalar, zero = torch.tensor(2.0), torch.tensor(0)
    function = torch.scatter_reduce
    check(native, "scatter_reduce.two", function, scalar, 0, zero, scalar, "sum")
    nan = torch.full((2,), NAN)
    both = torch.zeros(2, dtype=torch.int64)
    check(native, "scatter_reduce.two", function, torch.ones(2), 0, both, nan, "amax")
    for reduce in ("sum", "mean", "prod", "amax"):
        check_gradients(no_fallback, function, x, 1, index, source, reduce)


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_take_and_put(native, dtype: torch.dtype) -> None:
    x = make(dtype, 4, 5, 2)
    index = torch.randint(-40, 40, (3, 4))
    for y in layouts(x):
        check(native, "take", torch.take, y, index)
        check(native, "take", torch.take, y, index.t())
        # Equal positions may end up with any of their elements.
        unique = torch.randperm(40)[:12].reshape(3, 4) - 20
        check_inplace(native, "put_", "put_", y, unique, make(dtype, 3, 4))
        check_inplace(native, "put_", "put_", y, index, make(dtype, 3, 4), True)
    check_out(native, "take.out", torch.take, x, index)


def test_take_and_put_at_the_edges(native, no_fallback, device: str) -> None:
    none = torch.zeros(0, dtype=torch.int64)
    check(native, "take", torch.take, torch.zeros(0), none)
    check(native, "take", torch.take, torch.tensor(3.0), torch.tensor(-1))
    x, index = make(torch.float64, 3, 4), torch.tensor([5, -1, 5])
    check_gradients(no_fallback, torch.take, x, index)
    check_gradients(no_fallback, torch.put, x, index[:2], make(torch.float64, 2))
    there = x.to(device)
    with pytest.raises(RuntimeError, match="long tensor"):
        torch.take(there, index.int().to(device))
    with pytest.raises(IndexError, match="empty tensor"):
        torch.take(there[:0], index.to(device))
    with pytest.raises(RuntimeError, match="3 indices for 2 elements"):
        there.put_(index.to(device), there[0, :2])


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_masked_scatter(native, dtype: torch.dtype) -> None:
    x, source = make(dtype, 4, 5), make(dtype, 6, 5)
    for y, mask in itertools.product(layouts(x), (x > 0, (x > 0)[:1])):
        check_inplace(native, "masked_scatter_", "masked_scatter_", y, mask, source)
    check(native, "masked_scatter_", torch.masked_scatter, x, x > 0, source)


def test_masked_scatter_backward_and_small_sources(no_fallback) -> None:
    x, source = make(torch.float64, 4, 5), make(torch.float64, 20)
    check_gradients(no_fallback, torch.masked_scatter, x, x > 0, source)


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_selections_into_given_tensors(native, dtype: torch.dtype) -> None:
    x = make(dtype, 4, 5)

    def index(x: torch.Tensor, rows: torch.Tensor, **kw: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.index.Tensor_out(x, [rows], **kw) if kw else x[rows]

    check_out(native, "index.Tensor_out", index, x, torch.tensor([3, 0, 3]))
    check_out(native, "index.Tensor_out", index, x, x[:, 0] > 0)
    check_out(native, "nonzero.out", torch.nonzero, x)
    check_out(native, "masked_select.out", torch.masked_select, x, x > 0)


def test_masked_select_broadcasts(native) -> None:
    x, mask = make(torch.float32, 4, 1), torch.tensor([True, False, True])
    check(native, "masked_select", torch.masked_select, x, mask)
    check(native, "masked_select", torch.masked_select, mask.float(), x > 0)


def test_a_result_of_another_type_is_refused(device: str) -> None:
    x = torch.ones(3, device=device)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        torch.nonzero(x, out=x.clone())


@pytest.mark.parametrize("size", [0, 3, 30])
def test_nonzero_static(native, size: int) -> None:
    for x in (make(torch.int32, 4, 5), torch.ones(3), torch.tensor(1.0)):
        function = torch.ops.aten.nonzero_static
        check(native, "nonzero_static", function, x, size=size, fill_value=-7)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=name)
def test_repeat_interleave(native, no_fallback, dtype: torch.dtype) -> None:
    repeats = torch.tensor([2, 0, 3, 1], dtype=dtype)
    function, label = torch.repeat_interleave, "repeat_interleave.Tensor"
    check(native, label, function, repeats)
    check(native, label, function, repeats, output_size=6)
    check(native, label, function, repeats[:0])
    check(native, label, function, make(torch.float32, 4, 3), repeats, dim=0)
    check(native, label, function, make(torch.float32, 3, 4), repeats, 1)
    check_gradients(no_fallback, function, make(torch.float64, 4, 2), repeats, dim=0)


def test_repeats_that_make_no_sense(device: str) -> None:
    with pytest.raises(RuntimeError, match="negative"):
        torch.repeat_interleave(torch.tensor([1, -1], device=device))
    with pytest.raises(RuntimeError, match="1D vector"):
        torch.repeat_interleave(torch.tensor([[1, 1]], device=device))


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_narrow_copy(native, dtype: torch.dtype) -> None:
    for x in layouts(make(dtype, 4, 6)):
        check(native, "narrow_copy", torch.narrow_copy, x, 1, 2, 3)
        check(native, "narrow_copy", torch.narrow_copy, x, -2, -3, 2)
    out = torch.ops.aten.narrow_copy
    check_out(native, "narrow_copy.out", lambda x, **kw: out(x, 0, 1, 2, **kw), x)


def test_narrow_copy_beyond_the_end(device: str) -> None:
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        torch.narrow_copy(torch.zeros(3, device=device), 0, 2, 2)


def test_scalar_index_into_strided_lines(native) -> None:
    x = torch.arange(12.0)[::3]
    check(native, "gather", torch.gather, x, 0, torch.tensor(2))


# The error stays with the device, so each has a process of its own. Of the other
# operators the tests in kernels/tests show that they report.
MISTAKES = {
    "diopiExtIndexAdd: index 3 is out of range": "x.index_add(0, i, x[:1])",
    "diopiMaskedScatter: the mask selects more than the 2 elements": (
        "x.masked_scatter_(x == 1, x[:2])"
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_found_by_the_device(native, message: str) -> None:
    program = (
        "import torch, torch_dipu\n"
        "x = torch.ones(3, device='dipu')\n"
        "i = torch.tensor([3], device='dipu')\n"
        "try:\n"
        f"    print({MISTAKES[message]}.cpu())\n"
        "except RuntimeError as error:\n"
        "    print('refused:', error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert message in result.stdout


def test_equal_positions(native, device: str) -> None:
    """The last of equal positions stays, also where torch promises nothing."""
    x, index = torch.zeros(2, device=device), torch.tensor([1, 1], device=device)
    source = torch.tensor([5.0, 7.0], device=device)
    with native("index_copy_", "put_"):
        assert_same(x.index_copy_(0, index, source), torch.tensor([0.0, 7.0]))
        assert_same(x.put_(index, source), torch.tensor([0.0, 7.0]))
