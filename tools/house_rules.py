# SPDX-License-Identifier: Apache-2.0
"""Rules of this repository that no common linter checks."""

import pathlib
import re
from collections.abc import Iterable

# Headers that pull in all of torch: seconds per compiled file.
_UMBRELLA = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*[<"]'
    r"(torch/torch\.h|torch/extension\.h|ATen/ATen\.h|torch/all\.h)"
    r'[>"]',
    re.MULTILINE,
)
_LICENSE = "SPDX-License-Identifier: Apache-2.0"
_LICENSED_SUFFIXES = (".c", ".cc", ".h", ".py", ".pyi", ".bzl", ".sh", ".lds")
_LICENSED_NAMES = ("BUILD.bazel", "WORKSPACE", "bazelw", "run")
_CPP_SUFFIXES = (".c", ".cc", ".h")
# How far down the license line may stand.
_HEAD = 400


def needs_license(path: pathlib.PurePath) -> bool:
    """True for sources; data and documents are covered by LICENSE."""
    return path.suffix in _LICENSED_SUFFIXES or path.name in _LICENSED_NAMES


def problems_in(name: str, text: str) -> list[str]:
    """Checks the text of one file."""
    path = pathlib.PurePath(name)
    found = []
    if needs_license(path) and _LICENSE not in text[:_HEAD]:
        found.append(f"{name}:1: say `{_LICENSE}` at the top")
    if path.suffix in _CPP_SUFFIXES:
        for match in _UMBRELLA.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(
                f"{name}:{line}: {match[1]} pulls in all of torch; include the "
                "headers of what is used, such as ATen/ops/add.h"
            )
    if needs_license(path) and re.search(r"[ \t]+$", text, re.MULTILINE):
        found.append(f"{name}: trailing white space")
    return found


def problems(root: pathlib.Path, names: Iterable[str]) -> list[str]:
    """Checks files below a folder; returns one line per problem."""
    found = []
    for name in names:
        if not name.isascii():
            found.append(f"{name}: file names are ASCII, which every tool reads")
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        found += problems_in(name, text)
    return found
