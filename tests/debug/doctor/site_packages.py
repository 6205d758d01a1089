# SPDX-License-Identifier: Apache-2.0
"""Folders with vendors' packages, and what the doctor finds there."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

DROPLET = pathlib.Path("vendors/droplet/dist").absolute()
NULL = pathlib.Path("vendors/null/dist/libdipu_null.so").absolute()


@dataclasses.dataclass(frozen=True)
class Site:
    """A folder with vendors' packages, as pip would leave them."""

    folder: pathlib.Path

    def add(self, name: str, library: pathlib.Path, body: str = "") -> None:
        """Adds a package with the vendor `name`."""
        package = f"torch_dipu_{name}"
        body = body or f"return {str(library)!r}"
        module = self.folder / f"{package}.py"
        module.write_text(f"def library_path():\n    {body}\n")
        info = self.folder / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[torch_dipu.vendors]\n{name} = {package}:library_path\n"
        )

    def droplet(self) -> None:
        """Adds a vendor that is whole."""
        self.add("droplet", DROPLET / "libdipu_droplet.so")

    def run(
        self, *arguments: str, flags: tuple[str, ...] = (), **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs the doctor where these vendors, and no others, are installed."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DIPU_")}
        kept["PYTHONPATH"] = f"{self.folder}:{kept.get('PYTHONPATH', '')}"
        return subprocess.run(
            [sys.executable, *flags, "-m", "torch_dipu", "doctor", *arguments],
            env={**kept, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def findings(
        self, *arguments: str, flags: tuple[str, ...] = (), **env: str
    ) -> dict[str, list[dict[str, Any]]]:
        """What the doctor finds, by section; sections without findings are left out."""
        done = self.run("--json", *arguments, flags=flags, **env)
        report = json.loads(done.stdout)
        sections = {s["name"]: s["findings"] for s in report["sections"]}
        found = {name: findings for name, findings in sections.items() if findings}
        assert done.returncode == (1 if found else 0), done.stderr
        assert report["whole"] == (not found)
        return found


def only(findings: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The finding of a report that has one."""
    ((finding,),) = findings.values()
    return finding


def dist_without(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Droplet's files but for one; returns the vendor library."""
    folder.mkdir()
    for file in DROPLET.iterdir():
        if file.name != name:
            (folder / file.name).symlink_to(file.resolve())
    return folder / "libdipu_droplet.so"
