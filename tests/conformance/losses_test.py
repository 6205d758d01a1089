# SPDX-License-Identifier: Apache-2.0
"""Losses: values and gradients are those of the CPU."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.conformance.both_sides import compare, gradients
from tests.conformance.comparing import DEVICE
from tests.conformance.conftest import Expectation
from tests.conformance.inputs import FLOATS, LAYOUTS, WIDE

aten = torch.ops.aten

REDUCTIONS = ("none", "mean", "sum")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_huber(
    native: Expectation, reduction: str, dtype: torch.dtype, layout: str
) -> None:
    x, y = (torch.randn(6, 7) * 2).to(dtype), torch.randn(6, 7).to(dtype)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.huber_loss(x, y, reduction=reduction, delta=0.8)

    compare(native("huber_loss"), loss, [x, y], LAYOUTS[layout])
    backward = native("huber_loss", "huber_loss_backward")
    compare(backward, gradients(loss), [x, y], LAYOUTS[layout])


def test_huber_into_out(native: Expectation) -> None:
    x, y = torch.randn(5), torch.randn(5)
    compare(
        native("huber_loss.out", "huber_loss_backward.out"),
        lambda x, y: [
            aten.huber_loss.out(x, y, 1, 0.5, out=x.new_empty(0)),
            aten.huber_loss_backward.out(x, x, y, 0, 0.5, grad_input=x.new_empty(0)),
        ],
        [x, y],
    )


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multi_margin(
    native: Expectation, reduction: str, p: int, dtype: torch.dtype, layout: str
) -> None:
    x = torch.randn(6, 5, dtype=dtype)
    target = torch.randint(0, 5, (6,))
    weight = torch.rand(5, dtype=dtype)

    def loss(x: Tensor) -> Tensor:
        return F.multi_margin_loss(
            x, target.to(x.device), p, 0.7, weight.to(x), reduction=reduction
        )

    compare(native("multi_margin_loss"), loss, [x], LAYOUTS[layout])
    backward = native("multi_margin_loss_backward")
    compare(backward, gradients(loss), [x], LAYOUTS[layout])


def test_multi_margin_shapes(native: Expectation) -> None:
    def losses(x: Tensor, target: Tensor) -> list[Tensor]:
        return [
            F.multi_margin_loss(x, target, reduction="none"),
            F.multi_margin_loss(x, target.reshape(1), reduction="none"),
            F.multi_margin_loss(x, target),
            aten.multi_margin_loss.out(x, target, out=x.new_empty(0)),
        ]

    compare(
        native("multi_margin_loss", "multi_margin_loss.out"),
        losses,
        [torch.randn(4), torch.tensor(2)],
    )
    x = torch.randn(2, 3, device=DEVICE)
    with pytest.raises(RuntimeError, match="not 1 or 2"):
        aten.multi_margin_loss(x, torch.tensor([0, 1], device=DEVICE), 3)


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multilabel_margin(
    native: Expectation, reduction: str, dtype: torch.dtype, layout: str
) -> None:
    x = torch.randn(3, 4, dtype=dtype)
    target = torch.tensor([[3, 0, -1, 1], [-1, 0, 0, 0], [0, 1, 2, 3]])

    def loss(x: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(x, target, reduction=reduction)

    arguments = [x, target]
    compare(native("multilabel_margin_loss_forward"), loss, arguments, LAYOUTS[layout])
    backward = native("multilabel_margin_loss_backward")
    compare(backward, gradients(loss), arguments, LAYOUTS[layout])


def test_multilabel_margin_of_one_sample(native: Expectation) -> None:
    def losses(x: Tensor, target: Tensor) -> list[Tensor]:
        new = x.new_empty
        return [
            *aten.multilabel_margin_loss_forward(x, target, 0),
            *aten.multilabel_margin_loss_forward.output(
                x, target, 1, output=new(0), is_target=new(0)
            ),
        ]

    names = ("multilabel_margin_loss_forward", "multilabel_margin_loss_forward.output")
    compare(native(*names), losses, [torch.randn(4), torch.tensor([2, 0, -1, 3])])


# Time, batch, classes, and lengths; the last sample of the second is impossible.
CTC = {
    "padded": (torch.tensor([[1, 1, 3], [2, 0, 0]]), [6, 5], [3, 1]),
    "impossible": (torch.tensor([[1, 2, 3], [2, 2, 2]]), [6, 3], [3, 3]),
    "joined": (torch.tensor([1, 1, 3, 2]), [6, 5], [3, 1]),
    "empty": (torch.zeros(2, 0, dtype=torch.long), [6, 0], [0, 0]),
}


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", CTC)
def test_ctc(
    native: Expectation, case: str, reduction: str, dtype: torch.dtype
) -> None:
    targets, inputs, labels = CTC[case]
    log_probs = torch.randn(6, 2, 4, dtype=dtype).log_softmax(-1)

    def loss(log_probs: Tensor, targets: Tensor) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, inputs, labels, reduction=reduction, zero_infinity=True
        )

    compare(native("_ctc_loss"), loss, [log_probs, targets])
    compare(native("_ctc_loss_backward"), gradients(loss), [log_probs, targets])
    compare(
        native("_ctc_loss"),
        loss,
        [log_probs.transpose(0, 1).contiguous().transpose(0, 1), targets.int()],
    )


def test_ctc_with_lengths_in_tensors(native: Expectation) -> None:
    log_probs = torch.randn(6, 2, 4).log_softmax(-1)
    targets, inputs, labels = CTC["padded"]
    arguments = [log_probs, targets, torch.tensor(inputs), torch.tensor(labels)]

    def both(
        x: Tensor, targets: Tensor, inputs: Tensor, labels: Tensor
    ) -> list[Tensor]:
        loss, alpha = aten._ctc_loss.Tensor(x, targets, inputs, labels)
        grad = torch.ones_like(loss)
        back = aten._ctc_loss_backward.Tensor(
            grad, x, targets, inputs, labels, loss, alpha, 0
        )
        return [loss, back]

    compare(native("_ctc_loss.Tensor", "_ctc_loss_backward.Tensor"), both, arguments)


def test_ctc_refuses_lengths_that_do_not_fit() -> None:
    x = torch.randn(4, 1, 3, device=DEVICE).log_softmax(-1)
    targets = torch.ones(1, 2, dtype=torch.long, device=DEVICE)
    with pytest.raises(RuntimeError, match="at most 4"):
        torch._ctc_loss(x, targets, [5], [2])
    with pytest.raises(RuntimeError, match="batch_size"):
        torch._ctc_loss(x, targets, [4, 4], [2])
    with pytest.raises(RuntimeError, match="label range"):
        torch._ctc_loss(x, targets, [4], [2], 3)
    with pytest.raises(RuntimeError, match="at least the sizes"):
        torch._ctc_loss(x, targets, [4], [3])
