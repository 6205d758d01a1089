# SPDX-License-Identifier: Apache-2.0
"""What operators promise of their results, where that is not "these numbers".

The keys are names of operators without their overload, "max" for max.dim.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from torch_dipu import _C
from torch_dipu.debug import comparing
from torch_dipu.debug.comparing import Difference
from torch_dipu.debug.tolerances import Tolerances

# Results that only the backward function of the same device reads.
_PRIVATE: Mapping[str, frozenset[str]] = {
    "_ctc_loss": frozenset({"out1"}),
    "_embedding_bag": frozenset({"out1", "out2", "out3"}),
    "_embedding_bag_forward_only": frozenset({"out1", "out2", "out3"}),
}
# Further results have no elements on the CPU when nobody has asked for them.
_ON_REQUEST = frozenset(
    {
        "_native_batch_norm_legit",
        "_unique2",
        "native_batch_norm",
        "unique_consecutive",
        "unique_dim",
    }
)
# Results are left as they are unless these arguments, one for each, are true.
_WANTED: Mapping[str, tuple[str, ...]] = {
    "batch_norm_backward_reduce": ("input_g", "input_g", "weight_g", "bias_g"),
}
# The last result has positions, in the dimension `dim` of the first argument.
_POSITIONS = frozenset(
    {"argmax", "argmin", "kthvalue", "max", "median", "min", "mode", "nanmedian"}
)
# The same, each position once.
_ORDERS = frozenset({"sort", "topk"})
# The last result has positions in a plane of so many last dimensions.
_WINDOWS: Mapping[str, int] = {
    "adaptive_max_pool2d": 2,
    "adaptive_max_pool3d": 3,
    "max_pool2d_with_indices": 2,
    "max_pool3d_with_indices": 3,
}
# Of the gradients of input, weight and bias, as _SUMMED has them; each operator has
# another name for 1 / deviation.
_NORMALISED = (
    ("grad_out", "weight", "rstd", "save_invstd", "save_var"),
    ("grad_out",),
    ("grad_out",),
)
# Results are sums, which may be near zero, of products of a number from each of these
# arguments; for each result in their order. "count" is one by the number of summands.
_SUMMED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "_log_softmax_backward_data": (("grad_output",),),
    "_softmax_backward_data": (("grad_output",),),
    "addmm": (("mat1", "mat2"),),
    "addmv": (("mat", "vec"),),
    "baddbmm": (("batch1", "batch2"),),
    "batch_norm_backward": _NORMALISED,
    "bmm": (("self", "mat2"),),
    "convolution_backward_overrideable": ((), (), ("grad_output",)),
    "dot": (("self", "tensor"),),
    "mean": (("self", "count"),),
    "mm": (("self", "mat2"),),
    "native_batch_norm_backward": _NORMALISED,
    "native_group_norm_backward": _NORMALISED,
    "native_layer_norm_backward": _NORMALISED,
    "sum": (("self",),),
}


def _base(call: _C.Call) -> str:
    return call.name.split(".")[0]


def is_open(call: _C.Call, name: str, position: int, expected: Any) -> bool:
    """Whether a result may be anything.

    Args:
        call: That was computed.
        name: Of the result.
        position: Among the results.
        expected: What the CPU has there.
    """
    wanted = _WANTED.get(_base(call), ())
    for item in call.reference_arguments():
        if item.name == "output_mask" and position < len(item.value):
            return not item.value[position]
        if position < len(wanted) and item.name == wanted[position]:
            return not item.value
    if name in _PRIVATE.get(_base(call), ()):
        return True
    empty = isinstance(expected, torch.Tensor) and expected.numel() == 0
    return empty and name != "out" and _base(call) in _ON_REQUEST


def _largest(tensor: torch.Tensor) -> float:
    """The largest finite number, without its sign."""
    return float(tensor.abs().nan_to_num(nan=0.0, posinf=0.0).max())


def scales(call: _C.Call) -> tuple[float, ...]:
    """How large the numbers are whose sums the first results are; 0 means unknown."""
    summed = _SUMMED.get(_base(call))
    if summed is None:
        return ()
    arguments = {item.name: item.value for item in call.reference_arguments()}
    largest = {
        name: _largest(value)
        for name, value in arguments.items()
        if isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.numel()
    }
    if _base(call) == "mean":
        means = call.reference_results()[0].value.numel()
        largest["count"] = means / max(arguments["self"].numel(), 1)
    return tuple(
        math.prod(largest.get(name, 1.0) for name in names) if names else 0.0
        for names in summed
    )


def _pick(
    self: torch.Tensor, dim: int, positions: torch.Tensor, distinct: bool
) -> torch.Tensor | None:
    """What is at the positions; None when they are no positions."""
    if positions.dim() < self.dim():
        positions = positions.unsqueeze(dim)
    if positions.dim() != self.dim() or not positions.numel():
        return None
    if positions.min() < 0 or positions.max() >= self.shape[dim]:
        return None
    if distinct and not positions.sort(dim).values.diff(dim=dim).all():
        return None
    return self.gather(dim, positions)


def same_choice(call: _C.Call, actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether other positions than the CPU's are as right: of equal elements.

    Args:
        call: That was computed.
        actual: Last result of the device, on the CPU.
        expected: Last result of the CPU, of the same sizes.
    """
    base = _base(call)
    if base not in _POSITIONS | _ORDERS | _WINDOWS.keys():
        return False
    arguments = {item.name: item.value for item in call.reference_arguments()}
    self, dim = arguments["self"], arguments.get("dim", -1)
    if arguments.get("stable") or actual.dtype != torch.int64:
        return False
    if base in _WINDOWS:
        first = -_WINDOWS[base]
        self, actual, expected = (t.flatten(first) for t in (self, actual, expected))
        dim = -1
    elif dim is None:
        self, actual, expected = (t.flatten() for t in (self, actual, expected))
        dim = 0
    if not self.dim():
        return False
    left, right = (_pick(self, dim, t, base in _ORDERS) for t in (actual, expected))
    if left is None or right is None:
        return False
    return bool(((left == right) | ((left != left) & (right != right))).all())


def keeps_scaled(
    call: _C.Call, results: Mapping[str, Any], tolerances: Tolerances
) -> list[Difference]:
    """What is wrong with a random operator whatever it has drawn: here dropout's scale.

    Args:
        call: That was computed.
        results: Of the device, on the CPU.
        tolerances: How far it may be off.
    """
    if _base(call) != "native_dropout":
        return []
    given = {item.name: item.value for item in call.reference_arguments()}
    p = given["p"] if given["train"] is not False else 0.0
    scaled = given["input"] * results["out1"] * (1 / (1 - p) if p < 1 else 0.0)
    actual = results["out"]
    tolerance = tolerances.of(call.name, actual.dtype)
    return [comparing.compare_tensors("out", actual, scaled, tolerance)]
