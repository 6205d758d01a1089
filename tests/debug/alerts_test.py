# SPDX-License-Identifier: Apache-2.0
"""torch.use_deterministic_algorithms on a vendor some of whose functions do not repeat.

The vendor is droplet with a list of such functions (alerting/nondeterministic.yaml).
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
import torch_dipu
from torch.nn import functional

Body = Callable[[], object]


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def ramp(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes).to("dipu")


def embed() -> None:
    table = ramp(5, 3).requires_grad_()
    functional.embedding(torch.tensor([1, 1]).to("dipu"), table).sum().backward()


def convolve() -> None:
    weight = ramp(2, 3, 3, 3).requires_grad_()
    functional.conv2d(ramp(1, 3, 5, 5), weight).sum().backward()


ALERTED: dict[str, tuple[Body, str]] = {
    "generated": (
        lambda: ramp(4).cumsum(0),
        "diopiCumsum of droplet (adds in the order in which threads come)",
    ),
    "in place": (lambda: ramp(4).cumsum_(0), "diopiCumsum of droplet"),
    "made by the library": (
        lambda: torch.tensor([1, 2]).to("dipu").bincount(ramp(2)),
        "diopiExtBincount of droplet",
    ),
    "lists and any result": (lambda: ramp(4).sort(), "diopiSort of droplet"),
    "backward": (embed, "diopiEmbeddingBackward of droplet (adds by atomics)"),
    "written by hand": (convolve, "diopiConvolution2dBackward of droplet"),
}


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", ALERTED)
def test_listed_functions_raise(name: str) -> None:
    body, text = ALERTED[name]
    with pytest.raises(RuntimeError) as error:
        body()
    assert str(error.value).startswith(text)
    assert (
        " does not have a deterministic implementation, but you set "
        "'torch.use_deterministic_algorithms(True)'" in str(error.value)
    )


@pytest.mark.parametrize("name", ALERTED)
def test_they_only_warn_if_that_is_asked_for(name: str) -> None:
    body, _ = ALERTED[name]
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with pytest.warns(UserWarning, match="does not have a deterministic impl"):
            body()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("name", ALERTED)
def test_they_run_otherwise(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ALERTED[name][0]()


@pytest.mark.usefixtures("deterministic")
def test_integers_repeat() -> None:
    x = torch.tensor([1, 2, 2]).to("dipu")
    assert x.cumsum(0).tolist() == [1, 3, 5]
    assert x.bincount().tolist() == [0, 1, 2]


@pytest.mark.usefixtures("deterministic")
def test_other_functions_run() -> None:
    table = ramp(5, 3).requires_grad_()
    functional.embedding(torch.tensor([1, 1]).to("dipu"), table)
    assert ramp(2, 2).mm(ramp(2, 2)).shape == (2, 2)


@pytest.mark.usefixtures("deterministic")
def test_the_cpu_computes_what_is_forced_there() -> None:
    with torch_dipu.force_fallback("cumsum.out"):
        total = torch.ones(3, device="dipu").cumsum(0)
    assert total.tolist() == [1, 2, 3]


def test_a_wrong_table_is_refused(tmp_path: pathlib.Path) -> None:
    dist = pathlib.Path(os.environ["DIPU_VENDOR_LIBRARY"]).absolute().parent
    for file in dist.iterdir():
        (tmp_path / file.name).symlink_to(file.resolve())
    table = tmp_path / "diopi_nondeterministic.tsv"
    table.unlink()
    table.write_text("diopiCumsum\tsometimes\twhy\n")
    library = tmp_path / "libdipu_droplet.so"
    done = subprocess.run(
        [sys.executable, "-c", "import torch_dipu"],
        env={**os.environ, "DIPU_VENDOR_LIBRARY": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"{table}:1: types are 'any' or 'floating'" in done.stderr
