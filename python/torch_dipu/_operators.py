# SPDX-License-Identifier: Apache-2.0
"""Choosing operators by patterns, for the debug tools."""

from __future__ import annotations

import difflib
import functools
import pathlib
import re
import warnings
from collections.abc import Iterable

from torch_dipu import _C


def split(text: str) -> list[str]:
    """The patterns of a comma-separated list, without blanks around them."""
    return [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]


def compile_patterns(patterns: Iterable[str], source: str) -> list[re.Pattern[str]]:
    """The patterns as regular expressions.

    Args:
        patterns: Regular expressions for whole names.
        source: Where they come from, for messages.

    Raises:
        ValueError: One of them is not a regular expression.
    """
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except re.error as e:
            raise ValueError(
                f"{source}: {pattern!r} is not a regular expression: {e}. "
                "Write names such as add.out, or .* for all"
            ) from e
    return compiled


def _names(op: _C.Operator) -> tuple[str, ...]:
    return (op.name, op.family, *op.composites)


@functools.cache
def _known() -> dict[str, tuple[str, ...]]:
    return {op.name: _names(op) for op in _C._operators()}


def names_of(operator: str) -> tuple[str, ...]:
    """All names by which patterns describe an operator. To be asked once a vendor is
    loaded.

    Args:
        operator: Its own name; one that the device does not know has no other.
    """
    return _known().get(operator, (operator,))


def choose(patterns: Iterable[str], source: str) -> list[str]:
    """Names of the operators that one of the patterns describes.

    A pattern has to describe a whole name: the operator's own ("add.Tensor"), that of
    its family ("add.out"), or that of a composite operator that is computed by it
    ("conv2d"). Warns of a pattern that describes none.

    Args:
        patterns: Regular expressions.
        source: Where they come from, for messages.

    Raises:
        ValueError: A pattern is not a regular expression.
    """
    compiled = compile_patterns(patterns, source)
    operators = _C._operators() if compiled else []
    chosen: set[str] = set()
    for pattern in compiled:
        found = {op.name for op in operators if any(map(pattern.fullmatch, _names(op)))}
        if not found:
            _warn_of_no_match(pattern.pattern, source, operators)
        chosen |= found
    return sorted(chosen)


def choose_from_file(name: str, purpose: str) -> list[str]:
    """Names of the operators that the patterns in a file describe.

    Args:
        name: Of a file in the current folder; there need not be one.
        purpose: What to remove it for, for messages: "force no operators".

    Raises:
        ValueError: The file cannot be read, or a pattern is not a regular expression.
    """
    file = pathlib.Path(name)
    if not file.is_file():
        return []
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ValueError(
            f"{file.absolute()} cannot be read: {e}. Correct it, or remove it to "
            f"{purpose}"
        ) from e
    return choose(split(text), str(file.absolute()))


def _warn_of_no_match(
    pattern: str, source: str, operators: Iterable[_C.Operator]
) -> None:
    names = sorted({name for op in operators for name in _names(op)})
    near = difflib.get_close_matches(pattern, names, n=3, cutoff=0.5)
    hint = f"; near names are {', '.join(near)}" if near else ""
    message = f"{source}: {pattern!r} matches no operator of the device{hint}"
    warnings.warn(message, RuntimeWarning, stacklevel=4)
