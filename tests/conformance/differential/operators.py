# SPDX-License-Identifier: Apache-2.0
"""Cases of operators: the database's samples in every form of a call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_utils import noncontiguous_like
from torch.utils import _pytree as pytree

from tests.conformance.differential import catalogue, samples, sides
from tests.conformance.differential.compare import Comparison, Mismatch
from tests.conformance.differential.entry import Entry, Tolerance
from tests.conformance.differential.sides import Case

# Operators whose order of equal elements is open unless they are told otherwise.
_SORTS = ("argsort", "sort")


@dataclasses.dataclass(frozen=True)
class _Operator:
    """An operator in one dtype.

    Attributes:
        info: The entry in PyTorch's database.
        dtype: Dtype of the samples.
        count: How many samples to take; 0 means all.
    """

    info: Any
    dtype: torch.dtype
    count: int

    @property
    def differentiable(self) -> bool:
        return self.dtype in self.info.supported_backward_dtypes("cpu")

    def samples(self, gradients: bool = False) -> list[tuple[str, Any]]:
        """Samples with a text that tells which they are."""
        made = samples.ordinary(self.info, self.dtype, gradients)
        return samples.spread(
            ((f"sample {i}", s) for i, s in enumerate(made)), self.count
        )

    def case(self, label: str, sample: Any, **kwargs: Any) -> Case:
        """The functional form, called with a sample."""
        process = sample.output_process_fn_grad
        operator = self.info.op
        return Case(
            call=lambda a: process(operator(a[0], *a[1], **a[2])),
            arguments=_arguments(self.info, sample),
            label=f"{label} {_summary(sample)}",
            indefinite=self.info.has_nondeterministic_output,
            **kwargs,
        )


def _arguments(info: Any, sample: Any) -> tuple[Any, ...]:
    args, kwargs = sample.args, dict(sample.kwargs)
    if info.is_factory_function:
        kwargs.setdefault("device", "cpu")
    if info.name in _SORTS:
        named = dict(zip(("dim", "descending"), args, strict=False))
        args, kwargs = (), {**named, **kwargs, "stable": True}
    return sample.input, args, kwargs


def _summary(sample: Any) -> str:
    text = sample.summary().removeprefix("SampleInput")
    return text.replace(', device="cpu"', "").partition(", broadcasts_input")[0] + ")"


def _forward(operator: _Operator) -> Iterator[Case]:
    for label, sample in operator.samples():
        yield operator.case(label, sample)


def _backward(operator: _Operator) -> Iterator[Case]:
    if operator.differentiable:
        for label, sample in operator.samples(gradients=True):
            yield operator.case(label, sample, backward=True)


def _noncontiguous(operator: _Operator) -> Iterator[Case]:
    gradients = operator.differentiable
    for label, sample in operator.samples(gradients):
        yield operator.case(
            label, sample.noncontiguous(), backward=gradients, noncontiguous=True
        )


def _extremal(operator: _Operator) -> Iterator[Case]:
    made = samples.extremal(operator.info, operator.dtype)
    for i, sample in enumerate(samples.spread(made, operator.count)):
        yield operator.case(f"sample {i}", sample)


def _marked(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same form that shows where nothing was written."""
    mark = torch.nan if tensor.is_floating_point() or tensor.is_complex() else 1
    return torch.full_like(tensor, mark, memory_format=torch.contiguous_format)


_OUT_FORMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "of the right size": _marked,
    "empty": lambda tensor: tensor.new_empty(0),
    "with gaps": lambda tensor: noncontiguous_like(_marked(tensor)),
}


def _out(operator: _Operator) -> Iterator[Case]:
    if not operator.info.supports_out:
        return
    for label, sample in operator.samples():
        plain = operator.case(label, sample)
        expected = sides.on_cpu(plain)
        if expected.error:  # then there is nothing to compare with
            continue
        for form, make in _OUT_FORMS.items():
            outs = pytree.tree_map_only(torch.Tensor, make, expected.results)
            case = _out_case(operator, plain, f"out= {form}", outs)
            if _same(sides.on_cpu(case), expected):
                yield case


def _same(written: sides.Side, expected: sides.Side) -> bool:
    """False where the CPU's own out= is wrong: some leave gaps out."""
    try:
        Comparison(_roughly, strides=False).compare(written.results, expected.results)
    except Mismatch:
        return False
    return True


def _roughly(dtype: torch.dtype) -> Tolerance:
    del dtype
    return Tolerance(1e-2, 1e-2)


def _out_case(operator: _Operator, plain: Case, form: str, outs: Any) -> Case:
    call = operator.info.op
    return dataclasses.replace(
        plain,
        call=lambda a: call(a[0], *a[1], **a[2], out=a[3]),
        arguments=(*plain.arguments, outs),
        label=f"{form} {plain.label}",
    )


def _inplace(operator: _Operator) -> Iterator[Case]:
    method = operator.info.get_inplace()
    if method is None:
        return
    for label, sample in operator.samples():
        if sample.broadcasts_input:
            continue
        case = operator.case(label, sample)
        yield dataclasses.replace(case, call=lambda a: method(a[0], *a[1], **a[2]))


_CHECKS: dict[str, Callable[[_Operator], Iterator[Case]]] = {
    "forward": _forward,
    "backward": _backward,
    "noncontiguous": _noncontiguous,
    "extremal": _extremal,
    "out": _out,
    "inplace": _inplace,
}


def cases(entry: Entry, check: str, count: int) -> Iterable[Case]:
    """The cases of one check of an operator; none when it does not apply."""
    make = _CHECKS.get(check)
    if make is None:
        return ()
    info = catalogue.info(entry)
    return make(_Operator(info, catalogue.dtype(entry), count))
