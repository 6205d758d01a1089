# SPDX-License-Identifier: Apache-2.0
"""A copy of the skeleton under another name is a vendor library."""

import ctypes
import pathlib
import re
import subprocess

_SKELETON = pathlib.Path("vendors/null")


class _Vendor(ctypes.Structure):
    """The first fields of dipu_vendor."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("abi_version", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
    )


def _copy(folder: pathlib.Path, name: str) -> list[str]:
    """Renames as vendors/README.md says; returns the sources."""
    target = folder / "vendors" / name
    target.mkdir(parents=True)
    for path in (_SKELETON / n for n in ("plugin.cc", "runtime.cc", "runtime.h")):
        text = re.sub(r"(\b|_)null\b", rf"\1{name}", path.read_text())
        (target / path.name).write_text(text)
    return [str(path) for path in sorted(target.glob("*.cc"))]


def test_copy_builds_and_answers(tmp_path: pathlib.Path) -> None:
    sources = _copy(tmp_path, "example")
    library = tmp_path / "libdipu_example.so"
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    command += [f"-I{tmp_path}", "-I.", *sources, "core/plugin_kit/error.cc"]
    subprocess.run([*command, "-Wl,-z,defs", "-o", str(library)], check=True)

    query = ctypes.CDLL(str(library)).dipu_vendor_query
    query.restype = ctypes.POINTER(_Vendor)
    query.argtypes = [ctypes.c_uint32]
    assert query(1 << 16).contents.name == b"example"
    assert not query(2 << 16), "a host of another major version is declined"
