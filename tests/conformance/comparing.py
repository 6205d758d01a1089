# SPDX-License-Identifier: Apache-2.0
"""What tests that compare functions with the CPU share."""

from __future__ import annotations

import torch

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
WIDE = [torch.float64, torch.float32]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]

TOLERANCE = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
}


def check(got: torch.Tensor, expected: torch.Tensor, error: float = 0.0) -> None:
    rtol, atol = TOLERANCE.get(expected.dtype, (0.0, 0.0))
    atol = max(atol, error)
    assert got.device.type != "cpu"
    torch.testing.assert_close(
        got.cpu(), expected, rtol=rtol, atol=atol, equal_nan=True
    )


def values(dtype: torch.dtype) -> torch.Tensor:
    """Numbers of both signs, around the borders of the methods."""
    if dtype.is_floating_point:
        near = torch.linspace(-12, 12, 193, dtype=torch.float64) + 0.01
        return torch.cat([near, torch.tensor([19.5, 29.5, 31.0, 60.0])]).to(dtype)
    low = 0 if dtype is torch.uint8 else -90
    return torch.randint(low, 100, (200,), dtype=dtype)


def layouts(x: torch.Tensor) -> list[torch.Tensor]:
    """`x` as a vector, a transposed matrix, a part, an empty one, a number."""
    matrix = x[: x.numel() // 12 * 12].reshape(-1, 12)
    return [x, matrix.t(), matrix[::2, 1::3], x[:0].reshape(0, 3), x[3]]
