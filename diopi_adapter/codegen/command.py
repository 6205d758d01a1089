# SPDX-License-Identifier: Apache-2.0
"""What the programs have in common that make one file of others."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Sequence

from absl import app, flags

from diopi_adapter.codegen import model

_FUNCTIONS = flags.DEFINE_string(
    "functions", None, "Path of diopi_functions.tsv.", required=True
)
_OUT = flags.DEFINE_string("out", None, "File to write.", required=True)


def run(argv: Sequence[str], path: str, render: Callable[[str, str, str], str]) -> None:
    """Writes what `render` makes, or the first mistake and exit code 1.

    Args:
      argv: what absl leaves of the command line.
      path: of the file that is read.
      render: gets its content, its name for messages, and the content of
        diopi_functions.tsv.
    """
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]}")
    source = pathlib.Path(path)
    functions = pathlib.Path(_FUNCTIONS.value).read_text("utf-8")
    try:
        text = render(source.read_text("utf-8"), source.name, functions)
    except model.SpecError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    pathlib.Path(_OUT.value).write_text(text, "utf-8")
