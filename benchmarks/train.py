# SPDX-License-Identifier: Apache-2.0
"""Compares training steps of the device with torch CPU, in float32.

    ./bazelw run //benchmarks:train -- --vs cpu

Takes about four minutes.

Three multilayer perceptrons, two transformers and two convolutional networks, each
with forward, backward and an AdamW step. How the comparison is made: paired.py. The
geometric mean of the ratios should be at most 0.80 and none over 1.10.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from absl import app, flags

from benchmarks import calibration, paired

if TYPE_CHECKING:
    import torch
    from torch import nn

_VS = flags.DEFINE_enum("vs", "cpu", ["cpu"], "What to compare with.")
_ROUNDS = flags.DEFINE_integer("rounds", 3, "Alternations per figure.", 1)
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when a limit is exceeded.")
_DEVICE = flags.DEFINE_string("device", "dipu", "Device to measure.")
_CHILD = flags.DEFINE_bool("child", False, "Internal: measure here.")

MEAN_LIMIT = 0.80
LIMIT = 1.10
_CLASSES = 10


def _mlp(width: int, depth: int, batch: int) -> tuple[nn.Module, torch.Tensor]:
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, _CLASSES)), torch.randn(batch, width)


def _transformer(
    width: int, depth: int, batch: int, length: int
) -> tuple[nn.Module, torch.Tensor]:
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(
        width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True
    )
    model = nn.Sequential(
        nn.Embedding(100, width),
        nn.TransformerEncoder(layer, depth, enable_nested_tensor=False),
        nn.Flatten(0, 1),
        nn.Linear(width, _CLASSES),
    )
    return model, torch.randint(100, (batch, length))


def _cnn(width: int, depth: int, batch: int) -> tuple[nn.Module, torch.Tensor]:
    import torch
    from torch import nn

    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, padding=1)]
    for _ in range(depth):
        layers += [
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
    layers += [nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Linear(4 * width, _CLASSES))
    return model, torch.randn(batch, 3, 32, 32)


MODELS: dict[str, Callable[[], tuple[nn.Module, torch.Tensor]]] = {
    "mlp 64x3, batch 32": lambda: _mlp(64, 3, 32),
    "mlp 256x4, batch 128": lambda: _mlp(256, 4, 128),
    "mlp 1024x3, batch 256": lambda: _mlp(1024, 3, 256),
    "transformer 64x2, 8x32": lambda: _transformer(64, 2, 8, 32),
    "transformer 256x2, 8x64": lambda: _transformer(256, 2, 8, 64),
    "cnn 16x2, batch 16": lambda: _cnn(16, 2, 16),
    "cnn 32x4, batch 32": lambda: _cnn(32, 4, 32),
}


def _step(device: str, name: str) -> Callable[[], object]:
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    model, x = MODELS[name]()
    model, x = model.to(device), x.to(device)
    with torch.no_grad():
        y = torch.randint(_CLASSES, (model(x).shape[0],)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def measure(device: str, names: set[str]) -> paired.Times:
    """Seconds per step of the named models, or of all."""
    sync = paired.synchronizer(device)
    return {
        name: paired.seconds_per_call(_step(device, name), sync, least_s=0.1)
        for name in MODELS
        if not names or name in names
    }


def main(argv: list[str]) -> None:
    del argv
    if _CHILD.value:
        paired.report_child(measure, _DEVICE.value)
        return
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    entries = paired.compare(
        __file__, _DEVICE.value, lambda name: LIMIT, rounds=_ROUNDS.value
    )
    for entry in entries:
        print(entry)
    mean = paired.geometric_mean(entries)
    verdict = "ok" if mean <= MEAN_LIMIT else "OVER"
    print(f"geometric mean {mean:.2f}  limit {MEAN_LIMIT:.2f}  {verdict}")
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    if _CHECK.value and (mean > MEAN_LIMIT or not all(e.ok for e in entries)):
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
