# SPDX-License-Identifier: Apache-2.0
"""Which command of `python -m torch_dipu` imports the package right now.

While Python looks for a module to run, `sys.argv` begins with "-m" and goes on with
the module's arguments.
"""

from __future__ import annotations

import sys

PACKAGE = "torch_dipu"
DOCTOR_CHILD = f"{PACKAGE}._doctor.child"


def _runs(module: str) -> bool:
    return sys.argv[:1] == ["-m"] and module in sys.orig_argv


def is_report() -> bool:
    """True for the commands that explain what is wrong, so that must not stop them."""
    return _runs(PACKAGE)


def is_doctor() -> bool:
    """True for the doctor, in whose process nothing is loaded that could end it."""
    asked = sys.argv[1:2] == ["doctor"] and _runs(PACKAGE)
    return asked or _runs(DOCTOR_CHILD)
