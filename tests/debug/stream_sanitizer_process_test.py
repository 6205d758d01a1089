# SPDX-License-Identifier: Apache-2.0
"""The stream sanitizer in processes of its own: its settings, forks, odd names."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import torch, torch_dipu
x = torch.zeros(1000, device="dipu")
side = torch.Stream(device="dipu")
torch.accelerator.synchronize()
x.add_(1)
with side:
    y = x * 2
torch.accelerator.synchronize()
"""


def run(program: str = PROGRAM, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


NAME = """
program = %r
exec(compile(program, "not\\udcfftext.py", "exec"))
"""


def test_a_file_may_have_any_name() -> None:
    done = run(NAME % PROGRAM, DIPU_SANITIZE_STREAMS="1")
    assert done.returncode == 0, done.stderr
    assert "called at not\\udcfftext.py:6 <module>" in done.stdout


BACKWARD = """
import torch, torch_dipu
x = torch.ones(1000, device="dipu")
w, v = (torch.ones_like(x).requires_grad_() for _ in range(2))
y, z = (w * x).sum(), torch.dot(v, x)
side = torch.Stream(device="dipu")
torch.accelerator.synchronize()
with torch_dipu.sanitize_streams() as report:
    for loss in y, z:
        with side:
            x.data.zero_()
        loss.backward()
torch.accelerator.synchronize()
"""


def test_threads_of_autograd_tell_operators_apart() -> None:
    done = run(BACKWARD, DIPU_AUTOGRAD_THREADS="1")
    assert done.returncode == 0, done.stderr
    for node in "MulBackward0", "DotBackward0":
        assert f"called at no Python line (backward of {node})" in done.stdout


FORK = """
import os, threading, torch, torch_dipu
from torch_dipu.debug import sanitizing
held, done = threading.Event(), threading.Event()
def hold():
    with sanitizing._lock:
        held.set()
        done.wait()
x = torch.ones(3, device="dipu")
with torch_dipu.sanitize_streams() as report:
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    done.set()
if child:
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    print("both ended")
"""


def test_a_forked_child_ends() -> None:
    done = run(FORK)
    assert (done.returncode, done.stdout) == (0, "both ended\n"), done.stderr


FORK_WHILE_ON = """
import os, torch, torch_dipu
x = torch.ones(3, device="dipu") + 1
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_has_no_summary() -> None:
    done = run(FORK_WHILE_ON, DIPU_SANITIZE_STREAMS="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("no findings in ") == 1


def test_the_environment_switches_it_on() -> None:
    done = run(DIPU_SANITIZE_STREAMS="1")
    assert done.returncode == 0, done.stderr
    assert "called at <string>:6 <module>" in done.stdout
    assert "called at <string>:8 <module>" in done.stdout
    assert "sanitize_streams: 1 time: a stream does not wait for another" in (
        done.stdout
    )


def test_the_environment_may_ask_for_an_error() -> None:
    done = run(DIPU_SANITIZE_STREAMS="error")
    assert done.returncode == 1
    assert "line 8, in <module>" in done.stderr
    assert "StreamOrderError: sanitize_streams: two streams" in done.stderr
