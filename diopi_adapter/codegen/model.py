# SPDX-License-Identifier: Apache-2.0
"""What the generator knows: entries of ops.yaml and the operators they make.

parse.py makes entries from text, check.py makes operators from entries, and
render.py makes C++ from operators. Everything here is immutable.
"""

from __future__ import annotations

import dataclasses
import enum

from diopi_adapter.codegen import sample


class SpecError(Exception):
    """A mistake in a data file. The text is `FILE:LINE: reason`."""

    def __init__(self, source: str, line: int, reason: str) -> None:
        super().__init__(f"{source}:{line}: {reason}")


class Result(enum.Enum):
    """The type of an elementwise result; the value is its name in C++."""

    COMMON = "kCommon"  # that of the operands
    BOOL = "kBool"
    FLOAT = "kFloat"  # that of the operands, the default type for integers


class LiteralKind(enum.Enum):
    """What a literal argument of a call is."""

    BOOL = "bool"
    INT = "int"
    NONE = "none"
    TEXT = "text"
    TYPE = "type"  # of elements, under `require:` only


@dataclasses.dataclass(frozen=True)
class Name:
    """An argument or an output of the operator."""

    name: str


@dataclasses.dataclass(frozen=True)
class Literal:
    """A constant: true, 0, none or "text"."""

    kind: LiteralKind
    text: str


@dataclasses.dataclass(frozen=True)
class Apply:
    """A function of arguments, size(x)."""

    function: str
    arguments: tuple[str, ...]


Expression = Name | Literal | Apply


@dataclasses.dataclass(frozen=True)
class CallSpec:
    """`diopiAdd(out, self, other, alpha)`."""

    line: int
    function: str
    arguments: tuple[Expression, ...]


@dataclasses.dataclass(frozen=True)
class OutSpec:
    """`like(self)`: a function of the shape vocabulary."""

    line: int
    function: str
    arguments: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Sample:
    """Arguments to test the operator with."""

    line: int
    arguments: tuple[tuple[str, sample.Value], ...]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One entry of ops.yaml as written."""

    source: str
    line: int
    op: str
    call: CallSpec
    number: CallSpec | None = None
    out: tuple[OutSpec, ...] = ()
    cast: tuple[tuple[str, str], ...] = ()
    require: tuple[tuple[str, Literal], ...] = ()
    elementwise: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()
    mutates: tuple[str, ...] = ()
    result: Result = Result.COMMON
    samples: tuple[Sample, ...] = ()
    # Per type of elements, or for all under the name "".
    tolerance: tuple[tuple[str, float], ...] = ()
    cpu_reference: str = ""  # of namespace dipu::reference
    handwritten: bool = False  # the wrapper is; the call serves its samples

    def tolerance_of(self, dtype: str) -> float | None:
        """How far results of a type, "float32", may be off; None: as usual."""
        tolerances = dict(self.tolerance)
        return tolerances.get(dtype, tolerances.get(""))

    def error(self, reason: str, line: int | None = None) -> SpecError:
        """The exception for a mistake in this entry."""
        return SpecError(self.source, line or self.line, f"{self.op}: {reason}")


@dataclasses.dataclass(frozen=True)
class Alias:
    """A composite operator, and the operators that PyTorch computes it by."""

    source: str
    line: int
    name: str  # without an overload: "conv2d"
    operators: tuple[str, ...]

    def error(self, reason: str) -> SpecError:
        """The exception for a mistake in this entry."""
        return SpecError(self.source, self.line, f"{self.name}: {reason}")


@dataclasses.dataclass(frozen=True)
class DiopiParameter:
    """A parameter of a DIOPI function, without const on values."""

    type: str
    name: str


@dataclasses.dataclass(frozen=True)
class DiopiFunction:
    """A DIOPI function; the context is left out of the parameters."""

    name: str
    parameters: tuple[DiopiParameter, ...]


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of an operator."""

    name: str
    type: str  # of the schema, with SymInt as int and without list lengths
    cpp_type: str
    cpp_meta_type: str | None  # as torch's meta function takes it
    mutable: bool

    @property
    def is_tensor(self) -> bool:
        """Whether it is a Tensor or Tensor?."""
        return self.type in ("Tensor", "Tensor?")

    @property
    def is_scalar(self) -> bool:
        """Whether it is a Scalar or Scalar?."""
        return self.type in ("Scalar", "Scalar?")


class Form(enum.Enum):
    """How a variant is called; the value is its name in C++."""

    FUNCTIONAL = "functional"
    INPLACE = "inplace"
    OUT = "outVariant"


@dataclasses.dataclass(frozen=True)
class Variant:
    """One function of the dispatcher that the operator serves."""

    name: str  # "add_.Tensor"
    form: Form
    returns: str  # C++ type
    parameters: tuple[tuple[str, str], ...]  # C++ type and name
    returned: tuple[str, ...]  # names of what it returns


class Kind(enum.Enum):
    """Where shape and type of the outputs come from."""

    ITERATOR = "iterator"  # torch's meta function, over a TensorIterator
    META = "meta"  # torch's meta function
    ELEMENTWISE = "elementwise"  # broadcasting and promotion
    DECLARED = "declared"  # the shape vocabulary
    ALLOCATED = "allocated"  # the operator library
    MUTATING = "mutating"  # no outputs: arguments are written


@dataclasses.dataclass(frozen=True)
class BoundCall:
    """A checked call: the C++ of each argument."""

    function: str
    arguments: tuple[str, ...]
    line: int


@dataclasses.dataclass(frozen=True)
class Operator:
    """A checked entry with everything that rendering needs."""

    entry: Entry
    kind: Kind
    variants: tuple[Variant, ...]
    arguments: tuple[Argument, ...]
    outputs: tuple[str, ...]
    call: BoundCall
    number: BoundCall | None
    number_argument: str | None
    meta_class: str | None  # "add_Tensor" for at::meta::structured_add_Tensor
    header: str | None  # file that defines it, "add"
    has_output_mask: bool

    @property
    def identifier(self) -> str:
        """Name of its C++ namespace; C++ reserves some uses of underscores."""
        name = self.entry.op.replace("_.", "_inplace.").replace(".", "_")
        return f"aten{name}" if name.startswith("_") else name

    @property
    def family(self) -> str:
        """The name that all variants have in common: that of the out variant."""
        out = (v.name for v in self.variants if v.form is Form.OUT)
        return next(out, self.entry.op)

    def argument(self, name: str) -> Argument:
        """The argument called `name`."""
        return next(a for a in self.arguments if a.name == name)
