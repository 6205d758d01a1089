# SPDX-License-Identifier: Apache-2.0
"""torchrun starts the ranks anew when one is killed."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

PROGRAM = """
    import os, signal
    import torch, torch_dipu
    import torch.distributed as dist

    dist.init_process_group("dicl")
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    tensor = torch.ones(4, device="dipu")
    dist.all_reduce(tensor)
    torch.dipu.synchronize()
    if attempt == 0 and dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(50):
        dist.all_reduce(tensor)
        torch.dipu.synchronize()
    dist.destroy_process_group()
    with open(f"{os.environ['PLACE']}/{os.environ['RANK']}", "a") as file:
        file.write(f"{attempt}")
"""


def test_restart_after_a_killed_rank(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*torchrun, "--nproc-per-node=2", "--max-restarts=1", str(program)],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PLACE": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        assert (tmp_path / str(rank)).read_text() == "1"
