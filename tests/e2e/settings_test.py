# SPDX-License-Identifier: Apache-2.0
"""Environment variables do what docs/env_vars.md says."""

import os
import subprocess
import sys

import pytest

# Prints whether backward of a device function ran on the calling thread.
BACKWARD_THREAD = """
import threading, torch, torch_dipu

class Probe(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1

    @staticmethod
    def backward(ctx, grad):
        print(threading.get_ident() == threading.main_thread().ident)
        return grad

x = torch.ones(2, device="dipu", requires_grad=True)
Probe.apply(x).sum().backward()
"""

COUNT = """
import torch, torch_dipu
torch.ones(2, device="dipu") + 1
print(torch_dipu.op_counters().get("native.add.Tensor", 0))
"""

# An operator without a device kernel.
FALL_BACK = """
import torch, torch_dipu
x = torch.ones(2, 2, device="dipu")
for _ in range(2):
    torch.geqrf(x)
print(torch_dipu.op_counters()["fallback.geqrf"])
"""


def run(code: str, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=dict(os.environ, **env),
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DIPU_VENDOR_LIBRARY", "/no/such/library.so"),
        ("DIPU_FALLBACK", "perhaps"),
        ("DIPU_EXIT_WAIT_S", "-1"),
        ("DIPU_MOCK_CUDA", "perhaps"),
    ],
)
def test_uses_of_the_device_repeat_why_it_is_missing(name: str, value: str) -> None:
    code = """
import torch
try:
    import torch_dipu
except Exception:
    pass
torch.ones(2, device="dipu")
"""
    done = run(code, **{name: value})
    assert done.returncode == 1
    assert value in done.stderr


@pytest.mark.parametrize(("value", "same"), [("", True), ("0", True), ("1", False)])
def test_autograd_threads(value, same):
    done = run(BACKWARD_THREAD, DIPU_AUTOGRAD_THREADS=value)
    assert done.stdout.strip() == str(same), done.stderr


@pytest.mark.parametrize(("value", "count"), [("0", "0"), ("1", "1")])
def test_count_native(value, count):
    done = run(COUNT, DIPU_COUNT_NATIVE=value)
    assert done.stdout.strip() == count, done.stderr


def test_fallback_warns_once_by_default():
    done = run(FALL_BACK)
    assert done.stdout.strip() == "2", done.stderr
    assert done.stderr.count("runs on the CPU") == 1


def test_fallback_silent():
    done = run(FALL_BACK, DIPU_FALLBACK="silent")
    assert done.stdout.strip() == "2", done.stderr
    assert "runs on the CPU" not in done.stderr


def test_fallback_error():
    done = run(FALL_BACK, DIPU_FALLBACK="error")
    assert done.returncode != 0
    assert "geqrf" in done.stderr and "NotImplementedError" in done.stderr


def test_a_wrong_value_is_named():
    done = run("import torch_dipu", DIPU_FALLBACK="loud")
    assert done.returncode != 0
    assert "DIPU_FALLBACK='loud': use one of" in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DIPU_DUMP_OP_ARGS", "7"),
        ("DIPU_TRACE_LAUNCHES", "-1"),
        ("DIPU_FORCE_FALLBACK_OPS_LIST", "("),
    ],
)
def test_a_wrong_setting_of_a_tool_leaves_the_device_and_other_tools(name, value):
    code = """
import torch, torch_dipu_autoload
torch_dipu_autoload.autoload()
print(torch.ones(2).cuda() + 1)
"""
    other = {"DIPU_LAUNCH_BLOCKING": "1", "DIPU_AUTOCOMPARE_OPS_LIST": "add.Tensor"}
    other.pop(name.replace("TRACE_LAUNCHES", "LAUNCH_BLOCKING"), None)
    done = run(code, **other, **{name: value})
    assert done.returncode == 0, done.stderr
    assert "device='dipu:0'" in done.stdout
    assert "autocompare:" in done.stderr + done.stdout
    assert done.stderr.count(name) == 1
    assert "It has no effect." in done.stderr
    assert "not available" not in done.stderr
    done = run("import torch_dipu", **{name: value})
    assert done.returncode == 1
    assert name in done.stderr


@pytest.mark.parametrize("value", ["soon", "-1", "nan"])
def test_wrong_seconds_are_named(value):
    done = run("import torch_dipu", DIPU_EXIT_WAIT_S=value)
    assert done.returncode != 0
    assert f"DIPU_EXIT_WAIT_S={value!r}: use a number of seconds" in done.stderr


def test_wrong_autograd_threads_are_named_at_import():
    done = run("import torch_dipu", DIPU_AUTOGRAD_THREADS="perhaps")
    assert done.returncode == 1
    assert done.stderr.count("DIPU_AUTOGRAD_THREADS='perhaps': use 1 or 0") == 1


def test_unknown_variables_are_warned_about_once():
    meant = {
        "DIPU_FALL_BACK": "; did you mean DIPU_FALLBACK?",
        "DIPU_VENDOR_LIBARY": "; did you mean DIPU_VENDOR_LIBRARY?",
        "DIPU_EXIT_WAIT": "; did you mean DIPU_EXIT_WAIT_S?",
        "DIPU_Device": "; did you mean DIPU_DEVICE?",
        "DIPU_QQQ": "; `python -m torch_dipu env` lists all",
    }
    done = run("import torch, torch_dipu, torch_dipu.dipu", **dict.fromkeys(meant, "1"))
    assert done.returncode == 0, done.stderr
    for name, advice in meant.items():
        text = f"{name} is set, but there is no such setting{advice}"
        assert done.stderr.count(text) == 1, done.stderr


def test_an_unknown_variable_is_named_beside_an_error():
    done = run("import torch_dipu", DIPU_FALLBACK="loud", DIPU_FALLBAK="silent")
    assert done.returncode == 1
    assert "did you mean DIPU_FALLBACK?" in done.stderr


def test_variables_of_the_vendor_and_the_build_are_known():
    known = {"DIPU_DROPLET_SDK": "/opt", "DIPU_PYTHON": "python3.11"}
    done = run("import torch_dipu", OTHER_DIPU_NAME="1", **known)
    assert done.returncode == 0
    assert done.stderr == ""


LOSE = """
import torch, torch_dipu
x = torch.ones(100, device="dipu")
try:
    for _ in range(20):
        x = x * 1.01
except torch.AcceleratorError as error:
    print(error)
"""


def test_an_operator_on_a_lost_device_says_that_it_is_lost():
    done = run(LOSE, SOFTDEVICE_FAULTS="lost=10")
    assert "lost by fault injection" in done.stdout, done.stdout + done.stderr
    assert "mul.Tensor" in done.stdout


def test_an_operator_on_a_lost_device_does_not_wait_for_what_stands():
    done = run(LOSE, SOFTDEVICE_FAULTS="hang=5;lost=10")
    assert "lost by fault injection" in done.stdout, done.stdout + done.stderr
