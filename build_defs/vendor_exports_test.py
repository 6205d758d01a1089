# SPDX-License-Identifier: Apache-2.0
"""Checks what a vendor's shared objects export, need and where they look.

Runs once per vendor package; dipu_vendor names the files by environment.
"""

import os
import pathlib
import re

import pytest

from build_defs import elf

_DIST = [name for name in os.environ["DIPU_DIST"].split() if ".so" in name]
_PLUGIN = os.environ["DIPU_PLUGIN"]
_OPERATORS = os.environ["DIPU_OPERATORS"].split()

# What every Linux with glibc offers, and libgomp, which torch brings along.
_SYSTEM = re.compile(
    r"(ld-linux-x86-64|libc|libdl|libgcc_s|libgomp|libm|libpthread|librt|libstdc\+\+)"
    r"\.so\.\d+"
)
_TORCH = re.compile(r"lib(torch|c10|python)")
# Weak symbols that gcc's start files leave to the process.
_TOOLCHAIN = {
    "__gmon_start__",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
}
# Runtime functions that the host provides to an operator library.
_DIOPI_HOST = re.compile(r"(_?diopi)[A-Z_]\w*")


def test_plugin_exports_only_the_entry_point() -> None:
    assert elf.read(_PLUGIN).exported == {"dipu_vendor_query"}


def test_plugin_leaves_nothing_undefined() -> None:
    plugin = elf.read(_PLUGIN)
    offered: set[str] = set()
    for path in _DIST:
        if pathlib.Path(path).name in plugin.needed:
            offered |= elf.read(path).exported
    assert plugin.undefined <= offered


def test_plugin_takes_nothing_from_the_process() -> None:
    """A weak symbol would bind to whatever torch or Python happens to export."""
    assert sorted(elf.read(_PLUGIN).weak - _TOOLCHAIN) == []


@pytest.mark.parametrize("path", _OPERATORS)
def test_operator_library_exports_only_diopi(path: str) -> None:
    exported = elf.read(path).exported
    assert exported, f"{path} exports nothing"
    assert sorted(name for name in exported if not name.startswith("diopi")) == []


@pytest.mark.parametrize("path", _OPERATORS)
def test_operator_library_takes_the_runtime_from_the_host(path: str) -> None:
    library = elf.read(path)
    assert not [name for name in library.needed if "diopi_rt" in name]
    offered: set[str] = set()
    for other in _DIST:
        if pathlib.Path(other).name in library.needed:
            offered |= elf.read(other).exported
    open_names = library.undefined - offered
    assert sorted(n for n in open_names if not _DIOPI_HOST.fullmatch(n)) == []


@pytest.mark.parametrize("path", _DIST)
def test_needs_only_the_system_and_its_neighbours(path: str) -> None:
    beside = {pathlib.Path(other).name for other in _DIST}
    needed = elf.read(path).needed
    assert [name for name in needed if _TORCH.match(name)] == []
    others = [name for name in needed if not _SYSTEM.fullmatch(name)]
    assert sorted(set(others) - beside) == []


@pytest.mark.parametrize("path", _DIST)
def test_is_found_by_its_own_name(path: str) -> None:
    assert elf.read(path).soname in ("", pathlib.Path(path).name)


@pytest.mark.parametrize("path", _DIST)
def test_looks_for_libraries_beside_itself_only(path: str) -> None:
    library = elf.read(path)
    assert set(library.runpath) <= {"$ORIGIN"}
    beside = {pathlib.Path(other).name for other in _DIST}
    if beside & set(library.needed):
        assert library.runpath, f"{path} would not find {beside & set(library.needed)}"


@pytest.mark.parametrize("path", _DIST)
def test_wheel_tag_covers_the_glibc_symbols(path: str) -> None:
    tag = os.environ["DIPU_MANYLINUX_TAG"]
    found = re.fullmatch(r"manylinux_(\d+)_(\d+)_x86_64", tag)
    assert found, f"unexpected platform tag {tag}"
    newest = max(elf.read(path).glibc, default=(0, 0))
    assert newest <= (int(found[1]), int(found[2]))
