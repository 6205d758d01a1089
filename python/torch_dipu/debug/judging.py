# SPDX-License-Identifier: Apache-2.0
"""Whether what the device has computed in a call is right: see Note [Autocompare]."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from torch_dipu import _C
from torch_dipu.debug import comparing, contracts
from torch_dipu.debug.comparing import Difference
from torch_dipu.debug.tolerances import Tolerances

# Results and written arguments, by name.
Named = list[tuple[str, Any]]


def outputs(returned: list[_C.Value], written: Named) -> Named:
    """Written arguments, then the results that are none of them: out, out1 ..."""
    found = list(written)
    known = {id(value) for _, value in written}
    for i, item in enumerate(returned):
        name = item.name or f"out{i or ''}"
        for pair in comparing.flatten(name, item.value):
            if id(pair[1]) not in known:
                found.append(pair)
    return found


def is_coarse(values: Sequence[Any], written: Named) -> bool:
    """Whether a call takes 16-bit numbers and may be computed in float64 before.

    Its results have errors that hide what is right. Float64 leaves the copies of
    arguments alone which the second computation needs, if it converts all it writes.
    """
    sixteen = (torch.float16, torch.bfloat16)
    converted = (*sixteen, torch.float32)
    return any(getattr(value, "dtype", None) in sixteen for value in values) and all(
        getattr(value, "dtype", None) in converted for _, value in written
    )


class Reference:
    """What the CPU computes in a call.

    Args:
        call: That the device has computed.
        in_double: Whether in float64.
        coarse: See `is_coarse`.

    Raises:
        Exception: The CPU cannot compute it.
    """

    def __init__(self, call: _C.Call, in_double: bool, coarse: bool) -> None:
        self._call = call
        self._exact: Named | None = None
        self._may_repeat = not (call.is_random or call.writes_arguments or in_double)
        if coarse and call.writes_arguments and not (call.is_random or in_double):
            self._exact = self._in_double()
        try:
            call.run_reference(in_double)
        except Exception:
            # The CPU does not mix all types, for which float64 stands here.
            if in_double:
                raise
            call.run_reference(True)
        self.outputs = self._named()

    def exact(self) -> Named | None:
        """What float64 gives; None when that is not known any more."""
        if self._may_repeat:
            self._exact = self._in_double()
        return self._exact

    def _in_double(self) -> Named | None:
        try:
            self._call.run_reference(True)
        except Exception:
            return None
        return self._named()

    def _named(self) -> Named:
        written = [
            pair
            for item in self._call.reference_arguments()
            if item.written
            for pair in comparing.flatten(item.name, item.value)
        ]
        return outputs(self._call.reference_results(), written)


def _difference(
    call: _C.Call,
    name: str,
    position: int,
    sides: tuple[Any, Any],
    tolerances: Tolerances,
    scale: float,
) -> Difference:
    actual, expected = sides
    if contracts.is_open(call, name, position, expected):
        return Difference(name, close=True)
    if isinstance(actual, torch.Tensor) != isinstance(expected, torch.Tensor):
        kinds = [type(side).__name__ for side in sides]
        return Difference(name, close=False, problem=" instead of ".join(kinds))
    if not isinstance(actual, torch.Tensor):
        same = actual == expected or (actual != actual and expected != expected)
        text = "" if same else f"{actual!r} instead of {expected!r}"
        return Difference(name, close=same, problem=text)
    if call.is_random:
        return comparing.compare_distributions(name, actual, expected)
    tolerance = tolerances.of(call.name, actual.dtype)
    return comparing.compare_tensors(name, actual, expected, tolerance, scale)


def _acquit(
    call: _C.Call,
    reference: Reference,
    sides: list[tuple[Any, Any]],
    differences: list[Difference],
) -> None:
    """Lets results pass that are other than the CPU's and as right."""
    doubtful = [i for i, d in enumerate(differences) if not d.close]
    last = len(sides) - 1
    if last in doubtful and contracts.same_choice(call, *sides[last]):
        differences[last] = dataclasses.replace(differences[last], close=True)
    exact = reference.exact() if doubtful else None
    if exact is None:
        return
    for i in doubtful:
        if comparing.as_good_as(*sides[i], exact[i][1]):
            differences[i] = dataclasses.replace(differences[i], close=True)


def compare(
    call: _C.Call, actual: Named, reference: Reference, tolerances: Tolerances
) -> list[Difference]:
    """Compares what the device has computed.

    Args:
        call: That it has computed.
        actual: Its outputs.
        reference: Of the same call.
        tolerances: How far it may be off.
    """
    on_cpu = [
        (name, value.cpu() if isinstance(value, torch.Tensor) else value)
        for name, value in actual
    ]
    sides = [
        (value, expected)
        for (_, value), (_, expected) in zip(on_cpu, reference.outputs, strict=True)
    ]
    scales = contracts.scales(call)
    differences = [
        _difference(
            call, name, i, both, tolerances, scales[i] if i < len(scales) else 0.0
        )
        for i, ((name, _), both) in enumerate(zip(on_cpu, sides, strict=True))
    ]
    if not call.is_random:
        _acquit(call, reference, sides, differences)
        return differences
    return differences + contracts.keeps_scaled(call, dict(on_cpu), tolerances)
