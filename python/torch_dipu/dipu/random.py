# SPDX-License-Identifier: Apache-2.0
"""Random state of the device: one Philox generator per device.

A state is 16 bytes: the seed and the offset, both little-endian uint64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch

from torch_dipu import _C
from torch_dipu.dipu._index import device_index as _device_index

Device = torch.types.Device

__all__ = [
    "default_generators",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


class _DefaultGenerators(Sequence[torch.Generator]):
    """The default generators, made when first asked for."""

    def __len__(self) -> int:
        return _C._device_count()

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return [_C._default_generator(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"dipu has {len(self)} generators, asked for {index}")
        return _C._default_generator(index % len(self))

    def __iter__(self) -> Iterator[torch.Generator]:
        return (_C._default_generator(i) for i in range(len(self)))


default_generators: Sequence[torch.Generator] = _DefaultGenerators()


def _generator(device: Device) -> torch.Generator:
    return default_generators[_device_index(device)]


def get_rng_state(device: Device = None) -> torch.Tensor:
    """State of the device's generator: a uint8 CPU tensor of 16 elements."""
    return _generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: Device = None) -> None:
    """Restores a state of get_rng_state."""
    _generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """States of all devices, by index."""
    return [g.get_state() for g in default_generators]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Restores states of get_rng_state_all."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device. Without a device it does nothing."""
    if len(default_generators):
        _generator(None).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds every device. `torch.manual_seed` calls it."""
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seeds the current device from the system's entropy."""
    if len(default_generators):
        _generator(None).seed()


def seed_all() -> None:
    """Seeds every device with one value from the system's entropy."""
    value: int | None = None
    for generator in default_generators:
        if value is None:
            value = generator.seed()
        else:
            generator.manual_seed(value)


def initial_seed() -> int:
    """Seed of the current device."""
    return _generator(None).initial_seed()
