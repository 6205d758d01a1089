# SPDX-License-Identifier: Apache-2.0
"""The environment variables, and the file with a list of operators."""

from __future__ import annotations

import os
from collections.abc import Iterable

from torch_dipu import _env
from torch_dipu._command import PACKAGE
from torch_dipu._doctor.report import Section, advice

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def _refusal(var: _env.EnvVar) -> tuple[str, str]:
    """Why the value of a variable is refused and what to do; empty if it is not."""
    try:
        var.check()
    except ValueError as e:
        cause, _, cure = str(e).rpartition(": ")
        default = f"to get {var.default}" if var.default else "to have none"
        return (
            f"{cause} is refused",
            f"{cure[:1].upper()}{cure[1:]}, or unset it {default}",
        )
    if var is _env.CONVERSIONS and var.text() and not os.access(var.text(), os.R_OK):
        cause = f"{var.name} names {var.text()}, which cannot be read"
        return cause, "Correct the path, or unset it to use the vendor's own table"
    return "", ""


def accepted() -> dict[str, str]:
    """The environment without values that are refused.

    They are findings once; the rest is examined as if they were not there.
    """
    refused = {var.name for var in _env.TABLE if _refusal(var)[0]}
    return {key: value for key, value in os.environ.items() if key not in refused}


def check(
    section: Section,
    vendors: Iterable[str],
    refused: str = "",
    unmatched: Iterable[str] = (),
) -> None:
    """Looks at every variable that is ours or looks so.

    Args:
        section: Takes what is found.
        vendors: Names of vendors, whose own variables are none of ours.
        refused: What reading the settings said, beyond single values.
        unmatched: What was said of patterns that name no operator.
    """
    for name in sorted(os.environ):
        if name.startswith("DIPU_") or name == _AUTOLOAD:
            section.facts[name] = os.environ[name]
    for var in _env.TABLE:
        cause, cure = _refusal(var)
        if cause:
            section.find("settings.value", cause, cure)
    if refused:
        section.find("settings.value", *advice(refused))
    for text in unmatched:
        cause, _, near = text.partition("; ")
        cure = "Correct the pattern" + (f": {near}" if near else "")
        section.find("settings.pattern", cause, cure)
    for name, near_names in _env.unknown(vendors).items():
        meant = f"Say {' or '.join(near_names)}, or unset it" if near_names else ""
        section.find(
            "settings.unknown",
            f"{name} is set, but there is no such setting",
            f"{meant or 'Unset it'}; `python -m {PACKAGE} env` lists all",
        )
    if os.environ.get(_AUTOLOAD) == "0":
        section.notes.append(
            f"{_AUTOLOAD}=0: `import torch` does not load the device, "
            f"`import {PACKAGE}` does"
        )
