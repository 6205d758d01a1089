# SPDX-License-Identifier: Apache-2.0
"""PyTorch's databases of operators, modules and optimizers, as entries."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations as invocations
from torch.testing._internal.common_device_type import (
    onlyCUDA,
    skipCPUIfNoFFT,
    skipCPUIfNoLapack,
)
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db
from torch.testing._internal.opinfo.core import DecorateInfo, SpectralFuncInfo

from tests.conformance.differential.entry import DTYPES, LATER, Entry

# The database seeds most random operators around each call, which would hide from
# us that they draw.
invocations.wrapper_set_seed = lambda operator, *args, **kwargs: operator(
    *args, **kwargs
)

_OPTIMIZER_DTYPES = ("float32", "float64")

# Operators that only serving large language models calls.
_LLM_INFERENCE = ("torch._scaled_mm", "torch._grouped_mm", "torch._weight_int")


def _decorators(info: Any) -> Iterator[Any]:
    """Decorators of all tests of an operator."""
    for decorator in info.decorators:
        if not isinstance(decorator, DecorateInfo):
            yield decorator
        elif decorator.cls_name is None and decorator.test_name is None:
            yield from decorator.decorators


def _is_for_another_device(info: Any) -> bool:
    return info.name.startswith("jiterator") or onlyCUDA in _decorators(info)


def _unique(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Names to things; the second of a name gets "#2"."""
    found: dict[str, Any] = {}
    for name, value in named:
        unique, copies = name, 1
        while unique in found:
            copies += 1
            unique = f"{name}#{copies}"
        found[unique] = value
    return found


def _operators(database: Iterable[Any]) -> dict[str, Any]:
    return _unique(
        (info.full_name, info) for info in database if not _is_for_another_device(info)
    )


@functools.cache
def _databases() -> dict[str, dict[str, Any]]:
    foreach = [
        info
        for name in ("unary", "binary", "pointwise", "reduce", "other")
        for info in getattr(invocations, f"foreach_{name}_op_db")
    ]
    return {
        "op": _operators(invocations.op_db),
        "foreach": _operators(foreach),
        "module": _unique((info.name, info) for info in module_db),
        "optimizer": _unique((info.name, info) for info in optim_db),
    }


def info(entry: Entry) -> Any:
    """What PyTorch knows about an entry."""
    return _databases()[entry.kind][entry.name]


def dtype(entry: Entry) -> torch.dtype:
    return getattr(torch, entry.dtype)


def _dtypes(kind: str, info: Any) -> list[str]:
    if kind == "optimizer":
        return list(_OPTIMIZER_DTYPES)
    supported = set(info.supported_dtypes("cpu"))
    return [name for name in DTYPES if getattr(torch, name) in supported]


def entries() -> list[Entry]:
    """All entries, sorted, in the dtypes that the CPU supports."""
    return sorted(
        Entry(kind, name, dtype)
        for kind, database in _databases().items()
        for name, info in database.items()
        for dtype in _dtypes(kind, info)
    )


def families(entry: Entry) -> list[str]:
    """Families of `LATER` that the database says an entry belongs to."""
    known = info(entry)
    if entry.kind == "optimizer" and known.only_supports_sparse_grads:
        return ["sparse"]
    if entry.kind != "op":
        return []
    decorators = list(_decorators(known))
    name = entry.name
    tests = {
        "linear algebra": skipCPUIfNoLapack in decorators,
        "fft": isinstance(known, SpectralFuncInfo) or skipCPUIfNoFFT in decorators,
        "sparse": name.startswith("sparse.") or "to_sparse" in name,
        "quantized": "quantize" in name,
        "llm inference": name.startswith(_LLM_INFERENCE),
    }
    return [family for family in LATER if tests.get(family)]


def families_of_results(tensors: Iterable[torch.Tensor]) -> set[str]:
    """Families of `LATER` that results show: complex, sparse or quantized ones."""
    found = set()
    for tensor in tensors:
        if tensor.is_quantized:
            found.add("quantized")
        elif tensor.layout != torch.strided:
            found.add("sparse")
        elif tensor.is_complex():
            found.add("complex")
    return found
