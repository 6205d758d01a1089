# SPDX-License-Identifier: Apache-2.0
"""Compiling conversions.yaml: what it says, and where a mistake is reported."""

from __future__ import annotations

import pytest

from diopi_adapter.codegen import conversions, model

_FUNCTIONS = """\
name\theader\tarea\treturns\tparameters\tweak\trevision\tchanged
diopiAdd\tfunctions.h\t\tdiopiError_t\tdiopiContextHandle_t ctx\t\t1\t
diopiAddInp\tfunctions.h\t\tdiopiError_t\tdiopiContextHandle_t ctx\t\t1\t
diopiCastDtype\tfunctions.h\t\tdiopiError_t\tdiopiContextHandle_t ctx\t\t1\t
diopiSub\tfunctions.h\t\tdiopiError_t\tdiopiContextHandle_t ctx\t\t1\t
"""


def _compile(text: str) -> list[str]:
    table = conversions.compile_rules(text, "conversions.yaml", _FUNCTIONS)
    assert table.startswith("# Generated from conversions.yaml.\n")
    return table.splitlines()[1:]


def test_a_pattern_stands_for_all_but_those_that_convert() -> None:
    assert _compile('- functions: "*"\n  types: {int64: int32}\n') == [
        "diopiAdd\tint64=int32\t",
        "diopiAddInp\tint64=int32\t",
        "diopiSub\tint64=int32\t",
    ]


def test_later_entries_add_and_replace() -> None:
    lines = _compile(
        "- functions: diopiAdd*\n"
        "  except: [diopiAddInp]\n"
        "  types: {int64: int32, float64: float32}\n"
        "  layout: contiguous\n"
        "- functions: [diopiAdd]\n"
        "  types: {int64: int64, bfloat16: float32}\n"
        "- functions: diopiSub\n"
        "  layout: contiguous\n"
        "- functions: diopiSub\n"
        "  layout: any\n"
    )
    assert lines == ["diopiAdd\tbfloat16=float32,float64=float32\tcontiguous"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- types: {int64: int32}\n", "1: an entry needs the key `functions`"),
        ("- functions: diopiAdd\n", "1: an entry needs `types` or `layout`"),
        (
            "\n- functions: diopiMul\n  layout: any\n",
            "2: no function is called `diopiMul`",
        ),
        (
            "- functions: diopiCastDtype\n  layout: any\n",
            "1: diopiCastDtype does the conversions and cannot be converted",
        ),
        (
            "- functions: diopiAdd\n  types:\n    int64: int33\n",
            "3: unknown type `int33`",
        ),
        (
            "- functions: diopiAdd\n  types: {int64: float32}\n",
            "2: int64 is integer and float32 is floating point; they must be of one",
        ),
        (
            "- functions: diopiAdd\n  layout: nhwc\n",
            "2: layout is contiguous or any, not `nhwc`",
        ),
        ("- functions: diopiAdd\n  type: x\n", "2: unknown key `type`"),
        ("functions: diopiAdd\n", "1: expected a list"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, message: str) -> None:
    with pytest.raises(model.SpecError) as error:
        _compile(text)
    assert str(error.value).startswith(f"conversions.yaml:{message}")
