# SPDX-License-Identifier: Apache-2.0
"""The end of an interpreter that still holds, or still uses, a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conformance.programs import Run

pytest_plugins = ("tests.conformance.programs",)

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
