# SPDX-License-Identifier: Apache-2.0
"""Imports what workers need, in the server that they are forks of."""

from __future__ import annotations

try:
    from tests.conformance.differential import worker  # noqa: F401
except ImportError as error:
    # The server would ignore an ImportError, and its forks fail in odd ways.
    raise RuntimeError(f"the test's own process cannot start: {error}") from error
