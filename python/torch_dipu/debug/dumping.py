# SPDX-License-Identifier: Apache-2.0
"""Argument dump: what chosen operators were called with, and what they gave."""

from __future__ import annotations

import collections
import contextlib
import pathlib
import threading
import warnings
from collections.abc import Iterable, Iterator

from torch_dipu import _C, _env, _operators, _origin
from torch_dipu.debug import describing, watching

_NAMES, _ARGUMENTS, _VALUES = 1, 2, 3


class _Dumper:
    """Writes the calls that it sees."""

    def __init__(self, level: int, directory: str, limit: int) -> None:
        self._level = level
        self._directory = pathlib.Path(directory) if directory else None
        self._limit = limit
        self._functions = {op.name: op.function for op in _C._operators()}
        self._lock = threading.Lock()  # guards the two below and keeps lines together
        self._calls: collections.Counter[str] = collections.Counter()
        self._failed = False  # to write, which has been told
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)

    def before(self, call: _C.Call) -> bool:
        with self._lock:
            self._calls[call.name] += 1
            if 0 < self._limit < self._calls[call.name]:
                return False
        frame = next(_origin.user_frames(), None)
        line = frame.f_lineno if frame else 0
        wrapper = "dipu_" + call.name.replace(".", "_").lower()
        function = self._functions.get(call.name, "")
        header = f"[{wrapper}:{line}]:{call.name}  {function}".rstrip()
        lines = [header]
        if self._level >= _ARGUMENTS:
            lines.append(f"\tcalled at {_origin.user_line()}")
            lines += self._values("", call.arguments())
        self._write(call.name, lines)
        return True

    def after(self, call: _C.Call, state: bool) -> None:
        if state and self._level >= _ARGUMENTS:
            self._write(call.name, self._values("-> ", call.results()))

    def _values(self, mark: str, values: Iterable[_C.Value]) -> list[str]:
        lines = []
        for i, item in enumerate(values):
            name = mark + (item.name or f"out{i or ''}")
            texts = describing.value_lines(name, item.value, self._level >= _VALUES)
            lines += ["\t" + text for text in texts]
        return lines

    def _write(self, operator: str, lines: list[str]) -> None:
        text = "".join(line + "\n" for line in lines)
        with self._lock:
            if self._directory is None:
                describing.show(text)
                return
            file = self._directory / f"{operator}.txt"
            try:
                with open(file, "a") as stream:
                    stream.write(text)
            except OSError as e:
                if not self._failed:
                    warnings.warn(
                        f"calls are not dumped: {e}", RuntimeWarning, stacklevel=2
                    )
                self._failed = True


_from_environment: _Dumper | None = None


def read_environment() -> None:
    """Dumps what the environment asks for, and nothing else that it asked before.

    Raises:
        ValueError: A variable has a value that it must not have.
    """
    global _from_environment
    level = int(_env.DUMP_OP_ARGS.choice())
    limit = _env.DUMP_LIMIT.count() or 0
    dumper, operators = None, []
    if level > 0:
        variable = _env.DUMP_OPS
        operators = _operators.choose(_operators.split(variable.text()), variable.name)
        try:
            dumper = _Dumper(level, _env.DUMP_DIRECTORY.text(), limit)
        except OSError as e:
            raise ValueError(f"{_env.DUMP_DIRECTORY.name}: {e}") from e
    if _from_environment is not None:
        watching.watch(_from_environment, ())
    if dumper is not None:
        watching.watch(dumper, operators)
    _from_environment = dumper


@contextlib.contextmanager
def dump_op_args(
    *patterns: str, level: int = _ARGUMENTS, directory: str = "", limit: int = 0
) -> Iterator[None]:
    """Writes the calls of the operators that the patterns describe within the block.

    Args:
        *patterns: As for `force_fallback`; none means all.
        level: 1 writes the names, 2 also the arguments and results, 3 also the values
            of tensors.
        directory: Folder for a file per operator, "add.Tensor.txt", which is appended
            to; made when missing. Standard output if empty.
        limit: How many calls of each operator; 0 for all.

    Raises:
        ValueError: The level is none, or a pattern is not a regular expression.
        OSError: The folder cannot be made.
    """
    if level not in (_NAMES, _ARGUMENTS, _VALUES):
        raise ValueError(f"level {level!r}: use 1, 2 or 3")
    chosen = _operators.choose(patterns or (".*",), "dump_op_args")
    dumper = _Dumper(level, directory, limit)
    watching.watch(dumper, chosen)
    try:
        yield
    finally:
        watching.watch(dumper, ())
