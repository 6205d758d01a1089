# SPDX-License-Identifier: Apache-2.0
"""Finds installed vendors and chooses one.

A vendor is a distribution with an entry point of group `torch_dipu.vendors`
whose value is a function that returns the path of the vendor library.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
from collections.abc import Callable, Iterable, Sequence

from torch_dipu import _env

GROUP = "torch_dipu.vendors"
DEFAULT_VENDOR = "droplet"


class VendorError(ImportError):
    """The requested vendor does not exist or cannot be loaded."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A vendor that could be loaded.

    Attributes:
        name: Name of its entry point, what DIPU_DEVICE names.
        path: Vendor library; empty when the entry point failed.
        source: Distribution and version, or the variable that named it.
        error: Why `path` is empty, else "".
    """

    name: str
    path: str
    source: str
    error: str = ""


@dataclasses.dataclass(frozen=True)
class Probe:
    """What opening a candidate showed.

    Attributes:
        candidate: The candidate.
        info: Facts from the library (version, abi, simulated, ...).
        devices: Usable devices; 0 when `error` is set.
        error: Why the library or its devices cannot be used, else "".
    """

    candidate: Candidate
    info: dict[str, object]
    devices: int
    error: str

    @property
    def real(self) -> bool:
        """True for a vendor with at least one device that is not simulated."""
        return self.devices > 0 and not self.info.get("simulated", False)


def names() -> set[str]:
    """Names of the vendors of this Python environment; runs nothing of theirs."""
    return importlib.metadata.entry_points(group=GROUP).names


def entry_points() -> list[importlib.metadata.EntryPoint]:
    """The entry points of the vendors; runs nothing of theirs."""
    return list(importlib.metadata.entry_points(group=GROUP))


def source_of(point: importlib.metadata.EntryPoint) -> str:
    """The distribution that an entry point is of, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def candidate_of(point: importlib.metadata.EntryPoint) -> Candidate:
    """Asks an entry point where its vendor library is. Never raises an Exception."""
    try:
        return Candidate(point.name, os.fspath(point.load()()), source_of(point))
    except Exception as e:  # a broken vendor must not hide the others
        error = f"its entry point {point.value} failed: {type(e).__name__}: {e}"
        return Candidate(point.name, "", source_of(point), error)


def merged(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates sorted by name, one for each."""
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        other = found.get(candidate.name)
        found[candidate.name] = _clash(other, candidate) if other else candidate
    return sorted(found.values(), key=lambda c: c.name)


def installed() -> list[Candidate]:
    """Lists the vendors of this Python environment, sorted by name."""
    return merged(map(candidate_of, entry_points()))


def _clash(first: Candidate, second: Candidate) -> Candidate:
    """Two packages that offer a vendor of one name: neither can be meant."""
    sources = " and ".join(
        f"{c.source} ({c.path})" if c.path else c.source for c in (first, second)
    )
    error = f"two packages offer it, {sources}; uninstall all but one of them"
    return Candidate(first.name, "", sources, error)


def probe(candidate: Candidate) -> Probe:
    """Opens a candidate and counts its devices. Never raises."""
    if candidate.error:
        return Probe(candidate, {}, 0, candidate.error)
    # Here, because the rest of this module serves where the binding does not load.
    from torch_dipu import _C

    try:
        info = _C._probe_vendor(candidate.path)
    except RuntimeError as e:
        return Probe(candidate, {}, 0, str(e))
    error = str(info.pop("error"))
    devices = int(info.pop("devices"))
    return Probe(candidate, info, devices, error)


def _listing(candidates: Sequence[Candidate]) -> str:
    if not candidates:
        return "none is installed; install torch_dipu_<vendor>, e.g. torch_dipu_droplet"
    return "installed: " + ", ".join(c.name for c in candidates)


def _usable(candidate: Candidate) -> Candidate:
    """Returns the candidate.

    Raises:
        VendorError: Its entry point failed, or it is not the only one.
    """
    if candidate.error:
        raise VendorError(f"vendor {candidate.name!r}: {candidate.error}")
    return candidate


def _only_real(
    candidates: Sequence[Candidate], look: Callable[[Candidate], Probe]
) -> Candidate | None:
    """The vendor to take when the user named none."""
    others = [c for c in candidates if c.name != DEFAULT_VENDOR]
    real = [p.candidate for p in map(look, others) if p.real]
    if len(real) > 1:
        names = ", ".join(c.name for c in real)
        raise VendorError(
            f"several vendors have devices here ({names}); "
            f"set {_env.DEVICE.name} to the one to use"
        )
    if real:
        return real[0]
    return next((_usable(c) for c in candidates if c.name == DEFAULT_VENDOR), None)


def named_library() -> Candidate | None:
    """The vendor library that the environment names by its path, if it does."""
    path = _env.VENDOR_LIBRARY.text()
    if not path:
        return None
    absolute = os.path.abspath(os.path.expanduser(path))
    return Candidate("", absolute, _env.VENDOR_LIBRARY.name)


def choose(
    candidates: Sequence[Candidate] | None = None,
    look: Callable[[Candidate], Probe] | None = None,
) -> Candidate | None:
    """The vendor to load, None when there is nothing to load.

    Args:
        candidates: The installed vendors; by default they are looked up.
        look: What opens one of them; `probe` by default.

    Raises:
        VendorError: The environment names a vendor that is not there, or more
            than one vendor qualifies.
    """
    if library := named_library():
        return library
    name = _env.DEVICE.text()
    if candidates is None:
        candidates = installed()
    if not name:
        return _only_real(candidates, look or probe)
    for candidate in candidates:
        if candidate.name == name:
            return _usable(candidate)
    raise VendorError(
        f"{_env.DEVICE.name}={name!r}: there is no such vendor; {_listing(candidates)}"
    )
