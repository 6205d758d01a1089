# SPDX-License-Identifier: Apache-2.0
"""The grammar of a sample: arguments of one call of an operator.

    self=float32[3, 4], other=float32[4](1, 9), alpha=2, index=int64([0, 2])

Values are numbers, true, false, none, texts, lists, and tensors:

    float32[3, 4]        elements that this module does not choose
    float32[3, 4](1, 9)  the same, from 1 to below 9
    int64([[0, 2]])      these elements
    float32[3, 4].T      stored with the first and last dimension exchanged
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Iterator

DTYPES = (
    "bfloat16",
    "bool",
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "uint8",
)
# Those whose results are rounded.
FLOATING = ("bfloat16", "float16", "float32", "float64")
_CONSTANTS = {"true": True, "false": False, "none": None}
_NUMBERS = {"inf": math.inf, "nan": math.nan}


class SampleError(ValueError):
    """A sample that cannot be read; the text says why."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor that a sample asks for."""

    dtype: str
    sizes: tuple[int, ...]
    limits: tuple[float, float] | None = None
    elements: tuple[float, ...] | None = None  # row after row
    transposed: bool = False


Value = bool | int | float | str | None | Tensor | tuple["Value", ...]


def parse(text: str) -> tuple[tuple[str, Value], ...]:
    """Arguments by name, in their order.

    Raises:
      SampleError: the text is not a sample.
    """
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except SyntaxError as error:
        raise SampleError(f"cannot read the sample `{text}`: {error.msg}") from error
    if not isinstance(call, ast.Call) or call.args:
        raise SampleError("a sample is a list like self=float32[3], alpha=2")
    return tuple((k.arg or "**", _value(k.value)) for k in call.keywords)


def _value(node: ast.expr) -> Value:
    match node:
        case ast.List(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Subscript() | ast.Call() | ast.Attribute():
            return _tensor(node)
    return _number(node)


def _number(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int(number) | float(number)):
            return number
        case ast.Name(id=name) if name in _NUMBERS:
            return _NUMBERS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
    raise SampleError(f"`{ast.unparse(node)}` is no value of a sample")


def _tensor(node: ast.expr) -> Tensor:
    match node:
        case ast.Attribute(value=base, attr="T"):
            return dataclasses.replace(_tensor(base), transposed=True)
        case ast.Subscript(value=ast.Name(id=dtype), slice=ast.Tuple(elts=sizes)):
            return Tensor(_dtype(dtype), tuple(_size(s) for s in sizes))
        case ast.Subscript(value=ast.Name(id=dtype), slice=size):
            return Tensor(_dtype(dtype), (_size(size),))
        case ast.Call(func=ast.Subscript() as base, args=[low, high], keywords=[]):
            limits = (_number(low), _number(high))
            return dataclasses.replace(_tensor(base), limits=limits)
        case ast.Call(func=ast.Name(id=dtype), args=[elements], keywords=[]):
            shape, values = tuple(_sizes(elements)), tuple(_flat(elements))
            if math.prod(shape) != len(values):
                raise SampleError(f"the lines of `{ast.unparse(node)}` differ")
            return Tensor(_dtype(dtype), shape, elements=values)
    raise SampleError(f"`{ast.unparse(node)}` is no tensor like float32[3, 4]")


def _dtype(name: str) -> str:
    if name not in DTYPES:
        raise SampleError(f"unknown type `{name}`; known are {', '.join(DTYPES)}")
    return name


def _size(node: ast.expr) -> int:
    number = _number(node)
    if not isinstance(number, int) or number < 0:
        raise SampleError(f"`{ast.unparse(node)}` is no size")
    return number


def _sizes(node: ast.expr) -> Iterator[int]:
    while isinstance(node, ast.List):
        yield len(node.elts)
        if not node.elts:
            return
        node = node.elts[0]


def _flat(node: ast.expr) -> Iterator[float]:
    if isinstance(node, ast.List):
        for item in node.elts:
            yield from _flat(item)
    elif isinstance(node, ast.Name) and node.id in _CONSTANTS:
        yield float(_CONSTANTS[node.id] or 0)
    else:
        yield _number(node)
