# SPDX-License-Identifier: Apache-2.0
"""PyTorch's ways to train on several devices, against one process or the CPU."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import ranks

COUNT = {"SOFTDEVICE_COUNTERS": "1"}
P = "training_programs:"


def _ran(found: list[dict[str, int]], *names: str) -> None:
    """The vendor's collectives took part on every rank."""
    for counts in found:
        assert set(names) <= set(counts)


@pytest.mark.parametrize(
    "backend", ["dicl", "dipuccl", None, "cpu:gloo,dipu:dicl", "nccl"]
)
def test_data_parallel(backend: str | None, tmp_path: pathlib.Path) -> None:
    found = ranks.run(P + "data_parallel", 2, tmp_path, backend, {}, env=COUNT)
    # float64 is composed of messages.
    _ran(found, "Broadcast", "AllGather", "Send")


@pytest.mark.parametrize(
    "kw",
    [
        {"bucket_cap_mb": 0.001},
        {"gradient_as_bucket_view": True},
        {"static_graph": True},
    ],
    ids=lambda kw: next(iter(kw)),
)
def test_data_parallel_settings(kw: dict[str, Any], tmp_path: pathlib.Path) -> None:
    ranks.run(P + "data_parallel", 2, tmp_path, "dicl", kw)


def test_data_parallel_on_4_ranks(tmp_path: pathlib.Path) -> None:
    ranks.run(P + "data_parallel", 4, tmp_path, "dicl", {})


def test_data_parallel_through_the_host(tmp_path: pathlib.Path) -> None:
    found = ranks.run(P + "data_parallel", 2, tmp_path, "gloo", {}, env=COUNT)
    for counts in found:
        assert "Send" not in counts


@pytest.mark.parametrize("hook", ["fp16", "bf16", "power_sgd"])
def test_communication_hooks(hook: str, tmp_path: pathlib.Path) -> None:
    ranks.run(P + "with_hook", 2, tmp_path, hook)


@pytest.mark.parametrize(
    "program",
    [
        "unused_parameters",
        "sync_batch_norm",
        "uneven_inputs",
        "zero_redundancy",
        "fully_sharded_1",
        "distributed_tensors",
        "tensor_parallel",
        "pipeline",
    ],
)
def test_program(program: str, tmp_path: pathlib.Path) -> None:
    ranks.run(P + program, 2, tmp_path)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("kw", [{}, {"reshard_after_forward": False}], ids=["", "kept"])
def test_fully_sharded(size: int, kw: dict[str, Any], tmp_path: pathlib.Path) -> None:
    found = ranks.run(P + "fully_sharded_2", size, tmp_path, kw, env=COUNT)
    _ran(found, "AllGather")


@pytest.mark.parametrize("offload", [False, True])
def test_fully_sharded_mixed(offload: bool, tmp_path: pathlib.Path) -> None:
    ranks.run(P + "fully_sharded_mixed", 2, tmp_path, offload)


@pytest.mark.parametrize("compiled", [False, True])
def test_functional_collectives(compiled: bool, tmp_path: pathlib.Path) -> None:
    ranks.run(P + "functional", 2, tmp_path, compiled)


def test_checkpoint_of_2_ranks_on_1_and_4(tmp_path: pathlib.Path) -> None:
    place = str(tmp_path / "checkpoint")
    ranks.run(P + "save", 2, tmp_path / "save", place)
    for size in (1, 4):
        ranks.run(P + "load", size, tmp_path / f"load{size}", place)


@pytest.mark.parametrize("backend", ["dicl", None, "cpu:gloo,dipu:dicl", "gloo"])
def test_objects_and_subgroups(backend: str | None, tmp_path: pathlib.Path) -> None:
    ranks.run(P + "objects", 3, tmp_path, backend)
