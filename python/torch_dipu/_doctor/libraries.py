# SPDX-License-Identifier: Apache-2.0
"""Which libraries a shared object lacks, and where the system looks for them."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
from collections.abc import Iterable, Mapping

_LIMIT_S = 20.0
_FIND = re.compile(r"find library=(\S+)")
_PATH = re.compile(r"search (?:path|cache)=(\S*)\s*(?:\((.*)\))?")
_VARIANT = re.compile(r"(/glibc-hwcaps/[^/]+|(/tls|/x86_64|/aarch64|/atomics)+)$")
_ABSENT = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


def _dynamic_linker() -> str:
    """The linker of this process; "" when it has none that we know."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")[2]
        if re.match(r"ld-.*\.so", os.path.basename(path)):
            return "/" + path
    return ""


def _folders(paths: str) -> list[str]:
    """Folders of a search path, without their variants for kinds of processors."""
    folders = paths.split(":")
    plain = set(folders)
    return [f for f in folders if f and _VARIANT.sub("", f) not in plain - {f}]


def _searched(log: str) -> dict[str, list[str]]:
    """Where the linker looked for each library, from its log."""
    places: dict[str, list[str]] = {}
    library = ""
    for line in log.splitlines():
        if found := _FIND.search(line):
            library = found[1]
        elif found := _PATH.search(line):
            origin = f" ({found[2]})" if found[2] else ""
            seen = places.setdefault(library, [])
            new = [folder + origin for folder in _folders(found[1])]
            seen += [place for place in new if place not in seen]
    return places


def missing(
    path: str, environ: Mapping[str, str], provided: Iterable[str] = ()
) -> dict[str, list[str]]:
    """Libraries that the file at `path` needs and the system does not find.

    Runs none of its code.

    Args:
        path: The shared object.
        environ: The environment in which it is to be opened.
        provided: Libraries that the process has by then, wherever they are.

    Returns:
        Each of them with the places that were searched; empty when nothing can be
        told of the file.
    """
    linker = _dynamic_linker()
    if not linker:
        return {}
    try:
        done = subprocess.run(
            [linker, path],
            env={**environ, "LD_TRACE_LOADED_OBJECTS": "1", "LD_DEBUG": "libs"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    places = _searched(done.stderr.decode(errors="replace"))
    absent = _ABSENT.findall(done.stdout.decode(errors="replace"))
    have = set(provided)
    return {name: places.get(name, []) for name in absent if name not in have}


def details(lacking: Mapping[str, Iterable[str]]) -> list[str]:
    """What `missing` returns, as lines of a finding."""
    lines = []
    for name, places in sorted(lacking.items()):
        lines.append(f"missing: {name}, searched in")
        lines += [f"    {place}" for place in places]
    return lines
