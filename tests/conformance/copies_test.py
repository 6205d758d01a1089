# SPDX-License-Identifier: Apache-2.0
"""Copies between all dtypes, layouts and directions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
]
# Copied as bytes; conversions go through the host.
RARE_DTYPES = [torch.complex32, torch.float8_e4m3fn, torch.float8_e5m2]

SHAPE = (3, 4, 5, 6)
ELEMENTS = 3 * 4 * 5 * 6


def values(dtype: torch.dtype) -> torch.Tensor:
    """A CPU tensor whose elements survive a conversion to any dtype."""
    return (torch.arange(ELEMENTS) % 7).reshape(SHAPE).to(dtype)


Layout = Callable[[torch.Tensor], torch.Tensor]

# Functions from a contiguous tensor to one of shape SHAPE in the named layout,
# on the device of the argument.
LAYOUTS: dict[str, Layout] = {
    "contiguous": lambda t: t,
    "channels_last": lambda t: t.contiguous(memory_format=torch.channels_last),
    "permuted": lambda t: t.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
    "gaps": lambda t: torch.stack([t, t], dim=2)[:, :, 1],
    "offset": lambda t: torch.cat([t, t])[3:],
}


def laid_out(dtype: torch.dtype, layout: str, device: str) -> torch.Tensor:
    """`values(dtype)` on `device` in `layout`, made on the CPU where possible."""
    host = LAYOUTS[layout](values(dtype))
    if device == "cpu":
        return host
    base = torch.empty(0, dtype=dtype, device=device).set_(
        host.untyped_storage().to(device=torch.device(device)),
        host.storage_offset(),
        host.shape,
        host.stride(),
    )
    assert base.stride() == host.stride()
    return base


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    a, b = a.cpu(), b.cpu()
    if a.dtype in RARE_DTYPES:
        width = torch.int16 if a.element_size() == 2 else torch.int32
        width = torch.uint8 if a.element_size() == 1 else width
        a, b = a.contiguous().view(width), b.contiguous().view(width)
    return a.dtype == b.dtype and torch.equal(a, b)


@pytest.mark.parametrize("non_blocking", [False, True])
@pytest.mark.parametrize("dtype", DTYPES + RARE_DTYPES)
def test_round_trip(device: str, dtype: torch.dtype, non_blocking: bool) -> None:
    host = values(dtype)
    there = host.to(device, non_blocking=non_blocking)
    assert there.device.type == device
    back = there.to("cpu", non_blocking=non_blocking)
    torch.accelerator.synchronize()
    assert same(back, host)


@pytest.mark.parametrize("direction", ["h2d", "d2h", "d2d"])
@pytest.mark.parametrize("target_layout", LAYOUTS)
@pytest.mark.parametrize("source_layout", LAYOUTS)
def test_layouts(
    device: str, source_layout: str, target_layout: str, direction: str
) -> None:
    source_device = "cpu" if direction == "h2d" else device
    target_device = "cpu" if direction == "d2h" else device
    source = laid_out(torch.float32, source_layout, source_device)
    target = laid_out(torch.float32, target_layout, target_device)
    target.fill_(-1)
    target.copy_(source)
    assert same(target, source)


@pytest.mark.parametrize("direction", ["h2d", "d2h", "d2d"])
@pytest.mark.parametrize("target_dtype", DTYPES)
@pytest.mark.parametrize("source_dtype", DTYPES)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_conversions(
    device: str,
    source_dtype: torch.dtype,
    target_dtype: torch.dtype,
    direction: str,
) -> None:
    source_device = "cpu" if direction == "h2d" else device
    target_device = "cpu" if direction == "d2h" else device
    source = values(source_dtype)
    target = torch.empty(SHAPE, dtype=target_dtype, device=target_device)
    target.copy_(source.to(source_device))
    assert same(target, source.to(target_dtype))


@pytest.mark.parametrize("layout", ["channels_last", "permuted", "gaps"])
@pytest.mark.parametrize("target_dtype", [torch.float64, torch.int64, torch.bfloat16])
def test_conversion_of_layouts(
    device: str, layout: str, target_dtype: torch.dtype
) -> None:
    source = laid_out(torch.float32, layout, device)
    target = laid_out(target_dtype, "permuted", device)
    target.copy_(source)
    assert same(target, source.cpu().to(target_dtype))


def test_broadcast(device: str) -> None:
    target = torch.zeros(4, 3, 5, device=device)
    target.copy_(torch.arange(5.0))
    assert same(target, torch.arange(5.0).expand(4, 3, 5))
    target.copy_(torch.tensor(2.0, device=device))
    assert same(target, torch.full((4, 3, 5), 2.0))
    with pytest.raises(RuntimeError, match="size"):
        target.copy_(torch.zeros(4))


def test_expanded_source_reaches_the_host(device: str) -> None:
    row = torch.arange(4.0).to(device)
    assert same(row.expand(1000, 4), torch.arange(4.0).expand(1000, 4))


def test_narrow_view_of_a_large_storage(device: str) -> None:
    host = torch.randn(512, 512)
    there = host.to(device)
    assert same(there[:, 7], host[:, 7])
    there[:, 7] = torch.arange(512.0)
    host[:, 7] = torch.arange(512.0)
    assert same(there, host)


def test_overlap_is_refused(device: str) -> None:
    x = torch.arange(10.0).to(device)
    with pytest.raises(RuntimeError, match=r"overlap|single memory location"):
        x[:-1].copy_(x[1:])
    with pytest.raises(RuntimeError, match="single memory location"):
        x[:1].expand(5).copy_(x[:5])


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_empty(device: str, shape: tuple[int, ...]) -> None:
    assert torch.zeros(shape).to(device).cpu().shape == shape
    torch.zeros(shape, device=device).copy_(torch.zeros(shape, dtype=torch.int32))


def test_scalar(device: str) -> None:
    for dtype in DTYPES:
        assert torch.tensor(1, dtype=dtype).to(device).item() == 1


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target_dtype", [torch.float32, torch.float64])
def test_between_devices(
    device: str,
    second_device: torch.device,
    layout: str,
    target_dtype: torch.dtype,
) -> None:
    source = laid_out(torch.float32, layout, device)
    there = source.to(second_device, target_dtype)
    assert there.device == second_device
    assert same(there, source.cpu().to(target_dtype))
    target = laid_out(target_dtype, "gaps", device)
    target.copy_(there)
    assert same(target, there)


def test_between_devices_is_ordered(device: str, second_device: torch.device) -> None:
    a = torch.ones(1 << 16, device=device)
    for step in range(8):
        b = a.to(second_device)
        a.add_(1)
        assert same(b, torch.full((1 << 16,), 1.0 + step))


def test_source_may_change_after_a_copy(device: str) -> None:
    host = torch.zeros(1 << 16)
    copies = []
    for step in range(8):
        host.fill_(step)
        copies.append(host.to(device))
    for step, there in enumerate(copies):
        assert same(there, torch.full_like(host, step))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_copies_on_the_device_are_native(native, device: str, dtype) -> None:
    source = laid_out(dtype, "permuted", device)
    with native("copy_"):
        source.contiguous()
        source.clone()
    assert same(source.contiguous(), source)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (torch.float32, torch.float64),
        (torch.float32, torch.bfloat16),
        (torch.bool, torch.float32),
        (torch.int64, torch.float32),
        (torch.float32, torch.int32),
    ],
)
def test_casts_are_native(native, device: str, source, target) -> None:
    x = values(source).to(device)
    with native("copy_"):
        y = x.to(target)
    assert same(y, values(source).to(target))


def test_meta(device: str) -> None:
    meta = torch.empty(2, 3, device="meta")
    assert meta.copy_(torch.zeros(2, 3, device=device)).is_meta
    with pytest.raises(NotImplementedError, match="meta"):
        torch.zeros(2, 3, device=device).copy_(meta)


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.float16, torch.float32, torch.float64]
)
@pytest.mark.parametrize("rows", [1, 15, 16, 65])
@pytest.mark.parametrize("columns", [2, 17, 64, 130])
def test_transposed(
    no_fallback, dtype: torch.dtype, rows: int, columns: int, device: str
) -> None:
    """Such copies go tile by tile; these sizes leave tiles of all kinds."""
    host = torch.arange(3 * rows * columns).reshape(3, rows, columns).to(dtype)
    target = torch.zeros(3, columns, rows + 2, dtype=dtype).to(device)
    with no_fallback():
        copied = host.to(device).transpose(1, 2).contiguous()
        target[:, :, 1:-1].copy_(host.to(device).transpose(1, 2))
        turned = host.to(device).permute(2, 1, 0).contiguous()
    assert torch.equal(copied.cpu(), host.transpose(1, 2))
    assert torch.equal(target.cpu()[:, :, 1:-1], host.transpose(1, 2))
    assert not target.cpu()[:, :, [0, -1]].any()
    assert torch.equal(turned.cpu(), host.permute(2, 1, 0))
