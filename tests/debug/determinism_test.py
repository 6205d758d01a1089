# SPDX-License-Identifier: Apache-2.0
"""Deterministic algorithms on a vendor whose functions repeat their results.

That functions which do not are refused is tested with a vendor that has some
(alerts_test.py).
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
import torch_dipu  # noqa: F401

TIMES = 8


def test_droplet_lists_no_function() -> None:
    dist = pathlib.Path(os.environ["DIPU_VENDOR_LIBRARY"]).parent
    assert dist.is_dir()
    assert not (dist / "diopi_nondeterministic.tsv").exists()


@pytest.mark.parametrize("threads", ["1", "2"])
def test_every_candidate_repeats_its_bits(threads: str) -> None:
    """None of them raises, so all are allowed to be deterministic."""
    done = subprocess.run(
        [sys.executable, "tests/debug/repeating.py", str(TIMES)],
        env={**os.environ, "OMP_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    differing = json.loads(done.stdout)
    assert len(differing) > 50
    assert {name: wrong for name, wrong in differing.items() if wrong} == {}


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def _filled(dtype: torch.dtype) -> torch.Tensor:
    """What PyTorch fills new memory with."""
    return torch.empty(1, dtype=dtype)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.bfloat16,
        torch.complex64,
        torch.int8,
        torch.int64,
        torch.bool,
    ],
)
def test_new_memory_is_filled(dtype: torch.dtype) -> None:
    made = {
        "empty": torch.empty(3, 2, dtype=dtype, device="dipu"),
        "empty_strided": torch.empty_strided(
            (3, 2), (1, 3), dtype=dtype, device="dipu"
        ),
        "empty_like": torch.empty_like(torch.zeros(3, 2, dtype=dtype, device="dipu")),
        "new_empty": torch.zeros(1, device="dipu").new_empty(3, 2, dtype=dtype),
        "resize_": torch.empty(0, dtype=dtype, device="dipu").resize_(3, 2),
    }
    expected = _filled(dtype).expand(3, 2)
    for name, tensor in made.items():
        same = torch.allclose(
            tensor.cpu().to(torch.complex64),
            expected.to(torch.complex64),
            equal_nan=True,
        )
        assert same, (name, tensor)


@pytest.mark.usefixtures("deterministic")
def test_resizing_keeps_what_was_there() -> None:
    x = torch.arange(4.0).to("dipu").resize_(6)
    assert x[:4].tolist() == [0, 1, 2, 3]
    assert x[4:].isnan().all()


@pytest.mark.usefixtures("deterministic")
def test_filling_can_be_switched_off() -> None:
    x = torch.ones(1000, device="dipu")
    address = x.data_ptr()
    del x  # its memory is what the next tensor of this size gets
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        y = torch.empty(1000, device="dipu")
        assert y.data_ptr() == address
        assert not y.isnan().any()
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True
