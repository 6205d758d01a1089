# SPDX-License-Identifier: Apache-2.0
"""Writes operators as C++.

The text of the templates is C++ with $names; this module fills them in. The
order of everything is that of the operators, so the output is deterministic.
"""

from __future__ import annotations

import pathlib
import string
from collections.abc import Iterable, Sequence

from diopi_adapter.codegen import convert, model

_HEADERS = ("call", "elementwise", "handles", "output", "shape", "slot", "symbol_table")
_META_REFS = ("at::OptionalTensorRef", "at::OptionalScalarRef")
_TEMPLATES = pathlib.Path(__file__).parent / "templates"


def _template(name: str) -> string.Template:
    return string.Template((_TEMPLATES / f"{name}.tmpl").read_text("utf-8"))


def _comma(items: Iterable[str]) -> str:
    return ", ".join(items)


class _OperatorWriter:
    """Writes one operator."""

    def __init__(self, operator: model.Operator) -> None:
        self._op = operator
        self._casts = dict(operator.entry.cast)
        self._first = next(
            (a.name for a in operator.arguments if a.type == "Tensor"), None
        )
        self._type = "ResultType::k" + (
            "Bool" if operator.entry.result_is_bool else "Common"
        )

    def text(self) -> str:
        op = self._op
        return _template("operator.cc").substitute(
            line=op.entry.line,
            identifier=op.identifier,
            calls=self._calls(),
            compute_parameters=self._compute_parameters(),
            body=self._body().rstrip("\n"),
            variants="".join(self._variant(v) for v in op.variants),
        )

    def registration(self) -> str:
        op = self._op
        binds = "".join(
            f"    bind<{op.identifier}::{v.form.value}_slot>(library);\n"
            for v in op.variants
        )
        return f"  if (symbols().{op.call.function} != nullptr) {{\n{binds}  }}\n"

    # Parameters.

    def _const_type(self, argument: model.Argument) -> str:
        """`argument` as compute() takes it: a tensor that is written too."""
        is_plain = argument.cpp_type == "at::Tensor&"
        return "const at::Tensor&" if is_plain else argument.cpp_type

    def _call_type(self, argument: model.Argument) -> str:
        """`argument` as call() takes it: lists are materialised."""
        return "at::TensorList" if argument.type == "Tensor[]" else self._const_type(
            argument
        )

    def _compute_parameters(self) -> str:
        op = self._op
        head = [] if op.kind is model.Kind.MUTATING else ["Form form"]
        if op.kind is model.Kind.ALLOCATED:
            head = []
        outputs = [f"at::Tensor& {name}" for name in op.outputs]
        rest = [f"{self._const_type(a)} {a.name}" for a in op.arguments]
        return _comma(head + outputs + rest)

    def _used(self) -> list[model.Argument]:
        """The arguments that the calls use."""
        calls = [c for c in (self._op.entry.call, self._op.entry.number) if c]
        names = set()
        for call in calls:
            for argument in call.arguments:
                if isinstance(argument, model.Name):
                    names.add(argument.name)
                elif isinstance(argument, model.Apply):
                    names.update(argument.arguments)
        return [a for a in self._op.arguments if a.name in names]

    # Calls of DIOPI functions.

    def _calls(self) -> str:
        op = self._op
        text = self._one_call("call", op.call, None)
        if op.number is not None:
            text += self._one_call("callNumber", op.number, op.number_argument)
        return text.rstrip("\n") + "\n"

    def _one_call(self, name: str, call: model.BoundCall, number: str | None) -> str:
        op = self._op
        allocates = op.kind is model.Kind.ALLOCATED
        tensor = "at::Tensor&" if allocates else "const at::Tensor&"
        parameters = ["c10::DeviceIndex device"]
        parameters += [f"{tensor} {name}" for name in op.outputs]
        for argument in self._used():
            is_number = argument.name == number
            type_ = "const at::Scalar&" if is_number else self._call_type(argument)
            parameters.append(f"{type_} {argument.name}")
        tensors = _comma(
            f"&{a.name}"
            for a in self._used()
            if a.type == "Tensor" and a.name != number
        )
        template = "allocating_call.cc" if allocates else "call.cc"
        return _template(template).substitute(
            name=name,
            parameters=_comma(parameters),
            function=call.function,
            arguments=_comma(("context", *call.arguments)),
            op=op.entry.op,
            tensors=tensors,
            output=op.outputs[0] if op.outputs else "",
        )

    # The body of compute().

    def _body(self) -> str:
        op = self._op
        fields = {
            "preconditions": self._preconditions(),
            "tensors": self._device_tensors(),
            "casts": self._cast_lines(),
            "call_arguments": self._call_arguments(),
        }
        if op.kind in (model.Kind.MUTATING, model.Kind.ALLOCATED):
            return _template("direct.cc").substitute(fields)
        if op.kind is model.Kind.DECLARED:
            return _template("declared.cc").substitute(
                fields, prepares=self._prepares()
            )
        fields["meta_class"] = op.meta_class or ""
        fields["meta_arguments"] = self._meta_arguments()
        if op.kind is model.Kind.META:
            return _template("meta.cc").substitute(
                fields,
                output_count=len(op.outputs),
                output_pointers=_comma(f"&{name}" for name in op.outputs),
            )
        return self._elementwise_body(fields)

    def _elementwise_body(self, fields: dict[str, str]) -> str:
        op = self._op
        iterator = op.kind is model.Kind.ITERATOR
        common = "common" if iterator else "op.dtype()"
        return _template(f"{op.kind.value}.cc").substitute(
            fields,
            output=op.outputs[0],
            first=self._first,
            fast_path=self._fast_path(),
            number_fast_path=self._number_fast_path(),
            promoted=_comma(f"&{name}" for name in op.entry.elementwise),
            masks=_comma(f"&{name}" for name in op.entry.masks),
            result_type=self._type,
            result_dtype="at::kBool" if op.entry.result_is_bool else common,
            slow_calls=self._slow_calls(),
        )

    def _preconditions(self) -> str:
        op = self._op
        text = ""
        for name, literal in op.entry.require:
            test = convert.condition(op.argument(name).type, name, literal)
            text += (
                f"  if (!({test})) return noteRefusal("
                f'"DIOPI has no form with this {name}");\n'
            )
        for argument in self._used():
            if argument.is_scalar:
                text += (
                    f"  if (!isReal({argument.name})) return noteRefusal("
                    f'"DIOPI has no complex numbers, as {argument.name} is");\n'
                )
        return text

    def _device_tensors(self) -> str:
        op = self._op
        tensors = [a.name for a in op.arguments if a.is_tensor]
        lists = [a.name for a in op.arguments if a.type == "Tensor[]"]
        return _comma(tensors or lists[:1] or op.outputs[:1])

    def _cast_lines(self) -> str:
        text = ""
        for name, target in self._casts.items():
            argument = self._op.argument(name)
            if argument.type == "Tensor[]":
                text += (
                    f"  const std::vector<at::Tensor> {name}_cast =\n"
                    f"      catOperands({name}, {target}.scalar_type());\n"
                    f"  if ({name}_cast.empty()) return true;\n"
                )
            else:
                text += (
                    f"  const at::Tensor {name}_cast = "
                    f"castTo({name}, {target}.scalar_type());\n"
                )
        return text

    def _call_arguments(self) -> str:
        values = ["device"]
        if self._op.kind is model.Kind.META:
            values += [f"op.output({i})" for i in range(len(self._op.outputs))]
        else:
            values += self._op.outputs
        for argument in self._used():
            name = argument.name
            if name in self._casts:
                name += "_cast"
            elif argument.type == "Tensor?[]":
                name = f"indicesOn({name}, device)"
            values.append(name)
        return _comma(values)

    def _prepares(self) -> str:
        text = ""
        for name, spec in zip(self._op.outputs, self._op.entry.out, strict=True):
            shape = f"shape::{spec.function}({_comma(spec.arguments)})"
            text += f"  prepareOutput(form, {name}, {shape}, device);\n"
        return text

    def _meta_arguments(self) -> str:
        values = []
        for argument in self._op.arguments:
            is_ref = argument.cpp_meta_type in _META_REFS
            values.append(f"toMeta({argument.name})" if is_ref else argument.name)
        return _comma(values)

    # Elementwise operators; see Note [Fast path].

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
            f"fast::applies(form, {op.outputs[0]}, {self._type}, {_comma(operands)})"
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
            is_number = name == "callNumber" and argument.name == op.number_argument
            values.append(
                f"numberOf({argument.name})" if is_number else argument.name
            )
        return (
            f"    fast::makeOutput(form, {op.outputs[0]}, {self._type}, "
            f"{operands[0]});\n    return {name}({_comma(values)});\n  }}\n"
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
        return _comma(values)

    def _slow_calls(self) -> str:
        call = f"call({self._slow_values(False)})"
        if self._op.number is None:
            return f"  const bool done = {call};\n"
        return (
            f"  const bool done =\n      number ? callNumber({self._slow_values(True)})"
            f"\n             : {call};\n"
        )

    # What the dispatcher calls.

    def _variant(self, variant: model.Variant) -> str:
        op = self._op
        functional = variant.form is model.Form.FUNCTIONAL
        declarations = ""
        if functional and op.outputs:
            declarations = f"  at::Tensor {_comma(op.outputs)};\n"
        names = [name for _, name in variant.parameters]
        return _template("variant.cc").substitute(
            returns=variant.returns,
            form=variant.form.value,
            name=variant.name,
            parameters=_comma(f"{t} {n}" for t, n in variant.parameters),
            types=_comma(t for t, _ in variant.parameters),
            declarations=declarations,
            compute_arguments=_comma(self._compute_arguments(variant)),
            arguments=_comma(names),
            masking=self._masking() if functional else "",
            returned=self._returned(variant),
        )

    def _compute_arguments(self, variant: model.Variant) -> list[str]:
        op = self._op
        inputs = [a.name for a in op.arguments]
        if op.kind is model.Kind.MUTATING:
            return inputs
        if op.kind is model.Kind.ALLOCATED:
            return [*op.outputs, *inputs]
        forms = {
            model.Form.FUNCTIONAL: "Form::kFunctional",
            model.Form.INPLACE: "Form::kInplace",
            model.Form.OUT: "Form::kOut",
        }
        outputs = op.outputs
        if variant.form is not model.Form.FUNCTIONAL:
            outputs = variant.returned
        return [forms[variant.form], *outputs, *inputs]

    def _masking(self) -> str:
        if not self._op.has_output_mask:
            return ""
        return "".join(
            f"  if (!output_mask[{i}]) {name}.reset();\n"
            for i, name in enumerate(self._op.outputs)
        )

    def _returned(self, variant: model.Variant) -> str:
        if variant.returns == "void":
            return ""
        if len(variant.returned) == 1:
            return variant.returned[0]
        return f"{variant.returns}({_comma(variant.returned)})"


def render_shard(operators: Sequence[model.Operator], index: int) -> str:
    """One source with the wrappers of `operators` and their registration."""
    with_meta = (model.Kind.ITERATOR, model.Kind.META)
    headers = sorted({o.header for o in operators if o.kind in with_meta if o.header})
    # Torch's meta headers need what ours include.
    includes = [f'#include "diopi_adapter/runtime/{h}.h"' for h in _HEADERS]
    includes.append("")
    includes += [f"#include <ATen/ops/{h}_meta.h>" for h in headers]
    writers = [_OperatorWriter(o) for o in operators]
    return _template("shard.cc").substitute(
        includes="\n".join(includes),
        operators="".join(w.text() for w in writers).rstrip("\n") + "\n",
        index=index,
        registrations="".join(w.registration() for w in writers).rstrip("\n"),
    )


def render_registration(operators: Sequence[model.Operator], shards: int) -> str:
    """The source that calls the registration functions of all shards."""
    infos = [
        f'      {{"{variant.name}", "{operator.call.function}"}},'
        for operator in operators
        for variant in operator.variants
    ]
    return _template("registration.cc").substitute(
        declarations="\n".join(
            f"void registerShard{i}(torch::Library& library);" for i in range(shards)
        ),
        infos="\n".join(infos),
        calls="\n".join(f"  registerShard{i}(library);" for i in range(shards)),
    )


def split(
    operators: Sequence[model.Operator], shards: int
) -> list[Sequence[model.Operator]]:
    """`operators` in `shards` runs of about the same length, in order."""
    count = len(operators)
    bounds = [count * i // shards for i in range(shards + 1)]
    return [operators[a:b] for a, b in zip(bounds, bounds[1:])]
