# SPDX-License-Identifier: Apache-2.0
"""Random numbers: seeds, states, distributions."""

from __future__ import annotations

import pytest
import torch
import torch.utils.checkpoint


def test_state_is_sixteen_bytes(device: str) -> None:
    """Trap: DTensor reads the state as seed and offset, eight bytes each."""
    generator = torch.Generator(device).manual_seed(7)
    state = generator.get_state()
    assert state.dtype == torch.uint8
    assert state.shape == (16,)
    assert state.view(torch.int64).tolist() == [7, 0]


def test_state_round_trip(device: str) -> None:
    generator = torch.Generator(device).manual_seed(1)
    torch.rand(5, device=device, generator=generator)
    state = generator.get_state()
    first = torch.rand(5, device=device, generator=generator)
    generator.set_state(state)
    assert torch.equal(
        torch.rand(5, device=device, generator=generator).cpu(), first.cpu()
    )
    assert generator.initial_seed() == 1
    other = generator.clone_state()
    assert torch.equal(other.get_state(), generator.get_state())


def test_offset_advances_with_every_draw(device: str) -> None:
    generator = torch.Generator(device).manual_seed(1)
    offsets = [generator.get_offset()]
    for _ in range(3):
        torch.rand(10, device=device, generator=generator)
        offsets.append(generator.get_offset())
    assert offsets == sorted(set(offsets))
    assert all(offset % 4 == 0 for offset in offsets)


def test_manual_seed_governs_the_device(device: str) -> None:
    torch.manual_seed(11)
    first = torch.randn(100, device=device)
    second = torch.randn(100, device=device)
    torch.manual_seed(11)
    assert torch.equal(torch.randn(100, device=device).cpu(), first.cpu())
    assert not torch.equal(first.cpu(), second.cpu())


def test_the_device_leaves_the_cpu_generator_alone(device: str) -> None:
    state = torch.get_rng_state()
    torch.randn(10, device=device)
    torch.rand(10, device=device)
    torch.randperm(10, device=device)
    torch.nn.functional.dropout(torch.ones(10, device=device))
    assert torch.equal(torch.get_rng_state(), state)


def test_generators_of_other_devices_are_refused(device: str) -> None:
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(2, device=device, generator=torch.Generator("cpu"))


DRAWS = {
    "normal_": lambda t, g: t.normal_(1, 2, generator=g),
    "uniform_": lambda t, g: t.uniform_(-1, 3, generator=g),
    "bernoulli_": lambda t, g: t.bernoulli_(0.3, generator=g),
    "random_": lambda t, g: t.random_(generator=g),
    "random_.to": lambda t, g: t.random_(10, generator=g),
    "random_.from": lambda t, g: t.random_(5, 15, generator=g),
    "exponential_": lambda t, g: t.exponential_(2.0, generator=g),
    "log_normal_": lambda t, g: t.log_normal_(generator=g),
    "geometric_": lambda t, g: t.geometric_(0.5, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("strided", [False, True])
def test_draws_repeat_with_the_seed(device: str, name: str, strided: bool) -> None:
    def draw(generator: torch.Generator) -> torch.Tensor:
        base = torch.zeros(50, 4, device=device)
        DRAWS[name](base[:, ::2] if strided else base, generator)
        return base.cpu()

    generator = torch.Generator(device).manual_seed(2)
    first = draw(generator)
    assert not torch.equal(draw(generator), first)
    assert torch.equal(draw(generator.manual_seed(2)), first)
    if strided:
        assert torch.equal(first[:, 1::2], torch.zeros(50, 2))


N = 100_000


def test_normal_moments(device: str) -> None:
    x = torch.empty(N, device=device).normal_(1.0, 2.0).cpu()
    assert abs(x.mean() - 1) < 0.03
    assert abs(x.std() - 2) < 0.03


def test_uniform_moments(device: str) -> None:
    x = torch.empty(N, device=device).uniform_(-1.0, 3.0).cpu()
    assert x.min() >= -1
    assert x.max() < 3
    assert abs(x.mean() - 1) < 0.03
    assert abs(x.var() - 16 / 12) < 0.03


def test_bernoulli_mean(device: str) -> None:
    x = torch.empty(N, device=device).bernoulli_(0.3).cpu()
    assert set(x.unique().tolist()) == {0.0, 1.0}
    assert abs(x.mean() - 0.3) < 0.01
    chances = torch.linspace(0, 1, 11)
    y = torch.bernoulli(chances.to(device).expand(N // 10, 11))
    assert (y.cpu().mean(0) - chances).abs().max() < 0.03


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.int32, torch.uint8, torch.float32]
)
def test_randint(device: str, dtype: torch.dtype) -> None:
    x = torch.randint(3, 9, (N // 10,), device=device, dtype=dtype).cpu()
    assert x.unique().tolist() == [3, 4, 5, 6, 7, 8]


def test_random_covers_the_dtype(device: str) -> None:
    assert torch.empty(1000, dtype=torch.bool, device=device).random_().any()
    x = torch.empty(1000, dtype=torch.int64, device=device).random_().cpu()
    assert x.min() >= 0
    assert x.max() > 2**61
    y = torch.empty(1000, dtype=torch.uint8, device=device).random_().cpu()
    assert y.max() > 240
    with pytest.raises(RuntimeError, match="less than"):
        y.to(device).random_(5, 5)
    with pytest.raises(RuntimeError, match="out of bounds"):
        y.to(device).random_(0, 1000)


def test_exponential_moments(device: str) -> None:
    x = torch.empty(N, device=device).exponential_(2.0).cpu()
    assert x.min() > 0
    assert abs(x.mean() - 0.5) < 0.01


def test_randperm(device: str) -> None:
    x = torch.randperm(1000, device=device)
    assert x.dtype == torch.int64
    assert torch.equal(x.cpu().sort().values, torch.arange(1000))
    assert not torch.equal(x.cpu(), torch.arange(1000))
    assert torch.randperm(0, device=device).numel() == 0


@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(device: str, replacement: bool) -> None:
    weights = torch.tensor([0.0, 1.0, 3.0]).to(device)
    rows = weights.expand(4000, 3)
    x = torch.multinomial(rows, 2, replacement=replacement).cpu()
    assert x.min() >= 1
    share = (x[:, 0] == 2).float().mean()
    assert abs(share - 0.75) < 0.04
    if not replacement:
        assert (x[:, 0] != x[:, 1]).all()
    with pytest.raises(RuntimeError):
        torch.multinomial(weights[:1], 2, replacement=False)


def test_dropout(device: str) -> None:
    x = torch.ones(N, device=device, requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    kept = y.detach().cpu() != 0
    assert abs(kept.float().mean() - 0.75) < 0.01
    assert torch.allclose(y.detach().cpu()[kept], torch.tensor(1 / 0.75))
    y.sum().backward()
    assert torch.equal(x.grad.cpu() != 0, kept)
    assert torch.allclose(x.grad.cpu()[kept], torch.tensor(1 / 0.75))
    assert torch.equal(torch.nn.functional.dropout(x, 0.5, training=False), x)


def test_fork_rng_restores(device: str) -> None:
    torch.manual_seed(3)
    with torch.random.fork_rng(device_type=device):
        inside = torch.rand(4, device=device)
    assert torch.equal(torch.rand(4, device=device).cpu(), inside.cpu())


@pytest.mark.parametrize(
    ("operator", "draw"),
    [
        ("normal_", lambda t: t.normal_()),
        ("uniform_", lambda t: t.uniform_()),
        ("bernoulli_.float", lambda t: t.bernoulli_(0.5)),
        ("random_.from", lambda t: t.random_(0, 10)),
    ],
)
def test_draws_are_native(native, device: str, operator: str, draw) -> None:
    x = torch.empty(16, device=device)
    with native(operator):
        draw(x)


def test_dropout_is_native(native, device: str) -> None:
    x = torch.ones(16, device=device, requires_grad=True)
    with native("native_dropout"):
        torch.nn.functional.dropout(x).sum().backward()


def test_dropout_of_integers_has_floating_gradients(device: str) -> None:
    grad, mask = torch.arange(6), torch.arange(6) % 2 == 0
    backward = torch.ops.aten.native_dropout_backward
    got = backward(grad.to(device), mask.to(device), 2.5)
    expected = backward(grad, mask, 2.5)
    assert got.dtype == expected.dtype
    assert torch.equal(got.cpu(), expected)


def test_dropout_of_bools_leaves_the_mask_alone(device: str) -> None:
    grad = torch.tensor([True, False, True, False])
    mask = torch.tensor([True, True, False, False])
    moved = mask.to(device)
    got = torch.ops.aten.native_dropout_backward(grad.to(device), moved, 2.0)
    assert got.tolist() == [2, 0, 0, 0]
    assert torch.equal(moved.cpu(), mask)


def test_randperm_is_native(native, device: str) -> None:
    with native("randperm.generator_out"):
        torch.randperm(16, device=device)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint_draws_the_same_mask_again(device, use_reentrant):
    x = torch.ones(1000, device=device, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(
        lambda t: torch.nn.functional.dropout(t, 0.5), x, use_reentrant=use_reentrant
    )
    y.sum().backward()
    assert torch.equal(y.detach().cpu(), x.grad.cpu())
