# SPDX-License-Identifier: Apache-2.0
"""ATen's operators, from the schemas that the torch wheel ships."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
from collections.abc import Iterator

import torchgen
from torchgen import gen, local
from torchgen.api import meta, structured
from torchgen.api.types import DispatcherSignature
from torchgen.model import Argument as SchemaArgument
from torchgen.model import DispatchKey, NativeFunction, NativeFunctionsGroup, SchemaKind

from diopi_adapter.codegen import model

_FORMS = {
    SchemaKind.functional: model.Form.FUNCTIONAL,
    SchemaKind.mutable: model.Form.FUNCTIONAL,
    SchemaKind.inplace: model.Form.INPLACE,
    SchemaKind.out: model.Form.OUT,
}


@dataclasses.dataclass(frozen=True)
class Schema:
    """What the named function is, and the functions that belong to it."""

    variants: tuple[model.Variant, ...]
    arguments: tuple[model.Argument, ...]
    outputs: tuple[str, ...]
    structured: bool
    iterator: bool
    meta_class: str | None
    header: str | None
    on_cpu: bool  # PyTorch has a kernel of the CPU for it


@functools.cache
def _parsed() -> gen.ParsedYaml:
    folder = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native"
    return gen.parse_native_yaml(
        str(folder / "native_functions.yaml"), str(folder / "tags.yaml")
    )


@functools.cache
def _functions() -> dict[str, tuple[NativeFunctionsGroup | None, NativeFunction]]:
    found: dict[str, tuple[NativeFunctionsGroup | None, NativeFunction]] = {}
    for item in gen.get_grouped_native_functions(_parsed().native_functions):
        if isinstance(item, NativeFunctionsGroup):
            for function in item.functions():
                found[str(function.func.name)] = (item, function)
        elif isinstance(item, NativeFunction):
            found[str(item.func.name)] = (None, item)
    return found


def overloads(name: str) -> list[str]:
    """Names of the functions that share the name before the dot, sorted."""
    base = name.split(".")[0]
    return sorted(n for n in _functions() if n.split(".")[0] == base)


def find(name: str) -> Schema | None:
    """The operator called `name`, such as add.Tensor; None if there is none."""
    if name not in _functions():
        return None
    group, function = _functions()[name]
    whole = group is not None and function is group.functional
    members = tuple(_members(group)) if whole and group else (function,)
    is_structured = whole and group is not None and group.structured
    with _signatures(function):
        return Schema(
            variants=tuple(_variant(f, _outputs(group, f)) for f in members),
            arguments=tuple(_arguments(group if is_structured else None, function)),
            outputs=_outputs(group, function),
            structured=is_structured,
            iterator=is_structured
            and group is not None
            and group.out.structured_inherits == "TensorIteratorBase",
            meta_class=meta.name(group) if is_structured and group else None,
            header=function.root_name if is_structured else None,
            on_cpu=any(map(_has_cpu_kernel, _members(group) if group else members)),
        )


def _has_cpu_kernel(function: NativeFunction) -> bool:
    composite = (
        function.has_composite_explicit_autograd_kernel
        or function.has_composite_implicit_autograd_kernel
        or function.has_composite_explicit_autograd_non_functional_kernel
    )
    cpu = _parsed().backend_indices[DispatchKey.CPU]
    return composite or cpu.has_kernel(function)


def _members(group: NativeFunctionsGroup) -> Iterator[NativeFunction]:
    """What torch itself implements: out variants that it generates from the
    functional one are left to it."""
    yield group.functional
    for function in (group.inplace, group.out):
        if function is not None and "generated" not in function.tags:
            yield function


def _signatures(function: NativeFunction):  # type: ignore[no-untyped-def]
    """torchgen needs to be told how to write C++ types."""
    return local.parametrize(
        use_const_ref_for_mutable_tensors=function.use_const_ref_for_mutable_tensors,
        use_ilistref_for_tensor_lists=function.part_of_structured_group,
    )


def _outputs(
    group: NativeFunctionsGroup | None, function: NativeFunction
) -> tuple[str, ...]:
    """Names of new tensors: those of the returns, else of the out variant."""
    schema = function.func
    if schema.arguments.out:
        return tuple(a.name for a in schema.arguments.out)
    new = [r for r in schema.returns if r.annotation is None]
    if all(r.name for r in new):
        return tuple(str(r.name) for r in new)
    if group is not None and len(group.out.func.arguments.out) == len(new):
        return tuple(a.name for a in group.out.func.arguments.out)
    return ("out",) if len(new) == 1 else tuple(f"out{i}" for i in range(len(new)))


def _plain(cpp: str) -> str:
    return cpp.replace("::std::", "std::").replace(" &", "&")


def _arguments(
    group: NativeFunctionsGroup | None, function: NativeFunction
) -> Iterator[model.Argument]:
    signature = DispatcherSignature.from_schema(function.func, symint=False)
    cpp = {b.name: _plain(b.type) for b in signature.arguments()}
    in_meta = {}
    if group is not None:
        bindings = structured.meta_arguments(group)
        in_meta = {b.name: _plain(b.type) for b in bindings}
    for argument in function.func.arguments.flat_non_out:
        if not isinstance(argument, SchemaArgument):
            continue
        mutable = argument.annotation is not None and argument.annotation.is_write
        type_ = re.sub(r"\[\d+\]", "[]", str(argument.type).replace("SymInt", "int"))
        if type_ == "bool[]":
            type_ = str(argument.type)
        yield model.Argument(
            name=argument.name,
            type=type_,
            cpp_type=cpp[argument.name],
            cpp_meta_type=in_meta.get(argument.name),
            mutable=mutable,
        )


def _variant(function: NativeFunction, outputs: tuple[str, ...]) -> model.Variant:
    schema = function.func
    with _signatures(function):
        signature = DispatcherSignature.from_schema(schema, symint=False)
        parameters = [(_plain(b.type), b.name) for b in signature.arguments()]
        returns = _plain(signature.returns_type().cpp_type())
    form = _FORMS[schema.kind()]
    returned = outputs if form is not model.Form.INPLACE else ()
    if form is model.Form.INPLACE and schema.returns:
        returned = ("self",)
    return model.Variant(
        name=str(schema.name),
        form=form,
        returns=returns,
        parameters=tuple(parameters),
        returned=returned,
    )
