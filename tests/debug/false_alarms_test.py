# SPDX-License-Identifier: Apache-2.0
"""Autocompare accuses no operator of a right device, whatever it is given.

PyTorch's databases have samples of each operator. Hundreds of operators in several
dtypes are compared, backward too.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Iterator

import pytest
import torch
import torch_dipu

from tests.conformance.differential import catalogue, operators, sides
from tests.conformance.differential.entry import Entry

# What other devices than droplet leave out as well.
_LATER = {"linear algebra", "fft", "sparse", "quantized"}
# Of the entries in these dtypes: one of how many, and how many samples of each.
_SAMPLES = {
    torch.float32: (1, 1),
    torch.float16: (2, 1),
    torch.bfloat16: (2, 1),
    torch.int64: (2, 1),
}
# Pairs of an operator and a dtype that each of the tests has to compare at least.
_PAIRS = {
    torch.float32: 250,
    torch.float16: 100,
    torch.bfloat16: 100,
    torch.int64: 100,
}


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    torch.set_num_threads(1)
    return [
        entry
        for entry in catalogue.entries()
        if entry.kind == "op" and not _LATER & set(catalogue.families(entry))
    ]


def _cases(entries: Iterable[Entry], dtype: torch.dtype) -> Iterator[sides.Case]:
    part, count = _SAMPLES[dtype]
    for entry in entries:
        chosen = zlib.crc32(entry.name.encode()) % part == 0
        if catalogue.dtype(entry) is not dtype or not chosen:
            continue
        backward = dtype in catalogue.info(entry).supported_backward_dtypes("cpu")
        yield from operators.cases(entry, "backward" if backward else "forward", count)


@pytest.mark.parametrize("dtype", _SAMPLES, ids=str)
def test_nobody_is_accused(entries: list[Entry], dtype: torch.dtype) -> None:
    compared, alarms = set(), []
    for case in _cases(entries, dtype):
        with warnings.catch_warnings(), torch_dipu.autocompare() as report:
            warnings.simplefilter("ignore")
            side = sides.on_device(case)
        compared |= report.calls.keys() - report.left_out.keys()
        alarms += [f"{name}: {case.label}" for name in report.wrong_operators]
        # Autocompare adds no errors to those that the device has anyway.
        if side.error and not sides.on_device(case).error:
            alarms.append(f"{side.error} when it is compared: {case.label}")
    assert not alarms, "\n".join(alarms)
    assert len(compared) >= _PAIRS[dtype], sorted(compared)
