# SPDX-License-Identifier: Apache-2.0
"""Failures of the device name the operator that caused them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import torch, torch_dipu
from torch.nn import functional
weight = torch.randn(5, 3, device="dipu")
{before}
good = torch.tensor([1, 2], device="dipu")
bad = torch.tensor([1, 7], device="dipu")
try:
    functional.embedding(good, weight)
    {cause}
    y = weight + 1
    y.cpu()
except torch.AcceleratorError as error:
    print(error)
    print("at", error.__traceback__.tb_lineno)
"""
EMBEDDING = "functional.embedding(bad, weight)"


def run(before: str = "", cause: str = EMBEDDING, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before, cause=cause)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_a_late_failure_says_how_to_find_its_cause() -> None:
    output = run()
    assert "index 7 is out of range" in output
    assert "set DIPU_LAUNCH_BLOCKING=1 to wait for each one and learn which" in output
    assert "at 12\n" in output


def test_blocking_names_the_operator_where_it_fails() -> None:
    output = run(DIPU_LAUNCH_BLOCKING="1")
    assert "index 7 is out of range" in output
    assert "The operator was embedding (diopiEmbedding) on stream " in output
    assert "called at <string>:10, with weight: float32[5, 3], indices: int64[2]" in (
        output
    )
    assert "at 10\n" in output
    assert "set DIPU_LAUNCH_BLOCKING" not in output


def test_tracing_names_the_operator_later() -> None:
    output = run(DIPU_TRACE_LAUNCHES="100")
    assert "may have been one of these, the latest first" in output
    first = output.index("called at <string>:10, with weight: float32[5, 3]")
    assert first < output.index("called at <string>:9, with weight: float32[5, 3]")
    assert "add.Tensor" not in output
    assert "at 12\n" in output


def test_it_may_be_switched_on_at_any_time() -> None:
    output = run(before='import os; os.environ["DIPU_LAUNCH_BLOCKING"] = "1"')
    assert "The operator was embedding (diopiEmbedding)" in output


@pytest.mark.parametrize("variable", ["DIPU_LAUNCH_BLOCKING", "DIPU_TRACE_LAUNCHES"])
def test_a_lost_device_and_a_failing_launch_are_named(variable: str) -> None:
    output = run(
        cause="weight.exp()",
        SOFTDEVICE_FAULTS="launch=1,kernel=diopiExp",
        **{variable: "1" if variable == "DIPU_LAUNCH_BLOCKING" else "50"},
    )
    assert "The operator was exp (diopiExp)" in output


def test_gradients_are_named() -> None:
    output = run(
        before="torch.autograd.set_multithreading_enabled(False)",
        cause=(
            "functional.gelu(weight.requires_grad_()).sum().backward();"
            " torch.dipu.synchronize()"
        ),
        SOFTDEVICE_FAULTS="launch=1,kernel=diopiGeluBackward",
        DIPU_LAUNCH_BLOCKING="1",
    )
    assert "The operator was gelu_backward" in output
    assert "(diopiGeluBackward)" in output


def test_the_first_failure_stays_the_cause() -> None:
    output = run(
        before="import os",
        cause=(f"try: {EMBEDDING}\n    except torch.AcceleratorError: weight + 1"),
        DIPU_LAUNCH_BLOCKING="1",
    )
    assert "The operator was embedding (diopiEmbedding)" in output
    assert "add.Tensor" not in output
