# SPDX-License-Identifier: Apache-2.0
"""Writes a wheel from a JSON description; equal inputs give equal bytes.

Usage: make_wheel.py <description.json> <output.whl>. Order, dates, modes and
compression are fixed, so nothing of the machine or the moment gets in.
"""

import base64
import csv
import hashlib
import io
import json
import pathlib
import sys
import zipfile
from typing import Any

# The first date that a zip file can hold.
_EPOCH = (1980, 1, 1, 0, 0, 0)

Files = dict[str, bytes]


def metadata(spec: dict[str, Any]) -> str:
    """Renders the METADATA file."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {spec['distribution']}",
        f"Version: {spec['version']}",
        f"Summary: {spec['summary']}",
        f"License-Expression: {spec['license_expression']}",
    ]
    lines += [f"License-File: {name}" for name, _ in spec["licenses"]]
    lines.append(f"Requires-Python: {spec['requires_python']}")
    lines += [f"Requires-Dist: {requirement}" for requirement in spec["requires"]]
    if not spec["readme"]:
        return "\n".join(lines) + "\n"
    lines += ["Description-Content-Type: text/markdown", ""]
    return "\n".join(lines) + "\n" + pathlib.Path(spec["readme"]).read_text()


def wheel_file(tag: str) -> str:
    """Renders the WHEEL file."""
    pure = "true" if tag.endswith("-none-any") else "false"
    return f"Wheel-Version: 1.0\nGenerator: dipu\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"


def entry_points(groups: dict[str, list[str]]) -> str:
    """Renders entry_points.txt."""
    sections = []
    for group in sorted(groups):
        sections.append("\n".join([f"[{group}]", *sorted(groups[group]), ""]))
    return "\n".join(sections)


def record(files: Files, own_name: str) -> str:
    """Renders RECORD over all files."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest())
        value = "sha256=" + digest.rstrip(b"=").decode()
        writer.writerow([name, value, len(files[name])])
    writer.writerow([own_name, "", ""])
    return text.getvalue()


def collect(spec: dict[str, Any]) -> tuple[Files, Files]:
    """Returns the files of the wheel and those of its .dist-info folder."""
    files: Files = {}
    for name, source in spec["files"]:
        if name in files:
            raise SystemExit(f"make_wheel: two files want to be {name}")
        files[name] = pathlib.Path(source).read_bytes()
    folder = f"{spec['distribution'].replace('-', '_')}-{spec['version']}.dist-info"
    info: Files = {
        f"{folder}/METADATA": metadata(spec).encode(),
        f"{folder}/WHEEL": wheel_file(spec["tag"]).encode(),
    }
    for name, source in spec["licenses"]:
        info[f"{folder}/licenses/{name}"] = pathlib.Path(source).read_bytes()
    if spec["entry_points"]:
        text = entry_points(spec["entry_points"])
        info[f"{folder}/entry_points.txt"] = text.encode()
    own_name = f"{folder}/RECORD"
    info[own_name] = record({**files, **info}, own_name).encode()
    return files, info


def is_executable(name: str) -> bool:
    """True for shared objects, versioned ones too."""
    return ".so" in pathlib.PurePath(name).suffixes


def write(path: str, files: Files, info: Files) -> None:
    """Writes the archive, metadata last as the wheel format recommends."""
    members = [*sorted(files.items()), *sorted(info.items())]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in members:
            member = zipfile.ZipInfo(name, _EPOCH)
            mode = 0o100755 if is_executable(name) else 0o100644
            member.external_attr = mode << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)


def main() -> None:
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text())
    files, info = collect(spec)
    write(sys.argv[2], files, info)


if __name__ == "__main__":
    main()
