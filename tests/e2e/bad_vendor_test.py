# SPDX-License-Identifier: Apache-2.0
"""What a vendor that starts and then breaks the contract does to the process."""

import os
import subprocess
import sys


def run(code: str, **env: str) -> subprocess.CompletedProcess:
    """Runs code in a process of its own, on the vendor of the test's environment."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_what_a_vendor_throws_later_ends_no_process():
    """Neither a wait nor the vendor's shutdown, and both are told."""
    code = """
import torch, torch_dipu
try:
    torch.dipu.synchronize()
except torch.AcceleratorError as error:
    print(error)
"""
    done = run(code, DIPU_RUDE_VENDOR="late")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "test_vendor:0: device.synchronize threw a C++ exception. "
    )
    assert "something that is not a std::exception" in done.stdout
    assert "the vendor's shutdown failed: test_vendor: shutdown threw" in done.stderr


def test_a_shutdown_that_hangs_does_not_hold_the_process():
    code = "import torch, torch_dipu; torch.dipu.synchronize()"
    done = run(code, DIPU_RUDE_VENDOR="stuck", DIPU_EXIT_WAIT_S="0.5")
    assert done.returncode == 0, done.stderr
    text = "the process ends inside the vendor's shutdown, which had not returned"
    assert done.stderr.count(text) == 1, done.stderr


def test_what_of_a_vendor_is_not_used_is_told_once():
    code = """
import torch, torch_dipu
print(torch.dipu.device_count(), torch.dipu.device_count())
torch.dipu.set_device(1)
"""
    done = run(code, DIPU_RUDE_VENDOR="many")
    assert done.stdout.strip() == "64 64", done.stderr
    for text in (
        "test_vendor has 100 devices, of which the first 64 are used",
        "the table 'ipc' is left out: the required slot ipc.export_memory is NULL",
    ):
        assert done.stderr.count(text) == 1, done.stderr
