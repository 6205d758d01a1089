# SPDX-License-Identifier: Apache-2.0
"""The samples of ops.yaml with the results of torch on the CPU, as text.

The text tells a program without torch which DIOPI function to call, with what,
and what to expect; tests/samples/sample.h describes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch

from diopi_adapter.codegen import check, model, parse, reference

HEADER = "dipu-samples 1"
# diopiDtype_t.
_DTYPES = {
    torch.int8: 0,
    torch.uint8: 1,
    torch.int16: 2,
    torch.int32: 4,
    torch.int64: 6,
    torch.float16: 8,
    torch.float32: 9,
    torch.float64: 10,
    torch.bool: 11,
    torch.bfloat16: 12,
}
# Differences, relative and absolute, that rounding explains.
_TOLERANCES = {
    torch.float64: 1e-10,
    torch.float32: 2e-5,
    torch.float16: 4e-3,
    torch.bfloat16: 3e-2,
}
_ROUND_MODES = {"trunc": 1, "floor": 2}


def _comma(values: Iterable[object]) -> str:
    return ",".join(str(v) for v in values)


def _memory(tensor: torch.Tensor | None) -> str:
    """The bytes of a tensor without gaps, whatever the order of its strides."""
    if tensor is None:
        return "-"
    flat = tensor.as_strided((tensor.numel(),), (1,))
    return "=" + bytes(flat.view(torch.uint8).tolist()).hex()


class _Writer:
    """Writes one sample."""

    def __init__(self, entry: model.Entry, given: model.Sample) -> None:
        self._entry = entry
        self._given = given
        self._computed = reference.compute(entry, given)
        self._tensors: list[str] = []
        self._places: dict[int, int] = {}

    def lines(
        self, name: str, functions: Mapping[str, model.DiopiFunction]
    ) -> Iterator[str]:
        """The lines of the sample, which is to be called `name`."""
        spec = self._entry.number if self._computed.has_number else self._entry.call
        if spec is None:
            raise self._error("it has no `number:` to call with a number")
        parameters = functions[spec.function].parameters
        pairs = zip(spec.arguments, parameters, strict=True)
        call = [self._argument(argument, p.type) for argument, p in pairs]
        yield f"sample {name} {self._entry.source}:{self._given.line} {spec.function}"
        yield from self._tensors
        yield " ".join(["call", *call])

    def _error(self, reason: str) -> model.SpecError:
        return self._entry.error(reason, self._given.line)

    def _argument(self, argument: model.Expression, type_: str) -> str:
        values = self._computed.values
        match argument:
            case model.Name(name):
                return self._value(values[name], type_)
            case model.Apply("size", (name,)):
                listed = values[name]
                return f"I{len(listed)}" if isinstance(listed, tuple) else "I0"
            case model.Apply(_, (first, second)):
                return self._value(values[first] or values[second], type_)
            case model.Literal(model.LiteralKind.TEXT, text):
                return self._value(text.strip('"'), type_)
            case model.Literal(model.LiteralKind.INT, text):
                return self._value(int(text), type_)
            case model.Literal(_, text):
                return self._value({"true": True, "false": False}.get(text), type_)
        raise self._error(f"a sample cannot pass {argument}")

    def _value(self, value: reference.Value, type_: str) -> str:
        match value:
            case None if type_ == "diopiSize_t":
                return "Z"
            case None:
                return "I0" if type_ == "diopiRoundMode_t" else "-"
            case reference.Argument():
                allocated = type_ == "diopiTensorHandle_t*" and value.before is None
                return f"{'A' if allocated else 'T'}{self._place(value)}"
            case str() if type_ == "diopiRoundMode_t":
                return f"I{_ROUND_MODES[value]}"
            case str():
                return "S" + value.encode().hex()
            case tuple() if type_ == "diopiSize_t":
                return "Z" + _comma(value)
            case tuple():
                return "L" + _comma(self._value(v, "")[1:] or "-" for v in value)
            case float():
                return "F" + value.hex()
            case bool() | int() if type_ in ("double", "float", "const double*"):
                return "F" + float(value).hex()
        return f"I{int(value)}"

    def _limit(self, dtype: torch.dtype) -> float:
        if dtype not in _TOLERANCES:
            return 0.0
        own = self._entry.tolerance_of(str(dtype).removeprefix("torch."))
        return _TOLERANCES[dtype] if own is None else own

    def _place(self, argument: reference.Argument) -> int:
        """The number of a tensor among those of the sample."""
        if id(argument) not in self._places:
            self._places[id(argument)] = len(self._tensors)
            tensor = argument.tensor
            words = (
                "tensor",
                _DTYPES[tensor.dtype],
                f"[{_comma(tensor.shape)}]",
                f"[{_comma(tensor.stride())}]",
                self._limit(tensor.dtype),
                _memory(argument.before),
                _memory(argument.after),
            )
            self._tensors.append(" ".join(str(word) for word in words))
        return self._places[id(argument)]


def render(ops: str, source: str, functions: str) -> str:
    """The text for all samples.

    Args:
      ops: content of ops.yaml.
      source: its name for messages.
      functions: content of diopi_functions.tsv.

    Raises:
      model.SpecError: ops.yaml or a sample in it is wrong.
    """
    entries = parse.parse_entries(ops, source)
    known = parse.parse_functions(functions)
    check.check_entries(entries, known)
    lines = [HEADER]
    for entry in sorted(entries, key=lambda e: e.op):
        for number, given in enumerate(entry.samples):
            name = f"{entry.op}/{number}"
            lines.extend(_Writer(entry, given).lines(name, known))
    return "\n".join(lines) + "\n"
