# SPDX-License-Identifier: Apache-2.0
"""Cases of torch.nn modules, in training and in evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.testing._internal.common_utils import noncontiguous_like
from torch.utils import _pytree as pytree

from tests.conformance.differential import catalogue
from tests.conformance.differential.entry import Entry
from tests.conformance.differential.samples import spread
from tests.conformance.differential.sides import Case

_CHECKS = ("forward", "backward", "noncontiguous")


def _modes(info: Any) -> tuple[bool, ...]:
    return (True, False) if info.train_and_eval_differ else (True,)


def _built(info: Any, sample: Any, dtype: torch.dtype, training: bool) -> nn.Module:
    torch.manual_seed(0)
    made = sample.constructor_input
    return info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)


def _call(arguments: Any) -> Any:
    module, args, kwargs = arguments
    return module(*args, **kwargs)


def _gaps(tree: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, noncontiguous_like, tree)


def _inputs(info: Any, dtype: torch.dtype, check: str) -> Iterator[tuple[str, Any]]:
    """Samples of all modes, with a text that tells which they are."""
    for training in _modes(info):
        torch.manual_seed(0)
        made = info.module_inputs_func(
            info,
            device="cpu",
            dtype=dtype,
            requires_grad=check != "forward",
            training=training,
        )
        for i, sample in enumerate(made):
            mode = "training" if training else "evaluation"
            yield f"{mode}, sample {i} {sample.desc}", (sample, training)


def cases(entry: Entry, check: str, count: int) -> Iterable[Case]:
    """The cases of one check of a module; none when it does not apply."""
    if check not in _CHECKS:
        return
    info, dtype = catalogue.info(entry), catalogue.dtype(entry)
    for label, (sample, training) in spread(_inputs(info, dtype, check), count):
        given = sample.forward_input
        inputs = given.args, given.kwargs
        yield Case(
            call=_call,
            arguments=(
                _built(info, sample, dtype, training),
                *(_gaps(inputs) if check == "noncontiguous" else inputs),
            ),
            label=label,
            backward=check != "forward",
            noncontiguous=check == "noncontiguous",
        )
