# SPDX-License-Identifier: Apache-2.0
"""Tests of house_rules."""

import pathlib

import pytest

from tools import house_rules

_HEADER = "// SPDX-License-Identifier: Apache-2.0\n"


@pytest.mark.parametrize(
    "header", ["torch/torch.h", "torch/extension.h", "ATen/ATen.h", "torch/all.h"]
)
def test_umbrella_header_is_reported_with_its_line(header: str) -> None:
    text = f"{_HEADER}\n#include <{header}>\n"
    (problem,) = house_rules.problems_in("core/a.cc", text)
    assert problem.startswith("core/a.cc:3: " + header)


def test_single_operator_header_is_fine() -> None:
    text = f'{_HEADER}#include <ATen/ops/add.h>\n#include "core/a.h"\n'
    assert house_rules.problems_in("core/a.cc", text) == []


@pytest.mark.parametrize("name", ["a.cc", "a.py", "x/BUILD.bazel", "bazelw"])
def test_missing_license_is_reported(name: str) -> None:
    (problem,) = house_rules.problems_in(name, "text\n")
    assert "SPDX-License-Identifier" in problem


def test_documents_need_no_license_line() -> None:
    assert house_rules.problems_in("README.md", "# Title\n") == []


def test_file_name_outside_ascii_is_reported(tmp_path: pathlib.Path) -> None:
    name = "na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve.md"
    (tmp_path / name).write_text("text\n")
    (problem,) = house_rules.problems(tmp_path, [name])
    assert "ASCII" in problem
