# SPDX-License-Identifier: Apache-2.0
"""Virtual environments to install wheels into."""

import dataclasses
import os
import pathlib
import subprocess
import venv

# What must not leak from the test's own process into the environment.
_DROPPED = ("PYTHONPATH", "PYTHONSAFEPATH", "RUNFILES_DIR")


@dataclasses.dataclass(frozen=True)
class Environment:
    """A virtual environment and how to run Python in it."""

    root: pathlib.Path

    @property
    def python(self) -> str:
        return str(self.root / "bin" / "python")

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Runs Python; the result holds both outputs as text."""
        kept = {k: v for k, v in os.environ.items() if k not in _DROPPED}
        kept = {k: v for k, v in kept.items() if not k.startswith("DIPU_")}
        return subprocess.run(
            [self.python, *args],
            env={**kept, **env},
            cwd=self.root,
            capture_output=True,
            text=True,
        )

    def output(self, *args: str, **env: str) -> str:
        """Runs Python, which must succeed, and returns what it printed."""
        result = self.run(*args, **env)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout.strip()


def create(root: pathlib.Path) -> Environment:
    """Makes an environment with nothing in it, not even pip."""
    venv.create(root, with_pip=False, symlinks=True)
    return Environment(root)
