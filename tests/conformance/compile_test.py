# SPDX-License-Identifier: Apache-2.0
"""torch.compile on tensors of the device."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch


def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * 2 - 1).sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_that_call_operators(no_fallback, device: str, backend: str) -> None:
    x = torch.arange(4.0, device=device, requires_grad=True)
    with no_fallback():
        y = torch.compile(scaled, backend=backend)(x)
        y.backward()
    assert y.item() == 9
    assert x.grad.cpu().tolist() == [0, 2, 2, 2]


def test_the_default_backend_says_what_to_use(device: str) -> None:
    with pytest.raises(Exception, match="generates no code for dipu") as caught:
        torch.compile(scaled)(torch.arange(4.0, device=device))
    assert 'backend="aot_eager"' in str(caught.value)


def test_import_loads_no_compiler() -> None:
    program = (
        "import sys, torch\n"
        "before = set(sys.modules)\n"
        "import torch_dipu\n"
        "torch.zeros(2, device='dipu').cpu()\n"
        "new = set(sys.modules) - before\n"
        "print([m for m in new if m.startswith(('torch._dynamo', 'torch._inductor'))])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
