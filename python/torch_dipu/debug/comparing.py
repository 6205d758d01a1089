# SPDX-License-Identifier: Apache-2.0
"""How far a result is from what it should be."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import torch


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far a number x may be from the expected y, whose largest neighbour is m.

    |x - y| <= relative * |y| + of_largest * |m|

    The second term is what rounding leaves where large numbers cancel each other.
    """

    relative: float
    of_largest: float

    def __mul__(self, factor: float) -> Tolerance:
        return Tolerance(self.relative * factor, self.of_largest * factor)


# About ten times what two correct kernels differ by, and far below one per cent.
TOLERANCES: Mapping[torch.dtype, Tolerance] = {
    torch.float64: Tolerance(1e-9, 1e-10),
    torch.float32: Tolerance(1e-4, 1e-5),
    torch.float16: Tolerance(4e-3, 1e-3),
    torch.bfloat16: Tolerance(3e-2, 8e-3),
}


# How much further from the exact result than the CPU the device may be.
WORSE_THAN_CPU = 4.0


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of one tensor or number.

    Attributes:
        name: Of the result or argument.
        close: Whether it is as it should be.
        problem: What is wrong besides values, such as other sizes; or "".
        max_absolute: Largest |x - y| of all elements that are numbers.
        max_relative: Largest |x - y| / |y|.
        max_ulp: The same in units of the last place of y.
        worst: Index of the element that exceeds its tolerance most; None without one.
        wrong: How many elements exceed their tolerance.
    """

    name: str
    close: bool
    problem: str = ""
    max_absolute: float = 0.0
    max_relative: float = 0.0
    max_ulp: float = 0.0
    worst: tuple[int, ...] | None = None
    wrong: int = 0

    def verdict(self) -> str:
        """In words, beginning with "allclose" or "not_allclose"."""
        word = "allclose" if self.close else "not_allclose"
        if self.problem:
            return f"{word}: {self.problem}"
        if self.max_absolute == 0:
            return word
        errors = (
            f"{word}: max absolute {self.max_absolute:.3g}, "
            f"relative {self.max_relative:.3g}, ulp {self.max_ulp:.3g}"
        )
        if self.worst is None:
            return errors
        return f"{errors}, {self.wrong} wrong, worst at {list(self.worst)}"


def flatten(name: str, value: Any) -> list[tuple[str, Any]]:
    """The value with a name, or those of a list: "out[0]", "out[1]"."""
    if isinstance(value, (list, tuple)):
        return [
            pair
            for i, item in enumerate(value)
            for pair in flatten(f"{name}[{i}]", item)
        ]
    return [(name, value)]


def _index(flat: int, sizes: torch.Size) -> tuple[int, ...]:
    index: list[int] = []
    for size in reversed(sizes):
        index.append(flat % size)
        flat //= size
    return tuple(reversed(index))


def _exact(name: str, actual: torch.Tensor, expected: torch.Tensor) -> Difference:
    wrong = actual != expected
    count = int(wrong.sum())
    if count == 0:
        return Difference(name, close=True)
    distance = (actual.double() - expected.double()).abs()
    return Difference(
        name,
        close=False,
        max_absolute=float(distance.max()),
        worst=_index(int(distance.flatten().argmax()), expected.shape),
        wrong=count,
    )


def _last_place(expected: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Distance to the next number of `dtype`, for each element."""
    info = torch.finfo(dtype)
    exponent = torch.frexp(expected.abs().clamp(min=info.tiny))[1] - 1
    return torch.ldexp(torch.full_like(expected, info.eps), exponent)


def _rounded(
    name: str,
    actual: torch.Tensor,
    expected: torch.Tensor,
    tolerance: Tolerance,
    scale: float,
) -> Difference:
    x, y = actual.double(), expected.double()
    # Infinities of one sign and NaN are equal; against numbers they are far off.
    distance = torch.where((x == y) | (x.isnan() & y.isnan()), 0.0, (x - y).abs())
    distance = distance.nan_to_num(nan=math.inf, posinf=math.inf)
    size = y.abs().nan_to_num(nan=0.0, posinf=0.0)
    largest = max(float(size.max()), scale)
    allowed = tolerance.relative * size + tolerance.of_largest * largest
    excess = distance - allowed
    count = int((excess > 0).sum())
    last_place = _last_place(y, actual.dtype)
    relative = torch.where(distance == 0, 0.0, distance / size)
    return Difference(
        name,
        close=count == 0,
        max_absolute=float(distance.max()),
        max_relative=float(relative.max()),
        max_ulp=float((distance / last_place).max()),
        worst=_index(int(excess.flatten().argmax()), expected.shape) if count else None,
        wrong=count,
    )


def compare_tensors(
    name: str,
    actual: torch.Tensor,
    expected: torch.Tensor,
    tolerance: Tolerance,
    scale: float = 0.0,
) -> Difference:
    """Compares two CPU tensors.

    Args:
        name: For the result.
        actual: What the device has computed.
        expected: Of the same dtype, or float64 for floating-point numbers.
        tolerance: For floating-point numbers.
        scale: How large the numbers were whose differences the results are.
    """
    if actual.shape != expected.shape:
        sizes = f"sizes {list(actual.shape)} instead of {list(expected.shape)}"
        return Difference(name, close=False, problem=sizes)
    floating = actual.is_floating_point() and expected.is_floating_point()
    if actual.dtype != expected.dtype and not floating:
        types = f"{actual.dtype} instead of {expected.dtype}"
        return Difference(name, close=False, problem=types)
    if actual.numel() == 0 or torch.equal(actual.to(expected.dtype), expected):
        return Difference(name, close=True)
    if actual.is_complex():
        actual, expected = torch.view_as_real(actual), torch.view_as_real(expected)
    if not actual.is_floating_point():
        return _exact(name, actual, expected)
    return _rounded(name, actual, expected, tolerance, scale)


def as_good_as(actual: Any, expected: Any, exact: Any) -> bool:
    """Whether `actual` is hardly further from `exact` than `expected` is."""
    if not isinstance(actual, torch.Tensor) or not actual.is_floating_point():
        return False
    if actual.shape != exact.shape or exact.numel() == 0:
        return False
    off = (actual.double() - exact).abs().max()
    allowed = (expected.double() - exact).abs().max() * WORSE_THAN_CPU
    return bool(off <= allowed)


def is_finite(value: Any) -> bool:
    """Whether an argument or result holds neither NaN nor infinity."""
    if isinstance(value, torch.Tensor):
        return not value.is_floating_point() or bool(value.cpu().isfinite().all())
    return not isinstance(value, float) or math.isfinite(value)


def compare_distributions(
    name: str, actual: torch.Tensor, expected: torch.Tensor
) -> Difference:
    """Compares the distributions of what two generators have drawn.

    By the statistic of Kolmogorov and Smirnov for two samples of n elements each: the
    largest distance D of their empirical distribution functions exceeds
    sqrt(ln(2 / p) / n) with a probability of p, here 1e-12.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return compare_tensors(name, actual, expected, Tolerance(0, 0))
    count = actual.numel()
    if count == 0:
        return Difference(name, close=True)
    # NaN equals NaN here, and comes last.
    last = torch.finfo(torch.float64).max
    x, y = (
        side.double().flatten().nan_to_num(nan=last).sort().values
        for side in (actual, expected)
    )
    both = torch.cat((x, y)).unique()
    distance = (
        torch.searchsorted(x, both, right=True)
        - torch.searchsorted(y, both, right=True)
    ).abs().max().item() / count
    limit = math.sqrt(math.log(2 / 1e-12) / count)
    if distance <= limit:
        return Difference(name, close=True)
    text = f"another distribution: distance {distance:.3f}, at most {limit:.3f}"
    return Difference(name, close=False, problem=text)
