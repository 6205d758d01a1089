# SPDX-License-Identifier: Apache-2.0
"""The end of an interpreter that still holds, or still uses, a device.

Each test is a program. It has to end by itself, with the status 0 and without a
word on stderr.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator

import pytest

Run = Callable[[str], str]


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    """See nursery.py."""
    program = pathlib.Path(__file__).parent / "nursery.py"
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


def _write(code: str, folder: pathlib.Path) -> pathlib.Path:
    program = folder / "program.py"
    program.write_text(textwrap.dedent(code))
    return program


@pytest.fixture
def run(nursery: subprocess.Popen[str], tmp_path: pathlib.Path) -> Run:
    """`run(code)` runs a program that ends as it should and gives its output."""

    def call(code: str) -> str:
        _write(code, tmp_path)
        assert nursery.stdin is not None and nursery.stdout is not None
        nursery.stdin.write(f"{tmp_path}\n")
        nursery.stdin.flush()
        status = nursery.stdout.readline().strip()
        assert (tmp_path / "err").read_text() == ""
        assert status == "0"
        return (tmp_path / "out").read_text()

    return call


@pytest.fixture
def run_anew(tmp_path: pathlib.Path) -> Run:
    """As `run`, in an interpreter that has imported nothing yet."""

    def call(code: str) -> str:
        command = [sys.executable, str(_write(code, tmp_path))]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert result.stderr == ""
        assert result.returncode == 0
        return result.stdout

    return call


_PROGRAMS = {
    "an untouched device": """
        import torch_dipu
    """,
    "a tensor in a global": """
        import torch, torch_dipu
        x = torch.ones(1000, device="dipu") + 1
    """,
    "tensors in other modules": """
        import sys, types
        import torch, torch_dipu
        for name in ("aaa", "zzz"):
            module = types.ModuleType(name)
            module.x = torch.ones(1000, device="dipu")
            sys.modules[name] = module
        torch.kept_here = torch.ones(1000, device="dipu")
        sys.kept_here = torch.ones(1000, device="dipu")
    """,
    "tensors freed and used by __del__": """
        import torch, torch_dipu
        class Holder:
            def __init__(self):
                self.x = torch.ones(1000, device="dipu", requires_grad=True)
                self.itself = self
            def __del__(self):
                try:
                    self.x.add(1)
                except RuntimeError as error:
                    assert "process is ending" in str(error), error
                del self.x
        holder = Holder()
        cycle = Holder()
        del cycle
    """,
    "streams, events and generators": """
        import torch, torch_dipu
        stream = torch.dipu.Stream()
        generator = torch.Generator("dipu")
        events = [torch.dipu.Event(enable_timing=True) for _ in range(2)]
        with torch.dipu.stream(stream):
            events[0].record()
            x = torch.randn(1000, device="dipu", generator=generator)
            events[1].record()
        unrecorded = torch.dipu.Event()
        state = torch.dipu.get_rng_state()
    """,
    "a stream left current": """
        import torch, torch_dipu
        torch.dipu.stream(torch.dipu.Stream()).__enter__()
        torch.dipu.device(1).__enter__()
        x = torch.ones(1000, device="dipu")
    """,
    "work in flight": """
        import torch, torch_dipu
        x = torch.randn(256, 256, device="dipu")
        streams = [torch.dipu.Stream() for _ in range(4)]
        for _ in range(20):
            for stream in streams:
                with torch.dipu.stream(stream):
                    x = x @ x
        pinned = torch.empty(256, 256, pin_memory=True)
        pinned.copy_(x, non_blocking=True)
    """,
    "a graph of autograd and pinned memory": """
        import torch, torch_dipu
        x = torch.randn(16, 16, device="dipu", requires_grad=True)
        loss = (x @ x).relu().sum()
        loss.backward(retain_graph=True)
        y = torch.ones(1000).pin_memory()
        z = y.to("dipu", non_blocking=True)
    """,
    "an exception": """
        import sys
        import torch, torch_dipu
        x = torch.ones(1000, device="dipu")
        sys.excepthook = lambda *args: print(args[0].__name__)
        def main():
            y = x + 1
            raise SystemExit(0)
        main()
    """,
    "a thread that is joined": """
        import threading
        import torch, torch_dipu
        started = threading.Event()
        def work():
            started.set()
            x = torch.ones(100, device="dipu")
            for _ in range(300):
                x = x * 1.001
            assert x.isfinite().all().item()
        threading.Thread(target=work).start()
        started.wait()
    """,
    "tensors of a thread": """
        import threading
        import torch, torch_dipu
        local = threading.local()
        kept = []
        def work():
            local.x = torch.ones(100, device="dipu")
            torch.dipu.set_stream(torch.dipu.Stream())
            kept.append(torch.ones(100, device="dipu"))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """,
    "a child forked before the first use": """
        import os
        import torch, torch_dipu
        child = os.fork()
        x = torch.ones(1000, device="dipu")
        assert (x + 1).sum().item() == 2000
        if child:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """,
    "os._exit": """
        import os
        import torch, torch_dipu
        x = torch.randn(256, 256, device="dipu")
        for _ in range(50):
            x = x @ x
        os._exit(0)
    """,
}


@pytest.mark.parametrize("name", sorted(_PROGRAMS))
def test_interpreter_ends_with(name: str, run: Run) -> None:
    run(_PROGRAMS[name])


def test_interpreter_ends_after_the_import(run_anew: Run) -> None:
    run_anew("import torch_dipu")


def test_handlers_run_before_and_after_the_shutdown(run_anew: Run) -> None:
    """Handlers run in the opposite order of their registration."""
    output = run_anew(
        """
        import atexit
        def registered_before():
            try:
                (x + 1).sum().item()
            except RuntimeError as error:
                assert "process is ending" in str(error), error
                print("refused")
        atexit.register(registered_before)
        import torch, torch_dipu
        def registered_after():
            assert (x + 1).sum().item() == 2000
            print("works")
        atexit.register(registered_after)
        x = torch.ones(1000, device="dipu")
        """
    )
    assert output.split() == ["works", "refused"]


# What the loop of a daemon thread does. When the interpreter ends, Python stops
# such a thread at its next step, wherever that is.
_LOOPS = {
    "adds": "x = x + 1",
    "synchronises": "x.add_(1); torch.dipu.synchronize()",
    "reads": "x.sum().item()",
    "allocates": "y = torch.empty(1000, device='dipu'); del y",
    "records": "e = torch.dipu.Event(); e.record(); e.synchronize()",
    "adds on the CPU": "torch.ones(1000) + 1",
    "steps a model": "(x.view(10, 100) @ x.view(100, 10)).relu().sum().item()",
}


@pytest.mark.parametrize("name", sorted(_LOOPS))
def test_interpreter_ends_while_a_thread(name: str, run: Run) -> None:
    run(
        f"""
        import threading
        import torch, torch_dipu
        started = threading.Event()
        def work():
            x = torch.ones(1000, device="dipu")
            try:
                while True:
                    {_LOOPS[name]}
                    started.set()
            except RuntimeError as error:
                assert "process is ending" in str(error), error
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        """
    )


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
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """It says so, and waits no longer than it was told to."""
    monkeypatch.setenv("SOFTDEVICE_FAULTS", "hang=1,device=1")
    monkeypatch.setenv("DIPU_EXIT_WAIT_S", "0.5")
    program = _write(
        """
        import torch, torch_dipu
        event = torch.dipu.Event()
        with torch.dipu.device(1):
            x = torch.ones(1000, device="dipu")
            event.record()
        event.wait(torch.dipu.current_stream(0))
        y = torch.ones(1000, device="dipu:0")
        """,
        tmp_path,
    )
    result = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120
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


def test_freed_memory_goes_back_to_the_system(run: Run) -> None:
    run(
        """
        import torch, torch_dipu
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        warm = torch.ones(1, device="dipu")
        before = resident()
        x = torch.ones(64 << 20, dtype=torch.uint8, device="dipu")
        torch.dipu.synchronize()
        assert resident() > before + (48 << 20)
        del x
        torch.dipu.empty_cache()
        assert resident() < before + (16 << 20)
        """
    )


def test_ten_thousand_streams_and_events(run: Run) -> None:
    """Streams are taken from a pool, events are used again."""
    run(
        """
        import os
        import torch, torch_dipu
        def use(count):
            x = torch.ones(10, device="dipu")
            for i in range(count):
                stream = torch.dipu.Stream()
                event = torch.dipu.Event(enable_timing=i % 2 == 0)
                if i % 10 == 0:
                    with torch.dipu.stream(stream):
                        x.add_(0)
                event.record(stream)
                if i % 10 == 5:
                    event.synchronize()
            torch.dipu.synchronize()
        def counts():
            return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
        use(500)
        before = counts()
        use(10_000)
        assert counts() == before, (before, counts())
        """
    )


def test_a_thousand_switches_of_the_device(run: Run) -> None:
    run(
        """
        import os
        import torch, torch_dipu
        def use(count):
            for i in range(count):
                torch.dipu.set_device(i % 2)
                x = torch.full((1000,), float(i), device="dipu")
                assert x.device.index == i % 2
            torch.dipu.synchronize(0)
            torch.dipu.synchronize(1)
            return [torch.dipu.memory_allocated(d) for d in (0, 1)]
        use(10)
        before = use(10)
        threads = len(os.listdir("/proc/self/task"))
        assert use(1000) == before
        assert len(os.listdir("/proc/self/task")) == threads
        """
    )
