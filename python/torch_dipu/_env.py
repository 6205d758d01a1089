# SPDX-License-Identifier: Apache-2.0
"""Every environment variable that DIPU reads, in one table.

`docs/env_vars.md` is generated from this table: `python -m torch_dipu env`.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Iterable

_PREFIX = "DIPU_"
# How alike two names are that are taken for each other, at least; names that merely
# begin alike are not.
_NEAR = 0.7
_TRUE = frozenset({"1", "true", "on", "yes"})
_FALSE = frozenset({"0", "false", "off", "no"})


@dataclasses.dataclass(frozen=True)
class EnvVar:
    """One variable.

    Attributes:
        name: Name in the environment.
        type: "str", "path", "bool", "count", "seconds", or the allowed words joined by
            "|".
        default: What an unset variable means, as text.
        doc: One sentence for users.
    """

    name: str
    type: str
    default: str
    doc: str

    def text(self) -> str:
        """Value without surrounding blanks; the default when unset or empty."""
        return os.environ.get(self.name, "").strip() or self.default

    def flag(self) -> bool:
        """Value of a "bool" variable.

        Raises:
            ValueError: The variable holds neither a yes nor a no.
        """
        value = self.text().lower()
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
        raise ValueError(f"{self.name}={value!r}: use 1 or 0")

    def choice(self) -> str:
        """Value of a variable whose type lists the allowed words.

        Raises:
            ValueError: The value is not one of them.
        """
        allowed = self.type.split("|")
        value = self.text().lower()
        if value not in allowed:
            raise ValueError(f"{self.name}={value!r}: use one of {', '.join(allowed)}")
        return value

    def seconds(self) -> float:
        """Value of a "seconds" variable.

        Raises:
            ValueError: The value is not a number from 0 to 1000000.
        """
        value = self.text()
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if 0 <= number <= 1e6:
            return number
        raise ValueError(f"{self.name}={value!r}: use a number of seconds, such as 10")

    def count(self) -> int | None:
        """Value of a "count" variable, None when it is unset and has no default.

        Raises:
            ValueError: The value is not a whole number from 0 to 10**18.
        """
        value = self.text()
        if not value:
            return None
        if value.isascii() and value.isdigit() and int(value) <= 10**18:
            return int(value)
        raise ValueError(f"{self.name}={value!r}: use a whole number, such as 100")

    def check(self) -> None:
        """Reads the value as its type demands.

        Raises:
            ValueError: The variable has a value that it must not have.
        """
        if self.type == "bool":
            self.flag()
        elif self.type == "seconds":
            self.seconds()
        elif self.type == "count":
            self.count()
        elif "|" in self.type:
            self.choice()


DEVICE = EnvVar(
    "DIPU_DEVICE",
    "str",
    "",
    "Name of the vendor to use. Unset: the only installed vendor with a real "
    "device, else `droplet`.",
)
VENDOR_LIBRARY = EnvVar(
    "DIPU_VENDOR_LIBRARY",
    "path",
    "",
    "Vendor library to open instead of an installed one.",
)
MOCK_CUDA = EnvVar(
    "DIPU_MOCK_CUDA",
    "bool",
    "1",
    'Lets `.cuda()`, `device="cuda"` and `torch.cuda` reach the device. Without '
    "effect on a PyTorch built with CUDA.",
)
AUTOGRAD_THREADS = EnvVar(
    "DIPU_AUTOGRAD_THREADS",
    "bool",
    "0",
    "1 runs backward on autograd's own device threads. By default the thread that "
    "first uses the device runs its backward itself, which is faster.",
)
COUNT_NATIVE = EnvVar(
    "DIPU_COUNT_NATIVE",
    "bool",
    "0",
    "1 counts calls of native operators from the start, see `op_counters()`.",
)
FALLBACK = EnvVar(
    "DIPU_FALLBACK",
    "warn|silent|error",
    "warn",
    "What an operator without a device kernel does before it runs on the CPU: "
    "warn once per operator, say nothing, or raise. Takes effect whenever "
    "`os.environ` is changed, as the four below do.",
)
FALLBACK_ALLOW_LIST = EnvVar(
    "DIPU_FALLBACK_ALLOW_LIST",
    "str",
    "",
    "Operators that may run on the CPU without a warning or an error: regular "
    "expressions as in `DIPU_FORCE_FALLBACK_OPS_LIST`.",
)
FALLBACK_BUDGET = EnvVar(
    "DIPU_FALLBACK_BUDGET",
    "count",
    "",
    "How many calls may run on the CPU, from now on, before the next one raises; those "
    "that are allowed or forced are free. Unset: none if `DIPU_FALLBACK` is `error`, "
    "else all.",
)
FALLBACK_IN_PLACE = EnvVar(
    "DIPU_FALLBACK_IN_PLACE",
    "bool",
    "1",
    "Whether operators that run on the CPU use the memory of the device in place, "
    "where the vendor lets the host do so, as droplet does. 0 always copies their "
    "arguments.",
)
FALLBACK_SUMMARY = EnvVar(
    "DIPU_FALLBACK_SUMMARY",
    "bool",
    "0",
    "1 prints `torch_dipu.fallback_report()` to the standard error output at the end "
    "of the process.",
)
FORCE_FALLBACK = EnvVar(
    "DIPU_FORCE_FALLBACK_OPS_LIST",
    "str",
    "",
    "Operators to compute on the CPU: regular expressions for whole names, separated "
    "by commas, such as `add.out,conv2d` or `.*`. Takes effect whenever "
    "`os.environ` is changed.",
)
DUMP_OP_ARGS = EnvVar(
    "DIPU_DUMP_OP_ARGS",
    "0|1|2|3",
    "0",
    "Writes the calls of operators: 1 their names, 2 arguments and results too, 3 the "
    "values of tensors too. Takes effect whenever `os.environ` is changed, like the "
    "three below.",
)
DUMP_OPS = EnvVar(
    "DIPU_DUMP_OPS_LIST",
    "str",
    ".*",
    "Operators whose calls are written: patterns as in `DIPU_FORCE_FALLBACK_OPS_LIST`.",
)
DUMP_DIRECTORY = EnvVar(
    "DIPU_DUMP_DIR",
    "path",
    "",
    "Folder for a file per operator, which is appended to. Unset: standard output.",
)
DUMP_LIMIT = EnvVar(
    "DIPU_DUMP_LIMIT",
    "count",
    "0",
    "How many calls of each operator are written; 0 for all.",
)
AUTOCOMPARE = EnvVar(
    "DIPU_AUTOCOMPARE_OPS_LIST",
    "str",
    "",
    "Operators whose results are compared with the CPU's: patterns as in "
    "`DIPU_FORCE_FALLBACK_OPS_LIST`. Takes effect whenever `os.environ` is changed, "
    "like the six below.",
)
AUTOCOMPARE_PRINT = EnvVar(
    "DIPU_AUTOCOMPARE_PRINT",
    "all|wrong",
    "all",
    "Which comparisons are printed.",
)
AUTOCOMPARE_LOG = EnvVar(
    "DIPU_AUTOCOMPARE_LOG",
    "path",
    "",
    "File to which each comparison is appended as a line of JSON.",
)
AUTOCOMPARE_SAVE = EnvVar(
    "DIPU_AUTOCOMPARE_SAVE",
    "path",
    "",
    "Folder for a file with the first wrong call of each operator, which "
    "`python -m torch_dipu replay` repeats on any vendor.",
)
AUTOCOMPARE_EVERY = EnvVar(
    "DIPU_AUTOCOMPARE_EVERY",
    "count",
    "1",
    "N compares the first call of each operator and then every N-th.",
)
AUTOCOMPARE_TOLERANCES = EnvVar(
    "DIPU_AUTOCOMPARE_TOLERANCES",
    "str",
    "",
    "How far results may be off, by patterns for operators, which may have a dtype: "
    "`mm=1e-3,conv2d:bfloat16=0.05`. A number is relative to the result, and to the "
    "largest one.",
)
AUTOCOMPARE_WITH = EnvVar(
    "DIPU_AUTOCOMPARE_WITH",
    "cpu|float64|finite",
    "cpu",
    "What results are compared with: what the CPU computes, what it computes in "
    "float64, or nothing, but looking for NaN and infinity that no argument had.",
)
LAUNCH_BLOCKING = EnvVar(
    "DIPU_LAUNCH_BLOCKING",
    "bool",
    "0",
    "1 waits for the device after each operator, so that a failure is reported by the "
    "operator that caused it, with its arguments and its line in Python. Takes effect "
    "whenever `os.environ` is changed, like the one below.",
)
TRACE_LAUNCHES = EnvVar(
    "DIPU_TRACE_LAUNCHES",
    "count",
    "0",
    "N keeps the last N calls of operators, so that a failure that is reported later "
    "names those that may have caused it. Nothing waits.",
)
SANITIZE_STREAMS = EnvVar(
    "DIPU_SANITIZE_STREAMS",
    "0|1|error",
    "0",
    "1 prints where streams use the same memory and nothing orders them, and a summary "
    "at the end; error raises it. Takes effect whenever `os.environ` is changed.",
)
DIOPI_REVISION = EnvVar(
    "DIPU_DIOPI_REVISION",
    "str",
    "",
    "Signature revision of an operator library that declares none.",
)
CONVERSIONS = EnvVar(
    "DIPU_CONVERSIONS",
    "path",
    "",
    "Table of the types and layouts that the vendor's functions lack, instead of the "
    "one in the vendor's package.",
)
CHECK_CONVERSIONS = EnvVar(
    "DIPU_CHECK_CONVERSIONS",
    "bool",
    "1",
    "0 puts values into a smaller type without looking whether they fit. Looking waits "
    "for the device; a call whose values do not fit runs on the CPU.",
)
EXIT_WAIT_S = EnvVar(
    "DIPU_EXIT_WAIT_S",
    "seconds",
    "10",
    "How long the end of the process waits for work that is still enqueued, and then "
    "for the vendor's shutdown.",
)
DICL_BLOCKING_WAIT = EnvVar(
    "DICL_BLOCKING_WAIT",
    "bool",
    "0",
    "1 lets `wait()` of a collective block the calling thread until it is over, so "
    "that a failure is raised there. Read when a process group is made, as the five "
    "below are.",
)
DICL_NAN_CHECK = EnvVar(
    "DICL_NAN_CHECK",
    "bool",
    "0",
    "1 looks for NaN in what is given to collectives, which waits for the device, and "
    "raises.",
)
DICL_TIMING = EnvVar(
    "DICL_TIMING",
    "bool",
    "0",
    "1 measures how long collectives take on the device.",
)
DICL_FLIGHT_RECORDER_SIZE = EnvVar(
    "DICL_FLIGHT_RECORDER_SIZE",
    "count",
    "2000",
    "How many of the last collectives the flight recorder keeps.",
)
DICL_FLIGHT_RECORDER_DUMP = EnvVar(
    "DICL_FLIGHT_RECORDER_DUMP",
    "path",
    "",
    "Files to which the flight recorder is written when a group fails; the rank is "
    "appended. Unset: none.",
)
DICL_HEARTBEAT_S = EnvVar(
    "DICL_HEARTBEAT_S",
    "seconds",
    "60",
    "How long the watchdog of a group may be stuck before a warning says so.",
)
PYTHON = EnvVar(
    "DIPU_PYTHON",
    "path",
    "python3.11",
    "Interpreter that `./bazelw` builds with. The package does not read it.",
)

TABLE: tuple[EnvVar, ...] = (
    DEVICE,
    VENDOR_LIBRARY,
    MOCK_CUDA,
    AUTOGRAD_THREADS,
    COUNT_NATIVE,
    FALLBACK,
    FALLBACK_ALLOW_LIST,
    FALLBACK_BUDGET,
    FALLBACK_IN_PLACE,
    FALLBACK_SUMMARY,
    FORCE_FALLBACK,
    DUMP_OP_ARGS,
    DUMP_OPS,
    DUMP_DIRECTORY,
    DUMP_LIMIT,
    AUTOCOMPARE,
    AUTOCOMPARE_PRINT,
    AUTOCOMPARE_LOG,
    AUTOCOMPARE_SAVE,
    AUTOCOMPARE_EVERY,
    AUTOCOMPARE_TOLERANCES,
    AUTOCOMPARE_WITH,
    LAUNCH_BLOCKING,
    TRACE_LAUNCHES,
    SANITIZE_STREAMS,
    DIOPI_REVISION,
    CONVERSIONS,
    CHECK_CONVERSIONS,
    EXIT_WAIT_S,
    DICL_BLOCKING_WAIT,
    DICL_NAN_CHECK,
    DICL_TIMING,
    DICL_FLIGHT_RECORDER_SIZE,
    DICL_FLIGHT_RECORDER_DUMP,
    DICL_HEARTBEAT_S,
    PYTHON,
)


def unknown(vendors: Iterable[str]) -> dict[str, list[str]]:
    """Names in the environment that look like ours and are not in the table.

    Args:
        vendors: Names beginning with DIPU_<VENDOR>_ are theirs, and left out.

    Returns:
        Each name with those in the table that resemble it, the likeliest first.
    """
    endings = [var.name.removeprefix(_PREFIX) for var in TABLE]
    theirs = tuple(f"{vendor.upper().replace('-', '_')}_" for vendor in vendors)
    found = {}
    for name in sorted(os.environ):
        ending = name.removeprefix(_PREFIX)
        if ending == name or ending in endings or ending.startswith(theirs):
            continue
        near = difflib.get_close_matches(ending.upper(), endings, cutoff=_NEAR)
        found[name] = [_PREFIX + other for other in near]
    return found


def markdown() -> str:
    """The table as the text of docs/env_vars.md."""
    lines = [
        "# Environment variables",
        "",
        "Generated by `python -m torch_dipu env`; edit `python/torch_dipu/_env.py`.",
        "",
        "| variable | type | default | meaning |",
        "|---|---|---|---|",
    ]
    for var in TABLE:
        kind = var.type.replace("|", " / ")
        default = f"`{var.default}`" if var.default else "unset"
        lines.append(f"| `{var.name}` | {kind} | {default} | {var.doc} |")
    return "\n".join(lines) + "\n"
