# SPDX-License-Identifier: Apache-2.0
"""Runs one case on the CPU and on the device, and compares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch_dipu
from torch.testing._internal.common_utils import noncontiguous_like

from tests.conformance.differential.compare import (
    Comparison,
    Mismatch,
    Tolerances,
    aliases,
)
from tests.conformance.differential.entry import CheckResult
from tests.conformance.differential.layout import Relocation, tensors_of

DEVICE = "dipu"
_SEED = 20


@dataclasses.dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        call: Computes the results from `arguments`, on whatever device they are.
        arguments: Tree of arguments on the CPU; never written.
        label: What it is, for messages.
        backward: Whether gradients are compared too.
        noncontiguous: Whether the gradients of results have gaps in memory.
        indefinite: Whether values are left open: memory without initial values.
        strides: Whether the results' strides have to agree.
        placed: Whether results have to be on the device.
    """

    call: Callable[[Any], Any]
    arguments: Any
    label: str
    backward: bool = False
    noncontiguous: bool = False
    indefinite: bool = False
    strides: bool = True
    placed: bool = True


@dataclasses.dataclass
class Side:
    """What a case did on one device."""

    arguments: Any
    results: Any = None
    gradients: Any = None
    error: Exception | None = None
    random: bool = False


class Operators:
    """Counts which operators ran where, between `start` and `stop`."""

    def __init__(self) -> None:
        self.native: set[str] = set()
        self.fallback: set[str] = set()
        self._before: dict[str, int] = {}

    def start(self) -> None:
        self._before = torch_dipu.op_counters()

    def stop(self) -> None:
        for name, count in torch_dipu.op_counters().items():
            if count > self._before.get(name, 0):
                path, _, operator = name.partition(".")
                getattr(self, path).add(operator)


def _output_gradients(outputs: list[torch.Tensor], gaps: bool) -> list[torch.Tensor]:
    """Random gradients, the same on every device."""
    generator = torch.Generator().manual_seed(_SEED)
    made = []
    for output in outputs:
        host = torch.randn(output.shape, dtype=output.dtype, generator=generator)
        host = noncontiguous_like(host) if gaps else host
        made.append(Relocation(str(output.device))(host))
    return made


def _backward(case: Case, side: Side) -> None:
    outputs = [t for t in tensors_of(side.results) if t.requires_grad]
    inputs = [t for t in tensors_of(side.arguments) if t.requires_grad]
    if not outputs or not inputs:
        return
    gradients = _output_gradients(outputs, case.noncontiguous)
    side.gradients = torch.autograd.grad(outputs, inputs, gradients, allow_unused=True)


def _run(
    case: Case, device: str, operators: Operators | None = None, wide: bool = False
) -> Side:
    """Runs a case, `wide` in float64; an exception becomes part of what it did."""
    side = Side(Relocation(device, wide)(case.arguments))
    torch.manual_seed(_SEED)
    state = torch.get_rng_state()
    if operators:
        operators.start()
    try:
        with torch.set_grad_enabled(case.backward):
            side.results = case.call(side.arguments)
        if case.backward:
            _backward(case, side)
        if operators:
            torch.accelerator.synchronize()
    except Exception as error:  # whatever it is, it is compared
        side.error = error
    if operators:
        operators.stop()
    side.random = not torch.equal(state, torch.get_rng_state())
    return side


def on_cpu(case: Case) -> Side:
    """What a case does on the CPU."""
    return _run(case, "cpu")


def on_device(case: Case) -> Side:
    """What a case does on the device."""
    return _run(case, DEVICE)


def _agree(
    case: Case,
    device: Side,
    host: Side,
    tolerances: Tolerances | None,
    exact: Side | None = None,
) -> float:
    """Largest error; see `compare` for `exact`.

    Raises:
        Mismatch: The sides differ.
    """
    worst = 0.0
    for name, strides in (
        ("results", case.strides),
        ("arguments", True),
        ("gradients", False),
    ):
        actual, expected = getattr(device, name), getattr(host, name)
        if name == "arguments":
            actual, expected = tensors_of(actual), tensors_of(expected)
        comparison = Comparison(
            tolerances,
            strides=strides,
            device=DEVICE if case.placed else "",
            exact=tensors_of(getattr(exact, name)) if exact else None,
        )
        worst = max(worst, comparison.compare(actual, expected, name.removesuffix("s")))
    shared = aliases(device.results, device.arguments)
    if shared != (wanted := aliases(host.results, host.arguments)):
        raise Mismatch(f"results share memory with arguments {shared}, not {wanted}")
    return worst


def _judge(case: Case, device: Side, host: Side, tolerances: Tolerances) -> float:
    """Largest error.

    What is too far from the CPU's may still be right: when the CPU itself is far
    from what float64 gives.

    Raises:
        Mismatch: The sides differ.
    """
    if case.indefinite or host.random:
        return _agree(case, device, host, None)
    try:
        return _agree(case, device, host, tolerances)
    except Mismatch:
        exact = _run(case, "cpu", wide=True)
        if exact.error:
            raise
        return _agree(case, device, host, tolerances, exact)


@dataclasses.dataclass(frozen=True)
class Both:
    """What a case did on both sides; no device when the CPU refuses the case."""

    host: Side
    device: Side | None = None


def check(
    case: Case, tolerances: Tolerances, result: CheckResult, operators: Operators
) -> Both:
    """Runs a case on both sides and notes in `result` what came out."""
    host = on_cpu(case)
    if host.error:
        result.refused += 1
        return Both(host)
    device = _run(case, DEVICE, operators)
    result.samples += 1
    if device.error:
        kind = type(device.error).__name__
        result.report(f"{case.label}: {kind}: {device.error}")
        return Both(host, device)
    try:
        result.error = max(result.error, _judge(case, device, host, tolerances))
    except Mismatch as mismatch:
        result.report(f"{case.label}: {mismatch}")
    return Both(host, device)
