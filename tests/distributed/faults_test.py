# SPDX-License-Identifier: Apache-2.0
"""One rank fails: every other one raises who, what and why, and soon."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
from collections.abc import Iterator

import fault_programs as programs
import pytest
import ranks

P = "fault_programs:"
SIZE = 3
LIMIT_S = programs.TIMEOUT_S + 5
NAN = {"DICL_NAN_CHECK": "1"}

Row = tuple[str, int, str, float]


@pytest.fixture(scope="module")
def table() -> Iterator[list[Row]]:
    """What survivors raised; printed when all tests of the module are done."""
    rows: list[Row] = []
    yield rows
    print("\n| fault | rank | after | raised |\n|---|---|---|---|")
    for name, rank, text, seconds in rows:
        print(f"| {name} | {rank} | {seconds:.1f} s | {text.splitlines()[0]} |")


def _check(name: str, rank: int, raised: programs.Raised, table: list[Row]) -> str:
    """Says what a failure of a group has to say; returns the text."""
    kind, text, seconds = raised
    table.append((name, rank, text, seconds))
    assert kind == "DistBackendError", text
    assert f"rank {rank} of {SIZE}" in text
    assert "process group" in text
    assert seconds < LIMIT_S, text
    return text


@pytest.mark.parametrize("name", programs.FAULTS)
def test_fault(name: str, table: list[Row], tmp_path: pathlib.Path) -> None:
    env = NAN if name == "nan" else {}
    outcomes = ranks.launch(P + "fault", SIZE, tmp_path, name, env=env)
    told = ""
    for rank, outcome in enumerate(outcomes):
        if rank == programs.CULPRIT:
            continue
        assert not outcome.error, outcome.error
        assert outcome.status == 0, outcome.log
        told += _check(name, rank, outcome.value, table)
    # Operation and sequence number of the one that failed, or was not finished.
    assert "all_reduce #" in told
    if name in programs.SILENT:
        assert "its timeout is 3000 ms" in told
        assert "Positions of the ranks" in told
    if name == "nan":
        assert "NaN" in told
    if name == "aborts":
        assert f"rank {programs.CULPRIT} of {SIZE}" in told
        assert "its process aborted it" in told


def test_slow_rank_is_waited_for(tmp_path: pathlib.Path) -> None:
    assert ranks.run(P + "slow", SIZE, tmp_path) == [8.0 * SIZE] * SIZE


def test_rank_that_never_joins_is_named(
    table: list[Row], tmp_path: pathlib.Path
) -> None:
    found = ranks.run(P + "never_joins", SIZE, tmp_path)
    for rank in (0, 2):
        kind, text, seconds = found[rank]
        table.append(("never_joins", rank, text, seconds))
        assert kind == "DistBackendError"
        assert f"ranks {programs.CULPRIT} of {SIZE}" in text
        assert seconds < LIMIT_S


def test_store_gone(table: list[Row], tmp_path: pathlib.Path) -> None:
    outcomes = ranks.launch(P + "store_gone", SIZE, tmp_path)
    for rank in (0, 2):
        assert not outcomes[rank].error, outcomes[rank].error
        _check("store_gone", rank, outcomes[rank].value, table)


def test_new_group_after_failure(table: list[Row], tmp_path: pathlib.Path) -> None:
    for rank, (raised, total) in enumerate(ranks.run(P + "again", SIZE, tmp_path)):
        _check("again", rank, raised, table)
        assert total == 8.0 * SIZE


def test_blocking_wait_raises(table: list[Row], tmp_path: pathlib.Path) -> None:
    env = {"DICL_BLOCKING_WAIT": "1"}
    found = ranks.run(P + "blocking", SIZE, tmp_path, env=env)
    for rank in (0, 2):
        assert "all_reduce #2" in _check("blocking", rank, found[rank], table)


def test_wait_with_a_timeout(tmp_path: pathlib.Path) -> None:
    found = ranks.run(P + "explicit_timeout", SIZE, tmp_path)
    for rank in (0, 2):
        assert "waited 300 ms for all_reduce #2 of Float[4]" in found[rank]


def test_monitored_barrier_names_who_is_missing(tmp_path: pathlib.Path) -> None:
    found = ranks.run(P + "barrier", SIZE, tmp_path)
    for rank in (0, 2):
        assert f"ranks {programs.CULPRIT} of {SIZE}" in found[rank]


def test_flight_recorder(tmp_path: pathlib.Path) -> None:
    prefix = tmp_path / "traces"
    prefix.mkdir()
    env = {"DICL_FLIGHT_RECORDER_DUMP": f"{prefix}/failed_"}
    for found in ranks.run(P + "records", SIZE, tmp_path / "run", str(prefix), env=env):
        names = [entry["profiling_name"] for entry in found["entries"]]
        assert names[:2] == ["nccl:all_reduce", "nccl:broadcast"]
        assert found["entries"][0]["input_sizes"] == [[64]]
        assert found["entries"][0]["state"] == "completed"
        assert found["entries"][-1]["state"] == "scheduled"
    for rank in range(SIZE):
        dumped = pickle.loads((prefix / f"failed_{rank}").read_bytes())
        assert dumped["version"] == "2.10"
        (prefix / f"failed_{rank}").rename(tmp_path / f"failed_{rank}")
    analyser = "torch.distributed.flight_recorder.fr_trace"
    database = tmp_path / "database"
    command = [sys.executable, "-m", analyser, str(prefix), "-o", str(database)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    _, found = pickle.loads(database.read_bytes())
    names = [collective.collective_name for collective in found.collectives]
    assert names == ["nccl:all_reduce", "nccl:broadcast"]
    assert all(collective.pass_check for collective in found.collectives)


def test_end_without_destroying(tmp_path: pathlib.Path) -> None:
    ranks.run(P + "leaves", SIZE, tmp_path, limit_s=60)


def test_fork(tmp_path: pathlib.Path) -> None:
    assert ranks.run(P + "forks", 2, tmp_path) == [0, 0]
