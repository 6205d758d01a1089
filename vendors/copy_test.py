# SPDX-License-Identifier: Apache-2.0
"""The skeleton, copied as the page says, is a vendor of another name."""

import ctypes
import pathlib
import re
import shutil
import subprocess

_VENDORS = pathlib.Path("vendors")
_STAYS = {"NULL", "nullptr"}


class _Vendor(ctypes.Structure):
    """The first fields of dipu_vendor."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("abi_version", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("display_name", ctypes.c_char_p),
    )


def _recipe(name: str) -> str:
    """The commands of the page's first step."""
    page = (_VENDORS / "README.md").read_text()
    step = page[page.index("\n1. ") : page.index("\n2. ")]
    commands = re.findall(r"^ {7}(.+)$", step, re.MULTILINE)
    return "\n".join(commands).replace("<name>", name)


def _copy(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Follows the page in a tree that holds nothing but the skeleton."""
    shutil.copytree(_VENDORS / "null", folder / "vendors" / "null")
    subprocess.run(["bash", "-ec", _recipe(name)], cwd=folder, check=True)
    return folder / "vendors" / name


def test_copy_keeps_nothing_of_the_old_name(tmp_path: pathlib.Path) -> None:
    files = [path for path in _copy(tmp_path, "example").rglob("*") if path.is_file()]
    assert {"BUILD.bazel", "README.md", "plugin.cc"} <= {path.name for path in files}
    for path in files:
        assert "null" not in path.name
        words = set(re.findall(r"(?i)\w*null\w*", path.read_text()))
        assert words <= _STAYS, path


def test_copy_builds_and_answers(tmp_path: pathlib.Path) -> None:
    sources = sorted(map(str, _copy(tmp_path, "example").glob("*.cc")))
    library = tmp_path / "libdipu_example.so"
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    command += [f"-I{tmp_path}", "-I.", *sources, "core/plugin_kit/error.cc"]
    subprocess.run([*command, "-Wl,-z,defs", "-o", str(library)], check=True)

    query = ctypes.CDLL(str(library)).dipu_vendor_query
    query.restype = ctypes.POINTER(_Vendor)
    query.argtypes = [ctypes.c_uint32]
    vendor = query(1 << 16).contents
    assert vendor.name == b"example"
    assert vendor.display_name.startswith(b"example ")
    assert not query(2 << 16), "a host of another major version is declined"
