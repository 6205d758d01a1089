# SPDX-License-Identifier: Apache-2.0
"""Entry of every pytest target: speaks Bazel's test protocol."""

import os
import pathlib
import sys

import pytest


def pytest_arguments(environ: dict[str, str]) -> list[str]:
    """Translates what Bazel asks for into pytest's options."""
    args = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--color=no"]
    if xml := environ.get("XML_OUTPUT_FILE"):
        args.append(f"--junitxml={xml}")
    if pattern := environ.get("TESTBRIDGE_TEST_ONLY"):
        args += ["-k", pattern]
    if scratch := environ.get("TEST_TMPDIR"):
        args.append(f"--basetemp={scratch}/pytest")
    return args


def main() -> int:
    if status := os.environ.get("TEST_SHARD_STATUS_FILE"):
        pathlib.Path(status).touch()
    return int(pytest.main(pytest_arguments(dict(os.environ)) + sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
