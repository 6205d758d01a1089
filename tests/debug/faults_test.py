# SPDX-License-Identifier: Apache-2.0
"""Wrong kernels that have been planted are named, each in one training run.

The vendor is droplet with another operator library, which spoils results as the
environment variable FAULTY_KERNELS asks (faulty/spoil.h).
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable

import pytest
import torch
import torch_dipu
from torch_dipu.debug.results import Report

from tests.debug.faulty.programs import draws, numbers, pictures, tables, words

Program = Callable[[], None]
VARIABLE = "FAULTY_KERNELS"
PROGRAMS = (pictures, words, numbers, tables, draws)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A wrong kernel.

    Attributes:
        name: As the operator library has it.
        program: A training run that reaches it.
        operator: Whose results are wrong.
    """

    name: str
    program: Program
    operator: str


FAULTS = (
    # Wrong numbers.
    Fault("exp: one per cent too large", numbers, "exp"),
    Fault("rsqrt: eleven bits only", numbers, "rsqrt"),
    Fault("add: ignores alpha", numbers, "add.Tensor"),
    Fault("sub: operands swapped", numbers, "sub.Tensor"),
    Fault("floor: rounds towards zero", numbers, "floor"),
    Fault("clamp: ignores max", numbers, "clamp"),
    Fault("where: condition inverted", words, "where.self"),
    Fault("tril: one too far", words, "tril"),
    Fault("gelu: approximated", words, "gelu"),
    Fault("addmm: without the bias", words, "addmm"),
    Fault("layer_norm: ignores the bias", words, "native_layer_norm"),
    Fault("embedding: the row after", words, "embedding"),
    Fault("nll_loss: ignores weights", pictures, "nll_loss_forward"),
    Fault("mse_loss: sum for mean", numbers, "mse_loss"),
    Fault("avg_pool2d: counts what it must not", pictures, "avg_pool2d"),
    Fault("mean: divides by n - 1", tables, "mean.dim"),
    Fault("std: divides by n", tables, "std.correction"),
    Fault("cumsum: exclusive", tables, "cumsum"),
    Fault("maximum: one unit in the last place off", numbers, "maximum"),
    # Wrong for some inputs only.
    Fault("mul: wrong for strided input", numbers, "mul.Tensor"),
    Fault("div: wrong for broadcast operands", numbers, "div.Tensor"),
    Fault("bmm: wrong for transposed matrices", words, "bmm"),
    Fault("sqrt: NaN at zero", numbers, "sqrt"),
    Fault("maximum: leaves NaN out", numbers, "maximum"),
    Fault("reciprocal: ignores the sign of zero", numbers, "reciprocal"),
    Fault("tanh: wrong in float16", numbers, "tanh"),
    Fault("abs: int64 through float32", numbers, "abs"),
    Fault("gt: also where equal", numbers, "gt.Scalar"),
    # Wrong for some elements only.
    Fault("sigmoid: forgets the last element", words, "sigmoid"),
    Fault("softmax: last row not normalised", words, "_softmax"),
    Fault("mm: forgets the last row", words, "mm"),
    Fault("convolution: one border element off", pictures, "convolution_overrideable"),
    Fault("sum: forgets the last element", tables, "sum.dim_IntList"),
    Fault("cat: last element not copied", numbers, "cat"),
    # Wrong positions.
    Fault("max_pool2d: indices off by one", pictures, "max_pool2d_with_indices"),
    Fault("argmax: off by one", tables, "argmax"),
    Fault("max: always the first index", tables, "max.dim"),
    Fault("sort: last two not in order", tables, "sort.stable"),
    Fault("sort: one position twice", tables, "sort.stable"),
    Fault("topk: the smallest", tables, "topk"),
    Fault("gather: last element of the wrong row", tables, "gather"),
    Fault("scatter_add: overwrites", tables, "scatter_add"),
    Fault("index_select: reversed", tables, "index_select"),
    # Writes what it must only read, or not what it must write.
    Fault("log: writes its input", numbers, "log"),
    Fault("silu backward: writes its gradient", words, "silu_backward"),
    Fault("batch_norm: running statistics not updated", pictures, "native_batch_norm"),
    # Wrong in backward only.
    Fault("gelu backward: one per cent too small", words, "gelu_backward"),
    Fault("relu backward: mask inverted", pictures, "threshold_backward"),
    Fault("tanh backward: does not square", pictures, "tanh_backward"),
    Fault("sigmoid backward: last element not written", words, "sigmoid_backward"),
    Fault("softmax backward: without the sum", words, "_softmax_backward_data"),
    Fault("log_softmax backward: without the sum", words, "_log_softmax_backward_data"),
    Fault("nll_loss backward: class off by one", words, "nll_loss_backward"),
    Fault("mse_loss backward: without the factor 2", numbers, "mse_loss_backward"),
    Fault(
        "convolution backward: no gradient of the bias",
        pictures,
        "convolution_backward_overrideable",
    ),
    Fault(
        "convolution backward: weights one per cent off",
        pictures,
        "convolution_backward_overrideable",
    ),
    Fault(
        "batch_norm backward: one channel's bias off",
        pictures,
        "native_batch_norm_backward",
    ),
    Fault(
        "layer_norm backward: weights one per cent off",
        words,
        "native_layer_norm_backward",
    ),
    Fault("max_pool2d backward: flipped", pictures, "max_pool2d_with_indices_backward"),
    Fault(
        "embedding backward: the last of equal rows wins",
        words,
        "embedding_dense_backward",
    ),
    # Wrong in optimizers and in operators on many tensors.
    Fault("adamw: bias not corrected", words, "_fused_adamw_"),
    Fault("adamw: ignores weight decay", words, "_fused_adamw_"),
    Fault("adamw: second moments one per cent off", words, "_fused_adamw_"),
    Fault("adagrad: maximises", pictures, "_fused_adagrad_"),
    Fault("foreach add: forgets the last tensor", numbers, "_foreach_add_.Scalar"),
    Fault("foreach mul: last tensor one per cent off", numbers, "_foreach_mul_.Scalar"),
    # Wrong distributions.
    Fault("dropout: half the probability", draws, "native_dropout"),
    Fault("dropout: does not scale", draws, "native_dropout"),
    Fault("normal: variance for deviation", draws, "normal_"),
    Fault("uniform: starts at zero", draws, "uniform_"),
    Fault("bernoulli: inverted", draws, "bernoulli_.Tensor"),
)


def _compare(program: Program) -> Report:
    torch.manual_seed(0)
    with torch_dipu.autocompare() as report:
        program()
        torch.accelerator.synchronize()
    return report


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_without_a_fault_nobody_is_accused(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    report = _compare(program)
    assert report.wrong_operators == []
    reached = {fault.operator for fault in FAULTS if fault.program is program}
    assert reached <= report.calls.keys()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_operator_is_named(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, fault.name)
    assert _compare(fault.program).wrong_operators == [fault.operator]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_many_at_once_are_told_apart(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = [fault for fault in FAULTS if fault.program is program]
    monkeypatch.setenv(VARIABLE, ";".join(fault.name for fault in of))
    found = _compare(program).wrong_operators
    assert collections.Counter(found) == collections.Counter(
        {fault.operator for fault in of}
    )
