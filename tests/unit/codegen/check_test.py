# SPDX-License-Identifier: Apache-2.0
"""Checking entries against torch's schemas and DIOPI's signatures."""

from __future__ import annotations

import os
import pathlib

import pytest

from diopi_adapter.codegen import check, model, parse

_FUNCTIONS = parse.parse_functions(
    pathlib.Path(os.environ["DIPU_DIOPI_FUNCTIONS"]).read_text("utf-8")
)


def _operators(text: str) -> tuple[model.Operator, ...]:
    return check.check_entries(parse.parse_entries(text, "ops.yaml"), _FUNCTIONS)


def _operator(body: str) -> model.Operator:
    (operator,) = _operators("operators:\n" + body)
    return operator


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("- op: exp\n  call: diopiExp(out, self)\n", model.Kind.ITERATOR),
        ("- op: mm\n  call: diopiMm(out, self, mat2)\n", model.Kind.META),
        (
            "- op: relu\n  call: diopiRelu(out, self)\n  out: like(self)\n",
            model.Kind.DECLARED,
        ),
        (
            "- op: logical_not\n  call: diopiLogicalNot(out, self)\n"
            "  elementwise: [self]\n",
            model.Kind.ELEMENTWISE,
        ),
        (
            "- op: nonzero\n  call: diopiNonzero(out, self)\n",
            model.Kind.ALLOCATED,
        ),
        ("- op: zero_\n  call: diopiZeroInp(self)\n", model.Kind.MUTATING),
    ],
)
def test_kind_is_inferred(body: str, kind: model.Kind) -> None:
    assert _operator(body).kind is kind


def test_structured_operators_serve_all_three_forms() -> None:
    operator = _operator("- op: exp\n  call: diopiExp(out, self)\n")
    assert [v.name for v in operator.variants] == ["exp", "exp_", "exp.out"]


def test_out_variants_that_torch_generates_are_left_to_it() -> None:
    operator = _operator(
        "- op: relu\n  call: diopiRelu(out, self)\n  out: like(self)\n"
    )
    assert [v.name for v in operator.variants] == ["relu", "relu_"]


def test_results_that_the_library_allocates_serve_out_arguments_too() -> None:
    operator = _operator("- op: nonzero\n  call: diopiNonzero(out, self)\n")
    assert [v.name for v in operator.variants] == ["nonzero", "nonzero.out"]


def test_naming_an_out_variant_serves_only_that() -> None:
    operator = _operator(
        "- op: linspace.out\n  call: diopiLinspace(out, start, end, steps)\n"
        "  out: linspace(steps, out)\n"
    )
    assert [v.name for v in operator.variants] == ["linspace.out"]


def test_outputs_take_the_names_of_returns_or_of_the_out_variant() -> None:
    sort = "- op: sort.stable\n  call: diopiSort(values, indices, self, dim, "
    operator = _operator(sort + "descending, stable)\n")
    assert operator.outputs == ("values", "indices")
    gelu = "- op: gelu_backward\n  call: diopiGeluBackward(grad_input, grad_output, "
    assert _operator(gelu + "self, approximate)\n").outputs == ("grad_input",)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "- op: add.Tenor\n  call: diopiAdd(out, self, other, alpha)\n",
            "ops.yaml:2: add.Tenor: torch has no such operator; its overloads are "
            "add.Scalar,",
        ),
        (
            "- op: exp\n  call: diopiExpp(out, self)\n",
            "ops.yaml:3: exp: DIOPI has no function `diopiExpp`; did you mean "
            "`diopiExp`?",
        ),
        (
            "- op: exp\n  call: diopiExp(out)\n",
            "ops.yaml:3: exp: diopiExp takes 2 arguments (out, input), not 1",
        ),
        (
            "- op: exp\n  call: diopiExp(out, slef)\n",
            "ops.yaml:3: exp: no argument `slef`; did you mean `self`? "
            "(it has self, out)",
        ),
        (
            "- op: gelu\n  call: diopiGelu(out, approximate, approximate)\n",
            "ops.yaml:3: gelu: cannot pass approximate (str) to `input` of "
            "diopiGelu, which is a diopiConstTensorHandle_t",
        ),
        (
            "- op: mm\n  call: diopiMm(self, self, mat2)\n",
            "ops.yaml:3: mm: diopiMm writes `self`, which the schema does not "
            "allow; name it under `mutates:` if that is intended",
        ),
        (
            "- op: relu\n  call: diopiRelu(out, self)\n",
            "ops.yaml:2: relu: torch has no meta function to take the output "
            "from; add `out:`",
        ),
        (
            "- op: batch_norm_stats\n  call: diopiBatchNormStats(out0, out1, input, "
            "eps)\n  out: [channelStats(input), channelStats(input)]\n",
            "ops.yaml:2: batch_norm_stats: the CPU has no kernel for it; name a "
            "function of diopi_adapter/reference under `cpu_reference:`",
        ),
        (
            "- op: exp\n  call: diopiExp(out, self)\n  cpu_reference: exponential\n",
            "ops.yaml:2: exp: the CPU has a kernel for it: no `cpu_reference:`",
        ),
        (
            "- op: exp\n  call: diopiExp(out, self)\n  result: float\n",
            "ops.yaml:2: exp: `result: float` goes with `elementwise:` only",
        ),
        (
            "- op: relu\n  call: diopiRelu(out, self)\n  out: lke(self)\n",
            "ops.yaml:4: relu: no shape function `lke`; did you mean `like`?",
        ),
        (
            "- op: relu\n  call: diopiRelu(out, self)\n  out: like(self, self)\n",
            "ops.yaml:4: relu: like takes 1 arguments, not 2",
        ),
        (
            "- op: relu\n  call: diopiRelu(out, self)\n"
            "  out: [like(self), like(self)]\n",
            "ops.yaml:2: relu: 1 outputs but 2 shapes under `out:`",
        ),
        (
            "- op: mul.Tensor\n  call: diopiMul(out, self, other)\n"
            "  number: diopiMul(out, self, other)\n",
            "ops.yaml:4: mul.Tensor: diopiMul takes no number in place of a tensor",
        ),
        (
            "- op: _softmax\n  call: diopiSoftmax(out, self, dim)\n"
            "  require: {half_to_float: none}\n",
            "ops.yaml:2: _softmax: `half_to_float` of type bool is never none",
        ),
        (
            "- op: _softmax\n  call: diopiSoftmax(out, self, dim)\n"
            "  require: {half_to_float: int64}\n",
            "ops.yaml:2: _softmax: `half_to_float` of type bool is never int64",
        ),
        (
            "- op: sum.dim_IntList\n  call: diopiSum(out, self, dim)\n"
            "  cast: {dim: out}\n",
            "ops.yaml:2: sum.dim_IntList: `dim` is a int[]?, expected Tensor or "
            "Tensor[]",
        ),
        (
            "- op: exp\n  call: diopiExp(out, self)\n"
            "- op: exp_\n  call: diopiExpInp(self)\n",
            "ops.yaml:4: exp_: exp_ is served by line 2 already",
        ),
    ],
)
def test_mistakes_name_line_and_reason(body: str, message: str) -> None:
    with pytest.raises(model.SpecError) as caught:
        _operators("operators:\n" + body)
    assert str(caught.value).startswith(message)


def test_aliases_are_sorted_by_name() -> None:
    text = "aliases:\n  linear: [addmm, mm]\n  dropout: [native_dropout]\n"
    aliases = check.check_aliases(parse.parse_aliases(text, "ops.yaml"))
    assert [alias.name for alias in aliases] == ["dropout", "linear"]
    assert aliases[1].operators == ("addmm", "mm")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  linera: [mm]\n", "ops.yaml:2: linera: torch has no operators of this name"),
        (
            "  linear: [mmm]\n",
            "ops.yaml:2: linear: torch has no operator mmm",
        ),
        (
            "  dropout: [add]\n",
            "ops.yaml:2: dropout: torch has no operator add; its overloads are ",
        ),
    ],
)
def test_wrong_aliases_name_line_and_reason(body: str, message: str) -> None:
    with pytest.raises(model.SpecError) as caught:
        check.check_aliases(parse.parse_aliases("aliases:\n" + body, "ops.yaml"))
    assert str(caught.value).startswith(message)
