# SPDX-License-Identifier: Apache-2.0
"""Calls whose results would depend on the order of threads, if anything did.

    python repeating.py TIMES

Computes each of them so often in deterministic mode while another stream computes
too, and prints a JSON object: what differed from the first time, which should be
nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import torch
import torch_dipu
from torch.nn import functional

Call = Callable[[], tuple[torch.Tensor, ...]]
# Large enough for two threads, with few targets, so that many meet in each.
ROWS, WIDTH, TARGETS = 4096, 96, 7


def _device(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to("dipu")


def _gradient(forward: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> Call:
    """The gradient of `forward` at `x`, from numbers of all sizes."""
    x = x.to("dipu").requires_grad_()
    result = forward(x)
    grad = _device(torch.randn(result.shape) * torch.logspace(-4, 4, result.shape[-1]))
    return lambda: torch.autograd.grad(result, x, grad, retain_graph=True)


def _indexing() -> dict[str, Call]:
    """Several elements of the source have the same target."""
    values = _device(torch.randn(ROWS, WIDTH) * torch.logspace(-4, 4, WIDTH))
    target = _device(torch.zeros(TARGETS, WIDTH))
    rows = _device(torch.randint(TARGETS, (ROWS,)))
    wide = rows[:, None].expand(-1, WIDTH).contiguous()
    flat = _device(torch.randint(TARGETS * WIDTH, (ROWS * WIDTH,)))

    def reduced(how: str) -> Call:
        return lambda: (target.scatter_reduce(0, wide, values, how),)

    return {
        "index_add": lambda: (target.index_add(0, rows, values),),
        "index_copy": lambda: (target.index_copy(0, rows, values),),
        "index_put": lambda: (target.index_put((rows,), values),),
        "index_put accumulate": lambda: (target.index_put((rows,), values, True),),
        "put_": lambda: (target.clone().put_(flat, values),),
        "put_ accumulate": lambda: (target.clone().put_(flat, values, True),),
        "scatter": lambda: (target.scatter(0, wide, values),),
        "scatter_add": lambda: (target.scatter_add(0, wide, values),),
        **{f"scatter_reduce {how}": reduced(how) for how in ("sum", "prod", "mean")},
        "index_reduce": lambda: (target.index_reduce(0, rows, values, "mean"),),
        "index_select backward": _gradient(
            lambda x: x.index_select(0, rows), torch.randn(TARGETS, WIDTH)
        ),
        "gather backward": _gradient(
            lambda x: x.gather(0, wide), torch.randn(TARGETS, WIDTH)
        ),
        "embedding backward": _gradient(
            lambda x: functional.embedding(rows, x), torch.randn(TARGETS, WIDTH)
        ),
        **{
            f"embedding_bag {mode} backward": _gradient(
                lambda x, mode=mode: functional.embedding_bag(
                    rows.reshape(-1, 4), x, mode=mode
                ),
                torch.randn(TARGETS, WIDTH),
            )
            for mode in ("sum", "mean", "max")
        },
    }


def _reducing() -> dict[str, Call]:
    x = _device(torch.randn(ROWS, WIDTH) * torch.logspace(-4, 4, WIDTH))
    flat = x.flatten()
    small = _device(torch.randint(5, (ROWS * WIDTH,)))
    logits = x.log_softmax(1)
    labels = _device(torch.randint(WIDTH, (ROWS,)))
    return {
        "bincount": lambda: (small.bincount(flat),),
        "cumsum": lambda: (flat.cumsum(0), x.cumsum(0), x.cumsum(1)),
        "histc": lambda: (flat.histc(20),),
        "kthvalue": lambda: x.kthvalue(7, 1),
        "median": lambda: x.median(1),
        "mode": lambda: x.round().mode(1),
        "nll_loss": lambda: (functional.nll_loss(logits, labels),),
        "sort": lambda: flat.round().sort(),
        "sum": lambda: (flat.sum(), x.sum(0), x.sum(1)),
        "topk": lambda: flat.round().topk(50),
        "unique": lambda: flat.round().unique(return_counts=True),
        "var": lambda: (flat.var(), x.var(0)),
    }


def _images() -> dict[str, Call]:
    image = torch.randn(4, 16, 32, 32)
    volume = torch.randn(4, 8, 12, 12, 12)
    grid = _device(torch.rand(4, 32, 32, 2) * 2 - 1)
    where = _device(torch.randint(400, (4, 16, 32, 32)))
    weight = _device(torch.randn(16, 16, 3, 3))
    several = _device(image)

    def resized(mode: str, x: torch.Tensor) -> Call:
        align = None if mode == "nearest" else False
        return _gradient(
            lambda y: functional.interpolate(
                y, scale_factor=1.7, mode=mode, align_corners=align
            ),
            x,
        )

    return {
        "adaptive_avg_pool2d backward": _gradient(
            lambda x: functional.adaptive_avg_pool2d(x, 7), image
        ),
        "adaptive_max_pool2d backward": _gradient(
            lambda x: functional.adaptive_max_pool2d(x, 7), image
        ),
        "avg_pool3d backward": _gradient(
            lambda x: functional.avg_pool3d(x, 3, 1), volume
        ),
        "conv2d backward": _gradient(
            lambda x: functional.conv2d(x, weight, padding=1), image
        ),
        "conv2d backward of the weight": _gradient(
            lambda w: functional.conv2d(several, w, padding=1), weight.cpu()
        ),
        "fold": _gradient(lambda x: functional.unfold(x, 3), image),
        "grid_sample backward": _gradient(
            lambda x: functional.grid_sample(x, grid, align_corners=False), image
        ),
        "interpolate nearest": resized("nearest", image),
        "interpolate bilinear": resized("bilinear", image),
        "interpolate bicubic": resized("bicubic", image),
        "interpolate trilinear": resized("trilinear", volume),
        "max_pool2d backward": _gradient(
            lambda x: functional.max_pool2d(x, 3, 1), image
        ),
        "max_pool3d backward": _gradient(
            lambda x: functional.max_pool3d(x, 3, 1), volume
        ),
        "max_unpool2d": lambda: (
            torch.ops.aten.max_unpool2d(several, where, [20, 20]),
        ),
        "reflection_pad2d backward": _gradient(
            lambda x: functional.pad(x, (9, 9, 9, 9), "reflect"), image
        ),
        "replication_pad3d backward": _gradient(
            lambda x: functional.pad(x, (5,) * 6, "replicate"), volume
        ),
    }


def _layers() -> dict[str, Call]:
    tokens = torch.randn(8, 4, 64, 32)
    lengths = (20,) * 16
    labels = torch.randint(1, 30, (16, 20))
    matrix = _device(torch.randn(300, 300))
    return {
        "attention backward": _gradient(
            lambda x: functional.scaled_dot_product_attention(x, x, x), tokens
        ),
        "batch_norm backward": _gradient(
            lambda x: functional.batch_norm(x, None, None, training=True),
            torch.randn(64, 16, 20, 20),
        ),
        "ctc_loss backward": _gradient(
            lambda x: functional.ctc_loss(
                x.log_softmax(2), labels.to("dipu"), (50,) * 16, lengths
            ).reshape(1),
            torch.randn(50, 16, 30),
        ),
        "group_norm backward": _gradient(
            lambda x: functional.group_norm(x, 4), torch.randn(64, 16, 20, 20)
        ),
        "layer_norm backward of the weight": _gradient(
            lambda w: functional.layer_norm(tokens.to("dipu"), (32,), w),
            torch.ones(32),
        ),
        "mm": lambda: (matrix.mm(matrix),),
    }


def calls() -> dict[str, Call]:
    """All of them, by name."""
    return {**_indexing(), **_reducing(), **_images(), **_layers()}


def _bits(results: tuple[torch.Tensor, ...]) -> list[bytes]:
    return [tensor.detach().cpu().contiguous().numpy().tobytes() for tensor in results]


def differing(times: int) -> dict[str, list[int]]:
    """Which repetitions gave other bits than the first time, by name."""
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    beside = torch.Stream("dipu")
    noise = torch.randn(200, 200, device="dipu")
    torch.accelerator.synchronize()
    found = {}
    for name, call in calls().items():
        first = _bits(call())
        wrong = []
        for i in range(1, times):
            with beside:
                noise.mm(noise)
            if _bits(call()) != first:
                wrong.append(i)
        found[name] = wrong
    return found


if __name__ == "__main__":
    print(json.dumps(differing(int(sys.argv[1]))))
    if torch_dipu.fallbacks():  # of the CPU nobody asks
        sys.exit(torch_dipu.fallback_report())
