# SPDX-License-Identifier: Apache-2.0
"""What the doctor does in child processes.

A task tells each step before it begins, because it may be the last one.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable
from typing import Any, Protocol

from torch_dipu import _vendors
from torch_dipu._doctor.process import START_S
from torch_dipu._version import TORCH

_NUMBERS = 4096


class Teller(Protocol):
    """How a task tells what happens; see child.py."""

    def step(self, name: str, least_s: float = 0.0) -> None: ...

    def result(self, name: str, value: Any) -> None: ...


def release_of(version: str) -> str:
    """The release that an extension is built for: 2.13 for 2.13.0+cpu."""
    return ".".join(version.split("+")[0].split(".")[:2])


def entry_point(tell: Teller, index: str) -> None:
    """Asks the entry point of a vendor where its library is."""
    point = _vendors.entry_points()[int(index)]
    tell.step(f"call {point.value}")
    candidate = _vendors.candidate_of(point)
    tell.result("candidate", dataclasses.asdict(candidate))


def host(tell: Teller) -> None:
    """Imports torch and the binding, and reads the settings."""
    tell.step("import torch", START_S)
    import torch

    facts = {"version": torch.__version__, "cuda": torch.version.cuda}
    tell.result("torch", {**facts, "folder": os.path.dirname(torch.__file__)})
    if release_of(torch.__version__) != TORCH:
        return
    tell.step("import torch_dipu._C")
    from torch_dipu import _C

    tell.result("abi", _C._ABI_VERSION)
    tell.result("revision", _C._DIOPI_REVISION)
    tell.step("read the settings")
    from torch_dipu import _load

    warnings.simplefilter("ignore")  # without a vendor no pattern names an operator
    try:
        _load.check_settings()
    except ValueError as e:
        tell.result("refused", str(e))


def vendor(tell: Teller, path: str) -> None:
    """Opens a vendor library and uses its devices."""
    tell.step("import torch", START_S)
    import torch  # noqa: F401  its libraries have to be there before the binding

    from torch_dipu import _C, _load

    tell.step("open the library")
    library = _C._open_vendor(path)
    tell.result("library", library)
    tell.step("open the operator library")
    try:
        tell.result("operators", _C._open_operators(path, _load.RUNTIME_LIBRARY))
        served = True
    except RuntimeError as e:
        tell.result("operators_error", str(e))
        served = not library["operator_library"]  # without one, all runs on the CPU
    tell.step("start the SDK and count the devices")
    started = _C._probe_vendor(path)
    tell.result("started", started)
    if not served or started["error"]:
        return
    tell.step("load it into PyTorch")
    _load.load_library(path)
    for index in range(_C._device_count()):
        _use(tell, index)
    tell.step("read the settings")
    tell.result("unmatched", _unmatched_patterns())


def _use(tell: Teller, index: int) -> None:
    """Copies to a device and back, and computes there."""
    import torch

    from torch_dipu import _C

    device = torch.device("dipu", index)
    tell.step(f"ask {device} for its properties")
    properties = _C._device_properties(index)
    seen = {"name": properties.name, "memory": properties.total_memory}
    tell.step(f"copy to {device} and back")
    seen["copy"] = _problem(lambda: _copy(device))
    if not seen["copy"]:
        tell.step(f"compute on {device}")
        seen["kernel"] = _problem(lambda: _compute(device))
        seen["on_cpu"] = "fallback.add.Tensor" in _C._op_counters()
    tell.result(str(device), seen)


def _problem(use: Callable[[], str]) -> str:
    try:
        return use()
    except RuntimeError as e:
        return str(e)


def _copy(device: Any) -> str:
    import torch

    sent = torch.arange(_NUMBERS, dtype=torch.int32)
    changed = int((sent.to(device).cpu() != sent).sum())
    return f"{changed} of {_NUMBERS} numbers come back changed" if changed else ""


def _compute(device: Any) -> str:
    import torch

    numbers = torch.arange(_NUMBERS, dtype=torch.float32)
    x = numbers.to(device)
    wrong = int(((x + x).cpu() != numbers * 2).sum())
    return f"{wrong} of {_NUMBERS} sums are wrong" if wrong else ""


def _unmatched_patterns() -> list[str]:
    """What is said of patterns in the settings that name no operator."""
    from torch_dipu import _load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _load.check_settings()
        except ValueError:  # told by the task `host`
            return []
    return [str(warning.message) for warning in caught]
