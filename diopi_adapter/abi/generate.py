# SPDX-License-Identifier: Apache-2.0
"""Writes the DIOPI C headers and the symbol list from diopi_functions.tsv.

    generate.py diopi_functions.tsv OUTPUT_FOLDER

The output depends on nothing but the table: same input, same bytes.
"""

import argparse
import csv
import dataclasses
import pathlib
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence

RUNTIME_HEADER = "diopirt.h"
# Declares what DIOPI itself lacks. Its names have a prefix of their own, so that
# no later function of DIOPI can mean something else.
EXTENSION_HEADER = "functions_dipu.h"
EXTENSION_PREFIX = "diopiExt"
# Header file -> what it holds, in the order in which they are written.
HEADERS = {
    RUNTIME_HEADER: "Functions that the host offers to operator libraries.",
    "functions.h": "General operators.",
    "functions_ext.h": "Fused operators: attention, rotary embedding, inference.",
    "functions_mmcv.h": "Operators of mmcv.",
    "functions_lmdeploy.h": "Operators of lmdeploy.",
    "functions_sparse.h": "Operators on sparse tensors.",
    EXTENSION_HEADER: "DIPU's extension: operators of PyTorch that DIOPI lacks.",
}
SYMBOLS = "symbols.inc"

_NOTICE = "/* SPDX-License-Identifier: Apache-2.0\n *\n * {}\n{} */\n"
_GENERATED = "Generated from diopi_functions.tsv; edit that file instead."
_COLUMNS = (
    "name",
    "header",
    "area",
    "returns",
    "parameters",
    "weak",
    "revision",
    "changed",
)


class TableError(ValueError):
    """A row of the table is wrong; the message names the line."""


@dataclasses.dataclass(frozen=True)
class Function:
    """One function of the contract."""

    name: str
    header: str
    area: str
    returns: str
    parameters: tuple[str, ...]
    # Declared weak: the host may lack it.
    weak: bool
    # Signature revision in which this signature appeared.
    revision: int
    # How the signature changed while DIOPI_VERSION stayed the same, or "".
    changed: str

    @property
    def is_runtime(self) -> bool:
        return self.header == RUNTIME_HEADER


def parse(path: pathlib.Path) -> list[Function]:
    """Reads and checks the table.

    Raises:
      TableError: a row is malformed.
    """
    with path.open(encoding="ascii", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or tuple(rows[0]) != _COLUMNS:
        raise TableError(f"{path}:1: the columns must be {', '.join(_COLUMNS)}")
    functions: list[Function] = []
    seen: dict[str, int] = {}
    for line, row in enumerate(rows[1:], start=2):
        try:
            function = _parse_row(row)
        except TableError as error:
            raise TableError(f"{path}:{line}: {error}") from None
        if function.name in seen:
            first = seen[function.name]
            raise TableError(
                f"{path}:{line}: {function.name} stands in line {first} already"
            )
        seen[function.name] = line
        functions.append(function)
    return functions


def _parse_row(row: Sequence[str]) -> Function:
    if len(row) != len(_COLUMNS):
        raise TableError(f"{len(row)} columns instead of {len(_COLUMNS)}")
    name, header, area, returns, parameters, weak, revision, changed = row
    if not re.fullmatch(r"diopi[A-Z0-9]\w*", name):
        raise TableError(f"'{name}' is not the name of a DIOPI function")
    if header not in HEADERS:
        raise TableError(f"unknown header '{header}' of {name}")
    if (header == EXTENSION_HEADER) != name.startswith(EXTENSION_PREFIX):
        raise TableError(
            f"{name} stands in {header}; functions of {EXTENSION_HEADER}, and no "
            f"others, begin with {EXTENSION_PREFIX}"
        )
    if weak not in ("", "weak"):
        raise TableError(f"weak of {name} is '{weak}' instead of 'weak' or nothing")
    if not revision.isdecimal() or int(revision) < 1:
        raise TableError(f"revision of {name} is '{revision}', not a number above 0")
    split = tuple(p.strip() for p in parameters.split(";")) if parameters else ()
    for parameter in split:
        if not re.fullmatch(r"(const )?\w+[*]*\s\w+", parameter):
            raise TableError(f"parameter '{parameter}' of {name} lacks type or name")
    return Function(
        name, header, area, returns, split, bool(weak), int(revision), changed
    )


def _declaration(function: Function) -> str:
    attribute = "DIOPI_RT_API" if function.is_runtime else "DIOPI_API"
    if function.weak:
        attribute += " DIOPI_ATTR_WEAK"
    # A type and its parameter's name stay on one line.
    parameters = [p.replace(" ", "\0") for p in function.parameters]
    start = f"{attribute} {function.returns} {function.name}("
    text = start + (", ".join(parameters) or "void") + ");"
    filled = textwrap.fill(text, 80, subsequent_indent="    ", break_on_hyphens=False)
    return filled.replace("\0", " ")


def _by_area(functions: Iterable[Function]) -> dict[str, list[Function]]:
    areas: dict[str, list[Function]] = {}
    for function in functions:
        areas.setdefault(function.area, []).append(function)
    return areas


def render_header(header: str, functions: Iterable[Function]) -> str:
    """The text of one header: declarations grouped by area."""
    guard = "DIOPI_" + re.sub(r"\W", "_", header).upper() + "_"
    include = "types.h" if header == RUNTIME_HEADER else RUNTIME_HEADER
    parts = [
        _NOTICE.format(HEADERS[header], f" *\n * {_GENERATED}\n"),
        f"#ifndef {guard}\n#define {guard}\n\n#include <diopi/{include}>\n\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
    ]
    mine = [f for f in functions if f.header == header]
    for area, members in _by_area(mine).items():
        parts.append(f"\n/* {area} */\n\n")
        parts.extend(f"{_declaration(function)}\n" for function in members)
    parts.append('\n#ifdef __cplusplus\n} /* extern "C" */\n#endif\n')
    parts.append(f"\n#endif /* {guard} */\n")
    return "".join(parts)


def render_symbols(functions: Iterable[Function]) -> str:
    """The X-macro list of everything an operator library may export."""
    parts = [
        _NOTICE.format(
            "Every function that an operator library may export, one macro each.",
            " *\n"
            " *   DIOPI_SYMBOL(name)          an operator or library function\n"
            " *   DIOPI_SYMBOL_CHANGED(name)  one whose signature has changed\n"
            " *       while DIOPI_VERSION stayed; defaults to DIOPI_SYMBOL\n"
            " *\n"
            " * Define DIOPI_SYMBOL, include this file; it undefines both.\n"
            f" *\n * {_GENERATED}\n",
        ),
        "\n#ifndef DIOPI_SYMBOL_CHANGED\n",
        "#define DIOPI_SYMBOL_CHANGED(name) DIOPI_SYMBOL(name)\n#endif\n\n",
    ]
    for function in functions:
        if not function.is_runtime:
            suffix = "_CHANGED" if function.changed else ""
            parts.append(f"DIOPI_SYMBOL{suffix}({function.name})\n")
    parts.append("\n#undef DIOPI_SYMBOL\n#undef DIOPI_SYMBOL_CHANGED\n")
    return "".join(parts)


def write(functions: Sequence[Function], folder: pathlib.Path) -> None:
    """Writes all headers and the symbol list into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for header in HEADERS:
        text = render_header(header, functions)
        (folder / header).write_text(text, encoding="ascii")
    (folder / SYMBOLS).write_text(render_symbols(functions), encoding="ascii")


def main() -> int:
    """Runs the generator; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    try:
        write(parse(args.table), args.folder)
    except (OSError, TableError) as error:
        print(f"generate.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
