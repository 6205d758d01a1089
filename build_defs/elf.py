# SPDX-License-Identifier: Apache-2.0
"""Reads what tests ask of a shared object, by way of binutils' readelf."""

import dataclasses
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class SharedObject:
    """The dynamic section and symbols of one file."""

    soname: str
    needed: tuple[str, ...]
    runpath: tuple[str, ...]
    exported: frozenset[str]
    undefined: frozenset[str]
    # Undefined symbols that may stay so; the toolchain adds a few to each file.
    weak: frozenset[str]
    # Versions of symbols taken from glibc, such as (2, 34).
    glibc: frozenset[tuple[int, int]]


def _readelf(path: str, *options: str) -> str:
    command = ["readelf", "--wide", *options, path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _entries(dynamic: str, tag: str) -> list[str]:
    return re.findall(rf"\({tag}\).*\[(.*)\]", dynamic)


def read(path: str) -> SharedObject:
    """Reads a shared object."""
    dynamic = _readelf(path, "--dynamic")
    symbols = _readelf(path, "--dyn-syms")
    exported: set[str] = set()
    undefined: set[str] = set()
    weak: set[str] = set()
    glibc: set[tuple[int, int]] = set()
    for line in symbols.splitlines():
        # Num: Value Size Type Bind Vis Ndx Name@Version
        words = line.split()
        if len(words) < 8 or words[4] not in ("GLOBAL", "WEAK", "UNIQUE"):
            continue
        name, _, version = words[7].partition("@")
        if words[6] != "UND":
            exported.add(name)
        elif not version:
            (undefined if words[4] == "GLOBAL" else weak).add(name)
        if found := re.search(r"GLIBC_(\d+)\.(\d+)", version):
            glibc.add((int(found[1]), int(found[2])))
    paths = _entries(dynamic, "RUNPATH") + _entries(dynamic, "RPATH")
    return SharedObject(
        soname="".join(_entries(dynamic, "SONAME")),
        needed=tuple(_entries(dynamic, "NEEDED")),
        runpath=tuple(part for path in paths for part in path.split(":")),
        exported=frozenset(exported),
        undefined=frozenset(undefined),
        weak=frozenset(weak),
        glibc=frozenset(glibc),
    )
