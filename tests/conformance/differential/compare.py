# SPDX-License-Identifier: Apache-2.0
"""Compares what the device computed with what the CPU did."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tests.conformance.differential.entry import Tolerance
from tests.conformance.differential.layout import leaves_of, tensors_of

Tolerances = Callable[[torch.dtype], Tolerance]

# How much farther from the exact result than the CPU the device may be.
_AS_GOOD = 4.0


class Mismatch(AssertionError):
    """The results differ; the text says where and by how much."""


def _require(holds: bool, what: str, actual: object, expected: object) -> None:
    if not holds:
        raise Mismatch(f"{what} is {actual}, expected {expected}")


def _strides(tensor: torch.Tensor) -> list[int]:
    """Strides that matter: those of dimensions with more than one element."""
    if tensor.numel() == 0 or tensor.layout != torch.strided:
        return []
    pairs = zip(tensor.size(), tensor.stride(), strict=True)
    return [stride for size, stride in pairs if size > 1]


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """Values that a subtraction does not round or wrap."""
    host = tensor.detach().cpu()
    if host.layout != torch.strided:
        host = host.to_dense()
    host = host.resolve_conj().resolve_neg()
    return host.to(torch.complex128 if host.is_complex() else torch.float64)


def _worst(bad: torch.Tensor, difference: torch.Tensor) -> tuple[int, ...]:
    """Where a wrong element with the largest difference is."""
    ranked = torch.where(bad, difference.nan_to_num(nan=torch.inf), -1.0)
    flat = torch.tensor(int(ranked.argmax()))
    return tuple(int(i) for i in torch.unravel_index(flat, bad.shape))


def _as_good(
    actual: torch.Tensor, expected: torch.Tensor, exact: torch.Tensor
) -> torch.Tensor:
    """Which elements are as close to the exact ones as the CPU's are, or nearly."""
    errors = (expected - exact).abs()
    usual = torch.where(errors.isfinite(), errors, 0.0).max()
    return (actual - exact).abs() <= _AS_GOOD * usual


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How to compare.

    Attributes:
        tolerances: Accepted error by dtype; None leaves values out, for random
            numbers and memory without initial values.
        strides: Whether results must have the same strides.
        device: Where the actual tensors have to be, if it matters.
        exact: The tensors in float64. A value is right, too, when it is not much
            farther from the exact one than the CPU's worst.
    """

    tolerances: Tolerances | None
    strides: bool = True
    device: str = ""
    exact: Sequence[torch.Tensor] | None = None

    def compare(self, actual: Any, expected: Any, name: str = "result") -> float:
        """Compares two trees.

        Args:
            actual: What the device gave.
            expected: What the CPU gave.
            name: What the trees are, for messages.

        Returns:
            Largest |actual - expected| / max(1, |expected|).

        Raises:
            Mismatch: They differ.
        """
        left, right = leaves_of(actual), leaves_of(expected)
        count = f"number of parts of the {name}"
        _require(len(left) == len(right), count, len(left), len(right))
        worst, tensors = 0.0, 0
        for i, (a, e) in enumerate(zip(left, right, strict=True)):
            part = name if len(right) == 1 else f"{name}[{i}]"
            if isinstance(e, torch.Tensor):
                _require(isinstance(a, torch.Tensor), part, a, "a tensor")
                worst = max(worst, self._tensors(a, e, tensors, part))
                tensors += 1
            else:
                worst = max(worst, self._others(a, e, part))
        return worst

    def _tensors(
        self, actual: torch.Tensor, expected: torch.Tensor, index: int, name: str
    ) -> float:
        for what in ("dtype", "shape", "layout"):
            a, e = getattr(actual, what), getattr(expected, what)
            _require(a == e, f"{name}.{what}", a, e)
        if self.device:
            there = actual.device.type == self.device
            _require(there, f"{name}.device", actual.device, self.device)
        if self.strides:
            same = _strides(actual) == _strides(expected)
            _require(same, f"{name}.stride", actual.stride(), expected.stride())
        if self.tolerances is None:
            return 0.0
        tolerance = self.tolerances(expected.dtype)
        return self._values(actual, expected, tolerance, self._exact(index), name)

    def _exact(self, index: int) -> torch.Tensor | None:
        if self.exact is None or index >= len(self.exact):
            return None
        return self.exact[index]

    def _others(self, actual: object, expected: object, name: str) -> float:
        if self.tolerances is None or isinstance(expected, torch.device):
            return 0.0
        _require(type(actual) is type(expected), f"type of {name}", actual, expected)
        if not isinstance(expected, float):
            _require(actual == expected, name, actual, expected)
            return 0.0
        tolerance = self.tolerances(torch.float32)
        left, right = torch.tensor([actual]).double(), torch.tensor([expected]).double()
        return self._values(left, right, tolerance, None, name)

    @staticmethod
    def _values(
        actual: torch.Tensor,
        expected: torch.Tensor,
        tolerance: Tolerance,
        exact: torch.Tensor | None,
        name: str,
    ) -> float:
        """Largest error of elements that are close.

        Raises:
            Mismatch: Some are not.
        """
        if expected.numel() == 0:
            return 0.0
        inexact = expected.is_floating_point() or expected.is_complex()
        if not inexact and torch.equal(actual.detach().cpu(), expected.detach()):
            return 0.0
        left, right = _wide(actual), _wide(expected)
        difference = (left - right).abs()
        same = (left == right) | (left.isnan() & right.isnan())
        allowed = tolerance.atol + tolerance.rtol * right.abs()
        bad = ~(same | ((difference <= allowed) & right.isfinite()))
        if inexact and exact is not None and exact.shape == expected.shape:
            bad &= ~_as_good(left, right, _wide(exact))
        if bad.any():
            where = _worst(bad, difference)
            raise Mismatch(
                f"{name}: {int(bad.sum())} of {bad.numel()} elements are wrong, the "
                f"worst at {where}: {left[where].item()}, expected "
                f"{right[where].item()}"
            )
        error = torch.where(same, 0.0, difference / right.abs().clamp(min=1.0))
        return float(error.max())


def aliases(results: Any, arguments: Any) -> list[list[int]]:
    """For each tensor among the results, which arguments share its memory."""
    inputs = [_address(tensor) for tensor in tensors_of(arguments)]
    return [
        [i for i, address in enumerate(inputs) if address and address == _address(r)]
        for r in tensors_of(results)
    ]


def _address(tensor: torch.Tensor) -> int:
    if tensor.layout != torch.strided:
        return 0
    return tensor.untyped_storage().data_ptr()
