# SPDX-License-Identifier: Apache-2.0
"""Compiling nondeterministic.yaml: what it says, and where a mistake is reported."""

from __future__ import annotations

import pytest

from diopi_adapter.codegen import model, nondeterministic

_FUNCTIONS = """\
name\theader\tarea\treturns\tparameters\tweak\trevision\tchanged
diopiAdd\tfunctions.h\t\tdiopiError_t\tdiopiContextHandle_t ctx\t\t1\t
diopiAddInp\tfunctions.h\t\tdiopiError_t\tdiopiContextHandle_t ctx\t\t1\t
diopiSub\tfunctions.h\t\tdiopiError_t\tdiopiContextHandle_t ctx\t\t1\t
"""


def _compile(text: str) -> list[str]:
    table = nondeterministic.compile_list(text, "list.yaml", _FUNCTIONS)
    assert table.startswith("# Generated from list.yaml.\n")
    return table.splitlines()[1:]


def test_patterns_and_lists_of_functions() -> None:
    lines = _compile(
        "- functions: diopiSub\n"
        "  reason: waits\n"
        "    for nobody\n"
        "- functions: [diopiAdd*]\n"
        "  reason: adds in any order\n"
        "  types: floating\n"
    )
    assert lines == [
        "diopiAdd\tfloating\tadds in any order",
        "diopiAddInp\tfloating\tadds in any order",
        "diopiSub\tany\twaits for nobody",
    ]


def test_a_list_may_be_empty() -> None:
    assert _compile("[]") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- reason: x\n", "1: an entry needs the key `functions`"),
        ("- functions: diopiAdd\n", "1: an entry needs the key `reason`"),
        ("- functions: diopiAdd\n  reason: ''\n", "2: expected text"),
        ("\n- functions: diopiMul\n  reason: x\n", "2: no function is called"),
        (
            "- functions: [diopiAdd, diopiAdd*]\n  reason: x\n",
            "1: diopiAdd stands in an entry already",
        ),
        (
            "- functions: diopiAdd\n  reason: x\n  types: int\n",
            "3: types is any or floating, not `int`",
        ),
        ("- functions: diopiAdd\n  why: x\n", "2: unknown key `why`"),
        ("functions: diopiAdd\n", "1: expected a list"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, message: str) -> None:
    with pytest.raises(model.SpecError) as error:
        _compile(text)
    assert str(error.value).startswith(f"list.yaml:{message}")
