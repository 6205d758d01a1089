# SPDX-License-Identifier: Apache-2.0
"""Logs of autocompare and saved calls, used by the commands that read them."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
import torch
import torch_dipu
from torch_dipu.debug import logs, replaying

EXACT = torch_dipu.Tolerance(0, 0)


def command(*arguments: str | pathlib.Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "torch_dipu", *map(str, arguments)],
        env=os.environ.copy(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def log_run(path: pathlib.Path, scale: float = 1.0, more: bool = False) -> pathlib.Path:
    x = torch.arange(24.0).reshape(4, 6).to("dipu")
    with torch_dipu.autocompare(log=path):
        y = x.add(1)
        y.mul_(2 * scale)
        torch.empty(5, device="dipu").uniform_()
        y.sum()
        if more:
            y.exp()
    return path


@pytest.fixture
def wrong(tmp_path: pathlib.Path) -> pathlib.Path:
    """Logs and saved calls of a run in which exp is held for wrong."""
    x = torch.randn(4, 6).to("dipu").t()
    column = torch.full((6, 1), 0.1).to("dipu")
    with torch_dipu.autocompare(
        against="float64",
        log=tmp_path / "wrong.jsonl",
        save=tmp_path / "saved",
        tolerances={"exp": EXACT, "add_.Tensor": EXACT},
    ) as report:
        for _ in range(2):
            x.exp()
        x.add_(column, alpha=3)
    assert report.wrong_operators == ["exp", "add_.Tensor"]
    return tmp_path


def test_equal_runs_do_not_part(tmp_path: pathlib.Path) -> None:
    one, two = log_run(tmp_path / "1"), log_run(tmp_path / "2")
    status, output = command("compare", one, two)
    assert (status, output) == (0, "no divergence in 4 calls\n")


def test_the_first_divergence_is_named(tmp_path: pathlib.Path) -> None:
    one, two = log_run(tmp_path / "1"), log_run(tmp_path / "2", scale=1.01)
    status, output = command("compare", one, two)
    assert status == 1
    assert output.startswith("first divergence: mul_.Tensor, call 1\n  the sum of self")
    assert f"  called at {__file__}:" in output


def test_a_run_with_more_calls(tmp_path: pathlib.Path) -> None:
    one, two = log_run(tmp_path / "1"), log_run(tmp_path / "2", more=True)
    divergence = logs.first_divergence(logs.read(one).lines, logs.read(two).lines)
    assert divergence is not None
    assert divergence.reason == "the first run has fewer calls"
    assert divergence.right is not None
    assert divergence.right["operator"] == "exp"


def test_a_right_log_is_summed_up(tmp_path: pathlib.Path) -> None:
    status, output = command("compare", log_run(tmp_path / "1"))
    assert (status, output) == (0, "4 comparisons of 4 operators\n")


def test_a_wrong_log_is_summed_up(wrong: pathlib.Path) -> None:
    page = wrong / "page.html"
    status, output = command("compare", wrong / "wrong.jsonl", "--html", page)
    assert status == 1
    assert "wrong: exp, 2 of 2 calls\n" in output
    assert f"first: exp, call 1\n  called at {__file__}:" in output
    text = page.read_text()
    assert "First wrong result: exp, call 1, comparison 1" in text
    assert '<tr class="wrong"><td>exp</td><td>diopiExp</td>' in text
    saved = wrong / "saved" / "000001_exp.pt"
    assert f"  repeat it: python -m torch_dipu replay {saved}\n" in output
    assert f"repeat it: python -m torch_dipu replay {saved}" in text
    assert f"<td>{saved}</td>" in text


def test_a_page_without_saved_calls_tells_how_to_save(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    x = torch.randn(4, 6).to("dipu")
    tolerances = {"exp": EXACT}
    with torch_dipu.autocompare(against="float64", log=log, tolerances=tolerances):
        x.exp()
    status, output = command("compare", log, "--html", tmp_path / "page.html")
    assert status == 1
    assert "repeat" not in output
    text = (tmp_path / "page.html").read_text()
    assert "DIPU_AUTOCOMPARE_SAVE names a folder" in text


def refuse(times: int = 2) -> None:
    """Adds in a way that the CPU refuses to compute."""
    y = torch.arange(16).reshape(4, 4).to("dipu")
    rows = torch.tensor([0, 1]).to("dipu")
    for _ in range(times):
        y.index_put_((rows,), y[2:], accumulate=True)


def test_what_was_left_out_is_counted(tmp_path: pathlib.Path) -> None:
    log, page = tmp_path / "log", tmp_path / "page.html"
    x = torch.ones(3).to("dipu")
    for _ in range(2):  # the log is appended to
        with torch_dipu.autocompare("exp", "_index_put_impl_", every=2, log=log):
            for _ in range(5):
                x.exp()
            refuse(times=3)
    status, output = command("compare", log, "--html", page)
    first, sampled, refused = output.splitlines()
    assert status == 0
    assert first == "6 comparisons of 1 operators"
    assert sampled == "left out: 6 calls of 2 operators by sampling"
    assert refused.startswith("left out: 4 calls of _index_put_impl_: ")
    assert "single memory location" in refused
    text = page.read_text()
    assert "6 comparisons, 0 wrong; 10 calls left out." in text
    assert (
        '<td>_index_put_impl_</td><td class="number">2</td><td class="number">4</td>'
        in text
    )


def test_a_log_in_which_nothing_was_compared_is_no_success(
    tmp_path: pathlib.Path,
) -> None:
    log, page = tmp_path / "log", tmp_path / "page.html"
    with torch_dipu.autocompare("_index_put_impl_", log=log):
        refuse()
    status, output = command("compare", log, "--html", page)
    assert status == 1
    assert output.startswith("compared nothing: every call was left out\n")
    assert "compared nothing: every call was left out." in page.read_text()
    assert "No result is wrong" not in page.read_text()
    status, output = command("compare", log, log)
    assert status == 1
    assert output.startswith("compared nothing")
    log.write_text("")
    status, output = command("compare", log)
    assert (status, output) == (
        1,
        "compared nothing: no chosen operator was called\n",
    )


PROGRAM = """
import torch, torch_dipu
x = torch.ones(3).to("dipu")
for _ in range(5):
    x.exp()
"""


def test_the_end_of_a_program_says_what_was_compared(tmp_path: pathlib.Path) -> None:
    def run(operators: str) -> str:
        environment = {
            "DIPU_AUTOCOMPARE_OPS_LIST": operators,
            "DIPU_AUTOCOMPARE_EVERY": "2",
            "DIPU_AUTOCOMPARE_PRINT": "wrong",
            "DIPU_AUTOCOMPARE_LOG": str(tmp_path / operators),
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert run("exp") == (
        "autocompare:    3 comparisons of 1 operators\n"
        "autocompare:    left out: 2 calls of 1 operators by sampling\n"
    )
    assert logs.read(tmp_path / "exp").left_out["exp"].sampled == 2
    assert run("sin") == (
        "autocompare:    compared nothing: no chosen operator was called\n"
    )


def test_a_command_has_no_tally(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_run(tmp_path / "1")
    monkeypatch.setenv("DIPU_AUTOCOMPARE_OPS_LIST", ".*")
    status, output = command("compare", log)
    assert (status, output) == (0, "4 comparisons of 4 operators\n")


FORK = (
    PROGRAM
    + """
import os
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    os.environ["DIPU_AUTOCOMPARE_EVERY"] = "1"
    x.exp()
"""
)


def test_each_tally_is_told_once(tmp_path: pathlib.Path) -> None:
    """Not by a child, and also before the comparison goes on with other options."""
    environment = {
        "DIPU_AUTOCOMPARE_OPS_LIST": "exp",
        "DIPU_AUTOCOMPARE_EVERY": "2",
        "DIPU_AUTOCOMPARE_PRINT": "wrong",
        "DIPU_AUTOCOMPARE_LOG": str(tmp_path / "log"),
    }
    done = subprocess.run(
        [sys.executable, "-c", FORK],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "autocompare:    3 comparisons of 1 operators\n"
        "autocompare:    left out: 2 calls of 1 operators by sampling\n"
        "autocompare:    1 comparisons of 1 operators\n"
    )
    assert logs.read(tmp_path / "log").left_out["exp"].sampled == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"operator": "a", "close": true, "results": []}',
        '{"left_out": {"exp": {"sample": 1}}}',
        '{"left_out": 5}',
    ],
)
def test_a_file_that_is_no_log(tmp_path: pathlib.Path, text: str) -> None:
    file = tmp_path / "log"
    if text:
        file.write_text(text)
    status, output = command("compare", file)
    assert status == 2
    assert ("no line of a comparison" if text else "cannot be read") in output


def test_the_first_wrong_call_of_each_operator_is_saved(wrong: pathlib.Path) -> None:
    names = [file.name for file in sorted((wrong / "saved").iterdir())]
    assert names == ["000001_exp.pt", "000003_add_.Tensor.pt"]
    saved = replaying.load(wrong / "saved" / names[1])
    (_, target), (_, other), (_, alpha) = saved["arguments"]
    assert target.stride() == (1, 6)
    assert other.shape == (6, 1)
    assert alpha == 3
    assert saved["problems"][0].startswith("not_allclose: max absolute")


def test_a_saved_call_is_repeated(wrong: pathlib.Path) -> None:
    status, output = command("replay", wrong / "saved" / "000003_add_.Tensor.pt")
    assert status == 0, output
    assert output.startswith("autocompare:    add_.Tensor self:\n")
    assert "sizes: [6, 4], stride: [1, 6]" in output
    assert "device=dipu:0" in output
    assert "\tallclose" in output


def test_a_saved_call_that_the_cpu_cannot_compute_is_no_success(
    tmp_path: pathlib.Path,
) -> None:
    y = torch.arange(16).reshape(4, 4)
    arguments = {
        "self": y,
        "indices": [torch.tensor([0, 1])],
        "values": y[2:],
        "accumulate": True,
        "unsafe": False,
    }
    saved = {
        "format": 1,
        "operator": "_index_put_impl_",
        "function": "",
        "stack": [],
        "problems": [],
        "arguments": list(arguments.items()),
    }
    torch.save(saved, tmp_path / "call.pt")
    status, output = command("replay", tmp_path / "call.pt")
    assert status == 1
    assert output.endswith("compared nothing: the call was left out\n")


def test_what_aliases_is_repeated_as_such(tmp_path: pathlib.Path) -> None:
    x = torch.rand(3, 3).to("dipu")
    with torch_dipu.autocompare(
        against="float64", save=tmp_path, tolerances={"mul.Tensor": EXACT}
    ):
        x * x.t()
    (file,) = tmp_path.iterdir()
    mover = replaying._Mover(torch.device("dipu", 0))
    moved = [mover.move(v) for _, v in replaying.load(file)["arguments"]]
    assert (
        moved[0].untyped_storage().data_ptr() == moved[1].untyped_storage().data_ptr()
    )
    assert moved[1].stride() == (1, 3)


def test_a_file_that_is_no_saved_call(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "call.pt"
    file.write_text("no")
    status, output = command("replay", file)
    assert status == 2
    assert "saved call" in output
    torch.save({"weights": torch.ones(2)}, file)
    assert command("replay", file)[1].strip().endswith("is no saved call of format 1")
