# SPDX-License-Identifier: Apache-2.0
"""What the end of a process waits for, and what it leaves behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conformance.programs import Finish, Run

pytest_plugins = ("tests.conformance.programs",)


def test_interpreter_ends_by_exit_of_the_c_library(run: Run) -> None:
    """As when another library, or a program that embeds Python, calls it."""
    run(
        """
        import ctypes
        import torch, torch_dipu
        x = torch.randn(256, 256, device="dipu")
        for _ in range(20):
            x = x @ x
        ctypes.CDLL(None).exit(0)
        """
    )


def test_interpreter_ends_though_a_stream_hangs(
    monkeypatch: pytest.MonkeyPatch, finish: Finish
) -> None:
    """It says so, and waits no longer than it was told to."""
    monkeypatch.setenv("SOFTDEVICE_FAULTS", "hang=1,device=1")
    monkeypatch.setenv("DIPU_EXIT_WAIT_S", "0.5")
    result = finish(
        """
        import torch, torch_dipu
        event = torch.dipu.Event()
        with torch.dipu.device(1):
            x = torch.ones(1000, device="dipu")
            event.record()
        event.wait(torch.dipu.current_stream(0))
        y = torch.ones(1000, device="dipu:0")
        """
    )
    assert "the process ends with work in flight" in result.stderr
    assert result.returncode == 0


def test_closing_the_libraries_is_harmless(run: Run) -> None:
    """However often somebody calls dlclose, the code of running work stays."""
    run(
        """
        import ctypes, os
        import torch, torch_dipu
        x = torch.randn(256, 256, device="dipu")
        (x @ x).sum().item()
        shipped = os.listdir(os.path.dirname(torch_dipu.vendor_info()["file"]))
        ours = {n for n in shipped if n.startswith(("libdi", "libtang"))}
        with open("/proc/self/maps") as maps:
            paths = {line.split()[-1] for line in maps if line.count("/")}
        paths = {p for p in paths if os.path.basename(p) in ours}
        assert any("libdiopi_impl.so" in path for path in paths), paths
        streams = [torch.dipu.Stream() for _ in range(3)]
        for stream in streams:
            with torch.dipu.stream(stream):
                y = x
                for _ in range(20):
                    y = y @ x
        close = ctypes.CDLL(None).dlclose
        close.argtypes = [ctypes.c_void_p]
        for path in sorted(paths):
            handle = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)._handle
            for _ in range(8):
                if close(handle) != 0:
                    break
        torch.dipu.synchronize()
        assert (x + x).isfinite().all().item()
        """
    )


def test_memory_is_nobodys_after_the_exit(run: Run) -> None:
    before = set(os.listdir("/dev/shm"))
    run(
        """
        import torch, torch_dipu
        x = torch.ones(1 << 22, device="dipu")
        y = torch.ones(1 << 20).pin_memory()
        """
    )
    assert set(os.listdir("/dev/shm")) <= before
