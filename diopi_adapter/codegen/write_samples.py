# SPDX-License-Identifier: Apache-2.0
"""Writes the samples of ops.yaml, see samples.py, to a file."""

from __future__ import annotations

import torch
from absl import app, flags

from diopi_adapter.codegen import command, samples

_OPS = flags.DEFINE_string("ops", None, "Path of ops.yaml.", required=True)


def main(argv: list[str]) -> None:
    """Writes the file, or the first mistake and exit code 1."""
    # The results must not depend on how many threads there are.
    torch.set_num_threads(1)
    command.run(argv, _OPS.value, samples.render)


if __name__ == "__main__":
    app.run(main)
