# SPDX-License-Identifier: Apache-2.0
"""The option that rewrites golden files."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="Rewrite the golden files in the source tree instead of comparing.",
    )
