# SPDX-License-Identifier: Apache-2.0
"""What happens once at import: name the device, choose and load a vendor."""

from __future__ import annotations

import atexit
import os
import warnings
from typing import Any

import torch
from torch_dipu_autoload import ToolSettingError

from torch_dipu import (
    _C,
    _cuda_lookalike,
    _env,
    _environ,
    _fallbacks,
    _forced,
    _vendors,
)
from torch_dipu._command import PACKAGE
from torch_dipu.debug import autocompare, dumping, launches, sanitizing
from torch_dipu.distributed import _registration

DEVICE_NAME = "dipu"
RUNTIME_LIBRARY = os.path.join(os.path.dirname(_C.__file__), "libdipu_diopi_rt.so")

# Why a load that was not strict failed, else "".
_failure = ""


def _name_device() -> None:
    """Gives PyTorch's free device slot our name, methods and module."""
    from torch_dipu import dipu

    if hasattr(torch, DEVICE_NAME):  # by an import that failed afterwards
        return
    torch.utils.rename_privateuse1_backend(DEVICE_NAME)
    torch._register_device_module(DEVICE_NAME, dipu)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    _C._require_initialization()


def _open_vendor(path: str) -> None:
    _C._load_vendor(
        path,
        RUNTIME_LIBRARY,
        _env.CONVERSIONS.text(),
        _env.CHECK_CONVERSIONS.flag(),
    )


def _load_vendor() -> None:
    """Loads the chosen vendor.

    Raises:
        VendorError: The user named a vendor that is missing or does not load.
            A vendor that was taken by default only warns.
    """
    candidate = _vendors.choose()
    if candidate is None:
        return
    named = bool(_env.DEVICE.text() or _env.VENDOR_LIBRARY.text())
    try:
        _open_vendor(candidate.path)
    except RuntimeError as e:
        message = f"vendor {candidate.name or candidate.path!r}: {e}"
        if named:
            raise _vendors.VendorError(message) from None
        _C._explain_missing_vendor(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _apply_settings() -> None:
    """Reads the settings that hold from the start, before any has an effect.

    Raises:
        ValueError: A variable has a value that it must not have.
    """
    exit_wait = _env.EXIT_WAIT_S.seconds()
    _fallbacks.check_environment()
    count_native = _env.COUNT_NATIVE.flag()
    _env.MOCK_CUDA.flag()
    _env.AUTOGRAD_THREADS.flag()
    _env.CHECK_CONVERSIONS.flag()
    _C._set_native_counting(count_native)
    # Waits for the work that is still enqueued. An import that failed may have
    # asked for it before.
    atexit.unregister(_C._shutdown)
    atexit.register(_C._shutdown, exit_wait)
    # Before that, because watchdogs ask the device for events.
    atexit.unregister(_C._stop_process_groups)
    atexit.register(_C._stop_process_groups)


_TOOLS = (
    (_forced.read_environment, (_env.FORCE_FALLBACK,)),
    (
        dumping.read_environment,
        (_env.DUMP_OP_ARGS, _env.DUMP_OPS, _env.DUMP_DIRECTORY, _env.DUMP_LIMIT),
    ),
    (
        autocompare.read_environment,
        (
            _env.AUTOCOMPARE,
            _env.AUTOCOMPARE_PRINT,
            _env.AUTOCOMPARE_LOG,
            _env.AUTOCOMPARE_SAVE,
            _env.AUTOCOMPARE_EVERY,
            _env.AUTOCOMPARE_TOLERANCES,
            _env.AUTOCOMPARE_WITH,
        ),
    ),
    (launches.read_environment, (_env.LAUNCH_BLOCKING, _env.TRACE_LAUNCHES)),
    (sanitizing.read_environment, (_env.SANITIZE_STREAMS,)),
)


def _start_tools() -> None:
    """Switches on the debug tools that the environment asks for.

    Raises:
        ToolSettingError: Variables have values that they must not have. Their tools
            are off, all others are on.
    """
    _fallbacks.start()
    mistakes = []
    for read, variables in _TOOLS:
        try:
            read()
        except ValueError as e:
            mistakes.append(str(e))
        for variable in variables:
            _environ.watch(variable.name, read)
    if mistakes:
        raise ToolSettingError("; ".join(mistakes))


def _warn_of_unknown_settings() -> None:
    """Names variables that look like ours and have no effect."""
    if not _env.unknown(()):
        return  # looking for vendors takes longer than all the rest
    vendors = _vendors.names()
    if info := _C._vendor_info():
        vendors.add(str(info["name"]))
    for name, near in _env.unknown(vendors).items():
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        warnings.warn(
            f"{name} is set, but there is no such setting; {meant}"
            f"`python -m {PACKAGE} env` lists all",
            RuntimeWarning,
            stacklevel=2,
        )


def load(strict: bool = True) -> None:
    """Called by the package's import, once.

    Args:
        strict: Raises when a setting is wrong, or the vendor that the user named
            cannot be loaded; otherwise the device, or the debug tool that the
            setting is for, is merely unavailable, and `failure()` says why.
    """
    global _failure
    _name_device()
    try:
        _apply_settings()
        _load_vendor()
        is_cuda = _env.MOCK_CUDA.flag() and torch.version.cuda is None
        if is_cuda:
            _cuda_lookalike.install()
        _registration.install(is_cuda)
        _start_tools()
    except ToolSettingError as e:
        if strict:
            raise
        _failure = str(e)
    except (ValueError, _vendors.VendorError) as e:
        _C._explain_missing_vendor(str(e))  # later uses of the device say why
        if strict:
            raise
        _failure = str(e)
    finally:
        _warn_of_unknown_settings()


def check_settings() -> None:
    """Does with the settings what `load` does, without a vendor.

    Raises:
        ValueError: One of them is refused.
    """
    _apply_settings()
    _start_tools()


def load_library(path: str) -> None:
    """Loads the vendor library at `path`, whatever the settings name.

    Raises:
        RuntimeError: It cannot serve.
    """
    _name_device()
    _open_vendor(path)


def failure() -> str:
    """Why a load that was not strict failed; empty if it did not."""
    return _failure


def vendor_info() -> dict[str, Any]:
    """Facts about the loaded vendor: name, version, abi, file, simulated, ...

    Empty when no vendor is loaded.
    """
    return dict(_C._vendor_info())
