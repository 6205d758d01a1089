# SPDX-License-Identifier: Apache-2.0
"""The real ops.yaml: generation is deterministic and complete."""

from __future__ import annotations

import os
import pathlib
import re

from diopi_adapter.codegen import main

_OPS = pathlib.Path(os.environ["DIPU_OPS"]).read_text("utf-8")
_FUNCTIONS = pathlib.Path(os.environ["DIPU_DIOPI_FUNCTIONS"]).read_text("utf-8")


def _generate(shards: int) -> dict[str, str]:
    return main.generate(_OPS, "ops.yaml", _FUNCTIONS, shards)


def test_generation_is_deterministic() -> None:
    assert _generate(3) == _generate(3)


def test_every_entry_is_registered_in_exactly_one_shard() -> None:
    shards = [text for name, text in _generate(4).items() if "operators_" in name]
    slots = re.findall(r'_slot\("([^"]+)"', "".join(shards))
    generated = _OPS[: _OPS.index("\nhandwritten:\n")]
    entries = re.findall(r"^- op: (\S+)$", generated, re.MULTILINE)
    assert len(slots) == len(set(slots))
    assert set(entries) <= set(slots)


def test_registration_depends_on_the_function() -> None:
    text = "".join(_generate(1).values())
    add = text[text.index("if (symbols().diopiAdd != nullptr)") :]
    assert "bind<add_Tensor::functional_slot>(library);" in add[: add.index("}")]
