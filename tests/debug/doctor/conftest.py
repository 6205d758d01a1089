# SPDX-License-Identifier: Apache-2.0
"""What the tests of the doctor share."""

from __future__ import annotations

import pathlib

import pytest

from tests.debug.doctor.site_packages import Site


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Site:
    (tmp_path / "site").mkdir()
    return Site(tmp_path / "site")
