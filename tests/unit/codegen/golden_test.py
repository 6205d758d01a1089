# SPDX-License-Identifier: Apache-2.0
"""Generated code against golden files.

After an intended change:
  ./bazelw run //tests/unit/codegen:golden_test -- --update-golden
"""

from __future__ import annotations

import os
import pathlib

import pytest

from diopi_adapter.codegen import main

_GOLDEN = pathlib.Path(os.environ["DIPU_GOLDEN"]).parent
_SOURCE = pathlib.Path("tests/unit/codegen/golden")


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    functions = pathlib.Path(os.environ["DIPU_DIOPI_FUNCTIONS"]).read_text("utf-8")
    ops = (_GOLDEN / "ops.yaml").read_text("utf-8")
    return main.generate(ops, "ops.yaml", functions, shards=1)


@pytest.mark.parametrize("name", ["operators_0.cc", "registration.cc"])
def test_generated_code_is_golden(
    name: str, generated: dict[str, str], request: pytest.FixtureRequest
) -> None:
    golden = f"{name}.golden"
    if request.config.getoption("--update-golden"):
        root = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
        (root / _SOURCE / golden).write_text(generated[name], "utf-8")
    else:
        assert generated[name] == (_GOLDEN / golden).read_text("utf-8")
