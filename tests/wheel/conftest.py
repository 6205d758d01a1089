# SPDX-License-Identifier: Apache-2.0
"""Clean environments, one of them with the wheels of this build installed."""

import os
import pathlib
import sys

import pytest

from tests.wheel.environment import Environment, create


def _site(environment: Environment) -> pathlib.Path:
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    return pathlib.Path(environment.output("-c", code))


@pytest.fixture(scope="session")
def wheels() -> list[pathlib.Path]:
    """The wheels of this build."""
    return [pathlib.Path(name).resolve() for name in os.environ["DIPU_WHEELS"].split()]


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with nothing in it, not even pip."""
    return create(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="session")
def installed(
    tmp_path_factory: pytest.TempPathFactory, wheels: list[pathlib.Path]
) -> Environment:
    """An environment with stock torch and the wheels."""
    environment = create(tmp_path_factory.mktemp("installed"))
    # Stock torch and its requirements come from the locked environment by path,
    # which takes a moment instead of minutes.
    locked = [path for path in sys.path if path.endswith("site-packages")]
    (_site(environment) / "locked.pth").write_text("\n".join(locked) + "\n")
    names = [str(path) for path in wheels]
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", *names]
    environment.output(*install)
    return environment
