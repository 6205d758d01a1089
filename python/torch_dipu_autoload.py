# SPDX-License-Identifier: Apache-2.0
"""Entry point of group `torch.backends`: loads torch_dipu with `import torch`.

It is a module of its own because importing any submodule of torch_dipu imports
torch_dipu itself, and an exception there would make `import torch` fail.
"""

from __future__ import annotations

import sys
import warnings


class ToolSettingError(ValueError):
    """A setting of a debug tool is wrong: the device works without that tool."""


def autoload() -> None:
    """Imports torch_dipu. Warns instead of raising: PyTorch stays usable."""
    if "torch_dipu" in sys.modules:  # it is what imports torch right now
        return
    try:
        import torch_dipu  # noqa: F401
    except ToolSettingError as e:
        warnings.warn(f"{e}. It has no effect.", RuntimeWarning, stacklevel=2)
    except Exception as e:
        warnings.warn(
            f"the dipu device is not available: {e}\n"
            "`python -m torch_dipu doctor` says what is wrong and what to do; "
            "TORCH_DEVICE_BACKEND_AUTOLOAD=0 stops loading it with torch.",
            RuntimeWarning,
            stacklevel=2,
        )
