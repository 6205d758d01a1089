# SPDX-License-Identifier: Apache-2.0
"""What runs on the CPU can be forbidden, allowed, limited and summed up."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
import torch
import torch_dipu

from tests.debug.fallback.cpu_only import (
    FORCED,
    NO_KERNEL,
    SCALED,
    cpu_calls,
    here,
    only,
    ops,
    scaled,
)


def test_error_names_operator_reason_line_and_cure(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError) as caught:
        scaled(x)
    line = here(lines_ago=1)
    text = str(caught.value)
    assert f"operator {SCALED} would run on the CPU: {NO_KERNEL} ({line})" in text
    assert "DIPU_FALLBACK=error" in text
    assert "DIPU_FALLBACK_ALLOW_LIST" in text


def test_error_comes_before_anything_is_done(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch_dipu.op_counters()
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError):
        ops.scaled_(x)
    assert cpu_calls == []
    assert torch.equal(x.cpu(), torch.arange(12.0).reshape(3, 4))
    assert torch_dipu.op_counters() == before
    assert torch_dipu.fallbacks() == []
    monkeypatch.setenv("DIPU_FALLBACK", "silent")
    ops.scaled_(x)
    assert cpu_calls == ["scaled_"]
    assert only().line == here(lines_ago=2)


def test_what_is_forced_never_raises(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    monkeypatch.setenv("DIPU_FALLBACK_BUDGET", "0")
    with torch_dipu.force_fallback("add.out"):
        x + x
    assert only().reason == FORCED


def test_allowed_operators_run(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError):
        scaled(x)
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", "geqrf, dipu_accounting::.*d")
    scaled(x)
    torch.geqrf(x)
    with pytest.raises(NotImplementedError):
        ops.scaled_(x)  # a pattern describes the whole name
    monkeypatch.delenv("DIPU_FALLBACK_ALLOW_LIST")
    with pytest.raises(NotImplementedError):
        scaled(x)


@pytest.mark.parametrize("name", ["angle", "angle.out"])
def test_families_are_allowed_as_in_the_list_of_forced_operators(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    z = torch.ones(2, dtype=torch.complex64, device="dipu")
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError, match="operator angle would run"):
        z.angle()
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", name)
    z.angle()


def test_composites_are_allowed_as_in_the_list_of_forced_operators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = torch.ones(1, 1, 4, 4, dtype=torch.int64, device="dipu")
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError, match="convolution_overrideable"):
        torch.nn.functional.conv2d(image, image)
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", "conv2d")
    torch.nn.functional.conv2d(image, image)


def test_warnings_name_the_line_once(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "warn")
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", "dipu_accounting::quiet")
    with torch.library._scoped_library("dipu_accounting", "FRAGMENT") as library:
        for name in ("loud", "quiet"):
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, lambda x: x * 1, "CPU")
        for _ in range(2):
            ops.quiet(x)
            ops.loud(x)
            line = here(lines_ago=1)
    printed = capfd.readouterr().err
    assert printed.count(" runs on the CPU") == 1
    assert f"loud runs on the CPU: {NO_KERNEL} ({line})" in printed


def test_a_budget_turns_excess_into_an_error(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIPU_FALLBACK_BUDGET", "2")
    monkeypatch.setenv("DIPU_FALLBACK_ALLOW_LIST", "geqrf")
    scaled(x)
    torch.geqrf(x)
    ops.scaled.out(x, out=torch.empty_like(x))
    with pytest.raises(NotImplementedError, match=r"2 calls .*DIPU_FALLBACK_BUDGET"):
        scaled(x)
    torch.geqrf(x)
    monkeypatch.setenv("DIPU_FALLBACK_BUDGET", "1")
    scaled(x)
    with pytest.raises(NotImplementedError, match=SCALED):
        scaled(x)
    monkeypatch.delenv("DIPU_FALLBACK_BUDGET")
    scaled(x)


def test_a_budget_of_error(x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIPU_FALLBACK", "error")
    monkeypatch.setenv("DIPU_FALLBACK_BUDGET", "1")
    scaled(x)
    with pytest.raises(NotImplementedError, match=SCALED):
        scaled(x)


WRONG = [
    ("DIPU_FALLBACK", "loud", "use one of warn, silent, error"),
    ("DIPU_FALLBACK_ALLOW_LIST", "add(", "is not a regular expression"),
    ("DIPU_FALLBACK_BUDGET", "-1", "use a whole number"),
    ("DIPU_FALLBACK_BUDGET", "many", "use a whole number"),
    ("DIPU_FALLBACK_BUDGET", "1e3", "use a whole number"),
    ("DIPU_FALLBACK_IN_PLACE", "maybe", "use 1 or 0"),
    ("DIPU_FALLBACK_SUMMARY", "perhaps", "use 1 or 0"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_values_are_refused(name: str, value: str, message: str) -> None:
    before = os.environ.get(name)
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        os.environ[name] = value
    assert os.environ.get(name) == before


def run(code: str, *arguments: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *(arguments or ("-c", code))],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_wrong_values_are_named_at_import() -> None:
    status, _, errors = run("import torch_dipu", DIPU_FALLBACK_BUDGET="many")
    assert status == 1
    assert "DIPU_FALLBACK_BUDGET='many': use a whole number" in errors


PROGRAM = """
import os, torch, torch_dipu
for _ in range(3):
    torch.geqrf(torch.ones(2, 2, device="dipu"))
"""


def test_summary_at_the_end_of_a_process_that_fails() -> None:
    environment = {"DIPU_FALLBACK_SUMMARY": "1", "DIPU_FALLBACK_BUDGET": "2"}
    status, _, errors = run(PROGRAM, **environment)
    assert status == 1
    assert "NotImplementedError" in errors
    assert re.search(rf"geqrf +2 .*<string>:4 +{NO_KERNEL}\n", errors), errors


def test_summary_can_be_asked_for_meanwhile() -> None:
    ask = PROGRAM + 'os.environ["DIPU_FALLBACK_SUMMARY"] = "1"'
    assert re.search(r"geqrf +3 ", run(ask)[2])


def test_the_command_prints_the_operators() -> None:
    status, output, errors = run("", "-m", "torch_dipu", "ops")
    assert (status, errors) == (0, "")
    assert re.search(r"found +diopiAdd +.*add\.Tensor", output)
