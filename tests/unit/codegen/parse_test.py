# SPDX-License-Identifier: Apache-2.0
"""Reading ops.yaml: what is accepted, and where a mistake is reported."""

from __future__ import annotations

import pytest

from diopi_adapter.codegen import model, parse


def _entries(text: str) -> tuple[model.Entry, ...]:
    return parse.parse_entries(text, "ops.yaml")


def test_call_arguments_are_names_literals_and_functions() -> None:
    (entry,) = _entries(
        "operators:\n"
        "- op: cat\n"
        '  call: diopiCat(out, size(tensors), -1, none, true, "a, b")\n'
    )
    assert entry.call.arguments == (
        model.Name("out"),
        model.Apply("size", ("tensors",)),
        model.Literal(model.LiteralKind.INT, "-1"),
        model.Literal(model.LiteralKind.NONE, "none"),
        model.Literal(model.LiteralKind.BOOL, "true"),
        model.Literal(model.LiteralKind.TEXT, '"a, b"'),
    )


def test_entries_know_their_line() -> None:
    first, second = _entries(
        "operators:\n- op: a\n  call: f()\n\n# note\n- op: b\n  call: g()\n"
    )
    assert (first.line, first.call.line) == (2, 3)
    assert (second.line, second.call.line) == (6, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ops.yaml:1: the file has no entries"),
        ("operators: {}\n", "ops.yaml:1: expected a list"),
        ("ops: []\n", "ops.yaml:1: unknown key `ops`; use `operators`"),
        ("operators:\n- [a]\n", "ops.yaml:2: expected a mapping"),
        ("operators:\n- op: a\n", "ops.yaml:2: an entry needs the key `call`"),
        (
            "operators:\n- op: a\n  call: f()\n  calls: g()\n",
            "ops.yaml:4: unknown key `calls`; known are op, call,",
        ),
        (
            "operators:\n- op: a\n  op: b\n  call: f()\n",
            "ops.yaml:3: the key `op` appears twice",
        ),
        (
            "operators:\n- op: a\n  call: f\n",
            "ops.yaml:3: expected a call like name(a, b), not `f`",
        ),
        (
            "operators:\n- op: a\n  call: f(a + b)\n",
            "ops.yaml:3: cannot read the argument `a + b`",
        ),
        (
            "operators:\n- op: a\n  call: f()\n  result: int\n",
            "ops.yaml:4: result is `bool`, `float` or absent, not `int`",
        ),
        (
            "operators:\n- op: a\n  call: f()\n  cpu_reference: f(x)\n",
            "ops.yaml:4: `f(x)` is not the name of a C++ function",
        ),
        (
            "operators:\n- op: a\n  call: f()\n  require: {x: [1]}\n",
            "ops.yaml:4: expected text",
        ),
        (
            "operators:\n- op: a\n  call: f()\n  require: {x: int63}\n",
            "ops.yaml:4: `int63` is not a constant; use true, 0, none or int64",
        ),
        ("operators:\n- op: 'a\n", "ops.yaml:3: found unexpected end of stream"),
    ],
)
def test_mistakes_name_line_and_reason(text: str, message: str) -> None:
    with pytest.raises(model.SpecError) as caught:
        _entries(text)
    assert str(caught.value).startswith(message)


def test_functions_leave_out_the_context_and_the_runtime() -> None:
    header = "name\theader\tarea\treturns\tparameters\tweak\trevision\tchanged\n"
    functions = parse.parse_functions(
        header
        + "diopiGetStream\tdiopirt.h\trt\tdiopiError_t\tdiopiContextHandle_t c\n"
        + "diopiSort\tfunctions.h\tsort\tdiopiError_t\tdiopiContextHandle_t ctx; "
        + "const bool* pStable; const int64_t dim\n"
    )
    assert list(functions) == ["diopiSort"]
    assert functions["diopiSort"].parameters == (
        model.DiopiParameter("const bool*", "pStable"),
        model.DiopiParameter("int64_t", "dim"),
    )
