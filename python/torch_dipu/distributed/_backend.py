# SPDX-License-Identifier: Apache-2.0
"""Makes the process groups that `torch.distributed` asks for."""

from __future__ import annotations

import datetime
import functools
import warnings
from typing import Any

import torch
import torch.distributed as dist

from torch_dipu import _C, _env

_NO_COLLECTIVES = "-"


@functools.cache
def classes() -> Any:
    """The module with the classes, which derive from those of torch.distributed."""
    _C._define_process_group()
    _C._set_flight_recorder_size(_env.DICL_FLIGHT_RECORDER_SIZE.count() or 0)
    return _C


def new_options() -> Any:
    """Options with the values of the environment."""
    options = classes().ProcessGroupOptions()
    options.blocking_wait = _env.DICL_BLOCKING_WAIT.flag()
    options.nan_check = _env.DICL_NAN_CHECK.flag()
    options.timing = _env.DICL_TIMING.flag()
    options.dump_prefix = _env.DICL_FLIGHT_RECORDER_DUMP.text()
    options.heartbeat_limit = datetime.timedelta(
        seconds=_env.DICL_HEARTBEAT_S.seconds()
    )
    return options


def _checked_options(options: Any) -> Any:
    if options is None:
        return new_options()
    if not isinstance(options, classes().ProcessGroupOptions):
        raise TypeError(
            "options of the backend dicl are made by "
            f"torch_dipu.distributed.options(), not {type(options).__name__}"
        )
    return options


def _own_collectives() -> str:
    """Which collectives this process has: the vendor's name, or none."""
    if not _C._has_collectives():
        return _NO_COLLECTIVES
    return str(_C._vendor_info()["name"])


def _all_collectives(store: Any, rank: int, size: int) -> list[str]:
    """The same of all ranks of the group; waits for them."""
    store.set(f"collectives/{rank}", _own_collectives())
    keys = [f"collectives/{other}" for other in range(size)]
    store.wait(keys)
    return [store.get(key).decode() for key in keys]


def _staged(settings: Any, found: list[str]) -> Any:
    """A group whose tensors travel through the host."""
    if settings.group_rank == 0:
        names = ", ".join(
            "no collectives" if name == _NO_COLLECTIVES else name
            for name in sorted(set(found))
        )
        warnings.warn(
            f"the process group {settings.group_id} exchanges device tensors through "
            f"the host, by gloo, because its ranks have the collectives of: {names}. "
            "That is slow; groups of one vendor's devices do not need it",
            RuntimeWarning,
            stacklevel=2,
        )
    host = dist.ProcessGroupGloo(
        dist.PrefixStore("host/", settings.store),
        settings.group_rank,
        settings.group_size,
        timeout=settings.timeout,
    )
    return stage(host)


def stage(host: Any) -> Any:
    """A backend for device tensors that uses the backend `host` of the CPU."""
    return classes().HostStaging(host)


def create(settings: Any, options: Any) -> Any:
    """What `torch.distributed` calls for a group with the backend "dicl".

    Args:
        settings: torch's: store, group_rank, group_size, timeout, group_id and
            global_ranks_in_group.
        options: What the user passed as `pg_options`, or None.
    """
    chosen = _checked_options(options)
    size = settings.group_size
    found = _all_collectives(settings.store, settings.group_rank, size)
    if set(found) != {_own_collectives()} or _NO_COLLECTIVES in found:
        return _staged(settings, found)
    chosen._timeout = settings.timeout
    chosen.global_ranks_in_group = settings.global_ranks_in_group
    chosen.group_name = settings.group_id
    return classes().ProcessGroup(settings.store, settings.group_rank, size, chosen)


def stage_host_group(group: dist.ProcessGroup) -> None:
    """Lets a group that was made for host tensors take device tensors as well."""
    host = group._get_backend(torch.device("cpu"))
    group._register_backend(
        torch.device("dipu"), dist.ProcessGroup.BackendType.CUSTOM, stage(host)
    )
