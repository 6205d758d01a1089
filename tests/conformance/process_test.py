# SPDX-License-Identifier: Apache-2.0
"""Devices and processes; what core Python reads of the device module."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from multiprocessing.connection import Connection

import torch
import torch_dipu  # noqa: F401  (a spawned child imports this file alone)


def _use_device(device: str, result: Connection) -> None:
    try:
        result.send(torch.ones(3, device=device).sum().item())
    except RuntimeError as error:
        result.send(str(error))
    result.close()


def _run(method: str, device: str) -> object:
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_use_device, args=(device, sender))
    process.start()
    sender.close()
    result = receiver.recv()
    process.join()
    assert process.exitcode == 0
    return result


def test_forked_child_is_told_to_spawn(device: str) -> None:
    torch.ones(1, device=device)
    text = _run("fork", device)
    assert isinstance(text, str)
    assert "fork" in text
    assert torch.ones(3, device=device).sum().item() == 3


def test_child_forked_before_first_use_uses_the_device(device: str) -> None:
    code = f"""
import os, torch, torch_dipu
pid = os.fork()
if pid == 0:
    os._exit(0 if torch.ones(2, device={device!r}).sum().item() == 2 else 1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_spawned_child_uses_the_device(device: str) -> None:
    assert _run("spawn", device) == 3.0


def test_accelerator_is_the_device(device: str) -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator().type == device
    assert (
        torch.accelerator.device_count()
        == torch.get_device_module(device).device_count()
    )


def test_capability_names_dtypes_that_work(device: str) -> None:
    dtypes = torch.accelerator.get_device_capability()["supported_dtypes"]
    assert {torch.float32, torch.int64, torch.bool} <= set(dtypes)
    for dtype in dtypes:
        quantized_or_raw = "torch.q" in str(dtype) or "bits" in str(dtype)
        if not quantized_or_raw:
            assert torch.empty(2, dtype=dtype).to(device).dtype == dtype


def test_default_device(device: str) -> None:
    torch.set_default_device(device)
    try:
        assert torch.zeros(2).device.type == device
        assert torch.randn(2).device.type == device
        assert torch.arange(3).device.type == device
        assert torch.nn.Linear(2, 2).weight.device.type == device
    finally:
        torch.set_default_device(None)


def test_printing(device: str) -> None:
    x = torch.arange(3.0, device=device)
    assert repr(x) == f"tensor([0., 1., 2.], device='{device}:0')"
