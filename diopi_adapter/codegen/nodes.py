# SPDX-License-Identifier: Apache-2.0
"""Reads YAML so that every mistake can be told with its line."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterator

import yaml

from diopi_adapter.codegen import model


def line_of(node: yaml.Node) -> int:
    """The line of the file on which `node` begins, from 1."""
    return node.start_mark.line + 1


class Reader:
    """Takes nodes of one file apart; errors name it and the line."""

    def __init__(self, source: str) -> None:
        self._source = source

    def _compose(self, text: str) -> yaml.Node:
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise model.SpecError(self._source, line, str(error.problem)) from error
        if root is None:
            raise model.SpecError(self._source, 1, "the file has no entries")
        return root

    def _error(self, node: yaml.Node, reason: str) -> model.SpecError:
        return model.SpecError(self._source, line_of(node), reason)

    def _sequence(self, node: yaml.Node) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._error(node, "expected a list")
        return list(node.value)

    def _items(self, node: yaml.Node | None) -> list[yaml.Node]:
        """The nodes of a list, or of a single text that stands for one."""
        if node is None:
            return []
        return [node] if isinstance(node, yaml.ScalarNode) else self._sequence(node)

    def _matching(self, node: yaml.Node, functions: Collection[str]) -> list[str]:
        """The functions that a pattern describes, sorted; at least one."""
        pattern = self._text(node)
        found = sorted(fnmatch.filter(functions, pattern))
        if not found:
            raise self._error(node, f"no function is called `{pattern}`")
        return found

    def _mapping(self, node: yaml.Node) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, "expected a mapping")
        fields: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if key.value in fields:
                raise self._error(key, f"the key `{key.value}` appears twice")
            fields[key.value] = value
        return fields

    def _text(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            raise self._error(node, "expected text")
        return str(node.value)

    def _texts(self, node: yaml.Node | None) -> Iterator[tuple[str, str]]:
        for key, value in (self._mapping(node) if node else {}).items():
            yield key, self._text(value)
