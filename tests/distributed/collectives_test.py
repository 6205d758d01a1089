# SPDX-License-Identifier: Apache-2.0
"""All collectives, types and operations against plain computation."""

from __future__ import annotations

import pathlib

import pytest
import ranks

COUNT = {"SOFTDEVICE_COUNTERS": "1", "DIPU_FALLBACK": "error"}

sizes = pytest.mark.parametrize("size", [2, 4])


@sizes
def test_reductions(size: int, tmp_path: pathlib.Path) -> None:
    for counts in ranks.run(
        "collective_programs:reductions", size, tmp_path, env=COUNT
    ):
        # The vendor's reductions, and the messages that others are composed of.
        assert {"AllReduce", "Reduce", "ReduceScatter", "Send"} <= set(counts)


@sizes
def test_movements(size: int, tmp_path: pathlib.Path) -> None:
    for counts in ranks.run("collective_programs:movements", size, tmp_path, env=COUNT):
        assert {"Broadcast", "AllGather", "Send"} <= set(counts)


def test_what_cannot_be_is_refused_and_the_group_goes_on(
    tmp_path: pathlib.Path,
) -> None:
    texts = ranks.run("collective_programs:refusals", 2, tmp_path)[0]
    for text, words in zip(
        texts,
        (
            ("droplet", "ComplexFloat", "MAX", "no order"),
            ("droplet", "Float", "BAND", "bits"),
            ("droplet", "Bool", "AVG"),
            ("_all_gather_base", "[3]", "2 times"),
            ("recv", "tag 3"),
            ("recv", "rank that sends"),
            ("all_to_all", "add up to 3", "[1, 1]"),
        ),
        strict=True,
    ):
        for word in words:
            assert word in text


def test_uneven_reduce_scatter(tmp_path: pathlib.Path) -> None:
    ranks.run("collective_programs:uneven_reduce_scatter", 3, tmp_path)


def test_coalesced(tmp_path: pathlib.Path) -> None:
    ranks.run("collective_programs:coalesced", 2, tmp_path)
