# SPDX-License-Identifier: Apache-2.0
"""Pages that are generated say what the code says."""

import pathlib

from torch_dipu import _env


def test_env_vars_page_is_current():
    page = pathlib.Path("docs/env_vars.md").read_text()
    hint = "run: ./bazelw run //python:report -- env > docs/env_vars.md"
    assert page == _env.markdown(), hint
