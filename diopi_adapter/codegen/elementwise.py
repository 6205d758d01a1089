# SPDX-License-Identifier: Apache-2.0
"""Writes elementwise operators, see Note [Fast path] in runtime/elementwise.h."""

from __future__ import annotations

from collections.abc import Sequence

from diopi_adapter.codegen import model
from diopi_adapter.codegen.template import comma, fill
from diopi_adapter.codegen.writer import OperatorWriter


class ElementwiseWriter(OperatorWriter):
    """Writes an operator whose operands are promoted and broadcast together."""

    def __init__(self, operator: model.Operator) -> None:
        super().__init__(operator)
        self._first = next(a.name for a in operator.arguments if a.type == "Tensor")
        self._result = operator.entry.result
        self._type = f"ResultType::{self._result.value}"

    def _body(self) -> str:
        op = self._op
        iterator = op.kind is model.Kind.ITERATOR
        common = "common" if iterator else "op.dtype()"
        return fill(
            f"{op.kind.value}.cc",
            **self._fields(),
            **self._meta_fields(),
            output=op.outputs[0],
            first=self._first,
            fast_path=self._fast_path(),
            number_fast_path=self._number_fast_path(),
            promoted=comma(f"&{name}" for name in op.entry.elementwise),
            masks=comma(f"&{name}" for name in op.entry.masks),
            result_type=self._type,
            result_dtype="at::kBool" if self._result is model.Result.BOOL else common,
            refusal=self._refusal(),
            slow_calls=self._slow_calls(),
        )

    def _refusal(self) -> str:
        """A complex operand could have a real result, which the output lacks."""
        if self._result is not model.Result.FLOAT:
            return ""
        return (
            "  if (at::isComplexType(op.dtype())) {\n"
            '    return noteRefusal("DIOPI has no complex numbers");\n  }\n'
        )

    def _operands(self) -> list[str]:
        """Tensors that are promoted and broadcast together."""
        op = self._op
        if op.kind is model.Kind.ELEMENTWISE:
            return list(op.entry.elementwise)
        return [a.name for a in op.arguments if a.type == "Tensor"]

    def _fast_conditions(self, operands: Sequence[str], number: str | None) -> str:
        op = self._op
        first = operands[0]
        conditions = [
            f"fast::applies(form, {op.outputs[0]}, {self._type}, {comma(operands)})"
        ]
        conditions += [f"fast::isMask({first}, {name})" for name in op.entry.masks]
        for argument in op.arguments:
            if argument.is_scalar and op.kind is model.Kind.ITERATOR:
                conditions.append(
                    f"fast::keepsType({first}.scalar_type(), {argument.name})"
                )
        if number is not None:
            conditions.insert(0, "number")
            if number not in self._casts:
                conditions.append(f"numberKeepsType({first}, {number})")
        return " &&\n      ".join(conditions)

    def _fast_call(self, name: str, operands: Sequence[str]) -> str:
        op = self._op
        values = ["device", op.outputs[0]]
        for argument in self._used():
            if name == "callNumber" and argument.name == op.number_argument:
                values.append(f"numberOf({argument.name})")
            elif argument.name in operands[1:]:
                values.append(f"fast::Operand({operands[0]}, {argument.name})")
            else:
                values.append(argument.name)
        return (
            f"    fast::makeOutput(form, {op.outputs[0]}, {self._type}, "
            f"{operands[0]});\n    return {name}({comma(values)});\n  }}\n"
        )

    def _fast_path(self) -> str:
        op = self._op
        has_optional = any(a.type == "Tensor?" for a in op.arguments)
        if has_optional or self._casts:
            return ""
        operands = self._operands()
        return f"  if ({self._fast_conditions(operands, None)}) {{\n" + self._fast_call(
            "call", operands
        )

    def _number_fast_path(self) -> str:
        op = self._op
        if op.number is None or op.number_argument is None:
            return ""
        operands = [o for o in self._operands() if o != op.number_argument]
        return (
            f"  const bool number = isNumber({op.number_argument}) &&\n"
            f"                      symbols().{op.number.function} != nullptr;\n"
            f"  if ({self._fast_conditions(operands, op.number_argument)}) {{\n"
            + self._fast_call("callNumber", operands)
        )

    def _slow_values(self, number: bool) -> str:
        op = self._op
        values = ["device", "result.tensor()"]
        for argument in self._used():
            name = argument.name
            if number and name == op.number_argument:
                values.append(f"numberOf({name})")
            elif name in op.entry.masks:
                values.append(f"operand.shaped({name})")
            elif name in self._casts:
                target = self._casts[name]
                values.append(f"Operands({target}.scalar_type(), {{}}, device)({name})")
            elif argument.is_tensor:
                values.append(f"operand({name})")
            else:
                values.append(name)
        return comma(values)

    def _slow_calls(self) -> str:
        call = f"call({self._slow_values(False)})"
        if self._op.number is None:
            return f"  const bool done = {call};\n"
        return (
            f"  const bool done =\n      number ? callNumber({self._slow_values(True)})"
            f"\n             : {call};\n"
        )
