# SPDX-License-Identifier: Apache-2.0
"""Writes the tolerances of ops.yaml as a Python module, for autocompare."""

from __future__ import annotations

from collections.abc import Iterable

from absl import app, flags

from diopi_adapter.codegen import check, command, model, parse

_OPS = flags.DEFINE_string("ops", None, "Path of ops.yaml.", required=True)

_MODULE = '''\
# SPDX-License-Identifier: Apache-2.0
"""How far results may be off. Generated from {source}; do not edit."""

from collections.abc import Mapping

# By the operator and the name of a dtype, or "" for all of its dtypes.
TOLERANCES: Mapping[str, Mapping[str, float]] = {{
{lines}
}}
'''


def _names(
    entries: Iterable[model.Entry], operators: Iterable[model.Operator]
) -> dict[str, model.Entry]:
    """Entries by all dispatcher functions that they describe."""
    names = {entry.op: entry for entry in entries}
    for operator in operators:
        names.update((variant.name, operator.entry) for variant in operator.variants)
    return names


def render(ops: str, source: str, functions: str) -> str:
    """The module's text.

    Args:
      ops: content of ops.yaml.
      source: its name for messages.
      functions: content of diopi_functions.tsv.

    Raises:
      model.SpecError: ops.yaml is wrong.
    """
    entries = parse.parse_entries(ops, source)
    operators = check.check_entries(entries, parse.parse_functions(functions))
    lines = [
        f'    "{name}": {dict(entry.tolerance)!r},'.replace("'", '"')
        for name, entry in sorted(_names(entries, operators).items())
        if entry.tolerance
    ]
    return _MODULE.format(source=source, lines="\n".join(lines))


def main(argv: list[str]) -> None:
    """Writes the module, or the first mistake and exit code 1."""
    command.run(argv, _OPS.value, render)


if __name__ == "__main__":
    app.run(main)
