# SPDX-License-Identifier: Apache-2.0
"""Programs that train on several ranks as PyTorch's users do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import ranks
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.nn.parallel import DistributedDataParallel

STEPS = 20


def model(dtype: torch.dtype = torch.float64) -> nn.Sequential:
    """The same small model in every process."""
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4)
    ).to(dtype)


def batch(step: int, rank: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """What a rank learns from in a step."""
    torch.manual_seed(1000 * step + rank)
    return torch.randn(6, 8, dtype=torch.float64).to(dtype)


def loss_of(network: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Something to minimise."""
    return (network(inputs) - inputs[:, :4].sin()).square().mean()


def alone(size: int, steps: int = STEPS) -> list[torch.Tensor]:
    """What one process gives that learns from all ranks' batches, on the CPU."""
    network = model()
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for step in range(steps):
        optimizer.zero_grad()
        inputs = torch.cat([batch(step, rank) for rank in range(size)])
        loss_of(network, inputs).backward()
        optimizer.step()
    return [p.detach() for p in network.parameters()]


def train(network: nn.Module, rank: int, steps: int = STEPS) -> None:
    """The same on a rank, from its own batches."""
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(network, batch(step, rank).to("dipu")).backward()
        optimizer.step()


def check_parameters(got: Iterator[nn.Parameter], size: int) -> None:
    """Compares trained parameters with those of one process."""
    for ours, want in zip(got, alone(size), strict=True):
        torch.testing.assert_close(ours.detach().cpu(), want, rtol=1e-6, atol=1e-9)


def data_parallel(group: ranks.Ranks, backend: str | None, kw: dict[str, Any]) -> Any:
    """DistributedDataParallel gives what one process gives."""
    group.init(backend)
    network = DistributedDataParallel(model().to("dipu"), **kw)
    train(network, group.rank)
    check_parameters(network.parameters(), group.size)
    found = ranks.launches()
    dist.destroy_process_group()
    return found


def with_hook(group: ranks.Ranks, name: str) -> float:
    """A communication hook: trains, and ranks stay equal. Returns the last loss."""
    group.init()
    network = DistributedDataParallel(model(torch.float32).to("dipu"))
    if name == "power_sgd":
        state = power.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=1)
        network.register_comm_hook(state, power.powerSGD_hook)
    else:
        network.register_comm_hook(
            None, getattr(default_hooks, f"{name}_compress_hook")
        )
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(network, batch(0, group.rank, torch.float32).to("dipu"))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0], losses
    check_equal_on_all_ranks(network)
    dist.destroy_process_group()
    return losses[-1]


def check_equal_on_all_ranks(network: nn.Module) -> None:
    """Parameters are the same, bit by bit."""
    for parameter in network.parameters():
        parts = [torch.empty_like(parameter) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, parameter.detach())
        for part in parts[1:]:
            assert torch.equal(part.cpu(), parts[0].cpu())


class _Branches(nn.Module):
    """Uses another part of its parameters in every call."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.parts = nn.ModuleList([nn.Linear(8, 4).double() for _ in range(3)])
        self.calls = 0

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.parts[self.calls % 3](inputs)


def unused_parameters(group: ranks.Ranks) -> None:
    """find_unused_parameters."""
    group.init()
    network = DistributedDataParallel(
        _Branches().to("dipu"), find_unused_parameters=True
    )
    train(network, group.rank, 6)
    check_equal_on_all_ranks(network)
    dist.destroy_process_group()


def sync_batch_norm(group: ranks.Ranks) -> None:
    """SyncBatchNorm normalises by the batches of all ranks."""
    group.init()
    whole = [
        torch.randn(4, 3, 5, 5, generator=torch.manual_seed(r))
        for r in range(group.size)
    ]
    norm = nn.BatchNorm2d(3)
    want = norm(torch.cat(whole))
    synced = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(3)).to("dipu")
    synced = DistributedDataParallel(synced)
    got = synced(whole[group.rank].to("dipu"))
    torch.testing.assert_close(got.cpu(), want[4 * group.rank : 4 * group.rank + 4])
    torch.testing.assert_close(synced.module.running_mean.cpu(), norm.running_mean)
    got.sum().backward()
    dist.destroy_process_group()


def uneven_inputs(group: ranks.Ranks) -> None:
    """join(): ranks with more batches go on while others are done."""
    group.init()
    network = DistributedDataParallel(model().to("dipu"))
    with network.join():
        train(network, group.rank, 3 + 2 * group.rank)
    check_equal_on_all_ranks(network)
    dist.destroy_process_group()


def zero_redundancy(group: ranks.Ranks) -> None:
    """ZeroRedundancyOptimizer gives what one process gives."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    group.init()
    network = DistributedDataParallel(model().to("dipu"))
    optimizer = ZeroRedundancyOptimizer(network.parameters(), torch.optim.Adam, lr=1e-2)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(network, batch(step, group.rank).to("dipu")).backward()
        optimizer.step()
    check_parameters(network.parameters(), group.size)
    dist.destroy_process_group()


def fully_sharded_1(group: ranks.Ranks) -> None:
    """FullyShardedDataParallel gives what one process gives."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    group.init()
    device = torch.device("dipu", torch.dipu.current_device())
    network = FullyShardedDataParallel(model().to(device), device_id=device)
    train(network, group.rank)
    with FullyShardedDataParallel.summon_full_params(network):
        check_parameters(network.parameters(), group.size)
    dist.destroy_process_group()


def fully_sharded_2(group: ranks.Ranks, kw: dict[str, Any]) -> dict[str, int]:
    """fully_shard gives what one process gives."""
    from torch.distributed.fsdp import fully_shard

    group.init()
    network = model().to("dipu")
    for layer in network:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, **kw)
    fully_shard(network, **kw)
    train(network, group.rank)
    check_parameters(
        (p.full_tensor() for p in network.parameters()),  # type: ignore[attr-defined]
        group.size,
    )
    found = ranks.launches()
    dist.destroy_process_group()
    return found


def fully_sharded_mixed(group: ranks.Ranks, offload: bool) -> None:
    """fully_shard in bfloat16, with parameters on the host or not; learns."""
    from torch.distributed.fsdp import (
        CPUOffloadPolicy,
        MixedPrecisionPolicy,
        fully_shard,
    )

    group.init("cpu:gloo,dipu:dicl" if offload else "dicl")
    kw: dict[str, Any] = {
        "mp_policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    }
    if offload:
        kw["offload_policy"] = CPUOffloadPolicy()
    network = model(torch.float32)
    network = network if offload else network.to("dipu")
    fully_shard(network, **kw)
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        inputs = batch(0, group.rank, torch.float32).to("dipu")
        loss = (network(inputs).float() - inputs[:, :4].sin()).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0], losses
    dist.destroy_process_group()


@contextlib.contextmanager
def _mesh(group: ranks.Ranks) -> Iterator[Any]:
    from torch.distributed.device_mesh import init_device_mesh

    group.init()
    yield init_device_mesh("dipu", (group.size,))
    dist.destroy_process_group()


def distributed_tensors(group: ranks.Ranks) -> None:
    """DTensor: distributes, redistributes, computes."""
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

    torch.manual_seed(3)
    whole = torch.randn(4 * group.size, 6)
    with _mesh(group) as mesh:
        rows = distribute_tensor(whole.to("dipu"), mesh, [Shard(0)])
        columns = rows.redistribute(mesh, [Shard(1)])
        assert torch.equal(columns.full_tensor().cpu(), whole)
        replica = columns.redistribute(mesh, [Replicate()])
        assert torch.equal(replica.to_local().cpu(), whole)
        product = rows.t() @ rows
        assert product.placements == (Partial(),)
        torch.testing.assert_close(product.full_tensor().cpu(), whole.t() @ whole)
        scattered = product.redistribute(mesh, [Shard(0)])
        torch.testing.assert_close(scattered.full_tensor().cpu(), whole.t() @ whole)


def tensor_parallel(group: ranks.Ranks) -> None:
    """parallelize_module: the same outputs and gradients as the whole."""
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    inputs = batch(0, 0)
    whole = model()
    want = loss_of(whole, inputs)
    want.backward()
    with _mesh(group) as mesh:
        network = model().to("dipu")
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        network = parallelize_module(network, mesh, plan)
        loss = loss_of(network, inputs.to("dipu"))
        loss.backward()
        torch.testing.assert_close(loss.detach().cpu(), want.detach())
        for ours, reference in zip(
            network.parameters(), whole.parameters(), strict=True
        ):
            grad = ours.grad
            grad = grad.full_tensor() if hasattr(grad, "full_tensor") else grad
            torch.testing.assert_close(grad.cpu(), reference.grad)


def pipeline(group: ranks.Ranks) -> None:
    """A pipeline of two stages gives what the whole gives."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    group.init()
    device = torch.device("dipu", torch.dipu.current_device())
    whole = model()
    own = whole[:2] if group.rank == 0 else whole[2:]
    stage = PipelineStage(own.to(device), group.rank, 2, device)
    schedule = ScheduleGPipe(stage, 3, loss_fn=nn.functional.mse_loss)
    inputs, target = batch(0, 0), batch(1, 0)[:, :4]
    if group.rank == 0:
        schedule.step(inputs.to(device))
    else:
        losses: list[torch.Tensor] = []
        schedule.step(target=target.to(device), losses=losses)
        got = torch.stack(losses).mean().cpu()
    reference = model()
    want = nn.functional.mse_loss(reference(inputs), target)
    want.backward()
    if group.rank == 1:
        torch.testing.assert_close(got.detach(), want.detach())
    half = reference[:2] if group.rank == 0 else reference[2:]
    for ours, theirs in zip(own.parameters(), half.parameters(), strict=True):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad)
    dist.destroy_process_group()


def _functional(inputs: torch.Tensor) -> torch.Tensor:
    import torch.distributed._functional_collectives as funcol

    total = funcol.all_reduce(inputs, "sum", dist.group.WORLD)
    everything = funcol.all_gather_tensor(total * 2, 0, dist.group.WORLD)
    return funcol.reduce_scatter_tensor(everything, "sum", 0, dist.group.WORLD)


def functional(group: ranks.Ranks, compiled: bool) -> None:
    """Functional collectives, as they are and compiled."""
    group.init()
    function: Callable[..., Any] = _functional
    if compiled:
        function = torch.compile(_functional, backend="aot_eager", fullgraph=True)
    inputs = torch.full((4,), float(group.rank + 1), device="dipu")
    total = sum(range(1, group.size + 1))
    want = torch.full((4,), 2.0 * total * group.size)
    torch.testing.assert_close(function(inputs).cpu(), want)
    dist.destroy_process_group()


def save(group: ranks.Ranks, place: str) -> None:
    """Saves a sharded model and its optimizer."""
    import torch.distributed.checkpoint as checkpoint

    group.init("cpu:gloo,dipu:dicl")
    state, network = _sharded_state()
    train(network, group.rank, 3)
    checkpoint.save(state(), checkpoint_id=place)
    torch.save(
        [p.full_tensor().cpu() for p in network.parameters()], f"{place}.{group.rank}"
    )
    dist.destroy_process_group()


def load(group: ranks.Ranks, place: str) -> None:
    """Loads it on any number of ranks."""
    import torch.distributed.checkpoint as checkpoint

    group.init("cpu:gloo,dipu:dicl")
    state, network = _sharded_state()
    loaded = state()
    checkpoint.load(loaded, checkpoint_id=place)
    network.load_state_dict(loaded["model"])
    want = torch.load(f"{place}.0")
    for ours, theirs in zip(network.parameters(), want, strict=True):
        assert torch.equal(ours.full_tensor().cpu(), theirs)
    dist.destroy_process_group()


def _sharded_state() -> tuple[Callable[[], dict[str, Any]], nn.Module]:
    from torch.distributed.fsdp import fully_shard

    network = model().to("dipu")
    fully_shard(network)
    return lambda: {"model": network.state_dict()}, network


def objects(group: ranks.Ranks, backend: str | None) -> None:
    """Collectives of Python objects, and of groups within the group."""
    group.init(backend)
    everything: list[Any] = [None] * group.size
    dist.all_gather_object(everything, {"rank": group.rank})
    assert everything == [{"rank": rank} for rank in range(group.size)]
    sent = [("from", group.rank), 2] if group.rank == 0 else [None, None]
    dist.broadcast_object_list(sent, 0)
    assert sent == [("from", 0), 2]
    evens = dist.new_group(list(range(0, group.size, 2)))
    if group.rank % 2 == 0:
        tensor = torch.ones(2, device="dipu")
        dist.all_reduce(tensor, group=evens)
        assert tensor.tolist() == [(group.size + 1) // 2] * 2
    dist.barrier()
    dist.destroy_process_group()
