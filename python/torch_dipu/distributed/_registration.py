# SPDX-License-Identifier: Apache-2.0
"""Tells `torch.distributed` of the backend, when the package is imported.

Note [Process groups of torch.distributed]
PyTorch lets others register backends, but some things it decides by names that it
knows. In the function that makes every group, which is therefore wrapped:
  - a group made without a backend gets ours for the device, but "gloo" as the default
    backend, which DistributedDataParallel then does not find
  - the host's "gloo" takes no device tensors; they are staged through the host
  - "nccl" is refused without CUDA; while the CUDA look-alike is on it means ours
  - the CUDA device type is replaced there, too: "cpu:gloo,cuda:nccl"
In DistributedDataParallel, whose check of hooks is wrapped:
  - the hooks that compress to bfloat16 are refused without CUDA
"""

from __future__ import annotations

import datetime
import functools
import inspect
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

NAMES = ("dicl", "dipuccl")
_DEVICE = "dipu"
# As long as for NCCL in PyTorch.
_NCCL_TIMEOUT = datetime.timedelta(minutes=10)
# Programs ask for it; the first one that has all that ours has.
_NCCL_VERSION = (2, 10, 3)


def _create(settings: Any, options: Any) -> Any:
    from torch_dipu.distributed import _backend

    return _backend.create(settings, options)


def _translated(backend: str) -> str:
    """Our words for what was written for CUDA."""
    pairs = []
    for part in str(backend).split(","):
        device, colon, name = part.rpartition(":")
        if name == "nccl":
            device, name = device.replace("cuda", _DEVICE), NAMES[0]
        pairs.append(f"{device}{colon}{name}")
    return ",".join(pairs)


def _complete(group: Any, backend: str) -> None:
    """Adds what PyTorch leaves out for a device that it does not know."""
    types = {device.type for device in group._device_types}
    if backend == dist.Backend.UNDEFINED and _DEVICE in types:
        group._set_default_backend(dist.ProcessGroup.BackendType.CUSTOM)
    if "cpu" not in types or _DEVICE in types:
        return
    if group._get_backend(torch.device("cpu")).name() == "gloo":
        from torch_dipu.distributed import _backend

        _backend.stage_host_group(group)


def _wrap(make_group: Any, is_cuda: bool) -> Any:
    @functools.wraps(make_group)
    def make(
        group_size: int,
        group_rank: int,
        ranks: Any,
        backend: Any,
        *args: Any,
        **kw: Any,
    ) -> Any:
        wanted = dist.Backend(_translated(backend)) if is_cuda else backend
        made = make_group(group_size, group_rank, ranks, wanted, *args, **kw)
        group, store = made
        if isinstance(group, dist.ProcessGroup):
            _complete(group, str(wanted))
            if str(wanted) != str(backend):
                distributed_c10d._world.pg_map[group] = (backend, store)
        return made

    return make


def _wrap_check(check: Any) -> Any:
    @functools.wraps(check)
    def check_hook(self: Any, hook: Any) -> None:
        if self.device_type == _DEVICE:
            # Under another name than those that only CUDA may use.
            def ours(*args: Any) -> Any:
                return hook(*args)

            ours.__signature__ = inspect.signature(hook)  # type: ignore[attr-defined]
            hook = ours
        check(self, hook)

    return check_hook


def install(is_cuda: bool) -> None:
    """Registers the backend.

    Args:
        is_cuda: Whether "nccl" means ours, as `DIPU_MOCK_CUDA` says.
    """
    if not dist.is_available():
        return
    for name in NAMES:
        dist.Backend.register_backend(
            name, _create, extended_api=True, devices=[_DEVICE]
        )
    module: Any = distributed_c10d
    module._new_process_group_helper = _wrap(module._new_process_group_helper, is_cuda)
    ddp: Any = torch.nn.parallel.DistributedDataParallel
    ddp._check_comm_hook = _wrap_check(ddp._check_comm_hook)
    if is_cuda:
        module.default_pg_nccl_timeout = _NCCL_TIMEOUT
        # Not the module's own: it goes on to classes that are not there.
        dist.is_nccl_available = lambda: True
        torch.cuda.nccl.version = lambda: _NCCL_VERSION
