# SPDX-License-Identifier: Apache-2.0
"""Argument dump: what operators were called with, and what they gave."""

from __future__ import annotations

import inspect
import os
import pathlib
import re
import threading

import pytest
import torch
import torch_dipu
from torch.nn import functional

LEVEL = "DIPU_DUMP_OP_ARGS"


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(6.0).reshape(2, 3).to("dipu")


def test_names_only(x: torch.Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    with torch_dipu.dump_op_args("add.out", level=1):
        line = inspect.currentframe().f_lineno + 1
        x + x
        x * x
    assert capsys.readouterr().out == f"[dipu_add_tensor:{line}]:add.Tensor  diopiAdd\n"


def test_arguments_and_results(
    x: torch.Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    with torch_dipu.dump_op_args("add.out"):
        torch.add(x, x.t().contiguous().t(), alpha=3)
    out = capsys.readouterr().out
    number = r"numel: 6, sizes: \[2, 3\], stride: "
    assert re.search(rf"\tself: {number}\[3, 1\], is_view: 0, TensorOptions\(", out)
    assert re.search(rf"\tother: {number}\[1, 2\], is_view: 1, .*data_ptr: 0x", out)
    assert "dtype=torch.float32, device=dipu:0" in out
    assert "\talpha: 3\n" in out
    assert re.search(rf"\t-> out: {number}", out)
    assert f"\tcalled at {__file__}:" in out


def test_values(x: torch.Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    with torch_dipu.dump_op_args("mul.out", level=3):
        x * x
    out = capsys.readouterr().out
    assert "tensor([[0., 1., 2.]," in out
    assert "[ 9., 16., 25.]])" in out


def test_dtypes_are_named(x: torch.Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    with torch_dipu.dump_op_args("sum.*"):
        x.sum(1, dtype=torch.float64)
    assert "\tdtype: torch.float64\n" in capsys.readouterr().out


def test_lists_of_tensors(x: torch.Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    with torch_dipu.dump_op_args("cat.*"):
        torch.cat([x, x])
    assert "\ttensors[1]: numel: 6" in capsys.readouterr().out


def test_gradients(capsys: pytest.CaptureFixture[str]) -> None:
    a = torch.ones(4, 4, device="dipu", requires_grad=True)
    with torch_dipu.dump_op_args(".*backward.*", level=1):
        functional.gelu(a).sum().backward()
    assert ":gelu_backward" in capsys.readouterr().out


def test_a_file_for_each_operator(
    x: torch.Tensor, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "folder"
    with torch_dipu.dump_op_args(level=1, directory=str(folder), limit=2):
        for _ in range(3):
            x + x
        x * x
    assert capsys.readouterr().out == ""
    assert sorted(file.name for file in folder.iterdir()) == [
        "add.Tensor.txt",
        "mul.Tensor.txt",
    ]
    assert len((folder / "add.Tensor.txt").read_text().splitlines()) == 2


def test_changes_of_the_environment_take_effect(
    x: torch.Tensor,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DIPU_DUMP_OPS_LIST", "add.out")
    monkeypatch.setenv(LEVEL, "1")
    x + x * x
    assert re.fullmatch(r"\[dipu_add_tensor:\d+\].*\n", capsys.readouterr().out)
    with pytest.raises(ValueError, match=f"{LEVEL}='4'"):
        os.environ[LEVEL] = "4"
    assert os.environ[LEVEL] == "1"
    os.environ[LEVEL] = "0"
    x + x
    assert capsys.readouterr().out == ""


def test_nested_blocks_see_their_own(
    x: torch.Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    with torch_dipu.dump_op_args("add.out", level=1):
        with torch_dipu.dump_op_args("mul.out", level=1):
            x * x
        x * x
        x + x
    names = re.findall(r":([a-z]+\.Tensor)", capsys.readouterr().out)
    assert names == ["mul.Tensor", "add.Tensor"]


def test_threads(x: torch.Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    with torch_dipu.dump_op_args("add.out", level=1):
        threads = [threading.Thread(target=lambda: x + x) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert capsys.readouterr().out.count(":add.Tensor  diopiAdd\n") == 4


def test_exceptions_keep_their_type(x: torch.Tensor) -> None:
    with torch_dipu.dump_op_args():
        with pytest.raises(IndexError):
            x.sum(5)
        with pytest.raises(RuntimeError, match="must match"):
            x + torch.ones(4, device="dipu")


def test_the_dumped_call_runs_on_the_device(x: torch.Tensor) -> None:
    before = torch_dipu.op_counters()
    with torch_dipu.dump_op_args(), torch_dipu.count_native_ops():
        y = x + x
    after = torch_dipu.op_counters()
    assert after["native.add.Tensor"] == before.get("native.add.Tensor", 0) + 1
    assert torch.equal(y.cpu(), x.cpu() * 2)


def test_a_wrong_level_is_refused() -> None:
    with (
        pytest.raises(ValueError, match="level 0: use 1, 2 or 3"),
        torch_dipu.dump_op_args(level=0),
    ):
        pass
