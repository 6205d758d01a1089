# SPDX-License-Identifier: Apache-2.0
"""Cases of optimizers: after some steps parameters and state are equal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from tests.conformance.differential import catalogue
from tests.conformance.differential.entry import Entry
from tests.conformance.differential.samples import spread
from tests.conformance.differential.sides import Case

_STEPS = 3
_SHAPES = ((4, 3), (5, 5), (2, 7))


def _forms(info: Any) -> list[dict[str, bool]]:
    """Flags that choose among the optimizer's implementations."""
    forms = [{"foreach": False}, {"foreach": True}]
    if "foreach" not in info.supported_impls:
        forms = [{}]
    if "cpu" in info.supports_fused_on:
        forms.append({"fused": True})
    return forms


def _settings(info: Any, dtype: torch.dtype) -> Iterator[tuple[str, dict[str, Any]]]:
    """The database's settings, in every implementation."""
    made = info.optim_inputs_func(device="cpu", dtype=dtype)
    for sample, form in itertools.product(made, _forms(info)):
        if not set(form) & set(sample.kwargs):
            yield f"{sample.desc} {form}", {**sample.kwargs, **form}


def _descend(info: Any, arguments: Any) -> Any:
    """Takes steps down a sum of parabolas and gives the optimizer's state.

    That of an optimizer which searches for the lowest point itself is left out: once
    there, it remembers rounding errors.
    """
    parameters, steps, settings = arguments
    optimizer = info.optim_cls(parameters, **settings)
    for gradients in steps:

        def closure(gradients: list[torch.Tensor] = gradients) -> torch.Tensor:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient + parameter.detach()
            return sum(
                (p.detach() * (p.detach() / 2 + g)).sum()
                for p, g in zip(parameters, gradients, strict=True)
            )

        closure()
        if info.step_requires_closure:
            optimizer.step(closure)
        else:
            optimizer.step()
    if info.step_requires_closure:
        return None
    return [sorted(state.items()) for state in optimizer.state.values()]


def cases(entry: Entry, check: str, count: int) -> Iterable[Case]:
    """The cases of one check of an optimizer; none when it does not apply."""
    info, dtype = catalogue.info(entry), catalogue.dtype(entry)
    if check != "forward" or info.only_supports_sparse_grads:
        return
    generator = torch.Generator().manual_seed(0)

    def made() -> list[torch.Tensor]:
        return [torch.randn(s, dtype=dtype, generator=generator) for s in _SHAPES]

    parameters = [p.requires_grad_() for p in made()]
    steps = [made() for _ in range(_STEPS)]
    for label, settings in spread(_settings(info, dtype), count):
        yield Case(
            call=lambda arguments: _descend(info, arguments),
            arguments=(parameters, steps, settings),
            label=label,
            placed=False,
        )
