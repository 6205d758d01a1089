# SPDX-License-Identifier: Apache-2.0
"""Collectives of the device: the backend "dicl" of `torch.distributed`.

`torch.distributed.init_process_group()` finds it by itself; see
docs/distributed.md.
"""

from __future__ import annotations

import os
import pickle
from typing import Any

import torch

from torch_dipu import _C

__all__ = ["dump_flight_records", "flight_records", "options"]


def options() -> Any:
    """Options of a new group, as the environment has them.

    Pass them as `pg_options` of `init_process_group` or `new_group`. Attributes:
    `is_high_priority_stream`, `blocking_wait`, `nan_check`, `timing`, `dump_prefix`
    and `heartbeat_limit`; docs/distributed.md says what they mean.
    """
    from torch_dipu.distributed import _backend

    return _backend.new_options()


def flight_records() -> dict[str, Any]:
    """The last operations of all groups of this process.

    Returns:
        What PyTorch's flight recorder holds: "entries", "pg_config", "pg_status" and
        "version".
    """
    records: dict[str, Any] = pickle.loads(_C._dump_flight_records())
    return records


def dump_flight_records(prefix: str | os.PathLike[str]) -> str:
    """Writes the records to a file that PyTorch's analyser reads.

    Args:
        prefix: Path of the file, to which the rank is appended. All ranks use the same
            one: `python -m torch.distributed.flight_recorder.fr_trace FOLDER`.

    Returns:
        The path of the file.
    """
    path = f"{os.fspath(prefix)}{torch.distributed.get_rank()}"
    with open(path, "wb") as file:
        file.write(_C._dump_flight_records())
    return path
