# SPDX-License-Identifier: Apache-2.0
"""A vendor whose functions lack int64, float64 and channels_last.

The vendor under test has them; conversions.yaml says that it must not get them. What
shows that is where smaller types give other numbers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
import torch_dipu

from tests.conformance.conftest import Expectation

BEYOND_INT32 = 2**31


def conversions(function: str) -> int:
    return torch_dipu.op_counters().get(f"conversion.{function}", 0)


def test_functions_get_the_smaller_integers(native: Expectation) -> None:
    x = torch.tensor([BEYOND_INT32 - 1]).to("dipu")
    before = conversions("diopiAdd")
    with native("add.Tensor"):
        total = x + x
    assert total.dtype == torch.int64
    assert total.item() == -2  # as 32 bits overflow
    assert conversions("diopiAdd") == before + 3  # two inputs and the output


def test_functions_get_the_smaller_floats(native: Expectation) -> None:
    x = torch.rand(100, dtype=torch.float64)
    with native("sin"):
        result = x.to("dipu").sin()
    assert result.dtype == torch.float64
    torch.testing.assert_close(result.cpu(), x.float().sin().double())
    assert not torch.equal(result.cpu(), x.sin())


def test_a_later_rule_takes_a_type_back(native: Expectation) -> None:
    x = torch.rand(100, dtype=torch.float64)
    with native("exp"):
        result = x.to("dipu").exp()
    torch.testing.assert_close(result.cpu(), x.exp(), rtol=1e-14, atol=0)
    assert conversions("diopiExp") == 0


CASES: dict[str, tuple[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]] = {
    "index_select": ("index_select", lambda x, i: x.index_select(0, i)),
    "gather": ("gather", lambda x, i: x.gather(0, i[:, None].expand(-1, 3))),
    "index": ("index.Tensor", lambda x, i: x[i]),
    "index_put": ("_index_put_impl_", lambda x, i: x.index_put((i,), x[i] + 1)),
    "embedding": ("embedding", lambda x, i: torch.embedding(x, i)),
    "argmax": ("argmax", lambda x, i: x.argmax(1)),
    "sort": ("sort.stable", lambda x, i: x.sort(dim=0, stable=True).indices),
    "sum of integers": ("sum.dim_IntList", lambda x, i: i.sum(0)),
    "cumsum": ("cumsum", lambda x, i: i.cumsum(0)),
    "cat": ("cat", lambda x, i: torch.cat([i, i])),
    "where": ("where.self", lambda x, i: torch.where(i > 1, i, i + 5)),
    "nonzero": ("nonzero", lambda x, i: (x > 0).nonzero()),
    "nonzero of integers": ("nonzero", lambda x, i: i.nonzero()),
    "masked_select": ("masked_select", lambda x, i: i.masked_select(i > 1)),
    "a slice": ("mul.Tensor", lambda x, i: i[::2] * i[1::2]),
    "in place": ("add_.Tensor", lambda x, i: i.clone().add_(i)),
    "a scalar": ("add.Tensor", lambda x, i: i + 3),
    "nothing": ("add.Tensor", lambda x, i: i[:0] + i[:0]),
}


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_larger_type(native: Expectation, case: str) -> None:
    operator, function = CASES[case]
    x = torch.randn(5, 3)
    i = torch.tensor([3, 0, 4, 1])
    expected = function(x, i)
    with native(operator):
        result = function(x.to("dipu"), i.to("dipu"))
    assert result.dtype == expected.dtype
    assert torch.equal(result.cpu(), expected)


def test_backward(no_fallback: Expectation) -> None:
    weight = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    i = torch.tensor([5, 0, 0])

    def step(weight: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(
            torch.nn.functional.embedding(i, weight), i % 3
        )

    (expected,) = torch.autograd.grad(step(weight, i), weight)
    on_device = weight.detach().to("dipu").requires_grad_()
    with no_fallback():
        (result,) = torch.autograd.grad(step(on_device, i.to("dipu")), on_device)
    assert result.dtype == torch.float64
    torch.testing.assert_close(result.cpu(), expected, rtol=1e-5, atol=1e-6)


def test_an_optimizer_updates_what_it_was_given(no_fallback: Expectation) -> None:
    start, gradient = torch.randn(2, 4, 3, dtype=torch.float64)
    results = []
    for device in ("cpu", "dipu"):
        parameter = start.clone().to(device).requires_grad_()
        parameter.grad = gradient.to(device)
        optimizer = torch.optim.AdamW([parameter], fused=True)
        with no_fallback():
            optimizer.step()
            optimizer.step()
        results.append(parameter.detach().cpu())
    torch.testing.assert_close(results[1], results[0], rtol=1e-5, atol=1e-6)


def test_layouts(native: Expectation) -> None:
    x = torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last)
    weight = torch.randn(4, 3, 3, 3)
    before = conversions("diopiConvolution2d")
    with native("convolution_overrideable"):
        result = torch.nn.functional.conv2d(x.to("dipu"), weight.to("dipu"))
    torch.testing.assert_close(
        result.cpu(), torch.nn.functional.conv2d(x, weight), rtol=1e-4, atol=1e-5
    )
    assert conversions("diopiConvolution2d") > before


@pytest.mark.parametrize("value", [BEYOND_INT32, -BEYOND_INT32 - 1])
def test_values_that_do_not_fit_run_on_the_cpu(
    falls_back: Expectation, value: int
) -> None:
    x = torch.tensor([value, 1]).to("dipu")
    with falls_back("add.Tensor"):
        total = x + x
    assert total.tolist() == [2 * value, 2]


def test_large_floats_run_on_the_cpu(
    falls_back: Expectation, native: Expectation
) -> None:
    x = torch.tensor([1e300, 1.0], dtype=torch.float64)
    with falls_back("sin"):
        result = x.to("dipu").sin()
    torch.testing.assert_close(result.cpu(), x.sin())
    infinite = torch.tensor([float("inf"), float("nan")], dtype=torch.float64)
    with native("neg"):
        assert infinite.to("dipu").neg()[0].item() == -float("inf")


def test_parameters_that_do_not_fit_run_on_the_cpu(falls_back: Expectation) -> None:
    parameter = torch.tensor([1e300, 1.0], dtype=torch.float64).to("dipu")
    parameter.requires_grad_().grad = torch.ones_like(parameter)
    with falls_back("_fused_adamw_"):
        torch.optim.AdamW([parameter], fused=True).step()
    assert parameter[0].item() > 9e299


def test_the_check_can_be_switched_off() -> None:
    script = (
        "import torch, torch_dipu\n"
        "x = torch.tensor([2**32 + 5]).to('dipu')\n"
        "print((x + x).item())\n"
    )
    environment = {**os.environ, "DIPU_CHECK_CONVERSIONS": "0"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["10"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("diopiAddd\tint64=int32\t\n", "1: no function is called 'diopiAddd'"),
        ("diopiAdd\tint64\t\n", "1: 'int64' is not of the form int64=int32"),
        (None, "which cannot be read"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path, text: str | None, message: str) -> None:
    table = tmp_path / "table.tsv"
    if text is not None:
        table.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", "import torch_dipu"],
        env={**os.environ, "DIPU_CONVERSIONS": str(table)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert message in done.stderr and str(table) in done.stderr
    assert "frame #" not in done.stderr
