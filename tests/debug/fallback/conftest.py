# SPDX-License-Identifier: Apache-2.0
"""What the tests of fallbacks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch_dipu

from tests.debug.fallback import cpu_only


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No records, and fallbacks that nobody forbids and that copy."""
    monkeypatch.setenv("DIPU_FALLBACK", "silent")
    monkeypatch.setenv("DIPU_FALLBACK_IN_PLACE", "0")
    torch_dipu.reset_fallbacks()
    cpu_only.cpu_calls.clear()
    yield
    torch_dipu.reset_fallbacks()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(12.0).reshape(3, 4).to("dipu")
