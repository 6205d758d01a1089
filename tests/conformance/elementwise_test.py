# SPDX-License-Identifier: Apache-2.0
"""Functions of two tensors: values, types, layouts, gradients.

Every case is compared with the CPU and must not fall back. Operators that
another one expresses count as that one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from tests.conformance.comparing import assert_near
from tests.conformance.inputs import FLOATS, INTEGERS, WIDE, values

SPECIAL = torch.special
NAN, INF = math.nan, math.inf

Function = Callable[..., torch.Tensor]

BINARY: dict[str, Function] = {
    "atan2": torch.atan2,
    "copysign.Tensor": torch.copysign,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "fmod.Tensor": torch.fmod,
    "heaviside": torch.heaviside,
    "hypot": torch.hypot,
    "igamma": torch.igamma,
    "igammac": torch.igammac,
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "xlogy.Tensor": torch.xlogy,
    "special_xlog1py": SPECIAL.xlog1py,
}

BINARY_WIDE: dict[str, Function] = {
    "nextafter": torch.nextafter,
    "special_zeta": SPECIAL.zeta,
}

INTEGER: dict[str, Function] = {
    "bitwise_xor.Tensor": torch.bitwise_xor,
    "bitwise_left_shift.Tensor": torch.bitwise_left_shift,
    "bitwise_right_shift.Tensor": torch.bitwise_right_shift,
    "fmod.Tensor": torch.fmod,
    "gcd": torch.gcd,
    "lcm": torch.lcm,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "heaviside": torch.heaviside,
}


def pair(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = values(dtype), values(dtype).flip(0)
    return a[:192].reshape(16, 12), b[:192].reshape(16, 12)


def binary_layouts(
    a: torch.Tensor, b: torch.Tensor
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [
        (a, b),
        (a.t(), b.t()),
        (a[::2], b[1::2]),
        (a, b[:1]),
        (a[:, 2], b[4, 4]),
        (a[:0], b[:0]),
        (a[1, 1], b[2, 2]),
    ]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", [*BINARY, *BINARY_WIDE])
def test_binary(native, device: str, op: str, dtype: torch.dtype) -> None:
    if op in BINARY_WIDE and dtype not in WIDE:
        pytest.skip("no reference")
    function = {**BINARY, **BINARY_WIDE}[op]
    for a, b in binary_layouts(*pair(dtype)):
        there = a.to(device), b.to(device)
        with native(op):
            got = function(*there)
        assert_near(got, function(a, b))


@pytest.mark.parametrize("op", [*BINARY, "nextafter"])
def test_binary_of_what_is_not_finite(native, device: str, op: str) -> None:
    function = {**BINARY, **BINARY_WIDE}[op]
    x = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -2.5], dtype=torch.float64)
    a, b = x.repeat(7), x.repeat_interleave(7)
    there = a.to(device), b.to(device)
    with native(op):
        got = function(*there)
    assert_near(got, function(a, b))


def test_nextafter_of_bfloat16(native, device: str) -> None:
    a = torch.tensor([1.0, -1.0, 0.0, -0.0, NAN, 3.0], dtype=torch.bfloat16)
    b = torch.tensor([2.0, INF, -1.0, 1.0, 0.0, 3.0], dtype=torch.bfloat16)
    there = a.to(device), b.to(device)
    with native("nextafter"):
        got = torch.nextafter(*there)
    assert (
        got.cpu()
        .view(torch.int16)[:4]
        .equal(torch.nextafter(a, b).view(torch.int16)[:4])
    )
    assert_near(got, torch.nextafter(a, b))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", INTEGER)
def test_integers(native, device: str, op: str, dtype: torch.dtype) -> None:
    function = INTEGER[op]
    for a, b in binary_layouts(*pair(dtype)):
        if op == "fmod.Tensor":
            b = torch.where(b == 0, 1, b)
        there = a.to(device), b.to(device)
        with native(op):
            got = function(*there)
        assert_near(got, function(a, b))


def test_integers_and_numbers(native, device: str) -> None:
    a = torch.arange(-8, 8)
    there = a.to(device)
    with native("fmod.Tensor", "bitwise_xor.Tensor", "copysign.Tensor"):
        got = [there ^ 5, torch.fmod(there, 3), torch.copysign(there, -0.0)]
    for x, y in zip(got, [a ^ 5, a.fmod(3), torch.copysign(a, -0.0)], strict=True):
        assert_near(x, y)


def test_fmod_by_zero_is_an_error(device: str) -> None:
    with pytest.raises(RuntimeError, match="zero"):
        torch.fmod(torch.ones(2, dtype=torch.int64, device=device), 0)


def test_integer_promotion(native, device: str) -> None:
    a, b = torch.arange(1, 5), torch.arange(4, 0, -1).to(torch.int8)
    there = a.to(device), b.to(device)
    for op in ("atan2", "xlogy.Tensor", "special_xlog1py", "copysign.Tensor"):
        with native(op):
            got = BINARY[op](*there)
        assert got.dtype == torch.float32
        assert_near(got, BINARY[op](a, b))


def test_logical_xor(native, device: str) -> None:
    a, b = torch.tensor([0.0, 1.0, NAN]), torch.tensor([[0], [3]])
    there = a.to(device), b.to(device)
    with native("logical_xor"):
        got = torch.logical_xor(*there)
    assert_near(got, torch.logical_xor(a, b))
    flags = torch.tensor([True, False, True])
    assert_near(flags.to(device).logical_xor_(there[0]), flags.logical_xor_(a))


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize(
    "types", [(a, b) for a in WIDE + INTEGERS for b in (a, WIDE[1])]
)
def test_isin(
    native, device: str, types: tuple[torch.dtype, torch.dtype], invert: bool
) -> None:
    elements = torch.randint(0, 20, (6, 7)).to(types[0])
    tests = torch.randint(0, 20, (4, 2)).to(types[1])
    for x, t in ((elements, tests), (elements.t(), tests.t()), (elements, tests[:0])):
        there = x.to(device), t.to(device)
        with native("isin.Tensor_Tensor"):
            got = torch.isin(*there, invert=invert)
        assert_near(got, torch.isin(x, t.contiguous(), invert=invert))
    there = elements.to(device), tests.to(device)
    with native("isin.Tensor_Scalar", "isin.Scalar_Tensor"):
        by_number = torch.isin(there[0], 3, invert=invert)
        number = torch.isin(3, there[1], invert=invert)
    assert_near(by_number, torch.isin(elements, 3, invert=invert))
    assert_near(number, torch.isin(3, tests, invert=invert))


def test_isin_ignores_nan(native, device: str) -> None:
    x = torch.tensor([NAN, 1.0, 2.0, INF])
    t = torch.tensor([NAN, 2.0, NAN, INF])
    there = x.to(device), t.to(device)
    with native("isin.Tensor_Tensor"):
        got = torch.isin(*there)
    assert_near(got, torch.isin(x, t))


def test_floor_divide(native, device: str) -> None:
    a, b = torch.tensor([7, -7, 8]), torch.tensor([2, 2, -3])
    there = a.to(device), b.to(device)
    with native("div.Tensor_mode"):
        got = torch.floor_divide(*there)
        number = there[0] // 2
        half = torch.floor_divide(there[0], 2.5)
    assert_near(got, torch.floor_divide(a, b))
    assert_near(number, a // 2)
    assert_near(half, torch.floor_divide(a, 2.5))
    assert_near(there[0].floor_divide_(there[1]), a.floor_divide_(b))
    out = torch.empty(0, dtype=a.dtype, device=device)
    assert_near(torch.floor_divide(*there, out=out), torch.floor_divide(a, b))


def test_shifts(native, device: str) -> None:
    a, b = torch.tensor([1, -5, 8]), torch.tensor([2, 1, -3])
    there = a.to(device), b.to(device)
    with native("bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"):
        got = [
            there[0] << there[1],
            there[0] >> there[1],
            there[0] << 2,
            there[0] >> 2,
            torch.ops.aten.__lshift__(there[0], there[1]),
            torch.ops.aten.__rshift__(there[0], 1),
        ]
    expected = [a << b, a >> b, a << 2, a >> 2, a << b, a >> 1]
    for x, y in zip(got, expected, strict=True):
        assert_near(x, y)
    there[0].__ilshift__(1)
    there[0].__irshift__(there[1])
    a <<= 1
    a >>= b
    assert_near(there[0], a)


def test_add_relu(no_fallback, device: str) -> None:
    for dtype in (torch.float32, torch.float64, torch.int32, torch.int8):
        a = torch.tensor([-5, 2, 100], dtype=dtype)
        b = torch.tensor([1, 1, 10], dtype=dtype)
        there = a.to(device), b.to(device)
        with no_fallback():
            got = torch._VF._add_relu(*there, alpha=2)
            number = torch._VF._add_relu(there[0], 3)
            out = torch.zeros(3, dtype=dtype, device=device)
            torch.ops.aten._add_relu.out(*there, out=out)
            torch._VF._add_relu_(there[0], there[1])
        assert_near(got, torch._VF._add_relu(a, b, alpha=2))
        assert_near(number, torch._VF._add_relu(a, 3))
        assert_near(out, torch._VF._add_relu(a, b))
        assert_near(there[0], torch._VF._add_relu(a, b))
    with pytest.raises(NotImplementedError, match="_add_relu"):
        torch._VF._add_relu(there[0].half(), there[1])


def test_numbers_on_the_left(native, device: str) -> None:
    x = torch.tensor([3.0, -4.0])
    k = torch.tensor([3, -4])
    there, whole = x.to(device), k.to(device)
    with native("sub.Tensor", "remainder.Tensor"):
        got = [
            torch.rsub(there, there, alpha=2),
            torch.remainder(7.5, there),
            torch.remainder(7, whole),
        ]
    expected = [torch.rsub(x, x, alpha=2), torch.remainder(7.5, x), 7 % k]
    for a, b in zip(got, expected, strict=True):
        assert_near(a, b)


def test_fill_with_a_tensor(no_fallback, device: str) -> None:
    x = torch.zeros(4, 6)
    there = x.to(device)
    with no_fallback():
        there[:, ::2].fill_(torch.tensor(2.5, device=device))
        there[1].fill_(torch.tensor(7))
        index = torch.tensor([0, 3], device=device)
        there.index_fill_(0, index, torch.tensor(-1.0, device=device))
    x[:, ::2] = 2.5
    x[1] = 7
    x.index_fill_(0, torch.tensor([0, 3]), -1.0)
    assert_near(there, x)
    with pytest.raises(RuntimeError, match="0-dimension"):
        there.fill_(torch.ones(2, device=device))


@pytest.mark.parametrize(
    "name",
    [
        "atan2",
        "copysign.Tensor",
        "fmax",
        "fmin",
        "hypot",
        "logaddexp",
        "logaddexp2",
        "xlogy.Tensor",
        "special_xlog1py",
    ],
)
def test_gradients_of_two_tensors(device: str, name: str) -> None:
    a, b = torch.rand(2, 5, 7, dtype=torch.float64) + 0.1
    weights = torch.randn(5, 7, dtype=torch.float64)
    host = [t.clone().requires_grad_() for t in (a, b)]
    there = [t.to(device).requires_grad_() for t in (a, b)]
    BINARY[name](*host).backward(weights)
    BINARY[name](*there).backward(weights.to(device))
    for x, y in zip(there, host, strict=True):
        assert_near(x.grad, y.grad)


def test_any_byte_but_zero_is_true(no_fallback, device: str) -> None:
    """Bytes that are seen as bool need not be 0 or 1."""
    bytes_ = torch.tensor([0, 1, 2, 255, 0, 128], dtype=torch.uint8).to(device)
    x = torch.arange(6.0).to(device)
    with no_fallback():
        chosen = torch.where(bytes_.view(torch.bool), x, -x - 1)
        filled = x.masked_fill(bytes_.view(torch.bool), 9.0)
    assert chosen.tolist() == [-1, 1, 2, 3, -5, 5]
    assert filled.tolist() == [0, 9, 9, 9, 4, 9]


@pytest.mark.parametrize("name", ["_foreach_add_", "_foreach_mul_"])
def test_a_bool_keeps_the_types_of_lists(native, device: str, name: str) -> None:
    host = [torch.arange(3.0), torch.arange(4), torch.arange(2).half()]
    there = [t.to(device) for t in host]
    getattr(torch, name)(host, True)
    with native(f"{name}.Scalar"):
        getattr(torch, name)(there, True)
    for x, y in zip(there, host, strict=True):
        assert x.dtype == y.dtype
        assert torch.equal(x.cpu(), y)
