# SPDX-License-Identifier: Apache-2.0
"""Arguments that make no sense: the errors that users of PyTorch expect.

What the host can see raises at once, with the CPU's exception. What only the
elements tell is found when the work runs: the error stays with the device and
names the DIOPI function, the element and what would be right.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

INF, NAN = float("inf"), float("nan")
CPU = "cpu"

Call = Callable[[str], Tensor]


def empty(device: str, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.empty(4, dtype=dtype, device=device)


def ones(*sizes: int, dtype: torch.dtype = torch.float32, device: str) -> Tensor:
    return torch.ones(sizes, dtype=dtype, device=device)


def overlapping(device: str, dtype: torch.dtype = torch.float32) -> Tensor:
    """A 3 x 3 tensor whose rows share their memory."""
    return torch.zeros(1, 3, dtype=dtype, device=device).expand(3, 3)


def put(device: str, *, index: torch.dtype = torch.int64, count: int = 2) -> Tensor:
    indices = torch.zeros(count, dtype=index, device=device)
    return ones(3, device=device).put_(indices, ones(count, device=device))


def kth(device: str, *sizes: int, k: int, dim: int = -1) -> Tensor:
    return ones(*sizes, device=device).kthvalue(k, dim).values


def select(device: str) -> Tensor:
    rows = torch.tensor([0, 1, 2], device=device)
    x = ones(3, 3, device=device)
    return torch.index_select(x, 0, rows, out=overlapping(device))


def where(device: str) -> Tensor:
    x = ones(3, 3, device=device)
    return torch.where(x > 0, x, x, out=overlapping(device))


HALF, INT8 = torch.float16, torch.int8

REFUSED: dict[str, Call] = {
    "uniform_to": lambda d: empty(d).uniform_(0, INF),
    "uniform_from": lambda d: empty(d, torch.float64).uniform_(-INF, 0),
    "uniform_nan": lambda d: empty(d).uniform_(NAN, 1),
    "uniform_order": lambda d: empty(d).uniform_(2, 1),
    "uniform_width": lambda d: empty(d, HALF).uniform_(-60000, 60000),
    "uniform_half": lambda d: empty(d, HALF).uniform_(0, 70000),
    "uniform_int": lambda d: empty(d, torch.int64).uniform_(),
    "random_from": lambda d: empty(d, HALF).random_(-(2**63), 2**63 - 1),
    "random_to": lambda d: empty(d, HALF).random_(0, 2**62),
    "random_int8": lambda d: empty(d, INT8).random_(-129, 5),
    "random_open": lambda d: empty(d, INT8).random_(300, None),
    "random_open_half": lambda d: empty(d, HALF).random_(4096, None),
    "random_order": lambda d: empty(d).random_(5, 1),
    "exponential_int": lambda d: empty(d, torch.int64).exponential_(),
    "exponential_rate": lambda d: empty(d).exponential_(0),
    "bernoulli": lambda d: empty(d).bernoulli_(1.5),
    "bernoulli_nan": lambda d: empty(d).bernoulli_(NAN),
    "normal_overlapping": lambda d: overlapping(d).normal_(),
    "kthvalue_empty": lambda d: kth(d, 0, 5, k=6),
    "kthvalue_empty_0": lambda d: kth(d, 0, 5, k=0),
    "kthvalue": lambda d: kth(d, 5, k=6),
    "kthvalue_number": lambda d: kth(d, k=2),
    "kthvalue_of_nothing": lambda d: kth(d, 0, 5, k=1, dim=0),
    "put_index": lambda d: put(d, index=torch.int32),
    "put_empty_index": lambda d: put(d, index=torch.int32, count=0),
    "hardtanh_bool": lambda d: F.hardtanh(ones(2, dtype=torch.bool, device=d)),
    "relu6_bool": lambda d: F.relu6(ones(2, dtype=torch.bool, device=d)),
    "hardtanh_in_place": lambda d: F.hardtanh_(ones(2, dtype=torch.bool, device=d)),
    "hardtanh_uint8": lambda d: F.hardtanh(ones(2, dtype=torch.uint8, device=d)),
    "histc_nan": lambda d: torch.histc(ones(2, device=d), 4, NAN, 1),
    "histc_inf": lambda d: torch.histc(ones(2, device=d), 4, 0, INF),
    "histc_order": lambda d: torch.histc(ones(2, device=d), 4, 2, 1),
    "add_overlapping": lambda d: torch.add(ones(3, device=d), 1, out=overlapping(d)),
    "mm_overlapping": lambda d: torch.mm(
        *[ones(3, 3, device=d)] * 2, out=overlapping(d)
    ),
    "select_overlapping": select,
    "where_overlapping": where,
    "hardtanh_overlapping": lambda d: torch._C._nn.hardtanh(
        ones(3, 3, device=d), out=overlapping(d)
    ),
}


def first_line(error: pytest.ExceptionInfo[Exception]) -> str:
    return str(error.value).splitlines()[0]


@pytest.mark.parametrize("name", REFUSED)
def test_host_refuses_as_the_cpu_does(device: str, name: str) -> None:
    with pytest.raises(Exception) as expected:
        REFUSED[name](CPU)
    with pytest.raises(Exception) as got:
        REFUSED[name](device)
    assert got.type is expected.type
    assert first_line(got) == first_line(expected)


def test_sums_that_overlap_themselves(device: str) -> None:
    """The CPU lets the last of them stay."""
    with pytest.raises(RuntimeError, match="more than one element of the written-to"):
        torch.sum(ones(3, 3, 2, device=device), 2, out=overlapping(device))


def test_what_is_just_allowed_is_native(native, device: str) -> None:
    largest = torch.finfo(HALF).max
    x = torch.empty(1000, dtype=HALF, device=device)
    with native("uniform_", "random_.from", "random_.to"):
        assert x.uniform_(-largest / 2, largest / 2).isfinite().all().item()
        with pytest.warns(UserWarning, match="precision limitations"):
            x.random_(65000, 65504)
        assert (x < 65504).all().item()
        empty(device, INT8).random_(128)
        assert empty(device).exponential_(INF).cpu().tolist() == [0] * 4
    with native("kthvalue", "hardtanh", "put_"):
        assert kth(device, 5, k=5).item() == 1
        F.hardtanh(ones(2, dtype=torch.uint8, device=device), 0, 6)
        put(device)


def test_probabilities_beyond_the_ends(native, device: str) -> None:
    counts = torch.tensor([4.0, 4.0, 0.0, -3.0, 4.0], device=device)
    chances = torch.tensor([-1.0, 2.0, 2.0, 0.7, NAN], device=device)
    with native("binomial"):
        got = torch.binomial(counts, chances)
    expected = torch.binomial(counts.cpu(), chances.cpu())
    torch.testing.assert_close(got.cpu(), expected, equal_nan=True)


# The error ends the device, so each has a process of its own.
FOUND_BY_THE_DEVICE = {
    "diopiBCELoss: all elements of input should be between 0 and 1, "
    "but element 2 is 1.5": "F.binary_cross_entropy(x, x)",
    "between 0 and 1, but an element is 1.5": (
        "F.binary_cross_entropy(x.half(), x.half())"
    ),
    "diopiBernoulli: element 2 of the probabilities is 1.5": "torch.bernoulli(x)",
    "diopiExtPoisson: element 0 of the rates is -0.5": "torch.poisson(x - 1)",
    "diopiExtBinomial: element 3 of the counts is inf": (
        "torch.binomial(1 / (1 - x), x / 2)"
    ),
    "diopiMultinomial: weight 0 of row 0 is -0.5": "torch.multinomial(x - 1, 9, True)",
    "diopiExtHistc: range of [nan, nan] is not finite, element 1 is nan": (
        "torch.histc(x.masked_fill(x == 0, float('nan')), 4)"
    ),
    "diopiExtEmbeddingBag: offsets[0] has to be 0": (
        "F.embedding_bag(i[:2], x.reshape(2, 2), i[1:])"
    ),
    "diopiExtEmbeddingBag: offsets[1] is 9": (
        "F.embedding_bag(i[:2], x.reshape(2, 2), i[:2] * 9)"
    ),
    "diopiExtMaxUnpool: index 6 is out of range": (
        "F.max_unpool1d(x[None, None, :2], i[None, None, :2] * 6, 2)"
    ),
}


def output_of(program: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    ).stdout


@pytest.mark.parametrize("message", FOUND_BY_THE_DEVICE)
def test_device_names_function_and_element(native, message: str) -> None:
    output = output_of(
        "import torch, torch_dipu\n"
        "from torch.nn import functional as F\n"
        "x = torch.tensor([0.5, 0.0, 1.5, 1.0], device='dipu')\n"
        "i = torch.arange(4, device='dipu')\n"
        "try:\n"
        f"    print({FOUND_BY_THE_DEVICE[message]}.cpu())\n"
        "except RuntimeError as error:\n"
        "    print('refused:', error)\n"
        "print(torch_dipu.op_counters())\n"
    )
    assert message in output
    assert "fallback." not in output


def test_faults_strike_a_function_by_name(native) -> None:
    output = output_of(
        "import torch, torch_dipu\n"
        "x = torch.ones(4, device='dipu')\n"
        "print((x + x).tolist())\n"
        "try:\n"
        "    print((x - x).tolist())\n"
        "except RuntimeError as error:\n"
        "    print('failed:', error)\n",
        SOFTDEVICE_FAULTS="launch=1,kernel=diopiSub",
    )
    assert output.startswith("[2.0, 2.0, 2.0, 2.0]\nfailed:")
    assert "diopiSub: the kernel was kept from running" in output
