# SPDX-License-Identifier: Apache-2.0
"""The text of the generated code: templates/*.tmpl, C++ with $names."""

from __future__ import annotations

import pathlib
import string
from collections.abc import Iterable

_FOLDER = pathlib.Path(__file__).parent / "templates"


def fill(template: str, **fields: object) -> str:
    """The template called `template` with its $names replaced."""
    text = (_FOLDER / f"{template}.tmpl").read_text("utf-8")
    return string.Template(text).substitute(fields)


def comma(items: Iterable[str]) -> str:
    """`items` as a list of C++."""
    return ", ".join(items)
