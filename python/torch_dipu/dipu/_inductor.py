# SPDX-License-Identifier: Apache-2.0
"""What torch.compile's default backend finds when it asks for a code generator.

TorchInductor takes the generators of a device from the device module when it
first compiles something. The device has none; without this answer a program would
end in a KeyError that does not say so.
"""

from __future__ import annotations

from typing import Any, NoReturn

# The attributes of the device module that TorchInductor asks for.
NAMES = frozenset(
    {
        "CppWrapperCodegen",
        "PythonWrapperCodegen",
        "Scheduling",
        "WrapperFxCodegen",
    }
)


def _refuse() -> NoReturn:
    raise NotImplementedError(
        "torch.compile's default backend, inductor, generates no code for dipu; use "
        'torch.compile(..., backend="aot_eager"), or backend="eager"'
    )


class _Refusing(type):
    @property
    def supports_caching(cls) -> bool:
        """Read before a graph with tensors of the device is compiled."""
        _refuse()


class NoCodeGenerator(metaclass=_Refusing):
    """Stands for each generator of the device, and refuses to make one.

    It is a class because TorchInductor asks which class it derives from.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse()
