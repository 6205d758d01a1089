# SPDX-License-Identifier: Apache-2.0
"""The tolerances of ops.yaml, as autocompare reads them."""

from __future__ import annotations

import pytest

from diopi_adapter.codegen import model, tolerances

_FUNCTIONS = """\
name\theader\tarea\treturns\tparameters\tweak\trevision\tchanged
diopiExp\tfunctions.h\t\tdiopiError_t\tdiopiContextHandle_t ctx; \
diopiTensorHandle_t out; diopiConstTensorHandle_t input\t\t1\t
"""
_EXP = """\
operators:
- op: exp
  call: diopiExp(out, self)
"""


def _render(text: str) -> dict[str, dict[str, float]]:
    module: dict[str, dict[str, dict[str, float]]] = {}
    exec(tolerances.render(text, "ops.yaml", _FUNCTIONS), {}, module)
    return module["TOLERANCES"]


def test_one_tolerance_holds_for_all_forms() -> None:
    expected = {"": 0.001}
    assert _render(_EXP + "  tolerance: 1e-3\n") == {
        "exp": expected,
        "exp.out": expected,
        "exp_": expected,
    }


def test_exact_is_a_tolerance() -> None:
    assert _render(_EXP + "  tolerance: 0\n")["exp"] == {"": 0.0}


def test_tolerances_by_type() -> None:
    text = _EXP + "  tolerance: {bfloat16: 0.05, float32: 1e-4}\n"
    assert _render(text)["exp_"] == {"bfloat16": 0.05, "float32": 0.0001}


def test_an_operator_without_one_is_left_out() -> None:
    assert _render(_EXP) == {}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("low", "a tolerance is a number from 0 on, not `low`"),
        ("-1", "a tolerance is a number from 0 on, not `-1`"),
        ("inf", "a tolerance is a number from 0 on, not `inf`"),
        ("{float32: nan}", "a tolerance is a number from 0 on, not `nan`"),
        ("{int64: 1}", "no tolerance for `int64`; types that round are bfloat16, "),
    ],
)
def test_what_is_no_tolerance_is_refused(value: str, message: str) -> None:
    with pytest.raises(model.SpecError) as error:
        _render(_EXP + f"  tolerance: {value}\n")
    assert f"ops.yaml:4: {message}" in str(error.value)
