# SPDX-License-Identifier: Apache-2.0
"""What is made and freed over and over does not add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conformance.programs import Run

pytest_plugins = ("tests.conformance.programs",)


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
