# SPDX-License-Identifier: Apache-2.0
"""The Python package itself, and the PyTorch beside it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys

import torch_dipu
from torch_dipu._command import PACKAGE
from torch_dipu._doctor import files, libraries
from torch_dipu._doctor.process import Outcome, Runner
from torch_dipu._doctor.report import Section
from torch_dipu._doctor.tasks import release_of
from torch_dipu._version import TORCH

FOLDER = os.path.dirname(os.path.abspath(torch_dipu.__file__))
_TORCH_CURE = f"Install PyTorch anew: pip install --force-reinstall 'torch=={TORCH}.*'"
_OWN_CURE = "Install it anew: pip install --force-reinstall --no-deps torch_dipu"


def _distribution(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def check(section: Section, host: Outcome) -> None:
    """Looks at torch_dipu without running any of it, and says what `host` saw."""
    section.facts["folder"] = FOLDER
    section.facts["Python"] = f"{platform.python_version()}, {sys.executable}"
    if "abi" in host.results:
        section.facts["contract"] = host.results["abi"]
        section.facts["signatures"] = f"up to revision {host.results['revision']}"
    if importlib.util.find_spec("rich") is None:
        cause = "the package rich, which torch_dipu needs, is not installed"
        section.find("package.rich", cause, "Install it: pip install rich")
    distribution = _distribution(PACKAGE)
    if distribution is None:
        section.notes.append("not installed by pip: this is a source tree")
        return
    installed = os.path.dirname(str(distribution.locate_file(f"{PACKAGE}/__init__.py")))
    if not os.path.isdir(installed) or os.path.samefile(installed, FOLDER):
        files.check(section, distribution, hashes=True)
        return
    cause = f"{FOLDER} hides the installed {PACKAGE} in {installed}"
    parent = os.path.dirname(FOLDER)
    cure = f"Start Python in another folder, or take {parent} out of PYTHONPATH"
    section.find("package.hidden", cause, f"{cure}; or uninstall the other one")


def _libraries_beside(module: str) -> list[str]:
    """Shared libraries that a package brings, by name."""
    spec = importlib.util.find_spec(module)
    folders = spec.submodule_search_locations if spec else None
    names: list[str] = []
    for folder in folders or []:
        library_folder = os.path.join(folder, "lib")
        if os.path.isdir(library_folder):
            names += os.listdir(library_folder)
    return names


def torch_libraries() -> list[str]:
    """Libraries that are in the process once torch is."""
    return _libraries_beside("torch")


def _lacking(step: str, runner: Runner) -> list[str]:
    """What the binding that failed at `step` lacks, as lines."""
    if step != "import torch":
        own = os.path.join(FOLDER, "_C.so")
        lacking = libraries.missing(own, runner.environ, torch_libraries())
        return libraries.details(lacking)
    spec = importlib.util.find_spec("torch")
    for folder in (spec.submodule_search_locations if spec else None) or []:
        for name in sorted(os.listdir(folder)):
            if name.startswith("_C.") and name.endswith(".so"):
                path = os.path.join(folder, name)
                return libraries.details(libraries.missing(path, runner.environ))
    return []


def check_torch(section: Section, host: Outcome, runner: Runner) -> None:
    """Says what the task `host` saw."""
    if distribution := _distribution("torch"):
        files.check(section, distribution, hashes=False)
    seen = host.results.get("torch")
    if seen is not None:
        section.facts["folder"] = seen["folder"]
        section.facts["version"] = seen["version"]
    section.facts["needed"] = f"{TORCH}.*"
    if importlib.util.find_spec("torch") is None:
        cure = f"Install it: pip install 'torch=={TORCH}.*'"
        section.find("torch.missing", "PyTorch is not installed", cure)
    elif seen is not None and release_of(seen["version"]) != TORCH:
        cause = f"torch_dipu was built for torch {TORCH}, this is {seen['version']}"
        cure = f"pip install 'torch=={TORCH}.*', or install the torch_dipu for this one"
        section.find("torch.version", cause, cure)
    elif host.death or host.error:
        own = host.step != "import torch"
        section.find(
            "package.import" if own else "torch.import",
            f"{host.step} failed: {host.error or 'the process ' + host.death}",
            _OWN_CURE if own else _TORCH_CURE,
            [*_lacking(host.step, runner), *host.lines],
        )
    if seen is not None and seen["cuda"]:
        section.notes.append('built with CUDA: say device="dipu" instead of .cuda()')
