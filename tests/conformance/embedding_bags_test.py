# SPDX-License-Identifier: Apache-2.0
"""Embedding bags and rows limited in norm: as on the CPU."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.conformance.both_sides import compare, gradients
from tests.conformance.comparing import DEVICE
from tests.conformance.conftest import Expectation
from tests.conformance.inputs import FLOATS, LAYOUTS

MODES = ("sum", "mean", "max")
# Indices and offsets: with an empty bag, without any index, int32.
BAGS = {
    "plain": (torch.tensor([1, 4, 4, 0, 2, 1]), torch.tensor([0, 2, 2, 5])),
    "no_index": (torch.zeros(0, dtype=torch.long), torch.tensor([0, 0])),
    "int32": (
        torch.tensor([1, 4, 4, 0], dtype=torch.int32),
        torch.tensor([0, 3], dtype=torch.int32),
    ),
}


@pytest.mark.parametrize("layout", ["contiguous", "sliced"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bags", BAGS)
def test_bags(
    native: Expectation, bags: str, mode: str, dtype: torch.dtype, layout: str
) -> None:
    indices, offsets = BAGS[bags]
    weight = torch.randn(6, 5).to(dtype)

    def bag(weight: Tensor, indices: Tensor, offsets: Tensor) -> Tensor:
        return F.embedding_bag(indices, weight, offsets, mode=mode)

    arguments = [weight, indices, offsets]
    compare(native("_embedding_bag_forward_only"), bag, arguments, LAYOUTS[layout])
    expectation = native("_embedding_bag", "_embedding_bag_dense_backward")
    if dtype in (torch.float32, torch.float64):
        compare(expectation, gradients(bag), arguments, LAYOUTS[layout])


@pytest.mark.parametrize("padding", [None, 4])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_padding_and_last_offset(
    native: Expectation, mode: str, padding: int | None
) -> None:
    def bag(weight: Tensor, indices: Tensor, ends: Tensor) -> Tensor:
        return F.embedding_bag(
            indices,
            weight,
            ends,
            mode=mode,
            include_last_offset=True,
            padding_idx=padding,
        )

    indices = torch.tensor([1, 4, 4, 0, 2, 1])
    arguments = [torch.randn(6, 5), indices, torch.tensor([0, 2, 2, 6])]
    compare(native("_embedding_bag_forward_only"), bag, arguments)
    compare(native("_embedding_bag_dense_backward"), gradients(bag), arguments)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_scaled_by_frequency(native: Expectation, mode: str) -> None:
    """The CPU takes frequencies of other rows, so it gives no reference."""
    indices, offsets = (t.to(DEVICE) for t in BAGS["plain"])
    weight = torch.randn(6, 5, device=DEVICE)

    def gradient(scaled: bool) -> Tensor:
        def bag(weight: Tensor) -> Tensor:
            return F.embedding_bag(
                indices, weight, offsets, mode=mode, scale_grad_by_freq=scaled
            )

        (result,) = gradients(bag)(weight)
        return result.cpu()

    with native("_embedding_bag_dense_backward"):
        scaled = gradient(True)
    uses = torch.bincount(indices.cpu(), minlength=6).clamp(min=1)
    torch.testing.assert_close(scaled, gradient(False) / uses[:, None])


@pytest.mark.parametrize("padding", [None, 4])
def test_weights_per_sample(native: Expectation, padding: int | None) -> None:
    indices, offsets = BAGS["plain"]

    def bag(weight: Tensor, samples: Tensor, i: Tensor, offsets: Tensor) -> Tensor:
        return F.embedding_bag(
            i,
            weight,
            offsets,
            mode="sum",
            per_sample_weights=samples,
            padding_idx=padding,
        )

    arguments = [torch.randn(6, 5), torch.randn(6), indices, offsets]
    compare(native("_embedding_bag_forward_only"), bag, arguments)
    compare(
        native("_embedding_bag_per_sample_weights_backward"), gradients(bag), arguments
    )


def test_bags_of_rows(native: Expectation) -> None:
    def bag(weight: Tensor, rows: Tensor) -> Tensor:
        return F.embedding_bag(rows, weight)

    rows = torch.randint(0, 6, (3, 4))
    compare(native("_embedding_bag_forward_only"), bag, [torch.randn(6, 5), rows])


def test_refuses_what_makes_no_sense() -> None:
    weight = torch.randn(6, 5, device=DEVICE)
    indices, offsets = (t.to(DEVICE) for t in BAGS["plain"])
    with pytest.raises(RuntimeError, match="1D"):
        torch._embedding_bag(weight, indices, offsets.reshape(2, 2))
    with pytest.raises(RuntimeError, match="mode 'sum'"):
        torch._embedding_bag(weight, indices, offsets, False, 1, False, weight[:, 0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_embedding_renorm(native: Expectation, p: float, dtype: torch.dtype) -> None:
    weight = (torch.randn(6, 5) * 2).to(dtype)
    indices = torch.tensor([[0, 2], [2, 5]])
    compare(
        native("embedding_renorm_"),
        lambda weight, indices: torch.embedding_renorm_(
            weight.clone(), indices, 1.5, p
        ),
        [weight, indices],
    )
