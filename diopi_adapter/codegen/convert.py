# SPDX-License-Identifier: Apache-2.0
"""How an argument of an operator becomes an argument of a DIOPI function."""

from __future__ import annotations

from diopi_adapter.codegen import model

_CONST_TENSOR = "diopiConstTensorHandle_t"
_TENSOR = "diopiTensorHandle_t"
_SCALAR_TYPES = ("const diopiScalar_t*", "diopiScalar_t*")
_POINTERS = {"int": "int64_t", "float": "double", "bool": "bool"}
_VALUES = {
    ("int", "int64_t"): "{}",
    ("int", "int32_t"): "static_cast<int32_t>({})",
    ("int", "diopiReduction_t"): "reductionMode({})",
    ("bool", "bool"): "{}",
    ("float", "double"): "{}",
    ("float", "float"): "static_cast<float>({})",
    ("Scalar", "double"): "{}.toDouble()",
    ("Scalar", "float"): "{}.to<float>()",
    ("int[]", "diopiSize_t"): "sizeArray({})",
    ("int[]?", "diopiSize_t"): "sizeArray({})",
    ("str", "const char*"): "CString({})",
    ("str?", "diopiRoundMode_t"): "roundMode({})",
    ("Tensor[]", _CONST_TENSOR + "*"): "TensorArray({}, /*written=*/false)",
    ("Tensor[]", _TENSOR + "*"): "TensorArray({}, /*written=*/true)",
    ("Tensor?[]", _CONST_TENSOR + "*"): "TensorArray({})",
}
_TENSOR_LISTS = ("Tensor[]", "Tensor?[]")


def from_argument(type_: str, name: str, parameter: str) -> str | None:
    """C++ that passes the argument `name`, or None when that is not possible.

    Args:
      type_: of the argument, as in model.Argument.
      name: its name in C++.
      parameter: the type that DIOPI declares.
    """
    if type_ in ("Tensor", "Tensor?"):
        if parameter == _CONST_TENSOR:
            return f"In({name})"
        return f"Out({name})" if parameter == _TENSOR else None
    if type_ in ("Scalar", "Scalar?", "float") and parameter in _SCALAR_TYPES:
        return f"Value({name})"
    base = type_.removesuffix("?")
    if base in _POINTERS and parameter == f"const {_POINTERS[base]}*":
        return f"Pointer<{_POINTERS[base]}>({name})"
    template = _VALUES.get((type_, parameter))
    return template.format(name) if template else None


def from_literal(literal: model.Literal, parameter: str) -> str | None:
    """C++ of a constant, or None when `parameter` cannot take it."""
    kind = literal.kind
    if kind is model.LiteralKind.NONE:
        if parameter == "diopiRoundMode_t":
            return "RoundModeNone"
        pointer = parameter.endswith("*") or parameter in (_CONST_TENSOR, _TENSOR)
        return "nullptr" if pointer else None
    accepted = {
        model.LiteralKind.BOOL: ("bool",),
        model.LiteralKind.INT: ("int64_t", "double"),
        model.LiteralKind.TEXT: ("const char*",),
    }
    return literal.text if parameter in accepted[kind] else None


def from_function(
    apply: model.Apply, types: dict[str, str], parameter: str
) -> str | None:
    """C++ of size(x) or or_else(a, b); None when types do not fit."""
    arguments = [types.get(name) for name in apply.arguments]
    if apply.function == "size" and len(arguments) == 1:
        fits = arguments[0] in _TENSOR_LISTS and parameter == "int64_t"
        return f"static_cast<int64_t>({apply.arguments[0]}.size())" if fits else None
    if apply.function == "or_else" and len(arguments) == 2:
        fits = arguments == ["int[]", "int[]"] and parameter == "diopiSize_t"
        return f"sizeArray(orElse({', '.join(apply.arguments)}))" if fits else None
    return None


def condition(type_: str, name: str, literal: model.Literal) -> str | None:
    """C++ that tests whether the argument equals the constant, or has the type."""
    if literal.kind is model.LiteralKind.NONE:
        if type_ == "Tensor?":
            return f"!({name}.has_value() && {name}->defined())"
        return f"!{name}.has_value()" if type_.endswith("?") else None
    if literal.kind is model.LiteralKind.BOOL and type_ == "bool":
        return name if literal.text == "true" else f"!{name}"
    if literal.kind is model.LiteralKind.INT and type_ in ("int", "float"):
        return f"{name} == {literal.text}"
    if literal.kind is model.LiteralKind.TYPE and type_ == "Tensor":
        return f"diopiDtype({name}.scalar_type()) == diopi_dtype_{literal.text}"
    return None
