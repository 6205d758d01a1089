# SPDX-License-Identifier: Apache-2.0
"""Samples of ops.yaml: the grammar, the file made of them, and mistakes."""

from __future__ import annotations

import math
import os
import pathlib

import pytest

from diopi_adapter.codegen import model, sample, samples

_FUNCTIONS = pathlib.Path(os.environ["DIPU_DIOPI_FUNCTIONS"]).read_text("utf-8")
_ADD = """\
operators:
- op: add.Tensor
  call: diopiAdd(out, self, other, alpha)
  number: diopiAddScalar(out, self, other, alpha)
  samples:
  - """


def _render(text: str) -> list[str]:
    return samples.render(text, "ops.yaml", _FUNCTIONS).splitlines()


def test_the_grammar() -> None:
    text = "a=int8[2, 3](0, 5).T, b=float32([[1, -inf]]), c=none, d=[1, true], e='x'"
    assert dict(sample.parse(text)) == {
        "a": sample.Tensor("int8", (2, 3), limits=(0, 5), transposed=True),
        "b": sample.Tensor("float32", (1, 2), elements=(1, -math.inf)),
        "c": None,
        "d": (1, True),
        "e": "x",
    }


def test_arguments_and_expected_results() -> None:
    assert _render(_ADD + "self=int8([[1, 2]]), other=int8([4]), alpha=3\n") == [
        samples.HEADER,
        "sample add.Tensor/0 ops.yaml:6 diopiAdd",
        "tensor 0 [1,2] [2,1] 0.0 - =0d0e",
        "tensor 0 [1,2] [2,1] 0.0 =0102 -",
        "tensor 0 [1] [1] 0.0 =04 -",
        "call T0 T1 T2 I3",
    ]


def test_a_number_in_place_of_a_tensor() -> None:
    assert _render(_ADD + "self=uint8([1]), other=2\n")[1:] == [
        "sample add.Tensor/0 ops.yaml:6 diopiAddScalar",
        "tensor 1 [1] [1] 0.0 - =03",
        "tensor 1 [1] [1] 0.0 =01 -",
        "call T0 T1 I2 I1",
    ]


def test_written_arguments_lists_and_allocated_results() -> None:
    text = """\
operators:
- op: fill_.Scalar
  call: diopiFill(self, value)
  samples:
  - self=uint8([1, 2]), value=7
- op: index.Tensor
  call: diopiIndex(out, self, indices, size(indices))
  samples:
  - self=uint8([[1, 2]]), indices=[none, int64([1])]
"""
    assert _render(text)[1:] == [
        "sample fill_.Scalar/0 ops.yaml:5 diopiFill",
        "tensor 1 [2] [1] 0.0 =0102 =0707",
        "call T0 I7",
        "sample index.Tensor/0 ops.yaml:9 diopiIndex",
        "tensor 1 [1,1] [1,1] 0.0 - =02",
        "tensor 1 [1,2] [2,1] 0.0 =0102 -",
        "tensor 6 [1] [1] 0.0 =0100000000000000 -",
        "call A0 T1 L-,2 I2",
    ]


def test_handwritten_wrappers_and_tolerances() -> None:
    text = """\
handwritten:
- op: convolution
  call: diopiConvolution2d(out, input, weight, bias, stride, padding, dilation, groups)
  tolerance: 0.5
  samples:
  - input=float32([[[[2]]]]), weight=float32([[[[3]]]]), bias=none, stride=[1, 1], \
padding=[0, 0], dilation=[1, 1], transposed=false, output_padding=[0, 0], groups=1
"""
    lines = _render(text)
    assert lines[2] == "tensor 9 [1,1,1,1] [1,1,1,1] 0.5 - =0000c040"
    assert lines[-1] == "call T0 T1 T2 - Z1,1 Z0,0 Z1,1 I1"


def test_unchosen_elements_are_the_same_each_time() -> None:
    text = _ADD + "self=float32[2, 3].T, other=float32[3]\n"
    assert _render(text) == _render(text)
    _, _, _, first, second, _ = _render(text)
    assert "[2,3] [1,2]" in first
    assert first.split()[-2] != second.split()[-2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("self=float32[3", "cannot read the sample `self=float32[3`:"),
        ("float32[3]", "a sample is a list like self=float32[3], alpha=2"),
        ("self=float8[3]", "unknown type `float8`; known are bfloat16,"),
        ("self=float32[-1]", "`-1` is no size"),
        ("self=float32([[1, 2], [3]])", "the lines of `float32([[1, 2], [3]])` differ"),
        ("self=x", "`x` is no value of a sample"),
        (
            "self=float32[3], othr=float32[3]",
            "add.Tensor: no argument `othr`; did you mean `other`? for a sample",
        ),
        ("self=float32[3]", "add.Tensor: torch refuses the sample:"),
        (
            "self=float32[3], other=float32[2]",
            "add.Tensor: torch refuses the sample: The size of tensor a (3)",
        ),
    ],
)
def test_mistakes_name_line_and_reason(arguments: str, message: str) -> None:
    with pytest.raises(model.SpecError) as caught:
        _render(_ADD + arguments + "\n")
    assert str(caught.value).startswith("ops.yaml:6: " + message)


def test_a_number_needs_a_function_for_numbers() -> None:
    text = (_ADD + "self=float32[3], other=2\n").replace("  number:", "  #")
    with pytest.raises(model.SpecError, match="no `number:` to call with a number"):
        _render(text)


def test_the_tolerance_is_a_number() -> None:
    text = "operators:\n- op: exp\n  call: diopiExp(out, self)\n  tolerance: low\n"
    with pytest.raises(model.SpecError, match=r"yaml:4: a tolerance is a number"):
        _render(text)
