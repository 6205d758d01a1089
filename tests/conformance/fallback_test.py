# SPDX-License-Identifier: Apache-2.0
"""Operators that are computed on the CPU behave as on the device.

`scaled` and `noisy` are operators that only the CPU has, so they fall back on every
vendor; so do the others below, which have no DIOPI function. Where one gets one,
choose another.
"""

from __future__ import annotations

import pathlib
import struct
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch_dipu
from torch import nn

_LIBRARY = torch.library.Library("dipu_fallback", "DEF")
_LIBRARY.define("scaled(Tensor x) -> Tensor")
_LIBRARY.define("scaled_(Tensor(a!) x) -> Tensor(a!)")
_LIBRARY.define("scaled.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
_LIBRARY.impl("scaled", lambda x: x * 3, "CPU")
_LIBRARY.impl("scaled_", lambda x: x.mul_(3), "CPU")
_LIBRARY.impl("scaled.out", lambda x, *, out: torch.mul(x, 3, out=out), "CPU")
_LIBRARY.define(
    "noisy(Tensor x, *, Generator? generator=None) -> Tensor",
    tags=(torch.Tag.nondeterministic_seeded,),
)
_LIBRARY.impl(
    "noisy",
    lambda x, *, generator=None: torch.empty_like(x).cauchy_(generator=generator),
    "CPU",
)
noisy = torch.ops.dipu_fallback.noisy
scaled = torch.ops.dipu_fallback.scaled
scaled_ = torch.ops.dipu_fallback.scaled_
_COUNTER = "fallback.dipu_fallback::scaled"


def test_it_is_counted_and_correct(falls_back, device: str) -> None:
    x = torch.rand(3, 4) + 0.5
    with falls_back("dipu_fallback::scaled"):
        y = scaled(x.to(device))
    assert y.device.type == device
    assert torch.equal(y.cpu(), scaled(x))


def test_counters_only_grow(device: str) -> None:
    x = torch.rand(3).to(device)
    scaled(x)
    first = torch_dipu.op_counters()[_COUNTER]
    scaled(x)
    assert torch_dipu.op_counters()[_COUNTER] == first + 1


def test_batch_norm_statistics_are_updated(device: str) -> None:
    """Trap: running statistics are written though the schema does not say so."""
    x = torch.randn(8, 3, 4, 4)
    mean, var = torch.zeros(3), torch.ones(3)
    there = mean.to(device), var.to(device)
    torch.batch_norm_update_stats(x, mean, var, 0.1)
    torch.batch_norm_update_stats(x.to(device), *there, 0.1)
    assert torch.allclose(there[0].cpu(), mean)
    assert torch.allclose(there[1].cpu(), var)
    assert not torch.equal(mean, torch.zeros(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batch_norm_module_updates_its_statistics(
    device: str, dtype: torch.dtype
) -> None:
    x = torch.randn(8, 3, 4, 4, dtype=dtype)
    cpu = nn.BatchNorm2d(3, dtype=dtype)
    there = nn.BatchNorm2d(3, dtype=dtype).to(device)
    assert torch.allclose(there(x.to(device)).cpu(), cpu(x), atol=1e-5)
    assert torch.allclose(there.running_mean.cpu(), cpu.running_mean, atol=1e-6)
    assert torch.allclose(there.running_var.cpu(), cpu.running_var, atol=1e-5)
    assert there.num_batches_tracked.item() == 1


def test_instance_norm_statistics_are_updated(device: str) -> None:
    x = torch.randn(4, 3, 5, 5)
    cpu = nn.InstanceNorm2d(3, track_running_stats=True)
    there = nn.InstanceNorm2d(3, track_running_stats=True).to(device)
    cpu(x)
    there(x.to(device))
    assert torch.allclose(there.running_mean.cpu(), cpu.running_mean, atol=1e-6)
    assert torch.allclose(there.running_var.cpu(), cpu.running_var, atol=1e-5)


@pytest.mark.parametrize("strided", [False, True])
def test_in_place_writes_to_the_same_memory(device: str, strided: bool) -> None:
    host = torch.rand(4, 6) + 0.5
    base = host.to(device)
    x = base[:, 1::2] if strided else base
    address = x.data_ptr()
    assert scaled_(x) is x
    assert x.data_ptr() == address
    scaled_(host[:, 1::2] if strided else host)
    assert torch.equal(base.cpu(), host)


def test_out_argument_is_written_and_resized(device: str) -> None:
    x = (torch.rand(5) + 0.5).to(device)
    out = torch.zeros(5, device=device)
    assert scaled.out(x, out=out) is out
    assert torch.equal(out.cpu(), scaled(x.cpu()))
    empty = torch.empty(0, device=device)
    scaled.out(x, out=empty)
    assert torch.equal(empty.cpu(), out.cpu())


def test_arguments_that_share_memory(device: str) -> None:
    host = torch.rand(6) + 0.5
    there = host.to(device)
    scaled.out(there[:3], out=there[3:])
    scaled.out(host[:3], out=host[3:])
    assert torch.equal(there.cpu(), host)


def test_strides_of_results_are_those_of_the_cpu(device: str) -> None:
    x = (torch.rand(3, 4) + 0.5).t()
    assert scaled(x.to(device)).stride() == scaled(x).stride()


def test_lists_of_tensors(device: str) -> None:
    parts = [torch.rand(2, 2), torch.rand(3, 3)]
    there = torch.block_diag(*[p.to(device) for p in parts])
    assert torch.equal(there.cpu(), torch.block_diag(*parts))
    indices = (torch.tensor([0, 2]), None)
    x = torch.rand(3, 4)
    moved = (indices[0].to(device), None)
    got = torch.ops.aten._unsafe_index.Tensor(x.to(device), moved)
    assert torch.equal(got.cpu(), torch.ops.aten._unsafe_index.Tensor(x, indices))


def test_results_that_are_no_tensors(device: str) -> None:
    q, r = torch.linalg.qr(torch.eye(3, device=device))
    assert torch.equal((q @ r).cpu(), torch.eye(3))
    assert torch.histc(torch.ones(4, device=device), 2, 0, 2).device.type == device


def test_random_fallback_follows_the_device_seed(falls_back, device: str) -> None:
    """Trap: a fallback drew from the CPU's generator and ignored the device's."""
    cpu_state = torch.get_rng_state()

    def draw() -> torch.Tensor:
        return noisy(torch.empty(64, device=device)).cpu()

    with falls_back("dipu_fallback::noisy"):
        torch.manual_seed(5)
        first, second = draw(), draw()
        torch.manual_seed(5)
        assert torch.equal(draw(), first)
    assert not torch.equal(first, second)
    torch.set_rng_state(cpu_state)
    draw()
    assert torch.equal(torch.get_rng_state(), cpu_state)


def test_random_fallback_takes_a_device_generator(device: str) -> None:
    """Trap: "Expected a 'cpu' device type for generator"."""
    generator = torch.Generator(device).manual_seed(3)
    x = noisy(torch.empty(8, device=device), generator=generator)
    generator.manual_seed(3)
    y = noisy(torch.empty(8, device=device), generator=generator)
    assert torch.equal(x.cpu(), y.cpu())


def test_random_fallback_without_generator_argument(device: str) -> None:
    rates = torch.full((100,), 2.0).to(device)

    def draw() -> torch.Tensor:
        torch.manual_seed(1)
        cpu_state = torch.get_rng_state()
        drawn = torch.rrelu(rates, 0.1, 0.3, training=True) + torch.poisson(rates)
        assert torch.equal(torch.get_rng_state(), cpu_state)
        return drawn.cpu()

    assert torch.equal(draw(), draw())


def test_factory_with_a_device_argument(
    falls_back, device: str, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "numbers"
    file.write_bytes(struct.pack("4f", 1, 2, 3, 4))
    with falls_back("from_file"):
        there = torch.from_file(str(file), size=4, device=device)
    assert there.device.type == device
    assert there.cpu().tolist() == [1, 2, 3, 4]


def test_zero_elements(device: str) -> None:
    assert scaled(torch.empty(0, 3, device=device)).shape == (0, 3)


def test_autograd_through_a_fallback(device: str) -> None:
    x = torch.rand(4, 4, requires_grad=True)
    y = x.detach().to(device).requires_grad_()
    torch.linalg.matrix_exp(x).sum().backward()
    torch.linalg.matrix_exp(y).sum().backward()
    assert torch.allclose(y.grad.cpu(), x.grad)


def test_host_tensors_do_not_join(device: str) -> None:
    """What a fallback reads on the CPU must have come from the device."""
    a, b = torch.ones(2, device=device), torch.ones(2)
    for arguments in ((a, b), (b, a)):
        with pytest.raises(RuntimeError, match=r"same device, but found .*dipu:0"):
            torch.polar(*arguments)
    with pytest.raises(RuntimeError, match=r"same device, but found .*dipu:0"):
        torch.polar(a, a, out=torch.zeros(2, dtype=torch.complex64))
    assert torch.polar(a, a).device.type == device
    assert torch.polar(a, torch.tensor(0.0)).cpu().tolist() == [1, 1]


def test_devices_are_not_mixed(device: str, second_device: torch.device) -> None:
    a = torch.ones(2, device=device)
    with pytest.raises(RuntimeError, match="same device"):
        torch.polar(a, torch.ones(2, device=second_device))
    with pytest.raises(RuntimeError, match="same device"):
        torch.hypot(a, torch.ones(2))
    assert torch.hypot(a * 3, torch.tensor(4.0)).cpu().tolist() == [5.0, 5.0]


def test_operator_without_any_kernel_is_named(device: str) -> None:
    library = torch.library.Library("dipu_conformance", "FRAGMENT")
    library.define("nowhere(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="nowhere"):
        torch.ops.dipu_conformance.nowhere(torch.ones(1, device=device))


def test_custom_operator_for_the_cpu_falls_back(falls_back, device: str) -> None:
    library = torch.library.Library("dipu_conformance", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    with falls_back("dipu_conformance::twice"):
        y = torch.ops.dipu_conformance.twice(torch.ones(2, device=device))
    assert y.device.type == device
    assert y.cpu().tolist() == [2.0, 2.0]


def test_a_result_that_is_a_view_aliases(device: str) -> None:
    """Trap: the fallback of a view operator silently copies."""
    library = torch.library.Library("dipu_conformance", "FRAGMENT")
    library.define("second(Tensor(a) x) -> Tensor(a)")
    library.impl("second", lambda x: x.t()[1], "CPU")
    x = torch.zeros(2, 3, device=device)[:, 1:]
    with torch.no_grad():
        second = torch.ops.dipu_conformance.second(x)
        second.fill_(1)
    assert x.cpu().tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_sparse_tensors_are_refused_clearly(device: str) -> None:
    index = torch.zeros(1, 1, dtype=torch.int64, device=device)
    with pytest.raises(NotImplementedError, match="dense"):
        torch.sparse_coo_tensor(index, torch.ones(1, device=device), (2,))
    with pytest.raises(NotImplementedError, match=r"sparse|Sparse|layout"):
        torch.eye(2, device=device).to_sparse()


def test_it_warns_once_per_operator(fallback_mode, device: str) -> None:
    x = torch.rand(3, 3).to(device)
    fallback_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.geqrf(x)
        torch.geqrf(x)
    texts = [str(w.message) for w in caught if "geqrf" in str(w.message)]
    assert len(texts) == 1
    assert "CPU" in texts[0]


def test_it_can_be_forbidden(fallback_mode, device: str) -> None:
    x = torch.rand(3).to(device)
    fallback_mode("error")
    with pytest.raises(NotImplementedError, match=r"scaled.*DIPU_FALLBACK"):
        scaled(x)
    fallback_mode("silent")
    scaled(x)


def test_draws_of_several_threads_leave_the_cpu_generator_alone(device: str) -> None:
    """Each of them lends the CPU's default generator the device's state."""
    x = torch.zeros(1000, device=device)
    seeded = torch.Tag.nondeterministic_seeded
    with torch.library._scoped_library("dipu_fallback_test", "FRAGMENT") as library:
        library.define("draw(Tensor x) -> Tensor", tags=(seeded,))
        library.impl("draw", torch.rand_like, "CPU")
        state = torch.get_rng_state()
        with ThreadPoolExecutor(4) as pool:
            draw = torch.ops.dipu_fallback_test.draw
            drawn = list(pool.map(lambda _: draw(x).cpu(), range(400)))
    assert torch.equal(torch.get_rng_state(), state)
    assert len({y[0].item() for y in drawn}) > 390
