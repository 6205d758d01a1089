# SPDX-License-Identifier: Apache-2.0
"""docs/ops_support.md says what the dispatcher, ops.yaml and native.txt say."""

from __future__ import annotations

import pathlib

from tests.conformance.differential import support
from tests.conformance.differential.support import Served


def test_the_page_is_current() -> None:
    page = pathlib.Path(support.PAGE).read_text("utf-8")
    assert page == support.current(), f"run: {support.COMMAND}"


def test_operators_are_told_apart() -> None:
    served = {
        overload: how
        for operator in support.operators({"add.Tensor": "diopiAdd"})
        for overload, how in operator.overloads.items()
    }
    assert served["add.Tensor"] is Served.GENERATED
    assert served["convolution_overrideable"] is Served.HANDWRITTEN
    assert served["geqrf"] is Served.FALLBACK
    assert served["matmul"] is Served.COMPOSITE
    assert "_test_functorch_fallback" not in served
    assert "miopen_convolution_relu" not in served


def test_dtypes_belong_to_the_name_of_the_dispatcher() -> None:
    found = support.dtypes_of("op nn.functional.gelu float32\nop mm bool\n")
    assert found["gelu"] == {"float32"}
    assert found["mm"] == {"bool"}
