# SPDX-License-Identifier: Apache-2.0
"""Whether a distribution still has the files that pip installed."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import pathlib
from collections.abc import Sequence

from torch_dipu._doctor.report import Section

_SHOWN = 5


def _digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _differs(file: importlib.metadata.PackagePath, path: pathlib.Path) -> bool:
    if file.hash is None or file.hash.mode != "sha256":
        return False
    try:
        return _digest(path) != file.hash.value
    except OSError:  # the loader says why it cannot be read
        return False


def check(
    section: Section, distribution: importlib.metadata.Distribution, hashes: bool
) -> None:
    """Compares the files with the list that pip keeps.

    Args:
        section: Takes what is found.
        distribution: An installed one.
        hashes: Compares the contents, too.
    """
    name = f"{distribution.name} {distribution.version}"
    exact = f"{distribution.name}=={distribution.version}"
    cure = f"Install it anew: pip install --force-reinstall --no-deps {exact}"
    files = [f for f in distribution.files or [] if "__pycache__" not in f.parts]
    paths = [(file, pathlib.Path(str(file.locate()))) for file in files]
    missing = [path for _, path in paths if not path.exists()]
    if missing:
        cause = f"files of {name} are missing: {len(missing)} of {len(files)}"
        section.find("files.missing", cause, cure, _lines(missing))
    if hashes:
        changed = [p for f, p in paths if p.is_file() and _differs(f, p)]
        if changed:
            cause = f"files of {name} are not as installed: {len(changed)}"
            section.find("files.changed", cause, cure, _lines(changed))


def _lines(paths: Sequence[pathlib.Path]) -> list[str]:
    lines = [str(path) for path in paths[:_SHOWN]]
    more = len(paths) - len(lines)
    return [*lines, f"and {more} more"] if more else lines
