# SPDX-License-Identifier: Apache-2.0
"""Autocompare: each result of chosen operators beside what the CPU computes.

Note [Autocompare]
Before the operator runs, its arguments are copied to the CPU; the CPU computes the
call from the copies, and results and written arguments are compared. Arguments that
are not written must have the same bytes on the device afterwards. The gradients'
operators and the optimizers' are operators like the others.

A sum of many numbers that cancel each other may differ although both sides are right.
So what exceeds the tolerance is computed once more in float64: the device is wrong
only if it is further off than the CPU by more than `comparing.WORSE_THAN_CPU`.

Random numbers differ between generators; there the distributions are compared.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
from collections.abc import Iterator, Mapping

from torch_dipu import _command, _env, _operators
from torch_dipu.debug import watching
from torch_dipu.debug.comparer import Comparer, Options
from torch_dipu.debug.comparing import Tolerance
from torch_dipu.debug.results import Report
from torch_dipu.debug.tolerances import Tolerances, parse

CONFIG_FILE = ".dipu_autocompare_op_list.config"

_from_environment: Comparer | None = None


def _end() -> None:
    """Says what the environment's comparisons were, in the process that made them."""
    comparer = _from_environment
    if comparer is not None and comparer.process == os.getpid():
        comparer.close()
        comparer.show_tally()


def _environment_patterns() -> list[str]:
    variable = _env.AUTOCOMPARE
    chosen = _operators.choose(_operators.split(variable.text()), variable.name)
    return chosen + _operators.choose_from_file(CONFIG_FILE, "compare no operators")


def _environment_tolerances() -> Tolerances:
    variable = _env.AUTOCOMPARE_TOLERANCES
    return Tolerances(parse(variable.text(), variable.name), variable.name)


def read_environment() -> None:
    """Compares what the environment and the configuration file ask for.

    Raises:
        ValueError: A variable has a value that it must not have, or the file cannot be
            read.
    """
    global _from_environment
    every = _env.AUTOCOMPARE_EVERY.count() or 0
    if every == 0:
        raise ValueError(f"{_env.AUTOCOMPARE_EVERY.name}='0': use at least 1")
    options = Options(
        against=_env.AUTOCOMPARE_WITH.choice(),
        every=every,
        print_all=_env.AUTOCOMPARE_PRINT.choice() == "all",
        log=_env.AUTOCOMPARE_LOG.text(),
        save=_env.AUTOCOMPARE_SAVE.text(),
        tolerances=_environment_tolerances(),
    )
    operators = _environment_patterns()
    if _from_environment is not None:
        watching.watch(_from_environment, ())
        if _from_environment.report.calls:
            _end()
        else:
            _from_environment.close()
        _from_environment = None
    if operators:
        try:
            _from_environment = Comparer(options)
        except OSError as e:
            raise ValueError(f"{_env.AUTOCOMPARE_LOG.name}: {e}") from e
        atexit.unregister(_end)
        if not _command.is_report():
            atexit.register(_end)
        watching.watch(_from_environment, operators)


@contextlib.contextmanager
def autocompare(
    *patterns: str,
    against: str = "cpu",
    every: int = 1,
    print_all: bool = False,
    log: str | pathlib.Path = "",
    save: str | pathlib.Path = "",
    tolerances: Mapping[str, Tolerance | float] | None = None,
) -> Iterator[Report]:
    """Compares the operators that the patterns describe with the CPU within the block.

    Args:
        *patterns: As for `force_fallback`; none means all.
        against: "cpu": what the CPU computes in the same types; "float64": what it
            computes in float64; "finite": nothing, but NaN and infinity are found.
        every: Compares the first call of each operator and then every N-th.
        print_all: Prints right results too, not only wrong ones.
        log: File to which each comparison is appended as a line of JSON.
        save: Folder for a file with the first wrong call of each operator, which
            `python -m torch_dipu replay` repeats.
        tolerances: How far results may be off, by patterns for operators, which may
            have a dtype: {"mm": 1e-3, "conv2d:bfloat16": Tolerance(0.1, 0.01)}. A
            number is relative to the result, and to the largest one. Others have what
            is usual for the operator and dtype.

    Yields:
        The report, which grows.

    Raises:
        ValueError: A pattern is not a regular expression, `against` is none of the
            above, `every` is less than 1, or a tolerance is wrong.
        OSError: The log cannot be written.
    """
    if against not in ("cpu", "float64", "finite"):
        raise ValueError(f"against={against!r}: use 'cpu', 'float64' or 'finite'")
    if every < 1:
        raise ValueError(f"every={every}: use at least 1")
    chosen = _operators.choose(patterns or (".*",), "autocompare")
    limits = Tolerances(tolerances or {}, "autocompare")
    comparer = Comparer(Options(against, every, print_all, str(log), str(save), limits))
    watching.watch(comparer, chosen)
    try:
        yield comparer.report
    finally:
        watching.watch(comparer, ())
        comparer.close()
