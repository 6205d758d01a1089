# SPDX-License-Identifier: Apache-2.0
"""Turns entries into operators; every mistake is reported with its line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from diopi_adapter.codegen import aten, convert, model

# The functions of diopi_adapter/runtime/shape.h and their parameters.
SHAPES: Mapping[str, tuple[str, ...]] = {
    "like": ("Tensor",),
    "likeInt": ("Tensor",),
    "clipped": ("Tensor", "Scalar", "Scalar"),
    "packed": ("Tensor",),
    "flag": (),
    "scalar": ("Tensor",),
    "total": ("Tensor", "ScalarType?"),
    "reduced": ("Tensor", "int[]?", "bool"),
    "reducedAlong": ("Tensor", "int", "bool"),
    "positionsAlong": ("Tensor", "int", "bool"),
    "kthAlong": ("Tensor", "int", "int", "bool"),
    "summed": ("Tensor", "int[]?", "bool", "ScalarType?", "out"),
    "counted": ("Tensor", "int[]"),
    "binned": ("Tensor", "int", "Scalar", "Scalar"),
    "arange": ("Scalar", "Scalar", "Scalar", "out"),
    "closedRange": ("Scalar", "Scalar", "Scalar", "out"),
    "linspace": ("int", "out"),
    "matrix": ("int", "int", "out"),
    "selected": ("Tensor", "int", "Tensor"),
    "taken": ("Tensor", "Tensor"),
    "positions": ("Tensor", "int"),
    "narrowed": ("Tensor", "int", "int", "int"),
    "batchSum": ("Tensor", "Tensor", "Tensor"),
    "dotProduct": ("Tensor", "Tensor"),
    "diagonalSum": ("Tensor",),
    "int8Product": ("Tensor", "Tensor"),
    "embedded": ("Tensor", "Tensor"),
    "embeddingGrad": ("Tensor", "int"),
    "reducedLoss": ("Tensor", "Tensor", "int"),
    "reducedTarget": ("Tensor", "Tensor", "int"),
    "pooled": ("Tensor", "int[]"),
    "windows": ("Tensor", "int[]", "int[]", "int[]", "int[]", "bool"),
    "windowIndices": ("Tensor", "int[]", "int[]", "int[]", "int[]", "bool"),
    "columns": ("Tensor", "int[]", "int[]", "int[]", "int[]"),
    "fromColumns": ("Tensor", "int[]", "int[]", "int[]", "int[]", "int[]"),
    "padded": ("Tensor", "int[]"),
    "sized": ("Tensor", "int[]"),
    "reserve": ("Tensor",),
    "channelStats": ("Tensor",),
    "savedStats": ("Tensor", "bool"),
    "channelParams": ("Tensor", "Tensor?"),
    "normStats": ("Tensor", "int[]"),
    "normParams": ("Tensor", "Tensor?", "int[]"),
    "groupStats": ("Tensor", "int", "int"),
    "halved": ("Tensor", "int"),
    "perElement": ("Tensor", "Tensor"),
    "reducedRows": ("Tensor", "int"),
    "bags": ("Tensor", "Tensor", "bool"),
    "bagSizes": ("Tensor", "bool"),
    "bagMaxima": ("Tensor", "Tensor", "bool", "int"),
    "distances": ("Tensor", "Tensor"),
    "distancesGrad": ("Tensor", "Tensor"),
    "pairs": ("Tensor",),
    "gridSampled": ("Tensor", "Tensor"),
}


def _similar(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


class _Checker:
    """Checks one entry."""

    def __init__(
        self, entry: model.Entry, functions: Mapping[str, model.DiopiFunction]
    ) -> None:
        self._entry = entry
        self._functions = functions
        schema = aten.find(entry.op)
        if schema is None:
            others = aten.overloads(entry.op)
            hint = f"; its overloads are {', '.join(others)}" if others else ""
            raise entry.error(f"torch has no such operator{hint}")
        self._schema = schema
        self._types = {a.name: a.type for a in schema.arguments}

    def operator(self) -> model.Operator:
        entry = self._entry
        self._check_names()
        self._check_samples()
        kind = self._kind()
        self._check_out(kind)
        self._check_reference()
        number_argument, number = self._number()
        mask = self._types.get("output_mask") == f"bool[{len(self._schema.outputs)}]"
        return model.Operator(
            entry=entry,
            kind=kind,
            variants=self._variants(kind),
            arguments=self._schema.arguments,
            outputs=self._schema.outputs,
            call=self._bind(entry.call, self._types),
            number=number,
            number_argument=number_argument,
            meta_class=self._schema.meta_class,
            header=self._schema.header,
            has_output_mask=mask,
        )

    def _variants(self, kind: model.Kind) -> tuple[model.Variant, ...]:
        variants = self._schema.variants
        if kind is model.Kind.ALLOCATED:
            # The library makes the result, whose size may not be that of self.
            return tuple(v for v in variants if v.form is not model.Form.INPLACE)
        return variants

    def _kind(self) -> model.Kind:
        entry, schema = self._entry, self._schema
        if not schema.outputs:
            return model.Kind.MUTATING
        if self._allocates():
            return model.Kind.ALLOCATED
        if entry.out:
            return model.Kind.DECLARED
        if entry.elementwise:
            return model.Kind.ELEMENTWISE
        if schema.structured:
            return model.Kind.ITERATOR if schema.iterator else model.Kind.META
        raise entry.error(
            "torch has no meta function to take the output from; add `out:`"
        )

    def _allocates(self) -> bool:
        spec = self._entry.call
        pairs = zip(spec.arguments, self._function(spec).parameters, strict=True)
        outputs = self._schema.outputs
        return any(
            isinstance(argument, model.Name)
            and argument.name in outputs
            and parameter.type == "diopiTensorHandle_t*"
            for argument, parameter in pairs
        )

    def _check_names(self) -> None:
        entry = self._entry
        if entry.result is model.Result.FLOAT and not entry.elementwise:
            raise entry.error("`result: float` goes with `elementwise:` only")
        for name in (*entry.elementwise, *entry.masks):
            self._need(name, ("Tensor",))
        for name in entry.mutates:
            self._need(name, ("Tensor", "Tensor?"))
        for name, target in entry.cast:
            self._need(name, ("Tensor", "Tensor[]"))
            if target not in self._schema.outputs:
                self._need(target, ("Tensor",))
        for name, literal in entry.require:
            self._need(name, None)
            if convert.condition(self._types[name], name, literal) is None:
                raise entry.error(
                    f"`{name}` of type {self._types[name]} is never {literal.text}"
                )

    def _check_reference(self) -> None:
        entry, schema = self._entry, self._schema
        if not entry.cpu_reference:
            if not schema.on_cpu:
                raise entry.error(
                    "the CPU has no kernel for it; name a function of "
                    "diopi_adapter/reference under `cpu_reference:`"
                )
            return
        if schema.on_cpu:
            raise entry.error("the CPU has a kernel for it: no `cpu_reference:`")
        forms = {variant.form for variant in schema.variants}
        several = model.Form.OUT in forms and len(schema.outputs) > 1
        if model.Form.INPLACE in forms or several:
            raise entry.error(
                "`cpu_reference:` serves no operators that work in place, and out "
                "variants of one result only"
            )

    def check_handwritten(self) -> None:
        """Checks what serves the samples of a wrapper written by hand."""
        self._check_names()
        self._check_samples()
        self._bind(self._entry.call, self._types)

    def _check_samples(self) -> None:
        known = (*self._types, *self._schema.outputs)
        for sample in self._entry.samples:
            for name, _ in sample.arguments:
                if name not in known:
                    raise self._entry.error(
                        f"no argument `{name}`{_similar(name, known)} for a sample "
                        f"(it has {', '.join(self._types)})",
                        sample.line,
                    )

    def _need(self, name: str, types: tuple[str, ...] | None) -> None:
        if name not in self._types:
            known = ", ".join(self._types)
            hint = _similar(name, self._types)
            raise self._entry.error(f"no argument `{name}`{hint} (it has {known})")
        if types is not None and self._types[name] not in types:
            raise self._entry.error(
                f"`{name}` is a {self._types[name]}, expected {' or '.join(types)}"
            )

    def _check_out(self, kind: model.Kind) -> None:
        entry, outputs = self._entry, self._schema.outputs
        if not entry.out:
            return
        if kind is not model.Kind.DECLARED:
            raise entry.error("`out:` does not apply to this operator")
        if len(entry.out) != len(outputs):
            raise entry.error(
                f"{len(outputs)} outputs but {len(entry.out)} shapes under `out:`"
            )
        for spec in entry.out:
            self._check_shape(spec)

    def _check_shape(self, spec: model.OutSpec) -> None:
        error = self._entry.error
        if spec.function not in SHAPES:
            hint = _similar(spec.function, SHAPES)
            raise error(f"no shape function `{spec.function}`{hint}", spec.line)
        wanted = SHAPES[spec.function]
        if len(wanted) != len(spec.arguments):
            raise error(
                f"{spec.function} takes {len(wanted)} arguments, "
                f"not {len(spec.arguments)}",
                spec.line,
            )
        for name, type_ in zip(spec.arguments, wanted, strict=True):
            if type_ == "out":
                if name not in self._schema.outputs:
                    raise error(f"`{name}` is not an output", spec.line)
                continue
            self._need(name, None)
            actual = self._types[name]
            if actual not in (type_, type_.removesuffix("?")):
                raise error(
                    f"{spec.function} takes a {type_}, `{name}` is a {actual}",
                    spec.line,
                )

    def _number(self) -> tuple[str | None, model.BoundCall | None]:
        """The call for an operand that is a number, and that operand."""
        spec = self._entry.number
        if spec is None:
            return None, None
        function = self._function(spec)
        pairs = zip(spec.arguments, function.parameters, strict=True)
        for argument, parameter in pairs:
            if (
                isinstance(argument, model.Name)
                and self._types.get(argument.name) == "Tensor"
                and parameter.type == "const diopiScalar_t*"
            ):
                types = {**self._types, argument.name: "Scalar"}
                return argument.name, self._bind(spec, types)
        raise self._entry.error(
            f"{spec.function} takes no number in place of a tensor", spec.line
        )

    def _function(self, spec: model.CallSpec) -> model.DiopiFunction:
        function = self._functions.get(spec.function)
        if function is None:
            hint = _similar(spec.function, self._functions)
            raise self._entry.error(
                f"DIOPI has no function `{spec.function}`{hint}", spec.line
            )
        if len(spec.arguments) != len(function.parameters):
            names = ", ".join(p.name for p in function.parameters)
            raise self._entry.error(
                f"{spec.function} takes {len(function.parameters)} arguments "
                f"({names}), not {len(spec.arguments)}",
                spec.line,
            )
        return function

    def _bind(self, spec: model.CallSpec, types: dict[str, str]) -> model.BoundCall:
        function = self._function(spec)
        arguments = tuple(
            self._convert(spec, *pair, types)
            for pair in zip(spec.arguments, function.parameters, strict=True)
        )
        return model.BoundCall(spec.function, arguments, spec.line)

    def _convert(
        self,
        spec: model.CallSpec,
        argument: model.Expression,
        parameter: model.DiopiParameter,
        types: dict[str, str],
    ) -> str:
        wanted = parameter.type
        if isinstance(argument, model.Literal):
            text = convert.from_literal(argument, wanted)
            what = argument.text
        elif isinstance(argument, model.Apply):
            text = convert.from_function(argument, types, wanted)
            what = f"{argument.function}({', '.join(argument.arguments)})"
        else:
            text = self._convert_name(spec, argument.name, wanted, types)
            what = f"{argument.name} ({types.get(argument.name, 'Tensor')})"
        if text is None:
            raise self._entry.error(
                f"cannot pass {what} to `{parameter.name}` of {spec.function}, "
                f"which is a {wanted}",
                spec.line,
            )
        return text

    def _convert_name(
        self, spec: model.CallSpec, name: str, wanted: str, types: dict[str, str]
    ) -> str | None:
        if name in self._schema.outputs and name not in types:
            if wanted == "diopiTensorHandle_t*":
                return f"&{name}_handle"
            return f"Out({name})" if wanted == "diopiTensorHandle_t" else None
        if name not in types:
            known = (*types, *self._schema.outputs)
            raise self._entry.error(
                f"no argument `{name}`{_similar(name, known)} "
                f"(it has {', '.join(known)})",
                spec.line,
            )
        writes = wanted.startswith("diopiTensorHandle_t")
        if writes and not self._may_write(name):
            raise self._entry.error(
                f"{spec.function} writes `{name}`, which the schema does not "
                "allow; name it under `mutates:` if that is intended",
                spec.line,
            )
        return convert.from_argument(types[name], name, wanted)

    def _may_write(self, name: str) -> bool:
        argument = next(a for a in self._schema.arguments if a.name == name)
        return argument.mutable or name in self._entry.mutates


def check_entries(
    entries: Iterable[model.Entry], functions: Mapping[str, model.DiopiFunction]
) -> tuple[model.Operator, ...]:
    """Operators of `entries`, sorted by name.

    Raises:
      model.SpecError: an entry is wrong, or serves what another one serves.
    """
    served: dict[str, model.Entry] = {}
    operators = []
    for entry in entries:
        if entry.handwritten:
            _Checker(entry, functions).check_handwritten()
            continue
        operator = _Checker(entry, functions).operator()
        for variant in operator.variants:
            if variant.name in served:
                first = served[variant.name].line
                raise entry.error(f"{variant.name} is served by line {first} already")
            served[variant.name] = entry
        operators.append(operator)
    return tuple(sorted(operators, key=lambda o: o.entry.op))


def check_aliases(aliases: Iterable[model.Alias]) -> tuple[model.Alias, ...]:
    """`aliases`, sorted by name.

    Raises:
      model.SpecError: PyTorch has no operator of a name.
    """
    aliases = tuple(sorted(aliases, key=lambda alias: alias.name))
    for alias in aliases:
        if not aten.overloads(alias.name) or "." in alias.name:
            raise alias.error("torch has no operators of this name")
        for name in alias.operators:
            if aten.find(name) is None:
                others = ", ".join(aten.overloads(name))
                hint = f"; its overloads are {others}" if others else ""
                raise alias.error(f"torch has no operator {name}{hint}")
    return aliases
