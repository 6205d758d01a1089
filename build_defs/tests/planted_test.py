# SPDX-License-Identifier: Apache-2.0
"""The checks of a vendor package find what is planted, and nothing else."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path("build_defs/tests")
CHECKS = "build_defs/vendor_exports_test.py"

# What is planted -> the checks that find it.
FOUND_BY = {
    "nothing": set(),
    "c_export": {"plugin_exports_only_the_entry_point"},
    "cxx_export": {"plugin_exports_only_the_entry_point"},
    "unique_export": {"plugin_exports_only_the_entry_point"},
    "torch_symbol": {"plugin_leaves_nothing_undefined"},
    "python_symbol": {"plugin_takes_nothing_from_the_process"},
    "torch_library": {"needs_only_the_system_and_its_neighbours"},
    "absolute_path": {"looks_for_libraries_beside_itself_only"},
    "other_name": {"is_found_by_its_own_name"},
}


def run_checks(plugin: pathlib.Path, *beside: pathlib.Path) -> set[str]:
    """Runs the checks as a vendor package does; returns those that fail."""
    env = dict(os.environ)
    env["DIPU_PLUGIN"] = str(plugin)
    env["DIPU_DIST"] = " ".join(str(path) for path in (plugin, *beside))
    env["DIPU_OPERATORS"] = ""
    env["DIPU_MANYLINUX_TAG"] = "manylinux_2_99_x86_64"
    env["PYTHONPATH"] = os.getcwd()
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rf", CHECKS]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return set(re.findall(r"^FAILED .*::test_(\w+)", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("planted", FOUND_BY)
def test_finds_what_is_planted(planted: str) -> None:
    beside = [FOLDER / "libtorch_cpu.so"] if planted == "torch_library" else []
    found = run_checks(FOLDER / f"libplanted_{planted}.so", *beside)
    assert found == FOUND_BY[planted]
