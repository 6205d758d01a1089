# SPDX-License-Identifier: Apache-2.0
"""What counts as different, and that copies of arguments are the same case."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.conformance.differential.compare import Comparison, Mismatch, aliases
from tests.conformance.differential.entry import Tolerance
from tests.conformance.differential.layout import Relocation, tensors_of

NAN, INF = torch.nan, torch.inf


def tolerances(dtype: torch.dtype) -> Tolerance:
    return Tolerance(rtol=1e-3 if dtype.is_floating_point else 0, atol=1e-5)


compare = Comparison(tolerances).compare


def differ(actual: object, expected: object, match: str) -> None:
    with pytest.raises(Mismatch, match=match):
        compare(actual, expected)


def test_the_error_is_relative_above_one() -> None:
    expected = torch.tensor([1000.0, 0.0])
    error = compare(expected + torch.tensor([0.5, 0.0]), expected)
    assert error == pytest.approx(5e-4)


def test_wrong_values_are_located() -> None:
    expected = torch.zeros(2, 3)
    actual = expected.clone()
    actual[1, 2], actual[0, 0] = 0.5, 0.25
    differ(actual, expected, r"2 of 6 .* worst at \(1, 2\): 0.5, expected 0.0")


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_special_values_have_to_be_there(value: float) -> None:
    special = torch.tensor([1.0, value])
    assert compare(special.clone(), special) == 0.0
    differ(torch.tensor([1.0, 2.0]), special, "1 of 2")
    differ(special, torch.tensor([1.0, 2.0]), "1 of 2")


def test_infinities_have_a_sign() -> None:
    differ(torch.tensor([INF]), torch.tensor([-INF]), "1 of 1")


def test_integers_are_exact() -> None:
    big = torch.tensor([2**62])
    assert compare(big.clone(), big, tolerances) == 0.0
    differ(torch.tensor([3]), torch.tensor([4]), "1 of 1")


def test_forms_have_to_agree() -> None:
    x = torch.zeros(2, 3)
    differ(x.double(), x, "dtype")
    differ(x.view(3, 2), x, "shape")
    differ(x.t().contiguous().t(), x, "stride")
    differ([x, x], [x], "number of parts")
    differ(1.0, x, "a tensor")
    differ(2, 3, "expected 3")


def test_strides_of_single_elements_do_not_matter() -> None:
    x = torch.zeros(1, 3)
    compare(x.as_strided((1, 3), (7, 1)), x)


def test_open_values_still_have_a_form() -> None:
    x = torch.rand(3)
    form = Comparison(None)
    assert form.compare(x + 1, x) == 0.0
    with pytest.raises(Mismatch, match="shape"):
        form.compare(torch.rand(4), x)


def test_being_as_good_as_the_cpu_is_good_enough() -> None:
    exact = [torch.tensor([1.0, 2.0], dtype=torch.float64)]
    judge = Comparison(tolerances, exact=exact)
    cpu = torch.tensor([1.0, 2.1])
    assert judge.compare(torch.tensor([1.3, 1.7]), cpu) > 0.1
    with pytest.raises(Mismatch, match="1 of 2"):
        judge.compare(torch.tensor([1.5, 2.1]), cpu)


def test_the_device_is_checked() -> None:
    with pytest.raises(Mismatch, match="device is cpu, expected dipu"):
        Comparison(tolerances, device="dipu").compare(torch.ones(1), torch.ones(1))


def test_aliases_name_the_argument() -> None:
    x, y = torch.zeros(4), torch.zeros(4)
    assert aliases([y[1:], x + 1], (x, y)) == [[1], []]


def test_copies_keep_the_layout() -> None:
    base = torch.arange(24.0)
    view = base.as_strided((2, 3), (1, 4), 5)
    copied, whole = Relocation("cpu")((view, base))
    assert copied.stride() == view.stride()
    assert copied.storage_offset() == 5
    assert torch.equal(copied, view)
    copied.zero_()
    assert view.sum() != 0
    assert whole[5] == 0


def test_copies_keep_views_lazy() -> None:
    z = torch.randn(3, dtype=torch.complex64).conj()
    copied = Relocation("cpu")(z)
    assert copied.is_conj()
    assert torch.equal(copied, z)


def test_wide_copies_are_float64_throughout() -> None:
    x = torch.rand(2, 6)[:, ::2]
    copied, dtype, index = Relocation("cpu", wide=True)(
        (x, torch.float16, torch.ones(2, dtype=torch.int64))
    )
    assert copied.dtype == dtype == torch.float64
    assert copied.stride() == x.stride()
    assert index.dtype == torch.int64


def test_copies_require_gradients() -> None:
    leaf = torch.rand(2, 2, requires_grad=True)
    copied = Relocation("cpu")({"a": [leaf]})["a"][0]
    assert copied.is_leaf
    assert copied.requires_grad
    assert copied is not leaf


def test_modules_are_copied_with_their_tensors() -> None:
    module = nn.BatchNorm1d(3)
    copied = Relocation("cpu")([module])[0]
    assert copied.weight is not module.weight
    assert len(tensors_of(copied)) == 5
