# SPDX-License-Identifier: Apache-2.0
"""Forced fallback: chosen operators run on the CPU, the others on the device."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import torch
import torch_dipu
from torch import nn
from torch.nn import functional

VARIABLE = "DIPU_FORCE_FALLBACK_OPS_LIST"


def grown(body: Callable[[], object]) -> dict[str, int]:
    """Counters that `body` has raised, by how much."""
    before = torch_dipu.op_counters()
    with torch_dipu.count_native_ops():
        body()
    after = torch_dipu.op_counters()
    return {k: v - before.get(k, 0) for k, v in after.items() if v > before.get(k, 0)}


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(12.0).reshape(3, 4).to("dipu")


def test_the_family_name_stands_for_all_forms(x: torch.Tensor) -> None:
    out = torch.empty_like(x)

    def add() -> None:
        assert torch.equal((x + x).cpu(), x.cpu() * 2)
        x.clone().add_(x)
        torch.add(x, x, out=out)

    with torch_dipu.force_fallback("add.out"):
        counters = grown(add)
    for form in ("add.Tensor", "add_.Tensor", "add.out"):
        assert counters[f"fallback.{form}"] == 1
        assert f"native.{form}" not in counters
    assert "fallback.add.Tensor" not in grown(add)


def test_other_operators_stay_on_the_device(x: torch.Tensor) -> None:
    with torch_dipu.force_fallback("add.out"):
        counters = grown(lambda: x * x)
    assert counters == {"native.mul.Tensor": 1}


def test_a_pattern_describes_a_whole_name(x: torch.Tensor) -> None:
    with torch_dipu.force_fallback("mul.*Tensor", "rsqrt"):
        assert "fallback.mul.Tensor" in grown(lambda: x * x)
        assert "native.sqrt" in grown(lambda: x.sqrt())


def test_a_composite_stands_for_what_computes_it() -> None:
    image = torch.randn(2, 3, 8, 8)
    weight = torch.randn(4, 3, 3, 3)
    results = []
    for device in ("cpu", "dipu"):
        a = image.to(device).detach().requires_grad_()
        w = weight.to(device).detach().requires_grad_()

        def run(a: torch.Tensor = a, w: torch.Tensor = w) -> None:
            functional.conv2d(a, w, padding=1).sum().backward()

        with torch_dipu.force_fallback("conv2d"):
            counters = grown(run)
        results.append((a.grad.cpu(), w.grad.cpu()))
    assert counters["fallback.convolution_overrideable"] == 1
    assert counters["fallback.convolution_backward_overrideable"] == 1
    for ours, reference in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(ours, reference)


COMPOSITES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "batch_norm": lambda x: functional.batch_norm(x, None, None, training=True),
    "conv1d": lambda x: functional.conv1d(x[0], torch.ones(2, 3, 3, device="dipu")),
    "cross_entropy_loss": lambda x: functional.cross_entropy(
        x.flatten(0, 2), torch.zeros(24, dtype=torch.int64, device="dipu")
    ),
    "dropout": functional.dropout,
    "group_norm": lambda x: functional.group_norm(x, 2),
    "layer_norm": lambda x: functional.layer_norm(x, (16,)),
    "linear": lambda x: functional.linear(x, torch.ones(3, 16, device="dipu")),
    "log_softmax": lambda x: functional.log_softmax(x, 1),
    "matmul": lambda x: x @ x.transpose(2, 3),
    "max_pool2d": lambda x: functional.max_pool2d(x, 2),
    "scaled_dot_product_attention": lambda x: functional.scaled_dot_product_attention(
        x, x, x
    ),
    "softmax": lambda x: functional.softmax(x, 1),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_with_their_gradients(name: str) -> None:
    """Whatever ran natively by itself belongs to the test, not to the composite."""
    x = torch.randn(2, 4, 3, 16).to("dipu").requires_grad_()
    bystanders = (
        "add.Tensor",
        "add_.Tensor",
        "copy_",
        "fill_.Scalar",
        "mul.Tensor",
        "sum.dim_IntList",
        "zero_",
    )
    with torch_dipu.force_fallback(name):
        counters = grown(lambda: (COMPOSITES[name](x) * 2).sum().backward())
    native = {c.removeprefix("native.") for c in counters if c.startswith("native.")}
    assert any(c.startswith("fallback.") for c in counters)
    assert native <= {*bystanders}


def test_blocks_are_nested(x: torch.Tensor) -> None:
    with torch_dipu.force_fallback("add.out"):
        with torch_dipu.force_fallback("add.out", "mul.out"):
            assert "fallback.mul.Tensor" in grown(lambda: x * x)
        assert "fallback.mul.Tensor" not in grown(lambda: x * x)
        assert "fallback.add.Tensor" in grown(lambda: x + x)
    assert "fallback.add.Tensor" not in grown(lambda: x + x)


def test_it_holds_for_other_threads(x: torch.Tensor) -> None:
    with torch_dipu.force_fallback("add.out"):

        def run() -> None:
            thread = threading.Thread(target=lambda: x + x)
            thread.start()
            thread.join()

        assert grown(run)["fallback.add.Tensor"] == 1


def test_no_match_warns_with_near_names() -> None:
    with (
        pytest.warns(RuntimeWarning, match=r"'ad\.out' matches no op.*add\.out"),
        torch_dipu.force_fallback("ad.out"),
    ):
        pass


def test_a_wrong_expression_is_refused() -> None:
    with (
        pytest.raises(ValueError, match=r"'\(' is not a regular expression"),
        torch_dipu.force_fallback("("),
    ):
        pass


def test_changes_of_the_environment_take_effect(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, " add.out , mul.out")
    assert "fallback.mul.Tensor" in grown(lambda: x * x)
    with pytest.raises(ValueError, match=VARIABLE):
        os.environ[VARIABLE] = "*"
    assert os.environ[VARIABLE] == " add.out , mul.out"
    assert "fallback.add.Tensor" in grown(lambda: x + x)
    monkeypatch.delenv(VARIABLE)
    assert "fallback.mul.Tensor" not in grown(lambda: x * x)


def test_it_is_no_failure_of_the_policy(x: torch.Tensor) -> None:
    torch_dipu._C._set_fallback_mode("error")
    try:
        with torch_dipu.force_fallback("add.out"):
            assert torch.equal((x + x).cpu(), x.cpu() * 2)
    finally:
        torch_dipu._C._set_fallback_mode("silent")


PROGRAM = """
import torch, torch_dipu
x = torch.ones(3, device="dipu")
x + x
print(torch_dipu.op_counters())
"""


def run_program(folder: pathlib.Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture(autouse=True)
def absolute_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs run in other folders."""
    for name in ("DIPU_VENDOR_LIBRARY", "PYTHONPATH"):
        paths = os.environ.get(name, "").split(os.pathsep)
        absolute = os.pathsep.join(os.path.abspath(path) for path in paths if path)
        monkeypatch.setenv(name, absolute)


def test_the_environment_is_read_at_import(tmp_path: pathlib.Path) -> None:
    assert "'fallback.add.Tensor': 1" in run_program(tmp_path, **{VARIABLE: "add.out"})


def test_a_file_in_the_current_folder_is_read(tmp_path: pathlib.Path) -> None:
    file = tmp_path / ".dipu_force_fallback_op_list.config"
    file.write_text("add.out,\nconv2d\n")
    assert "'fallback.add.Tensor': 1" in run_program(tmp_path)


def test_a_file_that_is_no_text_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / ".dipu_force_fallback_op_list.config").write_bytes(b"\xff\xfe\xff")
    output = run_program(tmp_path)
    assert re.search(r"\.config cannot be read: .*remove it", output, re.DOTALL)


def test_a_wrong_value_is_named_at_import(tmp_path: pathlib.Path) -> None:
    output = run_program(tmp_path, **{VARIABLE: "add("})
    assert re.search(rf"{VARIABLE}: 'add\(' is not a regular expression", output)


def _train(device: str) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 32),
        nn.LayerNorm(32),
        nn.GELU(),
        nn.Linear(32, 5),
    ).double()
    images = torch.randn(8, 1, 8, 8, dtype=torch.float64)
    labels = torch.randint(5, (8,))
    model, images, labels = model.to(device), images.to(device), labels.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_network_trains_with_every_operator_forced() -> None:
    losses: list[float] = []
    with torch_dipu.force_fallback(".*"):
        counters = grown(lambda: losses.extend(_train("dipu")))
    assert not [name for name in counters if name.startswith("native.")], counters
    assert losses == pytest.approx(_train("cpu"), rel=1e-9)
