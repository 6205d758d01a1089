# SPDX-License-Identifier: Apache-2.0
"""What autocompare costs: a training step under it against the plain step of torch CPU.

    ./bazelw run //benchmarks:autocompare -- --vs cpu

Takes about seven minutes.

A ResNet-like network with forward, backward and an SGD step in float32; every operator
of the step is compared. How the comparison is made: paired.py. Compared with what the
CPU computes, the step should take at most 6 times as long. Compared with float64 it has
no limit: the CPU alone takes as long as float64 does.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from absl import app, flags

from benchmarks import calibration, paired

if TYPE_CHECKING:
    from torch import nn

_VS = flags.DEFINE_enum("vs", "cpu", ["cpu"], "What to compare with.")
_ROUNDS = flags.DEFINE_integer("rounds", 3, "Alternations per figure.", 1)
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when a limit is exceeded.")
_DEVICE = flags.DEFINE_string("device", "dipu", "Device to measure.")
_CHILD = flags.DEFINE_bool("child", False, "Internal: measure here.")

# By what results are compared with; the largest accepted ratio.
LIMITS = {"cpu": 6.0, "float64": math.inf}
_NAME = "resnet step against "
_WIDTHS = (16, 32, 64)
_BATCH = 32
_CLASSES = 10


def _block(inputs: int, outputs: int) -> nn.Module:
    """Two convolutions beside a shortcut."""
    from torch import nn

    stride = 1 if inputs == outputs else 2

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(),
                nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
                nn.BatchNorm2d(outputs),
            )
            self.shortcut = (
                nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                if stride > 1
                else nn.Identity()
            )

        def forward(self, x):  # type: ignore[no-untyped-def]
            return (self.body(x) + self.shortcut(x)).relu()

    return Block()


def _network() -> nn.Module:
    from torch import nn

    layers: list[nn.Module] = [
        nn.Conv2d(3, _WIDTHS[0], 3, padding=1, bias=False),
        nn.BatchNorm2d(_WIDTHS[0]),
        nn.ReLU(),
    ]
    width = _WIDTHS[0]
    for wider in _WIDTHS:
        layers += [_block(width, wider), _block(wider, wider)]
        width = wider
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, _CLASSES)]
    return nn.Sequential(*layers)


def _step(device: str) -> Callable[[], object]:
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    model = _network().to(device)
    images = torch.randn(_BATCH, 3, 32, 32).to(device)
    labels = torch.randint(_CLASSES, (_BATCH,)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def _seconds(device: str, against: str) -> float:
    sync = paired.synchronizer(device)
    step = _step(device)
    if device == "cpu":
        return paired.seconds_per_call(step, sync)
    import torch_dipu

    with torch_dipu.autocompare(against=against) as report:
        seconds = paired.seconds_per_call(step, sync)
    if report.wrong or report.left_out or not report.comparisons:
        raise RuntimeError(f"wrong or left out: {report.wrong}, {report.left_out}")
    return seconds


def measure(device: str, names: set[str]) -> paired.Times:
    """Seconds per step, by what it is compared with."""
    return {
        _NAME + against: _seconds(device, against)
        for against in LIMITS
        if not names or _NAME + against in names
    }


def main(argv: list[str]) -> None:
    del argv
    if _CHILD.value:
        paired.report_child(measure, _DEVICE.value)
        return
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    entries = paired.compare(
        __file__,
        _DEVICE.value,
        lambda name: LIMITS[name.removeprefix(_NAME)],
        rounds=_ROUNDS.value,
    )
    for entry in entries:
        limit = f"  limit {entry.limit:g}" if entry.limit < math.inf else ""
        print(f"{entry}{limit}")
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    if _CHECK.value and not all(entry.ok for entry in entries):
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
