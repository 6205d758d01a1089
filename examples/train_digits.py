# SPDX-License-Identifier: Apache-2.0
"""Trains a small CNN on real handwritten digits and says where it ran.

The data are the 1797 images of 8x8 pixels that scikit-learn ships. Weights and
the order of batches are drawn on the CPU, so one seed gives the same run on
every device:

    python train_digits.py                  # the accelerator, if there is one
    python train_digits.py --device=cpu
"""

from __future__ import annotations

import dataclasses
import json
import time

import torch
from absl import app, flags
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from sklearn import datasets, model_selection
from torch import nn

_DEVICE = flags.DEFINE_string("device", "", "Device; empty: the accelerator, else cpu.")
_EPOCHS = flags.DEFINE_integer("epochs", 15, "Passes over the training data.", 1)
_BATCH = flags.DEFINE_integer("batch_size", 64, "Images per step.", 1)
_LEARNING_RATE = flags.DEFINE_float("lr", 2e-3, "Learning rate of AdamW.", 0.0)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of weights, split and batch order.")
_JSON = flags.DEFINE_string("json", "", "File that receives the results as JSON.")


@dataclasses.dataclass(frozen=True)
class Digits:
    """Images (N, 1, 8, 8) in 0..1 and labels (N,), split into two sets."""

    train_x: torch.Tensor
    train_y: torch.Tensor
    test_x: torch.Tensor
    test_y: torch.Tensor


@dataclasses.dataclass
class Result:
    """What a run produced; losses are epoch means."""

    device: str
    losses: list[float] = dataclasses.field(default_factory=list)
    accuracies: list[float] = dataclasses.field(default_factory=list)
    step_ms: list[float] = dataclasses.field(default_factory=list)
    fallbacks: dict[str, int] = dataclasses.field(default_factory=dict)


def load_digits(seed: int) -> Digits:
    """Loads the data and keeps a quarter of it for testing."""
    data = datasets.load_digits()
    x = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(data.target, dtype=torch.int64)
    train, test = model_selection.train_test_split(
        range(len(y)), test_size=0.25, random_state=seed, stratify=data.target
    )
    return Digits(x[train], y[train], x[test], y[test])


def make_model() -> nn.Module:
    """Two convolutions with batch normalisation, then a linear classifier."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def choose_device(name: str) -> torch.device:
    """The device `name`, or the accelerator when `name` is empty."""
    if name == "cpu":
        return torch.device(name)
    import torch_dipu  # noqa: F401  (once installed, `import torch` loads it)

    if name:
        return torch.device(name)
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return accelerator if accelerator is not None else torch.device("cpu")


def synchronize(device: torch.device) -> None:
    """Waits for the device, so that a clock shows what it did."""
    if device.type != "cpu":
        torch.accelerator.synchronize()


def train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    digits: Digits,
    order: torch.Tensor,
    progress: Progress,
) -> float:
    """One pass over the training data in the given order; the mean loss."""
    batches = order.split(_BATCH.value)
    task = progress.add_task("training", total=len(batches))
    total = torch.zeros((), device=digits.train_x.device)
    for batch in batches:
        batch = batch.to(digits.train_x.device)
        optimizer.zero_grad(set_to_none=True)
        logits = model(digits.train_x[batch])
        loss = nn.functional.cross_entropy(logits, digits.train_y[batch])
        loss.backward()
        optimizer.step()
        total += loss.detach()
        progress.advance(task)
    progress.remove_task(task)
    return total.item() / len(batches)


@torch.no_grad()
def accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """Share of images whose digit the model names."""
    model.eval()
    correct = (model(x).argmax(dim=1) == y).float().mean().item()
    model.train()
    return correct


def run(device: torch.device, console: Console) -> Result:
    """Trains on `device` and prints a line per epoch."""
    torch.manual_seed(_SEED.value)
    model = make_model().to(device)
    cpu_digits = load_digits(_SEED.value)
    tensors = dataclasses.astuple(cpu_digits)
    digits = Digits(*(t.to(device) for t in tensors))
    optimizer = torch.optim.AdamW(model.parameters(), lr=_LEARNING_RATE.value)
    shuffle = torch.Generator().manual_seed(_SEED.value)
    result = Result(str(device))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        for epoch in range(1, _EPOCHS.value + 1):
            order = torch.randperm(len(digits.train_y), generator=shuffle)
            start = time.perf_counter()
            loss = train_epoch(model, optimizer, digits, order, progress)
            synchronize(device)
            steps = -(-len(order) // _BATCH.value)
            step_ms = (time.perf_counter() - start) * 1e3 / steps
            share = accuracy(model, digits.test_x, digits.test_y)
            console.print(
                f"epoch {epoch:2d}  loss {loss:.4f}  test accuracy {share:7.2%}  "
                f"{step_ms:.2f} ms/step"
            )
            result.losses.append(loss)
            result.accuracies.append(share)
            result.step_ms.append(step_ms)
    return result


def fallback_counts(device: torch.device) -> dict[str, int]:
    """Operators of `device` that ran on the CPU so far, with their calls."""
    if device.type == "cpu":
        return {}
    import torch_dipu

    prefix = "fallback."
    counters = torch_dipu.op_counters().items()
    return {k[len(prefix) :]: n for k, n in counters if k.startswith(prefix) and n}


def describe(device: torch.device) -> str:
    """Name of the device for people."""
    if device.type == "cpu":
        return "cpu"
    import torch_dipu

    info = torch_dipu.vendor_info()
    return f"{device} ({info['display_name']}, vendor {info['name']})"


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected arguments: {' '.join(argv[1:])}")
    console = Console(highlight=False)
    device = choose_device(_DEVICE.value)
    console.print(f"device: {describe(device)}")
    result = run(device, console)
    result.fallbacks = fallback_counts(device)
    if result.fallbacks:
        names = ", ".join(
            f"{k} ({n} calls)" for k, n in sorted(result.fallbacks.items())
        )
        console.print(f"operators that fell back to the CPU: {names}")
    elif device.type != "cpu":
        console.print("operators that fell back to the CPU: none")
    console.print(f"final test accuracy: {result.accuracies[-1]:.2%}")
    if _JSON.value:
        with open(_JSON.value, "w", encoding="utf-8") as f:
            json.dump(dataclasses.asdict(result), f, indent=1)


if __name__ == "__main__":
    app.run(main)
