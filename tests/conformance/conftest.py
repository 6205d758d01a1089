# SPDX-License-Identifier: Apache-2.0
"""What the conformance tests share.

They run on whatever vendor `DIPU_DEVICE` or `DIPU_VENDOR_LIBRARY` names. A test
that says an operator is native uses `native`; one that says nothing fell back
uses `no_fallback`. Both look at counters, because a device that computes
everything on the CPU passes any comparison of values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
import torch
import torch_dipu

DEVICE = "dipu"


def _has_operator_library() -> bool:
    return "found" in torch_dipu.ops_report().values()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests of native operators on a vendor without any."""
    if _has_operator_library():
        return
    skip = pytest.mark.skip(reason="the vendor has no operator library")
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if {"native", "no_fallback"} & set(fixtures):
            item.add_marker(skip)


def pytest_runtest_setup() -> None:
    """Gives every test the same random numbers."""
    torch.manual_seed(0)


@pytest.fixture
def device() -> str:
    """Name of the device type under test."""
    return DEVICE


@pytest.fixture
def second_device() -> torch.device:
    """A device other than the current one."""
    if torch.accelerator.device_count() < 2:
        pytest.skip("needs two devices")
    return torch.device(DEVICE, 1)


def _grown(before: dict[str, int]) -> dict[str, int]:
    after = torch_dipu.op_counters()
    return {k: v - before.get(k, 0) for k, v in after.items() if v > before.get(k, 0)}


def _fallbacks(grown: dict[str, int]) -> list[str]:
    return sorted(name for name in grown if name.startswith("fallback."))


@contextlib.contextmanager
def _no_fallback() -> Iterator[None]:
    before = torch_dipu.op_counters()
    yield
    assert not _fallbacks(_grown(before))


@contextlib.contextmanager
def _native(*operators: str) -> Iterator[None]:
    before = torch_dipu.op_counters()
    with torch_dipu.count_native_ops():
        yield
    grown = _grown(before)
    assert not _fallbacks(grown)
    missing = [op for op in operators if f"native.{op}" not in grown]
    assert not missing, f"not native: {missing}; counted: {sorted(grown)}"


@contextlib.contextmanager
def _falls_back(*operators: str) -> Iterator[None]:
    before = torch_dipu.op_counters()
    yield
    grown = _grown(before)
    missing = [op for op in operators if f"fallback.{op}" not in grown]
    assert not missing, f"did not fall back: {missing}; counted: {sorted(grown)}"


Expectation = Callable[..., contextlib.AbstractContextManager[None]]


@pytest.fixture
def no_fallback() -> Expectation:
    """`with no_fallback():` fails when an operator ran on the CPU."""
    return _no_fallback


@pytest.fixture
def native() -> Expectation:
    """`with native("mm"):` fails unless mm ran on the device and nothing fell back."""
    return _native


@pytest.fixture
def falls_back() -> Expectation:
    """`with falls_back("geqrf"):` fails unless it was counted as a fallback."""
    return _falls_back


@pytest.fixture
def fallback_mode() -> Iterator[Callable[[str], None]]:
    """`fallback_mode("error")` sets what a fallback does until the test ends."""
    yield torch_dipu._C._set_fallback_mode
    torch_dipu._C._set_fallback_mode("silent")
