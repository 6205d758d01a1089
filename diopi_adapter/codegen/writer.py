# SPDX-License-Identifier: Apache-2.0
"""Writes one operator as C++."""

from __future__ import annotations

from diopi_adapter.codegen import convert, model
from diopi_adapter.codegen.template import comma, fill

_META_REFS = ("at::OptionalTensorRef", "at::OptionalScalarRef")


class OperatorWriter:
    """Writes one operator."""

    def __init__(self, operator: model.Operator) -> None:
        self._op = operator
        self._casts = dict(operator.entry.cast)

    def text(self) -> str:
        """Its calls, its computation and its variants."""
        op = self._op
        return fill(
            "operator.cc",
            line=op.entry.line,
            identifier=op.identifier,
            calls=self._calls(),
            compute_parameters=self._compute_parameters(),
            body=self._body().rstrip("\n"),
            variants="".join(self._variant(v) for v in op.variants),
        )

    def registration(self) -> str:
        """The statement that registers its variants."""
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
        return (
            "at::TensorList"
            if argument.type == "Tensor[]"
            else self._const_type(argument)
        )

    def _compute_parameters(self) -> str:
        op = self._op
        head = [] if op.kind is model.Kind.MUTATING else ["Form form"]
        if op.kind is model.Kind.ALLOCATED:
            head = []
        outputs = [f"at::Tensor& {name}" for name in op.outputs]
        rest = [f"{self._const_type(a)} {a.name}" for a in op.arguments]
        return comma(head + outputs + rest)

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
        tensors = comma(
            f"&{a.name}"
            for a in self._used()
            if a.type == "Tensor" and a.name != number
        )
        template = "allocating_call.cc" if allocates else "call.cc"
        return fill(
            template,
            name=name,
            parameters=comma(parameters),
            function=call.function,
            arguments=comma(("context", *call.arguments)),
            op=op.entry.op,
            tensors=tensors,
            output=op.outputs[0] if op.outputs else "",
        )

    # The body of compute().

    def _body(self) -> str:
        op = self._op
        if op.kind is model.Kind.DECLARED:
            return fill("declared.cc", **self._fields(), prepares=self._prepares())
        if op.kind is model.Kind.META:
            return fill(
                "meta.cc",
                **self._fields(),
                **self._meta_fields(),
                output_count=len(op.outputs),
                output_pointers=comma(f"&{name}" for name in op.outputs),
            )
        return fill("direct.cc", **self._fields())

    def _fields(self) -> dict[str, str]:
        return {
            "preconditions": self._preconditions(),
            "tensors": self._device_tensors(),
            "casts": self._cast_lines(),
            "call_arguments": self._call_arguments(),
        }

    def _meta_fields(self) -> dict[str, str]:
        return {
            "meta_class": self._op.meta_class or "",
            "meta_arguments": self._meta_arguments(),
        }

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
        return text + self._list_preconditions()

    def _list_preconditions(self) -> str:
        """DIOPI's functions over lists do not promote."""
        lists = [a.name for a in self._used() if a.type == "Tensor[]"]
        numbers = [a.name for a in self._used() if a.is_scalar]
        return "".join(
            f"  if (!fast::keepsTypes({name}, {number})) return noteRefusal("
            f'"the number would change the type of {name}");\n'
            for name in lists
            for number in numbers
        )

    def _device_tensors(self) -> str:
        op = self._op
        tensors = [a for a in op.arguments if a.is_tensor]
        lists = [a.name for a in op.arguments if a.type == "Tensor[]"]
        # Optional tensors alone may all be missing.
        if lists and all(a.type == "Tensor?" for a in tensors):
            return lists[0]
        return comma([a.name for a in tensors] or op.outputs[:1])

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
        return comma(values)

    def _prepares(self) -> str:
        text = ""
        for name, spec in zip(self._op.outputs, self._op.entry.out, strict=True):
            shape = f"shape::{spec.function}({comma(spec.arguments)})"
            text += f"  prepareOutput(form, {name}, {shape}, device);\n"
        return text

    def _meta_arguments(self) -> str:
        values = []
        for argument in self._op.arguments:
            is_ref = argument.cpp_meta_type in _META_REFS
            values.append(f"toMeta({argument.name})" if is_ref else argument.name)
        return comma(values)

    # What the dispatcher calls.

    def _variant(self, variant: model.Variant) -> str:
        op = self._op
        functional = variant.form is model.Form.FUNCTIONAL
        declarations = storing = ""
        if functional and op.outputs:
            declarations = f"  at::Tensor {comma(op.outputs)};\n"
        elif op.kind is model.Kind.ALLOCATED:
            results = self._results()
            declarations = f"  at::Tensor {comma(results)};\n"
            storing = "".join(
                f"  storeResult({name}, {result});\n"
                for name, result in zip(op.outputs, results, strict=True)
            )
        names = [name for _, name in variant.parameters]
        return fill(
            "variant.cc",
            returns=variant.returns,
            form=variant.form.value,
            name=variant.name,
            parameters=comma(f"{t} {n}" for t, n in variant.parameters),
            types=comma(t for t, _ in variant.parameters),
            declarations=declarations,
            compute_arguments=comma(self._compute_arguments(variant)),
            arguments=comma(names),
            masking=self._masking() if functional else "",
            storing=storing,
            on_cpu=self._on_cpu(variant),
            returned=self._returned(variant),
        )

    def _on_cpu(self, variant: model.Variant) -> str:
        """The argument of its slot for the CPU's function, if it needs one."""
        function = self._op.entry.cpu_reference
        if not function:
            return ""
        if variant.form is model.Form.OUT:
            return f", &aten::Storing<&reference::{function}>::call"
        return f", &reference::{function}"

    def _compute_arguments(self, variant: model.Variant) -> list[str]:
        op = self._op
        inputs = [a.name for a in op.arguments]
        if op.kind is model.Kind.MUTATING:
            return inputs
        if op.kind is model.Kind.ALLOCATED:
            is_out = variant.form is model.Form.OUT
            return [*(self._results() if is_out else op.outputs), *inputs]
        forms = {
            model.Form.FUNCTIONAL: "Form::kFunctional",
            model.Form.INPLACE: "Form::kInplace",
            model.Form.OUT: "Form::kOut",
        }
        outputs = op.outputs
        if variant.form is not model.Form.FUNCTIONAL:
            outputs = variant.returned
        return [forms[variant.form], *outputs, *inputs]

    def _results(self) -> list[str]:
        """What the library allocated, before it is stored in the outputs."""
        return [f"{name}_result" for name in self._op.outputs]

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
        return f"{variant.returns}({comma(variant.returned)})"
