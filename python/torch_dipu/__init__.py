# SPDX-License-Identifier: Apache-2.0
"""DIPU: runs PyTorch on any accelerator that has a vendor plug-in.

Importing this package, or just torch, loads the vendor that DIPU_DEVICE names
and makes it available as `torch.device("dipu")`, `torch.dipu` and
`torch.accelerator`.
"""

from __future__ import annotations

from torch_dipu import _command
from torch_dipu._version import __version__

__all__ = [
    "Fallback",
    "StreamOrderError",
    "Tolerance",
    "VendorError",
    "__version__",
    "autocompare",
    "capture_ops",
    "count_native_ops",
    "dump_op_args",
    "fallback_report",
    "fallbacks",
    "force_fallback",
    "op_counters",
    "ops_report",
    "reset_fallbacks",
    "sanitize_streams",
    "vendor_info",
]

if not _command.is_doctor():
    from torch_dipu import _load
    from torch_dipu._counters import count_native_ops, op_counters, ops_report
    from torch_dipu._fallbacks import (
        Fallback,
        fallback_report,
        fallbacks,
        reset_fallbacks,
    )
    from torch_dipu._forced import force_fallback
    from torch_dipu._vendors import VendorError
    from torch_dipu.debug.autocompare import autocompare
    from torch_dipu.debug.capturing import capture_ops
    from torch_dipu.debug.comparing import Tolerance
    from torch_dipu.debug.dumping import dump_op_args
    from torch_dipu.debug.races import StreamOrderError
    from torch_dipu.debug.sanitizing import sanitize_streams

    vendor_info = _load.vendor_info
    _load.load(strict=not _command.is_report())
