# SPDX-License-Identifier: Apache-2.0
"""How far results of operators may be off.

What the user says comes first, then what ops.yaml says of the operator, then what is
usual for the dtype.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from torch_dipu import _operators
from torch_dipu.debug._tolerances import TOLERANCES as OF_OPERATORS
from torch_dipu.debug.comparing import TOLERANCES as OF_DTYPES
from torch_dipu.debug.comparing import Tolerance


def _dtype(name: str, source: str) -> torch.dtype:
    known = {str(dtype).removeprefix("torch."): dtype for dtype in OF_DTYPES}
    if name not in known:
        names = ", ".join(known)
        raise ValueError(f"{source}: {name!r} is no dtype that rounds; use {names}")
    return known[name]


def _tolerance(value: Tolerance | float, source: str) -> Tolerance:
    limits = value if isinstance(value, Tolerance) else Tolerance(value, value)
    if not (limits.relative >= 0 and limits.of_largest >= 0):
        raise ValueError(f"{source}: {value!r} is no tolerance; use numbers from 0 on")
    return limits


def parse(text: str, source: str) -> dict[str, float]:
    """The tolerances of a list such as "mm=1e-3, conv2d:bfloat16=0.05".

    Args:
        text: The list.
        source: Where it comes from, for messages.

    Raises:
        ValueError: The list cannot be read.
    """
    tolerances = {}
    for part in _operators.split(text):
        pattern, _, number = part.rpartition("=")
        try:
            tolerances[pattern.strip()] = float(number)
        except ValueError:
            pattern = ""
        if not pattern:
            raise ValueError(
                f"{source}: cannot read {part!r}. Write operators and numbers, such as "
                "mm=1e-3 or conv2d:bfloat16=0.05"
            )
    return tolerances


class Tolerances:
    """The tolerances that a run is compared with.

    Args:
        given: The user's, by patterns for operators as in `force_fallback`, with a
            dtype behind a colon for that dtype only: "conv2d:bfloat16". Of several
            that fit, one with a dtype counts before others, and the last of them. A
            number is the relative tolerance and that of the largest element.
        source: Where they come from, for messages.

    Raises:
        ValueError: A pattern is not a regular expression, a dtype is none, or a
            tolerance is negative.
    """

    def __init__(self, given: Mapping[str, Tolerance | float], source: str) -> None:
        self._given: dict[tuple[str, torch.dtype | None], Tolerance] = {}
        for key, value in given.items():
            pattern, _, name = key.partition(":")
            dtype = _dtype(name.strip(), source) if name else None
            tolerance = _tolerance(value, source)
            for operator in _operators.choose([pattern.strip()], source):
                self._given[operator, dtype] = tolerance

    def of(self, operator: str, dtype: torch.dtype) -> Tolerance:
        """What holds for results of a dtype; other dtypes have to be exact.

        Args:
            operator: Its own name, "add.Tensor".
            dtype: Of the result; a complex one counts as the real one of its parts.
        """
        real = dtype.to_real() if dtype.is_complex else dtype
        given = self._given.get((operator, real)) or self._given.get((operator, None))
        if given is not None:
            return given
        declared = OF_OPERATORS.get(operator, {})
        limit = declared.get(str(real).removeprefix("torch."), declared.get(""))
        if limit is not None:
            return Tolerance(limit, limit)
        return OF_DTYPES.get(real, OF_DTYPES[torch.bfloat16])
