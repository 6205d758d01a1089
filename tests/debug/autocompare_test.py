# SPDX-License-Identifier: Apache-2.0
"""Autocompare on a right device: what is compared, and that nothing is accused.

That wrong kernels are found is tested with a vendor that has some (faults_test.py).
"""

from __future__ import annotations

import json
import os
import pathlib
import re

import pytest
import torch
import torch_dipu
from torch import nn
from torch.nn import functional
from torch_dipu.debug.tolerances import Tolerances

VARIABLE = "DIPU_AUTOCOMPARE_OPS_LIST"


@pytest.fixture
def x() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(8, 16).to("dipu")


def test_the_console_shows_both_sides(
    x: torch.Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    with torch_dipu.autocompare("add.out", print_all=True) as report:
        y = x + x
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "autocompare:    add.Tensor out:"
    side = r"\tnumel: 128, sizes: \[8, 16\], stride: \[16, 1\], is_view: 0, "
    assert re.match(side + r"TensorOptions\(.*device=dipu:0.*data_ptr: 0x", lines[1])
    assert re.match(side + r"TensorOptions\(.*device=cpu.*data_ptr: 0x", lines[2])
    assert lines[3] == "\tallclose"
    assert report.comparisons == 1
    assert report.first is None
    assert torch.equal(y.cpu(), x.cpu() * 2)


def test_right_results_are_not_printed_unless_asked(
    x: torch.Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    with torch_dipu.autocompare() as report:
        x.exp()
    assert capsys.readouterr().out == ""
    assert report.calls["exp"] == 1


def test_the_compared_call_runs_on_the_device_once(x: torch.Tensor) -> None:
    before = torch_dipu.op_counters()
    with torch_dipu.autocompare(), torch_dipu.count_native_ops():
        x.add_(1)
    after = torch_dipu.op_counters()
    grown = {k: v - before.get(k, 0) for k, v in after.items() if v > before.get(k, 0)}
    assert grown["native.add_.Tensor"] == 1
    assert not [name for name in grown if name.startswith("fallback.")]


def test_written_arguments_are_compared(x: torch.Tensor) -> None:
    with torch_dipu.autocompare(log=os.devnull, print_all=True) as report:
        x.mul_(2)
        torch._foreach_add_([x, x.clone()], 1.0)
    assert report.calls["mul_.Tensor"] == 1
    assert report.first is None


def _train(device: str) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 32),
        nn.LayerNorm(32),
        nn.GELU(),
        nn.Dropout(0.1),
        nn.Linear(32, 5),
    ).to(device)
    images, labels = torch.randn(8, 3, 8, 8), torch.randint(5, (8,))
    images, labels = images.to(device), labels.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_training_step_forward_backward_and_optimizer() -> None:
    with torch_dipu.autocompare() as report:
        compared = _train("dipu")
    assert report.wrong_operators == []
    for operator in (
        "convolution_overrideable",
        "convolution_backward_overrideable",
        "native_batch_norm_backward",
        "gelu_backward.grad_input",
        "_fused_adamw_",
    ):
        near = [
            name for name in report.calls if name.startswith(operator.split(".")[0])
        ]
        assert near, (operator, sorted(report.calls))
    assert compared == _train("dipu"), "comparing changed what was computed"


def test_random_numbers_by_their_distribution() -> None:
    with torch_dipu.autocompare() as report:
        x = torch.empty(100000, device="dipu")
        x.normal_()
        x.uniform_(-1, 3)
        x.bernoulli_(0.3)
        functional.dropout(torch.ones(10000, device="dipu"), 0.2)
        torch.randperm(1000, device="dipu")
    assert report.comparisons >= 4
    assert report.wrong_operators == []


def test_the_generator_is_left_alone() -> None:
    def draw() -> torch.Tensor:
        torch.manual_seed(3)
        torch.rand(5, device="dipu")
        return torch.rand(5, device="dipu").cpu()

    alone = draw()
    cpu_state = torch.get_rng_state()
    with torch_dipu.autocompare():
        assert torch.equal(draw(), alone)
    torch.manual_seed(3)
    assert torch.equal(torch.get_rng_state(), cpu_state)


def test_cancellation_is_no_error() -> None:
    torch.manual_seed(0)
    x = torch.randn(1 << 20) * 1e4
    x -= x.mean()
    with torch_dipu.autocompare() as report:
        x.to("dipu").sum()
    assert report.wrong_operators == []


def test_against_float64(x: torch.Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    with torch_dipu.autocompare("exp", against="float64", print_all=True) as report:
        x.exp()
    assert "dtype=torch.float64, device=cpu" in capsys.readouterr().out
    assert report.first is None


def test_the_first_nan_is_found(
    x: torch.Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    with torch_dipu.autocompare(against="finite") as report:
        y = (x * 0).log() * 2
        y - y
    assert report.wrong_operators == ["log"]
    assert report.first is not None
    assert report.first.stack[0].startswith(__file__)
    assert "NaN or infinity" in capsys.readouterr().out


def test_every_third_call(x: torch.Tensor) -> None:
    with torch_dipu.autocompare(every=3) as report:
        for _ in range(7):
            x.exp()
    assert report.calls["exp"] == 7
    assert report.comparisons == 3
    assert report.not_compared["exp"].sampled == 4
    assert report.left_out == {}


def test_the_log_has_a_line_for_each(x: torch.Tensor, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "compare.jsonl"
    with torch_dipu.autocompare(log=log):
        x.exp()
        x.add_(1)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["operator"] for line in lines] == ["exp", "add_.Tensor"]
    assert lines[0]["function"] == "diopiExp"
    assert lines[0]["close"] is True
    assert lines[0]["stack"][0].startswith(__file__)
    assert lines[1]["differences"][0]["name"] == "self"


def test_changes_of_the_environment_take_effect(
    x: torch.Tensor,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(VARIABLE, "add.out")
    x + x * x
    assert capsys.readouterr().out.count("autocompare:") == 1
    with pytest.raises(ValueError, match="DIPU_AUTOCOMPARE_EVERY='0'"):
        monkeypatch.setenv("DIPU_AUTOCOMPARE_EVERY", "0")
    monkeypatch.delenv("DIPU_AUTOCOMPARE_EVERY", raising=False)
    monkeypatch.setenv("DIPU_AUTOCOMPARE_PRINT", "wrong")
    assert capsys.readouterr().out == "autocompare:    1 comparisons of 1 operators\n"
    x + x
    assert capsys.readouterr().out == ""
    monkeypatch.delenv(VARIABLE)


def test_views_and_overlaps_keep_their_meaning() -> None:
    base = torch.arange(12.0, device="dipu").reshape(3, 4)
    with torch_dipu.autocompare() as report:
        base[:, 1].add_(base[:, 2])
        base.t().mul_(base.t())
        torch.add(base[0], 1, out=base[1])
    assert report.comparisons == 3
    assert report.wrong_operators == []


def test_exceptions_keep_their_type(x: torch.Tensor) -> None:
    with torch_dipu.autocompare():
        with pytest.raises(IndexError):
            x.sum(5)
        with pytest.raises(RuntimeError, match="must match"):
            x + torch.ones(4, device="dipu")
        assert torch.equal((x + x).cpu(), x.cpu() * 2)


def test_what_the_cpu_refuses_is_left_out() -> None:
    y = torch.arange(16).reshape(4, 4).to("dipu")
    rows = torch.tensor([0, 1]).to("dipu")
    expected = y.clone().index_put_((rows,), y[2:].clone(), accumulate=True)
    with torch_dipu.autocompare("_index_put_impl_") as report:
        y.index_put_((rows,), y[2:], accumulate=True)
    assert torch.equal(y, expected)
    assert "single memory location" in next(iter(report.left_out.values()))
    assert report.wrong == []


def test_nan_is_a_number_like_others_to_dropout() -> None:
    with torch_dipu.autocompare() as report:
        functional.dropout(torch.full((1000,), float("nan")).to("dipu"))
    assert report.calls["native_dropout"] == 1
    assert report.wrong == []


def test_gradients_that_nobody_asks_for_are_left_alone() -> None:
    x = torch.randn(2, 3, 6, 6).to("dipu").requires_grad_()
    grid = torch.randn(2, 4, 4, 2).tanh().to("dipu")
    with torch_dipu.autocompare() as report:
        functional.grid_sample(x, grid, align_corners=False).sum().backward()
    assert report.calls["grid_sampler_2d_backward"] == 1
    assert report.wrong == []


def test_equal_elements_may_be_chosen_in_any_order() -> None:
    z = torch.tensor([1.0, 3, 3, 2, 3, 1] * 5).to("dipu")
    with torch_dipu.autocompare() as report:
        z.sort()
        z.topk(4)
        z.kthvalue(3)
        z.mode()
    assert report.comparisons >= 4
    assert report.wrong == []


def test_attention_is_compared(x: torch.Tensor) -> None:
    q = torch.randn(2, 4, 16, 8).to("dipu").requires_grad_()
    with torch_dipu.autocompare() as report:
        functional.scaled_dot_product_attention(q, q, q).sum().backward()
    assert report.wrong == []
    assert any("attention" in name for name in report.calls)


def test_comparing_is_no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    torch_dipu.reset_fallbacks()
    x = torch.randn(2, 3, 8, 8).to("dipu").requires_grad_()
    weight = torch.randn(4, 3, 3, 3).to("dipu")
    with torch_dipu.autocompare() as report:
        functional.conv2d(x, weight).sum().backward()
    assert torch_dipu.fallbacks() == []
    assert report.left_out == {}


@pytest.mark.filterwarnings("ignore:.*ends here")
def test_a_full_log_ends_no_program(x: torch.Tensor) -> None:
    with torch_dipu.autocompare(log="/dev/full") as report:
        x + 1
        x * 2
    assert report.comparisons == 2


def test_a_log_that_cannot_be_opened_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "add.out")
    with pytest.raises(ValueError, match=r"DIPU_AUTOCOMPARE_LOG: .*/nonexistent/log"):
        os.environ["DIPU_AUTOCOMPARE_LOG"] = "/nonexistent/log"
    assert "DIPU_AUTOCOMPARE_LOG" not in os.environ
    monkeypatch.delenv(VARIABLE)


def test_tolerances_of_operators_and_types() -> None:
    given = {".*": 0.5, "mm:bfloat16": torch_dipu.Tolerance(0.2, 0.1), "addmm": 0.25}
    limits = Tolerances(given, "test")
    assert limits.of("mm", torch.bfloat16) == torch_dipu.Tolerance(0.2, 0.1)
    assert limits.of("mm", torch.float32) == torch_dipu.Tolerance(0.5, 0.5)
    assert limits.of("addmm", torch.complex64) == torch_dipu.Tolerance(0.25, 0.25)


def test_operators_that_choose_numbers_have_to_be_exact() -> None:
    limits = Tolerances({}, "test")
    for operator in ("maximum", "maximum.out", "relu_", "index_select"):
        assert limits.of(operator, torch.float16) == torch_dipu.Tolerance(0, 0)
    usual = limits.of("mul.Tensor", torch.float32)
    assert usual.relative > usual.of_largest > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exp", r"cannot read 'exp'\. Write operators and numbers, such as mm=1e-3"),
        ("exp=much", "cannot read 'exp=much'"),
        ("=1", "cannot read '=1'"),
        ("exp=-1", "-1.0 is no tolerance; use numbers from 0 on"),
        ("exp=nan", "nan is no tolerance"),
        ("exp:int64=1", "'int64' is no dtype that rounds; use float64, float32"),
        ("exp(=1", "'exp\\(' is not a regular expression"),
    ],
)
def test_wrong_tolerances_of_the_environment_are_refused(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=message) as error:
        monkeypatch.setenv("DIPU_AUTOCOMPARE_TOLERANCES", text)
    assert "DIPU_AUTOCOMPARE_TOLERANCES: " in str(error.value)


def test_tolerances_of_the_environment_take_effect(
    x: torch.Tensor,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DIPU_AUTOCOMPARE_WITH", "float64")
    monkeypatch.setenv("DIPU_AUTOCOMPARE_TOLERANCES", "exp : float32 = 0")
    monkeypatch.setenv(VARIABLE, "exp")
    x.exp()
    assert "not_allclose" in capsys.readouterr().out
    monkeypatch.setenv("DIPU_AUTOCOMPARE_TOLERANCES", "exp:float16=0")
    x.exp()
    assert "not_allclose" not in capsys.readouterr().out


def test_a_tolerance_of_no_operator_warns(x: torch.Tensor) -> None:
    limits = {"maximun": 1.0}
    with (
        pytest.warns(RuntimeWarning, match=r"'maximun' matches no operator.*maximum"),
        torch_dipu.autocompare(tolerances=limits),
    ):
        x.exp()
