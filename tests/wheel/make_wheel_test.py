# SPDX-License-Identifier: Apache-2.0
"""Tests of the tool that writes wheels."""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import stat
import subprocess
import sys
import zipfile
from typing import Any

import pytest

from build_defs import make_wheel

_INFO = "torch_dipu_x-1.2.dist-info"


def _spec(folder: pathlib.Path, **changes: Any) -> dict[str, Any]:
    """A description of a wheel with a library, a module and a licence."""
    sources = {"libx.so": b"\x7fELF" * 1000, "__init__.py": b"x = 1\n", "LICENSE": b"L"}
    for name, data in sources.items():
        (folder / name).write_bytes(data)
    spec = {
        "distribution": "torch-dipu-x",
        "version": "1.2",
        "tag": "py3-none-manylinux_2_36_x86_64",
        "summary": "a device",
        "readme": "",
        "license_expression": "Apache-2.0",
        "requires": ["rich >=13"],
        "requires_python": ">=3.10",
        "entry_points": {"torch_dipu.vendors": ["x = torch_dipu_x:library_path"]},
        "files": [
            ["torch_dipu_x/libx.so", str(folder / "libx.so")],
            ["torch_dipu_x/__init__.py", str(folder / "__init__.py")],
        ],
        "licenses": [["LICENSE", str(folder / "LICENSE")]],
    }
    return {**spec, **changes}


def _build(spec: dict[str, Any], out: pathlib.Path) -> bytes:
    """Runs the tool in a process of its own."""
    description = out.with_suffix(".json")
    description.write_text(json.dumps(spec))
    command = [sys.executable, make_wheel.__file__, str(description), str(out)]
    subprocess.run(command, check=True)
    return out.read_bytes()


def test_equal_inputs_give_equal_bytes(tmp_path: pathlib.Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    first = _spec(one)
    second = _spec(two, files=list(reversed(_spec(two)["files"])))
    for age, path in enumerate(two.iterdir()):
        os.utime(path, (age, age))
        path.chmod(0o600)
    assert _build(first, one / "a.whl") == _build(second, two / "b.whl")


def test_record_lists_every_file_with_its_hash(tmp_path: pathlib.Path) -> None:
    _build(_spec(tmp_path), tmp_path / "x.whl")
    with zipfile.ZipFile(tmp_path / "x.whl") as wheel:
        record = wheel.read(f"{_INFO}/RECORD").decode()
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(record))}
        assert sorted(rows) == sorted(wheel.namelist())
        for name, (digest, size) in rows.items():
            if name.endswith("RECORD"):
                continue
            data = wheel.read(name)
            sha = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            assert digest == "sha256=" + sha.decode().rstrip("=")
            assert int(size) == len(data)


def test_metadata_names_licence_and_requirements(tmp_path: pathlib.Path) -> None:
    _build(_spec(tmp_path), tmp_path / "x.whl")
    with zipfile.ZipFile(tmp_path / "x.whl") as wheel:
        lines = wheel.read(f"{_INFO}/METADATA").decode().splitlines()
        assert wheel.read(f"{_INFO}/licenses/LICENSE") == b"L"
        points = wheel.read(f"{_INFO}/entry_points.txt").decode()
    assert "Name: torch-dipu-x" in lines
    assert "Requires-Dist: rich >=13" in lines
    assert "License-File: LICENSE" in lines
    assert points == "[torch_dipu.vendors]\nx = torch_dipu_x:library_path\n"


def test_only_shared_objects_are_executable(tmp_path: pathlib.Path) -> None:
    _build(_spec(tmp_path), tmp_path / "x.whl")
    with zipfile.ZipFile(tmp_path / "x.whl") as wheel:
        executable = [
            info.filename
            for info in wheel.infolist()
            if info.external_attr >> 16 & stat.S_IXUSR
        ]
    assert executable == ["torch_dipu_x/libx.so"]


def test_two_files_for_one_name_are_refused(tmp_path: pathlib.Path) -> None:
    spec = _spec(tmp_path)
    with pytest.raises(SystemExit, match="two files want to be torch_dipu_x/libx"):
        make_wheel.collect({**spec, "files": spec["files"] + spec["files"][:1]})
