# SPDX-License-Identifier: Apache-2.0
"""Reads ops.yaml and the table of DIOPI functions."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator

import yaml

from diopi_adapter.codegen import model, nodes, sample

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_CALL = re.compile(rf"({_NAME})\((.*)\)", re.DOTALL)
# Commas outside parentheses and quotes.
_COMMA = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)(?![^()]*\))')
_KEYS = (
    "op",
    "call",
    "cpu_reference",
    "number",
    "out",
    "cast",
    "require",
    "elementwise",
    "masks",
    "mutates",
    "result",
    "samples",
    "tolerance",
)
# Top-level keys: entries with generated wrappers, those without, and names.
_SECTIONS = ("operators", "handwritten", "aliases")


class _Parser(nodes.Reader):
    """Parses the entries of one file."""

    def entries(self, text: str) -> Iterator[model.Entry]:
        root = self._compose(text)
        if not isinstance(root, yaml.MappingNode):
            raise self._error(root, "expected a mapping with the key `operators`")
        for key, value in root.value:
            if key.value not in _SECTIONS:
                raise self._error(key, f"unknown key `{key.value}`; use `operators`")
            if key.value == "aliases":
                continue
            for node in self._sequence(value):
                yield self._entry(node, handwritten=key.value == "handwritten")

    def aliases(self, text: str) -> Iterator[model.Alias]:
        for key, value in self._mapping(self._compose(text)).items():
            if key != "aliases":
                continue
            for name, node in self._mapping(value).items():
                operators = tuple(self._names(node))
                yield model.Alias(self._source, nodes.line_of(node), name, operators)

    def _entry(self, node: yaml.Node, handwritten: bool) -> model.Entry:
        fields = self._mapping(node)
        for key, value in fields.items():
            if key not in _KEYS:
                known = ", ".join(_KEYS)
                raise self._error(value, f"unknown key `{key}`; known are {known}")
        for key in ("op", "call"):
            if key not in fields:
                raise self._error(node, f"an entry needs the key `{key}`")
        return model.Entry(
            source=self._source,
            line=nodes.line_of(node),
            op=self._text(fields["op"]),
            call=self._call(fields["call"]),
            number=self._call(fields["number"]) if "number" in fields else None,
            out=tuple(self._outs(fields.get("out"))),
            cast=tuple(self._texts(fields.get("cast"))),
            require=tuple(self._literals(fields.get("require"))),
            elementwise=tuple(self._names(fields.get("elementwise"))),
            masks=tuple(self._names(fields.get("masks"))),
            mutates=tuple(self._names(fields.get("mutates"))),
            result=self._result(fields.get("result")),
            samples=tuple(self._samples(fields.get("samples"))),
            tolerance=tuple(self._tolerance(fields.get("tolerance"))),
            cpu_reference=self._reference(fields.get("cpu_reference")),
            handwritten=handwritten,
        )

    def _names(self, node: yaml.Node | None) -> Iterator[str]:
        for item in self._sequence(node) if node else ():
            yield self._text(item)

    def _literals(self, node: yaml.Node | None) -> Iterator[tuple[str, model.Literal]]:
        for key, value in (self._mapping(node) if node else {}).items():
            literal = _literal(self._text(value)) or _type(self._text(value))
            if literal is None:
                reason = (
                    f"`{value.value}` is not a constant; use true, 0, none or int64"
                )
                raise self._error(value, reason)
            yield key, literal

    def _result(self, node: yaml.Node | None) -> model.Result:
        if node is None:
            return model.Result.COMMON
        results = {"bool": model.Result.BOOL, "float": model.Result.FLOAT}
        if self._text(node) not in results:
            reason = f"result is `bool`, `float` or absent, not `{node.value}`"
            raise self._error(node, reason)
        return results[self._text(node)]

    def _reference(self, node: yaml.Node | None) -> str:
        if node is None:
            return ""
        name = self._text(node)
        if not re.fullmatch(_NAME, name):
            raise self._error(node, f"`{name}` is not the name of a C++ function")
        return name

    def _samples(self, node: yaml.Node | None) -> Iterator[model.Sample]:
        for item in self._sequence(node) if node else ():
            try:
                arguments = sample.parse(self._text(item))
            except sample.SampleError as error:
                raise self._error(item, str(error)) from error
            yield model.Sample(nodes.line_of(item), arguments)

    def _tolerance(self, node: yaml.Node | None) -> Iterator[tuple[str, float]]:
        if node is None:
            return
        if not isinstance(node, yaml.MappingNode):
            yield "", self._limit(node)
            return
        for dtype, value in self._mapping(node).items():
            if dtype not in sample.FLOATING:
                known = ", ".join(sample.FLOATING)
                reason = f"no tolerance for `{dtype}`; types that round are {known}"
                raise self._error(value, reason)
            yield dtype, self._limit(value)

    def _limit(self, node: yaml.Node) -> float:
        text = self._text(node)
        try:
            limit = float(text)
        except ValueError:
            limit = math.nan
        if not 0 <= limit < math.inf:
            reason = f"a tolerance is a number from 0 on, not `{text}`"
            raise self._error(node, reason)
        return limit

    def _outs(self, node: yaml.Node | None) -> Iterator[model.OutSpec]:
        if node is None:
            return
        single = isinstance(node, yaml.ScalarNode)
        for item in [node] if single else self._sequence(node):
            function, arguments = self._apply(item)
            yield model.OutSpec(nodes.line_of(item), function, tuple(arguments))

    def _apply(self, node: yaml.Node) -> tuple[str, list[str]]:
        text = self._text(node)
        match = _CALL.fullmatch(text)
        if match is None:
            raise self._error(node, f"expected a call like name(a, b), not `{text}`")
        inner = match[2].strip()
        parts = [part.strip() for part in _COMMA.split(inner)] if inner else []
        return match[1], parts

    def _call(self, node: yaml.Node) -> model.CallSpec:
        function, parts = self._apply(node)
        arguments = tuple(self._expression(node, part) for part in parts)
        return model.CallSpec(nodes.line_of(node), function, arguments)

    def _expression(self, node: yaml.Node, text: str) -> model.Expression:
        literal = _literal(text)
        if literal is not None:
            return literal
        if re.fullmatch(_NAME, text):
            return model.Name(text)
        match = _CALL.fullmatch(text)
        if match is None:
            raise self._error(node, f"cannot read the argument `{text}`")
        parts = tuple(part.strip() for part in match[2].split(","))
        return model.Apply(match[1], parts)


def _literal(text: str) -> model.Literal | None:
    if text in ("true", "false"):
        return model.Literal(model.LiteralKind.BOOL, text)
    if text == "none":
        return model.Literal(model.LiteralKind.NONE, text)
    if re.fullmatch(r"-?\d+", text):
        return model.Literal(model.LiteralKind.INT, text)
    if re.fullmatch(r'"[^"\\]*"', text):
        return model.Literal(model.LiteralKind.TEXT, text)
    return None


def _type(text: str) -> model.Literal | None:
    known = text in sample.DTYPES
    return model.Literal(model.LiteralKind.TYPE, text) if known else None


def parse_entries(text: str, source: str) -> tuple[model.Entry, ...]:
    """Entries of `text`, in their order.

    Args:
      text: content of ops.yaml.
      source: its name for messages.

    Raises:
      model.SpecError: the text is not a list of entries.
    """
    return tuple(_Parser(source).entries(text))


def parse_aliases(text: str, source: str) -> tuple[model.Alias, ...]:
    """The section `aliases` of `text`; see parse_entries."""
    return tuple(_Parser(source).aliases(text))


def _parameter(text: str) -> model.DiopiParameter:
    type_, _, name = text.strip().rpartition(" ")
    # const on something passed by value changes nothing for the caller.
    by_value = type_.startswith("const ") and not type_.endswith("*")
    return model.DiopiParameter(type_[len("const ") :] if by_value else type_, name)


def parse_functions(text: str) -> dict[str, model.DiopiFunction]:
    """DIOPI's operators by name, from the text of diopi_functions.tsv."""
    functions = {}
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        parameters = [p for p in row["parameters"].split(";") if p.strip()]
        if row["header"] == "diopirt.h" or not parameters:
            continue
        functions[row["name"]] = model.DiopiFunction(
            row["name"], tuple(_parameter(p) for p in parameters[1:])
        )
    return functions
