# SPDX-License-Identifier: Apache-2.0
"""Images of another size: interpolation and padding."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TOLERANCES = {
    torch.float32: 2e-5,
    torch.float64: 1e-10,
    torch.float16: 4e-3,
    torch.bfloat16: 3e-2,
}
LAYOUTS = ["contiguous", "channels_last", "strided"]

Function = Callable[[torch.Tensor], torch.Tensor]


def arrange(x: torch.Tensor, layout: str) -> torch.Tensor:
    """The values of `x` in another layout."""
    if layout == "channels_last" and x.dim() >= 4:
        last = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
        return x.contiguous(memory_format=last)
    if layout == "strided":
        wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
        wide[..., ::2] = x
        return wide.to(x.device)[..., ::2]
    return x


def check(function: Function, x: torch.Tensor, device: str, layout: str) -> None:
    """Compares values and gradients with the CPU's in the widest type."""
    tolerance = TOLERANCES[x.dtype]
    exact = x.double() if x.dtype in (torch.float16, torch.bfloat16) else x
    expected_x = copy.deepcopy(exact).requires_grad_()
    expected = function(expected_x)
    g = torch.randn(expected.shape).to(x.dtype)
    expected.backward(g.to(exact.dtype))
    got_x = arrange(x, layout).to(device).requires_grad_()
    got = function(got_x)
    got.backward(g.to(device))
    assert got.dtype == x.dtype
    torch.testing.assert_close(
        got.detach().cpu().to(exact.dtype),
        expected.detach(),
        rtol=tolerance,
        atol=tolerance,
    )
    torch.testing.assert_close(
        got_x.grad.cpu().to(exact.dtype),
        expected_x.grad,
        rtol=tolerance,
        atol=4 * tolerance,
    )


INTERPOLATIONS = {
    "upsample_nearest1d": ("nearest", 1),
    "upsample_nearest2d": ("nearest", 2),
    "upsample_nearest3d": ("nearest", 3),
    "_upsample_nearest_exact1d": ("nearest-exact", 1),
    "_upsample_nearest_exact2d": ("nearest-exact", 2),
    "_upsample_nearest_exact3d": ("nearest-exact", 3),
    "upsample_linear1d": ("linear", 1),
    "upsample_bilinear2d": ("bilinear", 2),
    "upsample_trilinear3d": ("trilinear", 3),
    "upsample_bicubic2d": ("bicubic", 2),
}
SIZES = [(7, 5, 6), (3, 9, 2), (4, 6, 5), (1, 1, 1)]


def interpolations(mode: str, dims: int) -> list[Function]:
    """All ways to say how large the result is."""
    variants: list[dict[str, object]] = [{"size": s[:dims]} for s in SIZES]
    variants += [{"scale_factor": 2.0}, {"scale_factor": 0.6}]
    corners = [None] if mode.startswith("nearest") else [False, True]
    return [
        lambda x, v=v, c=c: functional.interpolate(x, mode=mode, align_corners=c, **v)
        for v in variants
        for c in corners
    ]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", INTERPOLATIONS)
def test_interpolation(native, device: str, name: str, dtype: torch.dtype) -> None:
    mode, dims = INTERPOLATIONS[name]
    x = torch.randn(2, 3, *(4, 6, 5)[:dims]).to(dtype)
    with native(name, f"{name}_backward"):
        for function in interpolations(mode, dims):
            for layout in LAYOUTS:
                check(function, x, device, layout)


ANTIALIASED = {
    "_upsample_bilinear2d_aa": "bilinear",
    "_upsample_bicubic2d_aa": "bicubic",
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ANTIALIASED)
@pytest.mark.parametrize("corners", [False, True])
def test_antialiased(
    native, device: str, name: str, dtype: torch.dtype, corners: bool
) -> None:
    x = torch.randn(2, 3, 9, 12).to(dtype)
    with native(name, f"{name}_backward"):
        for size in ((4, 5), (17, 3), (9, 12), (1, 1)):
            for layout in LAYOUTS:
                check(
                    lambda x, size=size: functional.interpolate(
                        x,
                        size,
                        mode=ANTIALIASED[name],
                        align_corners=corners,
                        antialias=True,
                    ),
                    x,
                    device,
                    layout,
                )


def test_lanczos(native, device: str) -> None:
    x = torch.randn(2, 3, 9, 12)
    with native("_upsample_lanczos2d_aa", "_upsample_lanczos2d_aa_backward"):
        for size in ((4, 5), (17, 3), (9, 12)):
            check(
                lambda x, size=size: torch.ops.aten._upsample_lanczos2d_aa(
                    x, size, False
                ),
                x,
                device,
                "contiguous",
            )


def test_bytes_by_the_nearest(native, device: str) -> None:
    x = torch.randint(0, 255, (2, 3, 4, 5), dtype=torch.uint8)
    with native("upsample_nearest2d"):
        got = functional.interpolate(x.to(device), scale_factor=3)
    assert torch.equal(got.cpu(), functional.interpolate(x, scale_factor=3))


def test_bytes_between_pixels_fall_back(falls_back, device: str) -> None:
    x = torch.randint(0, 255, (1, 3, 4, 5), dtype=torch.uint8)
    with falls_back("upsample_bilinear2d"):
        got = functional.interpolate(x.to(device), size=(7, 7), mode="bilinear")
    expected = functional.interpolate(x, size=(7, 7), mode="bilinear")
    assert torch.equal(got.cpu(), expected)


def test_interpolation_into_a_given_tensor(native, device: str) -> None:
    x = torch.randn(1, 2, 4, 4)
    out = torch.empty(0, device=device)
    with native("upsample_nearest2d.out"):
        torch.ops.aten.upsample_nearest2d.out(x.to(device), [8, 8], out=out)
    assert torch.equal(out.cpu(), functional.interpolate(x, size=(8, 8)))


def test_no_images(native, device: str) -> None:
    x = torch.zeros(0, 3, 4, 4, device=device)
    with native("upsample_nearest2d"):
        assert functional.interpolate(x, size=(8, 8)).shape == (0, 3, 8, 8)


PADS = {
    1: [(1, 2), (3, 0), (-1, 2)],
    2: [(1, 2, 0, 3), (2, 2, 1, 1), (-1, 1, 2, -1)],
    3: [(1, 0, 2, 1, 1, 2), (0, 0, 1, 1, 0, 2)],
}
SHAPES = {1: (2, 3, 5), 2: (2, 3, 4, 5), 3: (2, 2, 3, 4, 5)}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dims", PADS)
@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding(native, device: str, mode: str, dims: int, dtype: torch.dtype) -> None:
    name = {"reflect": "reflection", "replicate": "replication"}[mode]
    x = torch.randn(SHAPES[dims]).to(dtype)
    with native(f"{name}_pad{dims}d", f"{name}_pad{dims}d_backward"):
        for pads in PADS[dims]:
            for layout in LAYOUTS:
                check(
                    lambda x, pads=pads: functional.pad(x, pads, mode=mode),
                    x,
                    device,
                    layout,
                )
        # Without a sample dimension.
        check(
            lambda x: functional.pad(x, PADS[dims][0], mode=mode),
            x[0],
            device,
            "contiguous",
        )


def test_padding_of_integers(native, device: str) -> None:
    x = torch.arange(24).reshape(1, 2, 3, 4)
    with native("replication_pad2d"):
        got = functional.pad(x.to(device), (1, 1, 2, 2), mode="replicate")
    assert torch.equal(got.cpu(), functional.pad(x, (1, 1, 2, 2), mode="replicate"))


def test_padding_into_a_given_tensor(native, device: str) -> None:
    x = torch.randn(1, 2, 3, 4)
    out = torch.empty(0, device=device)
    with native("reflection_pad2d.out"):
        torch.ops.aten.reflection_pad2d.out(x.to(device), [1, 1, 2, 1], out=out)
    assert torch.equal(out.cpu(), functional.pad(x, (1, 1, 2, 1), mode="reflect"))


def test_padding_of_too_few_sides_is_refused(device: str) -> None:
    x = torch.zeros(2, 3, 3, device=device)
    with pytest.raises(RuntimeError, match="expected 4 numbers"):
        torch.ops.aten.reflection_pad2d(x, [1, 1])


def test_padding_wider_than_the_image_is_refused(device: str) -> None:
    x = torch.zeros(1, 2, 3, 3, device=device)
    with pytest.raises(RuntimeError, match=r"[Pp]ad"):
        functional.pad(x, (3, 0, 0, 0), mode="reflect")
