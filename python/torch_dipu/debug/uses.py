# SPDX-License-Identifier: Apache-2.0
"""What the calls that the stream sanitizer sees use: memory, streams and places."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import torch

from torch_dipu import _C
from torch_dipu._origin import NO_LINE
from torch_dipu.debug import comparing, describing
from torch_dipu.debug.ordering import Stream
from torch_dipu.debug.regions import Region, region_of
from torch_dipu.debug.shadow import Place, Use

HOST = -1
# An argument that copies write, though their schemas do not say so.
_WRITTEN = "dst"


def here() -> list[str]:
    """The Python lines that the calling thread is in, the innermost first."""
    lines = describing.user_stack()
    node = torch._C._current_autograd_node()
    if node is not None:  # a thread of autograd is in no line
        lines = lines or [NO_LINE]
        lines[0] += f" (backward of {node.name()})"
    # Names of files need not be text.
    return [line.encode(errors="backslashreplace").decode() for line in lines]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An argument or result in memory of a device, or in pinned memory."""

    name: str
    text: str
    device: int
    base: int
    size: int
    region: Region
    writes: bool


def _tensor(name: str, value: object, writes: bool) -> Tensor | None:
    """None for what lies nowhere: numbers, and tensors without elements."""
    if not isinstance(value, torch.Tensor) or value.device.type not in ("dipu", "cpu"):
        return None
    on_host = value.device.type == "cpu"
    if value.layout != torch.strided or (on_host and value.numel() == 0):
        return None
    base, size, address = _C._memory_of(value)
    region = region_of(address, value.itemsize, value.shape, value.stride())
    if region is None:
        return None
    dtype = str(value.dtype).removeprefix("torch.")
    text = f"{name}: {dtype}{list(value.shape)}"
    device = HOST if on_host else value.device.index
    return Tensor(name, text, device, base, size, region, writes)


def tensors_of(values: list[_C.Value]) -> list[Tensor]:
    found = [
        _tensor(name, value, item.written or item.name == _WRITTEN)
        for item in values
        for name, value in comparing.flatten(item.name or "result", item.value)
    ]
    return [tensor for tensor in found if tensor is not None]


class Used(NamedTuple):
    """A use of memory of a device, and the storage that it is part of."""

    use: Use
    device: int
    base: int
    size: int


@dataclasses.dataclass
class Begun:
    """A call that a thread is in."""

    call: _C.Call
    place: Place
    streams: dict[int, Stream]
    tensors: list[Tensor]
    uses: list[Used] = dataclasses.field(default_factory=list)

    def stream_of(self, device: int) -> Stream:
        if device not in self.streams:
            current = torch.accelerator.current_stream(device)
            self.streams[device] = (device, current.stream_id)
        return self.streams[device]

    def argument_at(self, device: int, address: int) -> Tensor | None:
        """Whose storage holds the address."""
        for tensor in self.tensors:
            inside = tensor.base <= address < tensor.base + tensor.size
            if tensor.device == device and inside:
                return tensor
        return None
