# SPDX-License-Identifier: Apache-2.0
"""Small linear operators, and tensors that follow a formula."""

from __future__ import annotations

import pytest
import torch

from tests.conformance.both_sides import (
    check,
    check_gradients,
    check_inplace,
    check_out,
    to_device,
)
from tests.conformance.comparing import assert_same
from tests.conformance.inputs import FLOATS, INTEGERS, layouts, make, name

NUMBERS = (*FLOATS, *INTEGERS)


@pytest.mark.parametrize("dtype", (*NUMBERS, torch.bool), ids=name)
def test_eye(native, dtype: torch.dtype) -> None:
    for sizes in ((4,), (3, 5), (0, 2)):
        with native("eye.m_out"):
            got = torch.eye(*sizes, dtype=dtype, device="dipu")
        assert_same(got, torch.eye(*sizes, dtype=dtype))
    for sizes, label in (((3, 5), "eye.m_out"), ((4,), "eye.out")):
        out = torch.ones(sizes[-1], sizes[0], dtype=dtype, device="dipu").t()
        with native(label):
            torch.eye(*sizes, out=out)
        assert_same(out, torch.eye(*sizes, dtype=dtype))


def test_factories_refuse_negative_sizes(device: str) -> None:
    with pytest.raises(RuntimeError, match="greater or equal to 0"):
        torch.eye(-1, device=device)
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.tril_indices(-1, 2, device=device)


@pytest.mark.parametrize("operator", ["tril_indices", "triu_indices"])
def test_triangle_indices(native, operator: str) -> None:
    function = getattr(torch, operator)
    for dtype in (torch.int64, torch.int32):
        for rows, columns in ((3, 4), (4, 3), (0, 2), (1, 1)):
            for offset in range(-5, 6):
                args = (rows, columns, offset)
                with native(operator):
                    got = function(*args, dtype=dtype, device="dipu")
                assert_same(got, function(*args, dtype=dtype))


@pytest.mark.parametrize("dtype", (*FLOATS, torch.int64, torch.int32), ids=name)
def test_linspace(native, dtype: torch.dtype) -> None:
    for args in ((0, 3, 4), (4.3, -3, 50), (-2.7, 1.9, 5), (1, 2, 1), (1, 2, 0)):
        with native("linspace.out"):
            got = torch.linspace(*args, dtype=dtype, device="dipu")
        assert_same(got, torch.linspace(*args, dtype=dtype))


@pytest.mark.parametrize("dtype", (*FLOATS, torch.int64, torch.int32), ids=name)
def test_logspace(native, dtype: torch.dtype) -> None:
    for args in (
        (0, 3, 4),
        (3, 0, 7),
        (1, 2, 1),
        (1, 2, 0),
        (0, 4, 5, 2.0),
        (0, 1.2, 4),
    ):
        with native("logspace.out"):
            got = torch.logspace(*args, dtype=dtype, device="dipu")
        assert_same(got, torch.logspace(*args, dtype=dtype))


@pytest.mark.filterwarnings("ignore:torch.range")
@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
def test_range(native, dtype: torch.dtype) -> None:
    for args in ((0, 5), (2, 9, 3), (5, 1, -2), (3, 3)):
        with native("range.out"):
            got = torch.range(*args, dtype=dtype, device="dipu")
        assert_same(got, torch.range(*args, dtype=dtype))
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        torch.range(1, 0, device="dipu")


@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
def test_trace(native, dtype: torch.dtype) -> None:
    for x in layouts(make(dtype, 5, 7)):
        check(native, "trace", torch.trace, x)
    check(native, "trace", torch.trace, x[:0])
    with pytest.raises(RuntimeError, match="expected a matrix"):
        torch.trace(torch.ones(3, device="dipu"))


@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
@pytest.mark.parametrize("operator", ["dot", "vdot"])
def test_dot(native, no_fallback, operator: str, dtype: torch.dtype) -> None:
    function = getattr(torch, operator)
    for x in layouts(make(dtype, 9)):
        check(native, operator, function, x, make(dtype, 9))
    check(native, operator, function, x[:0], x[:0])
    check_gradients(no_fallback, function, *make(torch.float64, 2, 9))
    there = x.to("dipu")
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        function(there, there[:3])
    with pytest.raises(RuntimeError, match="same dtype"):
        function(there, there.to(torch.bool))


@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
def test_addmv(native, dtype: torch.dtype) -> None:
    for matrix in layouts(make(dtype, 4, 6)):
        vector, added = make(dtype, 6), make(dtype, 4)
        for input in (added, added[:1], added[0]):
            check(native, "addmv", torch.addmv, input, matrix, vector)
            options = {"beta": 2, "alpha": 3}
            check(native, "addmv", torch.addmv, input, matrix, vector, **options)
    check_inplace(native, "addmv_", "addmv_", added, matrix, vector)
    check_out(native, "addmv.out", torch.addmv, added, matrix, vector)


@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
def test_addbmm(native, dtype: torch.dtype) -> None:
    b1, b2, added = make(dtype, 3, 4, 5), make(dtype, 3, 5, 2), make(dtype, 4, 2)
    for x, y in zip(layouts(b1), layouts(b2), strict=True):
        for input in (added, added[0], added[0, 0]):
            check(native, "addbmm", torch.addbmm, input, x, y, beta=2, alpha=3)
    check_inplace(native, "addbmm_", "addbmm_", added, b1, b2)
    check_out(native, "addbmm.out", torch.addbmm, added, b1, b2)
    check(native, "addbmm", torch.addbmm, added, b1[:0], b2[:0])


def test_products_ignore_what_beta_hides_and_go_backward(native, no_fallback) -> None:
    nan = torch.full((4, 2), float("nan"))
    b1, b2 = make(torch.float32, 3, 4, 5), make(torch.float32, 3, 5, 2)
    check(native, "addbmm", torch.addbmm, nan, b1, b2, beta=0)
    check(native, "addmv", torch.addmv, nan[:, 0], b1[0], b2[0, :, 0], beta=0)
    check_gradients(
        no_fallback, torch.addbmm, *(t.double() for t in (b1[0, :, :2], b1, b2))
    )
    vectors = (b1[0, :, 0], b1[1], b2[0, :, 0])
    check_gradients(no_fallback, torch.addmv, *(t.double() for t in vectors))
    there = to_device((nan, b1, b2))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.addbmm(there[0], there[1], there[1])


@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
def test_cross(native, no_fallback, dtype: torch.dtype) -> None:
    a, b = make(dtype, 3, 4, 3, low=0, high=6), make(dtype, 3, 4, 3, low=0, high=6)
    cross = torch.linalg.cross
    for x, y in zip(layouts(a), layouts(b), strict=True):
        check(native, "linalg_cross", cross, x, y)
        check(native, "linalg_cross", cross, x, y, dim=0)
        check(native, "linalg_cross", cross, x, y[:, :1], dim=-1)
    check(native, "linalg_cross", cross, a[:0], b[:0])
    check_out(native, "linalg_cross.out", cross, a, b)
    check_gradients(no_fallback, cross, *make(torch.float64, 2, 4, 3))


def test_int_mm(native) -> None:
    a = torch.randint(-128, 128, (20, 40), dtype=torch.int8)
    b = torch.randint(-128, 128, (40, 24), dtype=torch.int8)
    for x, y in zip(layouts(a), layouts(b), strict=True):
        check(native, "_int_mm", torch._int_mm, x, y)
    check_out(native, "_int_mm.out", torch._int_mm, a, b)


def test_is_set_to(device: str) -> None:
    x = torch.zeros(4, device=device)
    with_same_memory = torch.empty(0, device=device).set_(x)
    assert x.is_set_to(with_same_memory)
    assert not x.is_set_to(x.clone())
    assert not x.is_set_to(x[:2])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_a_wider_type(native, dtype: torch.dtype, device: str) -> None:
    a, b = torch.randn(5, 7).to(dtype), torch.randn(7, 3).to(dtype)
    c = torch.randn(5, 3)
    batch_a, batch_b = a.expand(2, 5, 7), b.expand(2, 7, 3)
    batch_c = c.expand(2, 5, 3)
    exact = a.float() @ b.float()
    wide = torch.float32
    x, y, z = a.to(device), b.to(device), c.to(device)
    xs, ys, zs = batch_a.to(device), batch_b.to(device), batch_c.to(device)
    out = torch.empty(5, 3, device=device)
    with native("mm", "bmm", "addmm", "baddbmm"):
        results = [
            (torch.mm(x, y, wide), exact),
            (torch.mm(x, y, wide, out=out), exact),
            (torch.bmm(xs, ys, wide), exact.expand(2, 5, 3)),
            (torch.addmm(z, x, y, wide, beta=2), exact + 2 * c),
            (torch.addmm(z.to(dtype), x, y, wide), exact + c.to(dtype).float()),
            (torch.baddbmm(zs, xs, ys, wide), (exact + c).expand(2, 5, 3)),
        ]
    for got, expected in results:
        assert got.dtype == wide
        torch.testing.assert_close(got.cpu(), expected, atol=1e-5, rtol=1e-5)
    with pytest.raises(RuntimeError, match="out_dtype may be the type of the matr"):
        torch.mm(x, y, torch.float64)
