# SPDX-License-Identifier: Apache-2.0
"""Generates the operator wrappers from ops.yaml."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Sequence

from absl import app, flags

from diopi_adapter.codegen import check, model, parse, render

_OPS = flags.DEFINE_string("ops", None, "Path of ops.yaml.", required=True)
_FUNCTIONS = flags.DEFINE_string(
    "functions", None, "Path of diopi_functions.tsv.", required=True
)
_SHARDS = flags.DEFINE_integer("shards", 4, "Number of sources.", lower_bound=1)
_ONLY = flags.DEFINE_list("only", [], "Operators to write; all if there are none.")
_OUT = flags.DEFINE_string("out", None, "Folder to write to.", required=True)


def _chosen(
    entries: Sequence[model.Entry], only: Sequence[str], source: str
) -> Sequence[model.Entry]:
    """Entries of the operators `only`, or all."""
    for name in only:
        if all(entry.op != name for entry in entries):
            raise model.SpecError(source, 1, f"there is no entry for {name}")
    return [entry for entry in entries if not only or entry.op in only]


def generate(
    ops: str, source: str, functions: str, shards: int, only: Sequence[str] = ()
) -> dict[str, str]:
    """Generated files, text by name.

    Args:
      ops: content of ops.yaml.
      source: its name for messages.
      functions: content of diopi_functions.tsv.
      shards: how many sources to split the operators into.
      only: operators to write; all if there are none.

    Raises:
      model.SpecError: ops.yaml is wrong.
    """
    entries = _chosen(parse.parse_entries(ops, source), only, source)
    operators = check.check_entries(entries, parse.parse_functions(functions))
    aliases = check.check_aliases(parse.parse_aliases(ops, source))
    files = {
        f"operators_{i}.cc": render.render_shard(part, i)
        for i, part in enumerate(render.split(operators, shards))
    }
    files["registration.cc"] = render.render_registration(operators, aliases, shards)
    return files


def main(argv: list[str]) -> None:
    """Writes the files, or the first mistake and exit code 1."""
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]}")
    ops = pathlib.Path(_OPS.value)
    functions = pathlib.Path(_FUNCTIONS.value)
    try:
        files = generate(
            ops.read_text("utf-8"),
            ops.name,
            functions.read_text("utf-8"),
            _SHARDS.value,
            _ONLY.value,
        )
    except model.SpecError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    out = pathlib.Path(_OUT.value)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (out / name).write_text(text, "utf-8")


if __name__ == "__main__":
    app.run(main)
