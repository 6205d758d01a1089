# SPDX-License-Identifier: Apache-2.0
"""Runs programs, each in a fork of an interpreter that has imported torch_dipu.

Importing torch takes seconds, and a fork none. Reads from stdin, line by line,
the name of a program's folder, which holds `program.py`; writes the program's
output to `out` and `err` there, and its exit status to stdout.

A program runs as the main module of its interpreter, which then ends as any
other does.
"""

import os
import signal
import sys

import torch  # noqa: F401
import torch_dipu  # noqa: F401

_LIMIT_S = 100


def _redirect(number: int, path: str) -> None:
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    os.dup2(file, number)
    os.close(file)


_source = ""
for _line in sys.stdin:
    _folder = _line.strip()
    if _child := os.fork():
        _, _status = os.waitpid(_child, 0)
        print(os.waitstatus_to_exitcode(_status), flush=True)
        continue
    signal.alarm(_LIMIT_S)
    _redirect(1, os.path.join(_folder, "out"))
    _redirect(2, os.path.join(_folder, "err"))
    sys.path.insert(0, _folder)
    with open(os.path.join(_folder, "program.py")) as _file:
        _source = _file.read()
    break

exec(compile(_source, "program.py", "exec"))
