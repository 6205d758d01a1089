# SPDX-License-Identifier: Apache-2.0
"""Which entries are run, and with how many samples."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

from tests.conformance.differential.entry import CHECKS, Entry, Task
from tests.conformance.differential.rules import Rules

# Samples per check of the fixed sample that every test run takes.
_MAIN = {"forward": 3, "backward": 2}
_OTHER = {"forward": 1, "backward": 1}
_MAIN_DTYPE = "float32"
# Dtypes of which every test run takes a part of the entries.
_OTHER_DTYPES = ("bfloat16", "bool", "float16", "float64", "int64")
_PART = 4


def _digest(text: str) -> int:
    return zlib.crc32(text.encode())


def _fixed(entry: Entry) -> Mapping[str, int] | None:
    """Samples per check of an entry in the fixed sample; None leaves it out."""
    if entry.dtype == _MAIN_DTYPE:
        return {check: _MAIN.get(check, 1) for check in CHECKS}
    if entry.dtype in _OTHER_DTYPES and _digest(str(entry)) % _PART == 0:
        return _OTHER
    return None


def fixed(entries: Iterable[Entry], rules: Rules, shard: int, of: int) -> list[Task]:
    """The tasks of every test run: always the same ones, in equal shards."""
    return [
        rules.task(entry, samples)
        for entry in entries
        if _digest(f"{entry.kind} {entry.name}") % of == shard
        and (samples := _fixed(entry)) is not None
    ]


def whole(entries: Iterable[Entry], rules: Rules, samples: int) -> list[Task]:
    """All checks of all entries, with so many samples each; 0 means all."""
    every = dict.fromkeys(CHECKS, samples)
    return [rules.task(entry, every) for entry in entries]
