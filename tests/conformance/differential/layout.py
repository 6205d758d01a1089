# SPDX-License-Identifier: Apache-2.0
"""Copies arguments to a device with everything that a kernel could notice.

Sizes, strides, offsets, and which tensors share memory stay as they are, so a
sample made on the CPU is the same case on the device.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

_WIDE = {
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}


class Relocation:
    """Copies trees of arguments to one device; one object per call.

    Tensors that share memory share it in the copy. Modules are copied with their
    parameters. Devices and generators among the arguments become the device's.

    Args:
        device: Where to.
        wide: Whether floating point numbers become float64, and dtypes among the
            arguments too.
    """

    def __init__(self, device: str, wide: bool = False) -> None:
        self._device = device
        self._wide = wide
        self._storages: dict[tuple[int, torch.dtype], torch.Tensor] = {}
        self._copies: dict[int, Any] = {}

    def __call__(self, tree: Any) -> Any:
        return pytree.tree_map(self._leaf, tree)

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor | nn.Module):
            if id(leaf) not in self._copies:
                self._copies[id(leaf)] = self._copy(leaf)
            return self._copies[id(leaf)]
        if isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf == "cpu"):
            return type(leaf)(self._device)
        if isinstance(leaf, torch.Generator):
            return torch.Generator(self._device).manual_seed(leaf.initial_seed())
        return self._dtype(leaf) if isinstance(leaf, torch.dtype) else leaf

    def _dtype(self, dtype: torch.dtype) -> torch.dtype:
        if not self._wide:
            return dtype
        return torch.float64 if dtype.is_floating_point else _WIDE.get(dtype, dtype)

    def _copy(self, value: torch.Tensor | nn.Module) -> torch.Tensor | nn.Module:
        if isinstance(value, nn.Module):
            module = copy.deepcopy(value).to(self._device)
            return module.double() if self._wide else module
        bare = value.detach()
        if bare.layout != torch.strided:
            moved = bare.to(self._device, copy=True)
        elif bare.is_conj():
            moved = self._strided(bare.conj()).conj()
        elif bare.is_neg():
            moved = torch._neg_view(self._strided(torch._neg_view(bare)))
        else:
            moved = self._strided(bare)
        if isinstance(value, nn.Parameter):
            return nn.Parameter(moved, value.requires_grad)
        return moved.requires_grad_(value.requires_grad)

    def _strided(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        key = storage.data_ptr(), tensor.dtype
        if not storage.nbytes() or key not in self._storages:
            flat = torch.empty(0, dtype=tensor.dtype).set_(storage)
            dtype = self._dtype(flat.dtype)
            self._storages[key] = flat.to(self._device, dtype, copy=True)
        return torch.as_strided(
            self._storages[key],
            tensor.size(),
            tensor.stride(),
            tensor.storage_offset(),
        )


def tensors_of(tree: Any) -> list[torch.Tensor]:
    """Every tensor in a tree, those of modules included."""
    found: list[torch.Tensor] = []
    for leaf in pytree.tree_leaves(tree):
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        elif isinstance(leaf, nn.Module):
            found += [*leaf.parameters(), *leaf.buffers()]
    return found


def leaves_of(tree: Any) -> list[Any]:
    """Every leaf of a tree, each module replaced by its tensors."""
    found: list[Any] = []
    for leaf in pytree.tree_leaves(tree):
        found += tensors_of(leaf) if isinstance(leaf, nn.Module) else [leaf]
    return found
