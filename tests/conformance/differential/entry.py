# SPDX-License-Identifier: Apache-2.0
"""What is tested and what came out: plain data that processes exchange."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Mapping, Sequence

# What is done with an entry, in this order.
CHECKS = (
    "forward",
    "backward",
    "noncontiguous",
    "extremal",
    "out",
    "inplace",
    "random",
)


# Dtypes of the report, in its order.
DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)

# How many problems of a check are told, and how much of each.
_TOLD = 3
_LONGEST = 500

# Families of operators that the device leaves to the CPU for now.
LATER = ("complex", "linear algebra", "fft", "sparse", "quantized", "llm inference")


@dataclasses.dataclass(frozen=True, order=True)
class Entry:
    """One line of a database in one dtype.

    Attributes:
        kind: "op", "foreach", "module" or "optimizer".
        name: Name in the database, with its variant: "std.unbiased".
        dtype: Name of a torch dtype: "float32".
    """

    kind: str
    name: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.dtype}"


@dataclasses.dataclass(frozen=True)
class Scope:
    """Which checks of which entries a rule is about.

    Attributes:
        entry: Name of an entry, or a pattern with `*`.
        kind: Kind of the entries.
        dtypes: Names of dtypes; none means all.
        checks: Names of checks; none means all.
    """

    entry: str
    kind: str = "op"
    dtypes: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()

    def covers(self, entry: Entry, check: str) -> bool:
        return self.about(entry) and (not self.checks or check in self.checks)

    def about(self, entry: Entry) -> bool:
        """True when it covers a check of `entry`."""
        return (
            self.kind == entry.kind
            and (not self.dtypes or entry.dtype in self.dtypes)
            and fnmatch.fnmatchcase(entry.name, self.entry)
        )


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Accepted error: |actual - expected| <= atol + rtol * |expected|."""

    rtol: float
    atol: float

    def looser(self, other: Tolerance) -> Tolerance:
        return Tolerance(max(self.rtol, other.rtol), max(self.atol, other.atol))


@dataclasses.dataclass(frozen=True)
class Loosened:
    """A tolerance above PyTorch's own, in some checks of an entry."""

    scope: Scope
    tolerance: Tolerance


@dataclasses.dataclass(frozen=True)
class Task:
    """What a worker is asked to do.

    Attributes:
        entry: The entry.
        samples: The checks, in order, each with how many samples it takes; 0 means
            all.
        loosened: Tolerances that may concern the entry.
        any_strides: Where results may have other strides than the CPU's.
    """

    entry: Entry
    samples: Mapping[str, int]
    loosened: Sequence[Loosened] = ()
    any_strides: Sequence[Scope] = ()

    def strides(self, check: str) -> bool:
        """Whether results must have the CPU's strides."""
        return not any(s.covers(self.entry, check) for s in self.any_strides)

    def loosening(self, check: str) -> Tolerance:
        """The tolerance that applies where PyTorch's own is tighter."""
        widest = Tolerance(0.0, 0.0)
        for rule in self.loosened:
            if rule.scope.covers(self.entry, check):
                widest = widest.looser(rule.tolerance)
        return widest


def _shortened(text: str) -> str:
    """Without its middle if it is too long: the end tells what is wrong."""
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]} ... {text[-half:]}"


@dataclasses.dataclass
class CheckResult:
    """What one check of an entry found.

    Attributes:
        samples: Cases that were compared.
        refused: Cases that the CPU refuses, so that nothing can be compared.
        error: Largest |actual - expected| / max(1, |expected|).
        problems: What is wrong in the first cases that are.
    """

    samples: int = 0
    refused: int = 0
    error: float = 0.0
    problems: list[str] = dataclasses.field(default_factory=list)

    def report(self, problem: str) -> None:
        """Adds a problem; texts of many are left out."""
        if len(self.problems) < _TOLD:
            self.problems.append(_shortened(" ".join(problem.split())))


@dataclasses.dataclass
class Result:
    """What became of an entry.

    Attributes:
        entry: The entry.
        checks: By name, the checks that applied to it.
        native: Operators that ran on the device.
        fallback: Operators that ran on the CPU instead.
        families: Groups of operators it belongs to, see `catalogue.families`.
        crash: How its process ended before it was done, else "".
        tainted: Whether the device raised errors: whatever runs next in the
            process may see them again.
        seconds: Processor time it took.
    """

    entry: Entry
    checks: dict[str, CheckResult] = dataclasses.field(default_factory=dict)
    native: list[str] = dataclasses.field(default_factory=list)
    fallback: list[str] = dataclasses.field(default_factory=list)
    families: list[str] = dataclasses.field(default_factory=list)
    crash: str = ""
    tainted: bool = False
    seconds: float = 0.0

    @property
    def samples(self) -> int:
        return sum(check.samples for check in self.checks.values())

    @property
    def error(self) -> float:
        return max((check.error for check in self.checks.values()), default=0.0)

    @property
    def problems(self) -> list[str]:
        """Everything wrong, each with its check."""
        found = [f"{self.crash}"] if self.crash else []
        for name, check in self.checks.items():
            found += [f"{name}: {problem}" for problem in check.problems]
        return found

    @property
    def path(self) -> str:
        """Where it ran: "native", "mixed" (some operators fell back), "fallback"."""
        if not self.fallback:
            return "native"
        return "mixed" if self.native else "fallback"

    @property
    def status(self) -> str:
        """`path`; or "fails"; or "untested", when the CPU refuses every sample."""
        if self.problems:
            return "fails"
        return self.path if self.samples else "untested"
