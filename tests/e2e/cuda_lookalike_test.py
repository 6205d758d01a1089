# SPDX-License-Identifier: Apache-2.0
"""Scripts that say "cuda" run on the device; nothing else notices."""

import copy
import io
import os
import pickle
import subprocess
import sys

import pytest
import torch
import torch_dipu  # noqa: F401


def test_factories_and_copies_reach_the_device():
    made = [
        torch.randn(4, 5, 5).cuda(),
        torch.zeros(3, device="cuda"),
        torch.empty(3, device="cuda:1"),
        torch.arange(3, device=torch.device("cuda", 0)),
        torch.tensor([1.0], device="cuda"),
        torch.ones(2).to("cuda"),
        torch.ones(2).to("cuda", torch.float64),
        torch.ones(2).to(device="cuda", non_blocking=True),
    ]
    for tensor in made:
        assert tensor.device.type == "dipu"
    assert made[2].device.index == 1


def test_default_device_context():
    with torch.device("cuda"):
        assert torch.zeros(2).device.type == "dipu"
    assert torch.zeros(2).device.type == "cpu"


def test_to_cuda_of_a_device_tensor_is_the_tensor():
    x = torch.ones(3, device="dipu")
    assert x.cuda() is x
    assert x.to("cuda") is x


def test_index_as_device():
    assert torch.ones(2).cuda(1).device == torch.device("dipu", 1)
    assert torch.nn.Linear(2, 2).cuda(0).weight.device.index == 0
    with pytest.raises(RuntimeError, match="must be cuda device"):
        torch.ones(2).cuda("cpu")


@pytest.mark.parametrize("autocast", [torch.autocast, torch.amp.autocast])
def test_autocast_cuda_casts(autocast):
    a = torch.ones(2, 2).cuda()
    with autocast("cuda"):
        assert (a @ a).dtype == torch.float16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


def test_map_location_cuda():
    buffer = io.BytesIO()
    torch.save(torch.ones(2), buffer)
    for location in ("cuda", "cuda:1", torch.device("cuda:1")):
        buffer.seek(0)
        assert torch.load(buffer, map_location=location).device.type == "dipu"


def test_module_cuda_keeps_parameters():
    model = torch.nn.Linear(2, 2)
    parameter = model.weight
    model.cuda()
    assert model.weight is parameter
    assert parameter.device.type == "dipu"


def test_functions_forward():
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == torch.dipu.device_count()
    with torch.cuda.device(1):
        assert torch.dipu.current_device() == 1
    torch.cuda.synchronize()
    state = torch.cuda.get_rng_state()
    a = torch.randn(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(a.cpu(), torch.randn(4, device="cuda").cpu())
    with torch.cuda.stream(torch.cuda.Stream()) as stream:
        assert torch.cuda.current_stream() == stream


def test_gradients_flow_through_cuda():
    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 2.0))


def test_cpu_code_pickling_and_isinstance_are_untouched():
    x = torch.ones(3)
    assert x.device.type == "cpu" and isinstance(x, torch.Tensor)
    assert isinstance(torch.device("cuda"), torch.device)
    assert pickle.loads(pickle.dumps(torch.device("cuda"))) == torch.device("cuda")
    assert torch.equal(copy.deepcopy(x), x)
    buffer = io.BytesIO()
    torch.save({"x": x.cuda()}, buffer)
    buffer.seek(0)
    assert torch.load(buffer)["x"].device.type == "dipu"


def test_torchscript_of_cpu_code():
    @torch.jit.script
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x + x

    assert torch.equal(twice(torch.ones(2)), torch.full((2,), 2.0))


def test_compile_of_cpu_code(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    compiled = torch.compile(lambda x: torch.relu(x * 2 + 1))
    x = torch.ones(2, requires_grad=True)
    y = compiled(x)
    y.sum().backward()
    assert torch.equal(y, torch.full((2,), 3.0))
    assert torch.equal(x.grad, torch.full((2,), 2.0))
    assert any(tmp_path.rglob("*.so")), "Inductor compiled nothing"


@pytest.mark.parametrize("value", ["0", "1"])
def test_it_can_be_switched_off(value):
    code = "import torch, torch_dipu; print(torch.cuda.is_available())"
    env = dict(os.environ, DIPU_MOCK_CUDA=value)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(value == "1"), done.stderr
