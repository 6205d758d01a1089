# SPDX-License-Identifier: Apache-2.0
"""Writes the samples of ops.yaml, see samples.py, to a file."""

from __future__ import annotations

import pathlib
import sys

import torch
from absl import app, flags

from diopi_adapter.codegen import model, samples

_OPS = flags.DEFINE_string("ops", None, "Path of ops.yaml.", required=True)
_FUNCTIONS = flags.DEFINE_string(
    "functions", None, "Path of diopi_functions.tsv.", required=True
)
_OUT = flags.DEFINE_string("out", None, "File to write.", required=True)


def main(argv: list[str]) -> None:
    """Writes the file, or the first mistake and exit code 1."""
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]}")
    # The results must not depend on how many threads there are.
    torch.set_num_threads(1)
    ops = pathlib.Path(_OPS.value)
    functions = pathlib.Path(_FUNCTIONS.value).read_text("utf-8")
    try:
        text = samples.render(ops.read_text("utf-8"), ops.name, functions)
    except model.SpecError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    pathlib.Path(_OUT.value).write_text(text, "utf-8")


if __name__ == "__main__":
    app.run(main)
