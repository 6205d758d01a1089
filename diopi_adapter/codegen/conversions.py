# SPDX-License-Identifier: Apache-2.0
"""Turns a vendor's conversions.yaml into the table that the adapter reads.

The file lists what DIOPI functions of the vendor cannot take:

    - functions: "*"                       # a name, a list; * stands for anything
      except: [diopiEmbedding]             # optional
      types: {int64: int32, float64: float32}
      layout: contiguous                   # optional; any takes it back

A later entry adds to an earlier one and replaces what both say; `int64: int64` takes
a type back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import yaml
from absl import app, flags

from diopi_adapter.codegen import command, nodes, parse

_RULES = flags.DEFINE_string("rules", None, "Path of conversions.yaml.", required=True)

# What may stand in for what: a type of the same kind.
_KINDS = {
    "int8": "integer",
    "uint8": "integer",
    "int16": "integer",
    "int32": "integer",
    "int64": "integer",
    "bool": "integer",
    "float16": "floating point",
    "bfloat16": "floating point",
    "float32": "floating point",
    "float64": "floating point",
}
_LAYOUTS = ("contiguous", "any")
_KEYS = ("functions", "except", "types", "layout")
# They do the conversions.
_NEVER = frozenset({"diopiCastDtype", "diopiCopyInp"})


@dataclasses.dataclass(frozen=True)
class Rule:
    """What one function takes."""

    types: tuple[tuple[str, str], ...] = ()
    contiguous: bool = False

    def line(self, function: str) -> str:
        """The function's line of the table."""
        pairs = ",".join(f"{lacked}={taken}" for lacked, taken in self.types)
        return f"{function}\t{pairs}\t{'contiguous' if self.contiguous else ''}"


class _Parser(nodes.Reader):
    """Applies the entries of one file, in their order, to the functions."""

    def __init__(self, source: str, functions: frozenset[str]) -> None:
        super().__init__(source)
        self._functions = functions
        self._rules: dict[str, Rule] = {}

    def rules(self, text: str) -> dict[str, Rule]:
        for node in self._sequence(self._compose(text)):
            self._apply(self._entry(node), node)
        return {f: rule for f, rule in sorted(self._rules.items()) if rule != Rule()}

    def _entry(self, node: yaml.Node) -> dict[str, yaml.Node]:
        fields = self._mapping(node)
        for key, value in fields.items():
            if key not in _KEYS:
                known = ", ".join(_KEYS)
                raise self._error(value, f"unknown key `{key}`; known are {known}")
        if "functions" not in fields:
            raise self._error(node, "an entry needs the key `functions`")
        if not {"types", "layout"} & set(fields):
            raise self._error(node, "an entry needs `types` or `layout`")
        return fields

    def _apply(self, fields: dict[str, yaml.Node], node: yaml.Node) -> None:
        left_out = set(self._named(fields.get("except")))
        types = dict(self._types(fields.get("types")))
        for function in self._named(fields["functions"]):
            if function in left_out:
                continue
            before = self._rules.get(function, Rule())
            merged = {**dict(before.types), **types}
            self._rules[function] = Rule(
                tuple(sorted((k, v) for k, v in merged.items() if k != v)),
                self._contiguous(fields.get("layout"), before.contiguous),
            )

    def _named(self, node: yaml.Node | None) -> Iterator[str]:
        for item in self._items(node):
            pattern = self._text(item)
            if pattern in _NEVER:
                reason = f"{pattern} does the conversions and cannot be converted"
                raise self._error(item, reason)
            yield from self._matching(item, self._functions - _NEVER)

    def _types(self, node: yaml.Node | None) -> Iterator[tuple[str, str]]:
        for lacked, value in (self._mapping(node) if node else {}).items():
            taken = self._text(value)
            for name in (lacked, taken):
                if name not in _KINDS:
                    known = ", ".join(_KINDS)
                    reason = f"unknown type `{name}`; known are {known}"
                    raise self._error(value, reason)
            if _KINDS[lacked] != _KINDS[taken]:
                reason = (
                    f"{lacked} is {_KINDS[lacked]} and {taken} is {_KINDS[taken]}; "
                    "they must be of one kind"
                )
                raise self._error(value, reason)
            yield lacked, taken

    def _contiguous(self, node: yaml.Node | None, before: bool) -> bool:
        if node is None:
            return before
        layout = self._text(node)
        if layout not in _LAYOUTS:
            reason = f"layout is {' or '.join(_LAYOUTS)}, not `{layout}`"
            raise self._error(node, reason)
        return layout == "contiguous"


def compile_rules(rules: str, source: str, functions: str) -> str:
    """The table, see diopi_adapter/conversion/rules.h.

    Args:
      rules: content of conversions.yaml.
      source: its name for messages.
      functions: content of diopi_functions.tsv.

    Raises:
      model.SpecError: conversions.yaml is wrong.
    """
    known = frozenset(parse.parse_functions(functions))
    compiled = _Parser(source, known).rules(rules)
    lines = [rule.line(function) for function, rule in compiled.items()]
    return "\n".join([f"# Generated from {source}.", *lines, ""])


def main(argv: list[str]) -> None:
    """Writes the table, or the first mistake and exit code 1."""
    command.run(argv, _RULES.value, compile_rules)


if __name__ == "__main__":
    app.run(main)
