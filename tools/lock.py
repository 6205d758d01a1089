# SPDX-License-Identifier: Apache-2.0
"""Resolves requirements.in into the hash-locked requirements.lock.

Versions that the lock already names are kept; --upgrade lets them move. pip
resolves against whatever index its own configuration names, so the lock holds
names, versions and hashes only.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_HEADER = """\
# Made by tools/lock.py from requirements.in; do not edit.
# Python {major}.{minor}, Linux x86_64.
"""


def resolve(requirements: pathlib.Path, constraints: list[pathlib.Path]) -> list[Any]:
    """Returns pip's installation report entries for the requirements."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet"]
        command += ["--dry-run", "--ignore-installed", "--only-binary=:all:"]
        command += ["--report", str(report), "-r", str(requirements)]
        for path in constraints:
            command += ["-c", str(path)]
        subprocess.run(command, check=True)
        return json.loads(report.read_text())["install"]


def pins_of(lock: str) -> list[str]:
    """Returns the `name==version` parts of a lock's or requirements file's text."""
    words = (line.split()[0] for line in lock.splitlines() if line[:1].isalnum())
    return [word for word in words if "==" in word]


def kept_pins(lock: str, requirements: str) -> list[str]:
    """Returns the pins of a lock but those of packages that requirements.in pins."""
    pinned = {pin.partition("==")[0] for pin in pins_of(requirements)}
    return [pin for pin in pins_of(lock) if pin.partition("==")[0] not in pinned]


def render(entries: list[Any]) -> str:
    """Renders report entries as a lock, sorted by name."""
    pins = []
    for entry in entries:
        name = entry["metadata"]["name"].lower().replace("_", "-")
        # A local version (2.13.0+cpu) names one build; the hash does that here.
        version = entry["metadata"]["version"].split("+")[0]
        digest = entry["download_info"]["archive_info"]["hashes"]["sha256"]
        pins.append(f"{name}=={version} \\\n    --hash=sha256:{digest}\n")
    header = _HEADER.format(major=sys.version_info[0], minor=sys.version_info[1])
    return header + "".join(sorted(pins))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="forget old pins")
    args = parser.parse_args()
    lock = _ROOT / "requirements.lock"
    requirements = _ROOT / "requirements.in"
    with tempfile.TemporaryDirectory() as scratch:
        constraints = []
        if lock.exists() and not args.upgrade:
            kept = pathlib.Path(scratch) / "kept.txt"
            pins = kept_pins(lock.read_text(), requirements.read_text())
            kept.write_text("\n".join(pins) + "\n")
            constraints.append(kept)
        entries = resolve(requirements, constraints)
    lock.write_text(render(entries))
    print(f"{lock.name}: {len(entries)} packages")


if __name__ == "__main__":
    main()
