# SPDX-License-Identifier: Apache-2.0
"""The entries that are known to be native, which must stay so: `native.txt`.

A device that computes everything on the CPU agrees with the CPU, so agreement
alone proves nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tests.conformance.differential.entry import Entry, Result

_HEAD = """\
# Entries that run on the device without any fallback, by dtype, as recorded by
# `./bazelw run //tests/conformance:report -- --record_native FILE`. The tests fail
# when one of them falls back; that more of them are native needs no change here.
"""


def parse(text: str) -> set[Entry]:
    """Reads native.txt: lines of kind, name and dtypes."""
    found = set()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            kind, name, *dtypes = line.split()
            found |= {Entry(kind, name, dtype) for dtype in dtypes}
    return found


def write(results: Iterable[Result]) -> str:
    """The text of native.txt that records `results`."""
    dtypes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in results:
        entry = result.entry
        if result.status == "native":
            dtypes[entry.kind, entry.name].append(entry.dtype)
    lines = [
        " ".join((kind, name, *sorted(names)))
        for (kind, name), names in sorted(dtypes.items())
    ]
    return _HEAD + "\n".join(lines) + "\n"


def fallen(native: set[Entry], results: Iterable[Result]) -> list[str]:
    """What is wrong with results that fall below the floor."""
    return [
        f"{result.entry}: was native and falls back: {', '.join(result.fallback)}"
        for result in results
        if result.entry in native and result.fallback
    ]
