# SPDX-License-Identifier: Apache-2.0
"""Compares operators of the device with torch CPU: 60 operators in three sizes.

    ./bazelw run //benchmarks:ops -- --vs cpu

Takes about three minutes.

How the comparison is made: paired.py. The geometric mean of the ratios should be at
most 0.70; no entry may be over 1.25, products and convolutions not over 1.10.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from absl import app, flags

from benchmarks import calibration, paired

if TYPE_CHECKING:
    import torch

_VS = flags.DEFINE_enum("vs", "cpu", ["cpu"], "What to compare with.")
_ROUNDS = flags.DEFINE_integer("rounds", 3, "Alternations per figure.", 1)
_WHAT = flags.DEFINE_string("what", "", "Only figures that match this expression.")
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when a limit is exceeded.")
_DEVICE = flags.DEFINE_string("device", "dipu", "Device to measure.")
_CHILD = flags.DEFINE_bool("child", False, "Internal: measure here.")

MEAN_LIMIT = 0.70
LIMIT = 1.25
PRODUCT_LIMIT = 1.10
PRODUCTS = ("mm", "bmm", "linear", "conv2d", "conv2d backward")

# Elements of the small, the medium and the large tensors.
SIZES = {"1k": 1 << 10, "64k": 1 << 16, "2m": 1 << 21}

Body = Callable[[], object]


class _Inputs:
    """Tensors of about n elements on one device, the same ones everywhere."""

    def __init__(self, n: int, device: str) -> None:
        import torch

        torch.manual_seed(0)
        self.n = n
        self._device = device
        columns = min(1024, n // 16)
        self.a = self.randn(n // columns, columns)
        self.b = self.randn(n // columns, columns)
        self.positive = self.a.abs() + 0.1
        self.mask = self.a > 0
        self.row = self.randn(columns)
        self.rows = torch.randint(n // columns, (n // columns,)).to(device)
        self.places = torch.randint(n // columns, (n // columns, columns)).to(device)
        side = max(4, math.isqrt(n // 64))
        self.image = self.randn(4, 16, side, side)
        self.filters = self.randn(16, 16, 3, 3)

    def randn(self, *sizes: int) -> torch.Tensor:
        import torch

        return torch.randn(*sizes).to(self._device)


def _unary(x: _Inputs) -> dict[str, Body]:
    import torch
    from torch.nn import functional

    return {
        "abs": lambda: torch.abs(x.a),
        "neg": lambda: torch.neg(x.a),
        "exp": lambda: torch.exp(x.a),
        "sin": lambda: torch.sin(x.a),
        "tanh": lambda: torch.tanh(x.a),
        "sigmoid": lambda: torch.sigmoid(x.a),
        "relu": lambda: torch.relu(x.a),
        "erf": lambda: torch.erf(x.a),
        "reciprocal": lambda: torch.reciprocal(x.a),
        "floor": lambda: torch.floor(x.a),
        "log": lambda: torch.log(x.positive),
        "sqrt": lambda: torch.sqrt(x.positive),
        "rsqrt": lambda: torch.rsqrt(x.positive),
        "gelu": lambda: functional.gelu(x.a),
        "silu": lambda: functional.silu(x.a),
        "to bfloat16": lambda: x.a.to(torch.bfloat16),
    }


def _binary(x: _Inputs) -> dict[str, Body]:
    import torch

    return {
        "add": lambda: torch.add(x.a, x.b),
        "sub": lambda: torch.sub(x.a, x.b),
        "mul": lambda: torch.mul(x.a, x.b),
        "div": lambda: torch.div(x.a, x.b),
        "maximum": lambda: torch.maximum(x.a, x.b),
        "eq": lambda: torch.eq(x.a, x.b),
        "lt": lambda: torch.lt(x.a, x.b),
        "add number": lambda: x.a + 1.5,
        "add row": lambda: x.a + x.row,
        "add in place": lambda: x.b.add_(x.row, alpha=1e-6),
        "pow": lambda: torch.pow(x.positive, 2.5),
        "where": lambda: torch.where(x.mask, x.a, x.b),
        "addcmul": lambda: torch.addcmul(x.a, x.a, x.b, value=0.5),
        "lerp": lambda: torch.lerp(x.a, x.b, 0.3),
        "clamp": lambda: torch.clamp(x.a, -0.5, 0.5),
        "masked_fill": lambda: x.a.masked_fill(x.mask, 0.0),
    }


def _reductions(x: _Inputs) -> dict[str, Body]:
    import torch

    return {
        "sum": lambda: x.a.sum(),
        "sum rows": lambda: x.a.sum(0),
        "sum columns": lambda: x.a.sum(1),
        "mean": lambda: x.a.mean(),
        "amax columns": lambda: x.a.amax(1),
        "max columns": lambda: x.a.max(1),
        "argmax": lambda: x.a.argmax(),
        "any": lambda: x.mask.any(),
        "std columns": lambda: x.a.std(1),
        "norm": lambda: torch.linalg.vector_norm(x.a),
        "cumsum": lambda: x.a.cumsum(1),
        "softmax": lambda: torch.softmax(x.a, 1),
        "log_softmax": lambda: torch.log_softmax(x.a, 1),
    }


def _arrangements(x: _Inputs) -> dict[str, Body]:
    import torch

    return {
        "transposed copy": lambda: x.a.t().contiguous(),
        "cat": lambda: torch.cat((x.a, x.b)),
        "index_select": lambda: x.a.index_select(0, x.rows),
        "gather": lambda: x.a.gather(0, x.places),
        "scatter_add": lambda: x.a.scatter_add(0, x.places, x.b),
        "embedding": lambda: torch.nn.functional.embedding(x.rows, x.a),
        "flip": lambda: x.a.flip(1),
        "tril": lambda: x.a.tril(),
        "topk": lambda: x.a.topk(8, 1),
        "sort": lambda: x.a.sort(1),
    }


def _layers(x: _Inputs) -> dict[str, Body]:
    from torch.nn import functional

    width = x.a.shape[1]
    labels = x.rows.remainder(width)
    channels = x.row[:16].contiguous()
    statistics = (channels, channels.abs() + 1)
    return {
        "layer_norm": lambda: functional.layer_norm(x.a, (width,), x.row, x.row),
        "group_norm": lambda: functional.group_norm(x.image, 4, channels, channels),
        "batch_norm": lambda: functional.batch_norm(
            x.image, *statistics, channels, channels
        ),
        "max_pool2d": lambda: functional.max_pool2d(x.image, 2),
        "avg_pool2d": lambda: functional.avg_pool2d(x.image, 2),
        "cross_entropy": lambda: functional.cross_entropy(x.a, labels),
        "mse_loss": lambda: functional.mse_loss(x.a, x.b),
        "dropout": lambda: functional.dropout(x.a, 0.5),
    }


def _products(x: _Inputs) -> dict[str, Body]:
    import torch
    from torch.nn import functional

    side = math.isqrt(x.n) // 2
    a, b, bias = x.randn(side, side), x.randn(side, side), x.randn(side)
    batch = x.randn(8, side // 2, side // 2)
    gradient = x.randn(*x.image.shape)

    def backward() -> object:
        return torch.ops.aten.convolution_backward(
            gradient,
            x.image,
            x.filters,
            [16],
            [1, 1],
            [1, 1],
            [1, 1],
            False,
            [0, 0],
            1,
            [True, True, True],
        )

    return {
        "mm": lambda: a @ b,
        "bmm": lambda: batch @ batch,
        "linear": lambda: functional.linear(a, b, bias),
        "conv2d": lambda: functional.conv2d(x.image, x.filters, padding=1),
        "conv2d backward": backward,
    }


_GROUPS = (_unary, _binary, _reductions, _arrangements, _layers, _products)


def measure(device: str, names: set[str]) -> paired.Times:
    """Seconds per call of the named figures, or of all."""
    sync = paired.synchronizer(device)
    import torch

    times = {}
    with torch.no_grad():
        for label, n in SIZES.items():
            inputs = _Inputs(n, device)
            for group in _GROUPS:
                for name, body in group(inputs).items():
                    figure = f"{name} {label}"
                    if not names or figure in names:
                        times[figure] = paired.seconds_per_call(body, sync)
    return times


def _limit_of(figure: str) -> float:
    return PRODUCT_LIMIT if figure.rsplit(" ", 1)[0] in PRODUCTS else LIMIT


def _chosen() -> list[str]:
    """The figures that --what asks for; none: all."""
    if not _WHAT.value:
        return []
    figures = [
        f"{name} {label}"
        for label in SIZES
        for group in _GROUPS
        for name in group(_Inputs(1 << 10, "cpu"))
    ]
    chosen = [figure for figure in figures if re.search(_WHAT.value, figure)]
    if not chosen:
        raise app.UsageError(f"--what={_WHAT.value} matches no figure")
    return chosen


def main(argv: list[str]) -> None:
    del argv
    if _CHILD.value:
        paired.report_child(measure, _DEVICE.value)
        return
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    entries = paired.compare(
        __file__, _DEVICE.value, _limit_of, _chosen(), _ROUNDS.value
    )
    for entry in sorted(entries, key=lambda entry: entry.ratio):
        print(entry)
    mean = paired.geometric_mean(entries)
    over = [entry.name for entry in entries if not entry.ok]
    verdict = "ok" if mean <= MEAN_LIMIT else "OVER"
    print(f"{len(entries)} figures, {len(over)} over their limits")
    print(f"geometric mean {mean:.2f}  limit {MEAN_LIMIT:.2f}  {verdict}")
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    if _CHECK.value and (over or mean > MEAN_LIMIT):
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
