# SPDX-License-Identifier: Apache-2.0
"""A fixed sample of PyTorch's databases: the device agrees with the CPU.

Every shard runs its part in processes of its own, so that a crash is one failure.
`./bazelw run //tests/conformance:report` runs everything.
"""

from __future__ import annotations

import os

import pytest

from tests.conformance.differential import floor, plan, rules, session
from tests.conformance.differential.entry import Entry, Result


@pytest.fixture(scope="module")
def server() -> session.Session:
    return session.Session()


@pytest.fixture(scope="module")
def entries(server: session.Session) -> list[Entry]:
    return [entry for entry, _ in server.entries()]


@pytest.fixture(scope="module")
def results(server: session.Session, entries: list[Entry]) -> list[Result]:
    shard = int(os.environ.get("TEST_SHARD_INDEX", "0"))
    shards = int(os.environ.get("TEST_TOTAL_SHARDS", "1"))
    return list(server.run(plan.fixed(entries, session.exceptions(), shard, shards)))


def test_entries_agree_with_the_cpu(results: list[Result]) -> None:
    exceptions = session.exceptions()
    problems = [p for r in results for p in exceptions.judge(r, thorough=False)]
    assert not problems, "\n".join(problems)


def test_native_entries_stay_native(results: list[Result]) -> None:
    fallen = floor.fallen(session.native_floor(), results)
    assert not fallen, "\n".join(fallen)


def test_exceptions_name_entries(entries: list[Entry]) -> None:
    unknown = rules.unmatched(session.exceptions(), entries)
    assert not unknown, "\n".join(unknown)
