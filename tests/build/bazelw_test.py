# SPDX-License-Identifier: Apache-2.0
"""Tests of bazelw, with a Bazel that only writes down how it was called."""

import os
import pathlib
import shutil
import subprocess

import pytest

_TOOLS = ("bash", "cat", "cut", "dirname", "find", "gcc", "id", "ld", "mkdir", "mv")
_TOOLS += ("sed", "sha256sum", "touch")
_FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "bazel {version}"; exit; fi
for argument; do echo "$argument"; done
"""


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with bazelw and a lock."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("bazelw", "requirements.lock"):
        shutil.copy(name, folder / name)
    return folder


@pytest.fixture
def tools(tmp_path: pathlib.Path) -> pathlib.Path:
    """A PATH with the tools that bazelw uses, without Bazel and apt-get."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in _TOOLS:
        path = shutil.which(name)
        assert path, f"{name} is not installed"
        (folder / name).symlink_to(path)
    return folder


def _run(
    checkout: pathlib.Path, tools: pathlib.Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(tools), "HOME": str(checkout.parent)}
    return subprocess.run(
        [str(checkout / "bazelw"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )


def _add_bazel(tools: pathlib.Path, version: str) -> None:
    (tools / "bazel").write_text(_FAKE.format(version=version))
    (tools / "bazel").chmod(0o755)


def _cache_option(output: str) -> str:
    (option,) = [s for s in output.split() if "/bazelrc-" in s]
    return pathlib.Path(option.partition("=")[2]).read_text().strip()


def test_missing_bazel_says_what_to_install(
    checkout: pathlib.Path, tools: pathlib.Path
) -> None:
    result = _run(checkout, tools, "build", "//...")
    assert result.returncode == 127
    assert "apt-get install bazel-bootstrap" in result.stderr


def test_command_is_passed_on_behind_the_cache_option(
    checkout: pathlib.Path, tools: pathlib.Path
) -> None:
    _add_bazel(tools, "no_version")
    result = _run(checkout, tools, "build", "--jobs=1", "//a b")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1:] == ["build", "--jobs=1", "//a b"]
    cache = _cache_option(result.stdout)
    assert cache.startswith(f"build --disk_cache={checkout.parent}/.cache/dipu/disk-")


def test_bazel_7_gets_its_own_options(
    checkout: pathlib.Path, tools: pathlib.Path
) -> None:
    _add_bazel(tools, "7.7.1")
    result = _run(checkout, tools, "info")
    assert f"--bazelrc={checkout}/tools/bazel7.bazelrc" in result.stdout.splitlines()


def test_changed_lock_means_another_cache(
    checkout: pathlib.Path, tools: pathlib.Path
) -> None:
    _add_bazel(tools, "no_version")
    before = _cache_option(_run(checkout, tools, "info").stdout)
    with open(checkout / "requirements.lock", "a") as lock:
        lock.write("another==1.0\n")
    assert _cache_option(_run(checkout, tools, "info").stdout) != before


def test_entries_that_no_build_read_lately_are_pruned(
    checkout: pathlib.Path, tools: pathlib.Path
) -> None:
    _add_bazel(tools, "no_version")
    folder = checkout.parent / ".cache" / "dipu" / "disk-0"
    folder.mkdir(parents=True)
    old, fresh = folder / "old", folder / "fresh"
    for path in (old, fresh):
        path.write_text("x")
    os.utime(old, (0, 0))
    _run(checkout, tools, "info")
    assert not old.exists()
    assert fresh.exists()
