# SPDX-License-Identifier: Apache-2.0
"""Turns a vendor's nondeterministic.yaml into the table that the adapter reads.

The file lists DIOPI functions of the vendor that may give other results when they are
called again with the same arguments:

    - functions: [diopiIndexAdd*, diopiCumsum]   # a name, a list; * stands for anything
      reason: adds in the order in which threads come
      types: floating                            # optional: only with such tensors

A function stands in one entry only.
"""

from __future__ import annotations

import yaml
from absl import app, flags

from diopi_adapter.codegen import command, nodes, parse

_ENTRIES = flags.DEFINE_string(
    "entries", None, "Path of nondeterministic.yaml.", required=True
)

_KEYS = ("functions", "reason", "types")
_TYPES = ("any", "floating")


class _Parser(nodes.Reader):
    """Reads the entries of one file."""

    def __init__(self, source: str, functions: frozenset[str]) -> None:
        super().__init__(source)
        self._functions = functions

    def lines(self, text: str) -> dict[str, str]:
        """Lines of the table by function."""
        lines: dict[str, str] = {}
        for node in self._sequence(self._compose(text)):
            fields = self._entry(node)
            rest = f"{self._types(fields.get('types'))}\t{self._reason(fields)}"
            for item in self._items(fields["functions"]):
                for function in self._matching(item, self._functions):
                    if function in lines:
                        reason = f"{function} stands in an entry already"
                        raise self._error(item, reason)
                    lines[function] = f"{function}\t{rest}"
        return lines

    def _entry(self, node: yaml.Node) -> dict[str, yaml.Node]:
        fields = self._mapping(node)
        for key, value in fields.items():
            if key not in _KEYS:
                known = ", ".join(_KEYS)
                raise self._error(value, f"unknown key `{key}`; known are {known}")
        for key in ("functions", "reason"):
            if key not in fields:
                raise self._error(node, f"an entry needs the key `{key}`")
        return fields

    def _reason(self, fields: dict[str, yaml.Node]) -> str:
        return " ".join(self._text(fields["reason"]).split())

    def _types(self, node: yaml.Node | None) -> str:
        if node is None:
            return _TYPES[0]
        types = self._text(node)
        if types not in _TYPES:
            known = " or ".join(_TYPES)
            raise self._error(node, f"types is {known}, not `{types}`")
        return types


def compile_list(text: str, source: str, functions: str) -> str:
    """The table, see diopi_adapter/determinism/alerts.h.

    Args:
      text: content of nondeterministic.yaml.
      source: its name for messages.
      functions: content of diopi_functions.tsv.

    Raises:
      model.SpecError: nondeterministic.yaml is wrong.
    """
    known = frozenset(parse.parse_functions(functions))
    lines = _Parser(source, known).lines(text)
    return "\n".join([f"# Generated from {source}.", *sorted(lines.values()), ""])


def main(argv: list[str]) -> None:
    """Writes the table, or the first mistake and exit code 1."""
    command.run(argv, _ENTRIES.value, compile_list)


if __name__ == "__main__":
    app.run(main)
