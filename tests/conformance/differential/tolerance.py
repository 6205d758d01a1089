# SPDX-License-Identifier: Apache-2.0
"""The error that PyTorch's own tests accept of an entry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_device_type import (
    precisionOverride,
    toleranceOverride,
)

from tests.conformance.differential.compare import Tolerances
from tests.conformance.differential.entry import Tolerance

# PyTorch's tests that compare two computations of the same numbers, as we do.
_TESTS = (
    ("TestCommon", "test_compare_cpu"),
    ("TestCommon", "test_noncontiguous_samples"),
    ("TestCommon", "test_out"),
    ("TestCommon", "test_variant_consistency_eager"),
    ("TestBinaryUfuncs", "test_reference_numerics"),
    ("TestBinaryUfuncsDevice", "test_reference_numerics"),
    ("TestUnaryUfuncs", "test_reference_numerics_normal"),
    ("TestReductions", "test_ref_small_input"),
    ("TestModule", "test_forward"),
    ("TestModule", "test_cpu_gpu_parity"),
    ("TestOptimRenewed", "test_foreach_matches_forloop"),
)
# Devices that are no CPU have the tolerances of the best known one.
_DEVICES = ("cpu", "cuda")


def _overrides(info: Any, dtype: torch.dtype) -> Iterable[Any]:
    for test_class, test in _TESTS:
        for device in _DEVICES:
            yield from info.get_decorators(test_class, test, device, dtype, {})


def _declared(info: Any, dtype: torch.dtype) -> Tolerance:
    """The loosest tolerance that the database declares for a dtype."""
    widest = Tolerance(0.0, 0.0)
    for decorator in _overrides(info, dtype):
        if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
            atol, rtol = decorator.d[dtype]
            widest = widest.looser(Tolerance(rtol, atol))
        elif isinstance(decorator, precisionOverride) and dtype in decorator.d:
            widest = widest.looser(Tolerance(0.0, decorator.d[dtype]))
    return widest


def tolerances(info: Any, dtype: torch.dtype, loosened: Tolerance) -> Tolerances:
    """Accepted error of an entry's results, by their dtype.

    What is declared for the entry's dtype holds for all its results, as in
    PyTorch's tests.

    Args:
        info: The entry in PyTorch's database.
        dtype: Dtype of the samples.
        loosened: What we accept beyond PyTorch.
    """
    own = _declared(info, dtype).looser(loosened)

    def of(result: torch.dtype) -> Tolerance:
        if not (result.is_floating_point or result.is_complex):
            return Tolerance(0.0, 0.0)
        return Tolerance(*default_tolerances(result)).looser(own)

    return of
