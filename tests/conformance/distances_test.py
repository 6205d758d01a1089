# SPDX-License-Identifier: Apache-2.0
"""Distances, norms, and images sampled between their pixels: as on the CPU."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.conformance.both_sides import compare, gradients
from tests.conformance.comparing import DEVICE
from tests.conformance.conftest import Expectation
from tests.conformance.inputs import FLOATS, LAYOUTS, WIDE

aten = torch.ops.aten

NAN, INF = math.nan, math.inf
NORMS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("p", NORMS)
def test_cdist(native: Expectation, p: float, dtype: torch.dtype, layout: str) -> None:
    a, b = torch.randn(2, 1, 4, 3, dtype=dtype), torch.randn(3, 5, 3, dtype=dtype)

    def distances(a: Tensor, b: Tensor) -> Tensor:
        return torch.cdist(a, b, p, "donot_use_mm_for_euclid_dist")

    compare(native("_cdist_forward"), distances, [a, b], LAYOUTS[layout])
    compare(native("_cdist_backward"), gradients(distances), [a, b], LAYOUTS[layout])


@pytest.mark.parametrize("width", [1, 3, 17])
@pytest.mark.parametrize("p", NORMS)
def test_distances_of_what_is_not_finite(
    native: Expectation, p: float, width: int
) -> None:
    a, b = torch.randn(5, width), torch.randn(4, width)
    a[0, 0], a[1, -1], a[2, width // 2] = NAN, INF, -INF
    b[0, 0], b[1, -1], b[2] = INF, NAN, a[2]

    def distances(a: Tensor, b: Tensor) -> Tensor:
        return torch.cdist(a, b, p, "donot_use_mm_for_euclid_dist")

    compare(native("_cdist_forward"), distances, [a, b])
    compare(native("_cdist_backward"), gradients(distances), [a, b])
    compare(native("_pdist_forward"), lambda x: F.pdist(x, p), [a])
    compare(native("_pdist_backward"), gradients(lambda x: F.pdist(x, p)), [a])


@pytest.mark.parametrize("sizes", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_cdist_of_nothing(native: Expectation, sizes: tuple[int, int, int]) -> None:
    rows, others, width = sizes
    arguments = [torch.randn(rows, width), torch.randn(others, width)]
    compare(native("_cdist_forward"), torch.cdist, arguments)
    compare(native("_cdist_forward"), gradients(torch.cdist), arguments)


def test_cdist_of_many_points(native: Expectation) -> None:
    a, b = torch.randn(60, 20).double(), torch.randn(70, 20).double()
    compare(
        native("_cdist_forward"),
        lambda a, b: aten._cdist_forward(a, b, 2.0, None),
        [a, b],
    )
    with pytest.raises(RuntimeError, match="number of columns"):
        aten._cdist_forward(a.to(DEVICE), b[:, 1:].to(DEVICE), 2.0, None)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("p", NORMS)
def test_pdist(native: Expectation, p: float, dtype: torch.dtype) -> None:
    x = torch.randn(6, 3, dtype=dtype)
    compare(native("_pdist_forward"), lambda x: F.pdist(x, p), [x])
    compare(native("_pdist_backward"), gradients(lambda x: F.pdist(x, p)), [x])
    compare(native("_pdist_forward"), lambda x: F.pdist(x, p), [x[:1]])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("p", "dim"), [(1, 0), (2, 1), (float("inf"), 2), (3.5, -1)])
def test_renorm(
    native: Expectation, p: float, dim: int, dtype: torch.dtype, layout: str
) -> None:
    x = torch.randn(3, 4, 5).to(dtype)
    compare(native("renorm"), lambda x: x.renorm(p, dim, 1.5), [x], LAYOUTS[layout])
    compare(native("renorm_"), lambda x: x.clone().renorm_(p, dim, 1.5), [x])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [None, 0, 1, 2, 3, float("inf"), -float("inf")])
def test_norm(native: Expectation, p: float | None, dtype: torch.dtype) -> None:
    x = torch.randn(3, 4, 5).to(dtype)
    compare(
        native("norm.out"),
        lambda x: [
            aten.norm.out(x, p, [1], True, out=x.new_empty(0)),
            aten.norm.ScalarOpt_dim(x, p, [0, 2]),
        ],
        [x],
    )
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    compare(
        native("norm.ScalarOpt_dim_dtype"),
        lambda x: aten.norm.ScalarOpt_dim_dtype(x, p, [1], False, dtype=wide),
        [x],
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_channel_shuffle(native: Expectation, layout: str, dtype: torch.dtype) -> None:
    x = torch.arange(2 * 6 * 3 * 2).reshape(2, 6, 3, 2).to(dtype)
    compare(
        native("channel_shuffle"),
        lambda x: torch.channel_shuffle(x, 3),
        [x],
        LAYOUTS[layout],
    )
    with pytest.raises(RuntimeError, match="divisible"):
        torch.channel_shuffle(x.to(DEVICE), 4)


GRIDS = list(
    itertools.product(
        ("bilinear", "nearest", "bicubic"),
        ("zeros", "border", "reflection"),
        (False, True),
    )
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("mode", "padding", "align"), GRIDS)
def test_grid_sample(
    native: Expectation, mode: str, padding: str, align: bool, layout: str
) -> None:
    x = torch.randn(2, 3, 5, 4, dtype=torch.float64)
    grid = torch.randn(2, 6, 7, 2, dtype=torch.float64)

    def sample(x: Tensor, grid: Tensor) -> Tensor:
        return F.grid_sample(x, grid, mode, padding, align)

    compare(native("grid_sampler_2d"), sample, [x, grid], LAYOUTS[layout])
    backward = native("grid_sampler_2d_backward")
    compare(backward, gradients(sample), [x, grid], LAYOUTS[layout])


@pytest.mark.parametrize(("mode", "padding", "align"), GRIDS)
def test_grid_sample_where_nothing_is(
    native: Expectation, mode: str, padding: str, align: bool
) -> None:
    x = torch.randn(1, 2, 5, 4)
    places = torch.tensor([NAN, INF, -INF, 0.3, -1.0, 1.0])
    grid = torch.cartesian_prod(places, places).reshape(1, 6, 6, 2)

    def sample(x: Tensor, grid: Tensor) -> Tensor:
        return F.grid_sample(x, grid, mode, padding, align)

    compare(native("grid_sampler_2d"), sample, [x, grid])
    if padding == "zeros":  # the CPU reads outside of the image elsewhere
        backward = native("grid_sampler_2d_backward")
        compare(backward, gradients(sample), [x, grid])
    if mode != "bicubic":
        volumes = torch.randn(1, 2, 3, 5, 4)
        points = torch.cartesian_prod(places, places, places).reshape(1, 6, 6, 6, 3)
        compare(native("grid_sampler_3d"), sample, [volumes, points])


def test_bicubic_sample_far_outside(native: Expectation) -> None:
    x = torch.randn(1, 2, 5, 4)
    grid = torch.tensor([1e10, -1e10, 3e7, 0.5]).repeat(2).reshape(1, 2, 2, 2)
    compare(
        native("grid_sampler_2d"),
        lambda x, grid: F.grid_sample(x, grid, "bicubic", "border", False),
        [x, grid],
    )


@pytest.mark.parametrize(
    ("mode", "padding", "align"), [grid for grid in GRIDS if grid[0] != "bicubic"]
)
def test_grid_sample_of_volumes(
    native: Expectation, mode: str, padding: str, align: bool
) -> None:
    x = torch.randn(2, 3, 3, 5, 4, dtype=torch.float64)
    grid = torch.randn(2, 2, 6, 3, 3, dtype=torch.float64)

    def sample(x: Tensor, grid: Tensor) -> Tensor:
        return F.grid_sample(x, grid, mode, padding, align)

    compare(native("grid_sampler_3d"), sample, [x, grid])
    compare(native("grid_sampler_3d_backward"), gradients(sample), [x, grid])


@pytest.mark.parametrize("dtype", FLOATS)
def test_grid_sample_types(native: Expectation, dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 5, 4).to(dtype)
    grid = (torch.randint(-4, 5, (2, 6, 7, 2)) / 4).to(dtype)

    def sample(x: Tensor, grid: Tensor) -> Tensor:
        return F.grid_sample(x, grid, align_corners=False)

    compare(native("grid_sampler_2d"), sample, [x, grid])
