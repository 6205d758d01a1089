# SPDX-License-Identifier: Apache-2.0
"""The vendors: where they are, what they are, and whether their devices work."""

from __future__ import annotations

import dataclasses
import difflib
import importlib.metadata
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch_dipu import _env, _vendors
from torch_dipu._doctor import files, libraries, package
from torch_dipu._doctor.process import Outcome, Runner
from torch_dipu._doctor.report import Section, advice
from torch_dipu._vendors import Candidate, Probe

_SHOWN = 5
_CHOOSE = f"choose another vendor with {_env.DEVICE.name}"
_DRIVER = (
    "Check with the vendor's own tools that the driver runs and that this user, or "
    f"this container, may use the device; or {_CHOOSE}"
)


@dataclasses.dataclass
class Vendor:
    """A vendor that could be loaded, and what was seen of it."""

    candidate: Candidate
    distributions: list[importlib.metadata.Distribution]
    outcome: Outcome | None = None

    @property
    def name(self) -> str:
        """As DIPU_DEVICE names it, or as the library does."""
        file = os.path.basename(self.candidate.path)
        return self.candidate.name or str(self.library.get("name", file))

    @property
    def library(self) -> Mapping[str, Any]:
        return self._results.get("library", {})

    @property
    def unseen(self) -> bool:
        """Whether nothing is known of a library that is there."""
        return self.outcome is None and not self.candidate.error

    @property
    def _results(self) -> Mapping[str, Any]:
        return self.outcome.results if self.outcome else {}

    def probe(self) -> Probe:
        """What choosing a vendor asks."""
        started = self._results.get("started", {})
        devices = int(started.get("devices", 0))
        return Probe(self.candidate, dict(self.library), devices, self.candidate.error)


def find(runner: Runner, loads: bool) -> list[Vendor]:
    """Looks at all vendors that the environment offers, sorted by name.

    Args:
        runner: Does it in processes of its own.
        loads: Whether torch_dipu loads, without which no library is opened.
    """
    candidates = []
    distributions: dict[str, list[importlib.metadata.Distribution]] = {}
    for index, point in enumerate(_vendors.entry_points()):
        if point.dist:
            distributions.setdefault(point.name, []).append(point.dist)
        outcome = runner.run("entry_point", str(index))
        if "candidate" in outcome.results:
            candidate = Candidate(**outcome.results["candidate"])
        else:
            why = outcome.error or f"the process {outcome.death}"
            error = f"its entry point {point.value} failed: {why}"
            candidate = Candidate(point.name, "", _vendors.source_of(point), error)
        candidates.append(candidate)
    found = [
        Vendor(candidate, distributions.get(candidate.name, []))
        for candidate in _vendors.merged(candidates)
    ]
    if library := _vendors.named_library():
        found.insert(0, Vendor(library, []))
    for vendor in found:
        if loads and vendor.candidate.path:
            vendor.outcome = runner.run("vendor", vendor.candidate.path)
    return found


def choose(section: Section, vendors: Sequence[Vendor]) -> Vendor | None:
    """Says which vendor a program gets, and why it gets none."""
    by_name = {vendor.candidate.name: vendor for vendor in vendors}
    installed = [vendor.candidate for vendor in vendors if vendor.candidate.name]
    asked = _env.DEVICE.text()
    try:
        chosen = _vendors.choose(
            installed, lambda candidate: by_name[candidate.name].probe()
        )
    except _vendors.VendorError as e:
        named = by_name.get(asked or _vendors.DEFAULT_VENDOR)
        if named and named.candidate.error:
            return named  # its own section says what is wrong
        near = difflib.get_close_matches(asked, by_name, n=1)
        one = near[0] if near else "the one to use"
        cause = str(e).partition("; set")[0]
        section.find("choice", cause, f"Set {_env.DEVICE.name} to {one}")
        return None
    if chosen is not None:
        section.facts["vendor"] = _why_chosen(by_name[chosen.name])
        return by_name[chosen.name]
    if any(vendor.unseen for vendor in vendors):
        section.notes.append("not known, because torch_dipu itself does not load")
        return None
    names = ", ".join(candidate.name for candidate in installed)
    section.find(
        "choice",
        f"no installed vendor has a device: {names}" if names else "no vendor at all",
        "Install one: pip install torch_dipu_<vendor>, such as torch_dipu_droplet",
    )
    return None


def _why_chosen(vendor: Vendor) -> str:
    """Why this vendor is the one that a program gets."""
    for var in (_env.VENDOR_LIBRARY, _env.DEVICE):
        if var.text():
            return f"{vendor.name}, named by {var.name}"
    if vendor.name == _vendors.DEFAULT_VENDOR:
        return f"{vendor.name}, the default where no other has a device"
    return f"{vendor.name}, the only one with a device that is not simulated"


def check(section: Section, vendor: Vendor, runner: Runner, chosen: bool) -> None:
    """Says what was seen of a vendor."""
    candidate = vendor.candidate
    section.data["chosen"] = chosen
    section.facts["from"] = candidate.source
    if candidate.path:
        section.facts["library"] = candidate.path
    for distribution in vendor.distributions:
        files.check(section, distribution, hashes=True)
    if candidate.error:
        cause, _, cure = candidate.error.rpartition("; uninstall ")
        uninstall = f"Uninstall {cure}" if cause else ""
        cure = uninstall or "Install its package anew, or uninstall it"
        section.find("vendor.entry_point", cause or candidate.error, cure)
    elif vendor.outcome is None:
        section.notes.append("not opened, because torch_dipu itself does not load")
    else:
        _check_library(section, vendor.outcome, runner)
        _check_operators(section, vendor.outcome, runner, chosen)
        _check_devices(section, vendor.outcome, chosen)
        _check_end(section, vendor.outcome)


def _lacking(path: str, runner: Runner) -> list[str]:
    provided = package.torch_libraries()
    return libraries.details(libraries.missing(path, runner.environ, provided))


def _check_library(section: Section, outcome: Outcome, runner: Runner) -> None:
    library = outcome.results.get("library")
    if library is not None:
        sdk = f", SDK {library['sdk_version']}" if library["sdk_version"] else ""
        simulated = ", simulated" if library["simulated"] else ""
        section.facts["version"] = f"{library['version']}{sdk}{simulated}"
        section.facts["contract"] = library["abi"]
        section.notes += library["notes"]
    elif outcome.error:
        path = section.facts["library"]
        section.find("vendor.library", *advice(outcome.error), _lacking(path, runner))


def _names(functions: Mapping[str, str], state: str) -> str:
    names = sorted(name for name, its_state in functions.items() if its_state == state)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _check_operators(
    section: Section, outcome: Outcome, runner: Runner, chosen: bool
) -> None:
    if error := outcome.results.get("operators_error"):
        path = outcome.results["library"]["operator_library"]
        if path or chosen:
            lacking = _lacking(path, runner) if path else []
            section.find("vendor.operators", *advice(error), lacking)
        else:
            section.notes.append("no operators: all of them would run on the CPU")
    operators = outcome.results.get("operators")
    if operators is None:
        return
    functions = operators["functions"]
    states = Counter(functions.values())
    section.facts["operators"] = operators["file"]
    declared = "declared" if operators["revision_is_declared"] else "assumed"
    section.facts["signatures"] = f"revision {operators['revision']}, {declared}"
    section.facts["functions"] = ", ".join(
        f"{count} {state}" for state, count in sorted(states.items())
    )
    section.data["functions"] = functions
    for state in ("disabled", "mangled", "refused"):
        if states[state]:
            section.facts[state] = _names(functions, state)
    for warning in operators["warnings"]:
        section.find("vendor.functions", *advice(warning))
    if not states["found"]:
        cause = f"{operators['file']} offers none of the functions of DIOPI"
        cure = "Install a release of the vendor's package that has operators"
        section.find("vendor.functions", cause, cure)


def _check_devices(section: Section, outcome: Outcome, chosen: bool) -> None:
    started = outcome.results.get("started")
    if started is None:
        return
    section.facts["devices"] = str(started["devices"])
    if started["error"].endswith("found no device") and not chosen:
        section.notes.append(started["error"])
    elif started["error"]:
        section.find("vendor.devices", started["error"], _DRIVER)
    has_operators = "operators" in outcome.results
    for index in range(started["devices"]):
        name = f"dipu:{index}"
        if seen := outcome.results.get(name):
            memory = f"{seen['memory'] / 2**30:.2f} GiB"
            section.facts[name] = f"{seen['name']}, {memory}: {_verdict(seen)}"
            _check_use(section, name, seen, has_operators)


def _verdict(seen: Mapping[str, Any]) -> str:
    if seen["copy"]:
        return "does not copy"
    return "copies, does not compute" if seen["kernel"] else "copies and computes"


def _check_use(
    section: Section, name: str, seen: Mapping[str, Any], has_operators: bool
) -> None:
    if seen["copy"]:
        cause = f"a copy to {name} and back failed: {seen['copy']}"
        section.find("device.copy", cause, _DRIVER)
    elif seen["kernel"]:
        cause = f"a sum on {name} failed: {seen['kernel']}"
        section.find("device.kernel", cause, _DRIVER)
    elif seen["on_cpu"] and has_operators:
        cause = f"a sum of tensors on {name} was computed on the CPU"
        cure = "Install a release of the vendor's package that has diopiAdd"
        section.find("device.kernel", cause, cure)


def _check_end(section: Section, outcome: Outcome) -> None:
    """Says how the examination ended where nothing else does."""
    if outcome.death:
        hung = outcome.death.startswith("did not end")
        more_time = "give it more time with --timeout; or " if hung else ""
        section.find(
            "vendor.hang" if hung else "vendor.crash",
            f"the step '{outcome.step}' {outcome.death}"
            if hung
            else f"the process {outcome.death} in the step '{outcome.step}'",
            "Look into the kernel's log (dmesg) and report it to the vendor; "
            f"{more_time}{_CHOOSE}",
            outcome.lines,
        )
    elif outcome.error and "library" in outcome.results:
        cause = f"the step '{outcome.step}' failed: {outcome.error}"
        section.find("vendor.use", cause, _DRIVER)


def unmatched(vendor: Vendor | None) -> Iterable[str]:
    """What the chosen vendor said of patterns in the settings."""
    return (
        vendor.outcome.results.get("unmatched", []) if vendor and vendor.outcome else []
    )
