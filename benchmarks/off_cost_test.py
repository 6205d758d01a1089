# SPDX-License-Identifier: Apache-2.0
"""Function slots cost next to nothing while no debug tool is on."""

from __future__ import annotations

from benchmarks import off_cost


def test_slots_add_at_most_one_per_cent() -> None:
    for name, (direct, slotted) in off_cost.measure().items():
        assert direct > 100, (name, direct)
        assert slotted <= direct * (1 + off_cost.LIMIT), (name, direct, slotted)
