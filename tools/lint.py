# SPDX-License-Identifier: Apache-2.0
"""Checks formatting and house rules of the whole source tree.

Runs every check, prints what is wrong and ends with one line per failed check.
With --fix the formatters rewrite the files instead. All tools come from the
locked environment, so everybody sees the same result.
"""

import argparse
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterable

from tools import house_rules

_ENV = pathlib.Path(sys.executable).parent

# What buildifier should not ask for: the native rules are used on purpose.
_BUILDIFIER_WARNINGS = ",".join(
    f"-{name}"
    for name in (
        "module-docstring",
        "native-cc-binary",
        "native-cc-common",
        "native-cc-import",
        "native-cc-info",
        "native-cc-library",
        "native-cc-test",
        "native-py",
        "native-py-binary",
        "native-py-library",
        "native-py-test",
        "unnamed-macro",
    )
)

Check = Callable[[list[str], bool], bool]


def _run(command: Iterable[str]) -> bool:
    return subprocess.run(list(command)).returncode == 0


def _with_suffix(files: list[str], *suffixes: str) -> list[str]:
    return [name for name in files if name.endswith(suffixes)]


def clang_format(files: list[str], fix: bool) -> bool:
    """C++ follows .clang-format."""
    sources = _with_suffix(files, ".c", ".cc", ".h")
    mode = ["-i"] if fix else ["--dry-run", "--Werror"]
    return not sources or _run([str(_ENV / "clang-format"), *mode, *sources])


def ruff_format(files: list[str], fix: bool) -> bool:
    """Python is formatted by ruff."""
    mode = [] if fix else ["--check", "--diff"]
    command = [str(_ENV / "ruff"), "format", "--no-cache", "--quiet", *mode]
    return _run([*command, *_with_suffix(files, ".py", ".pyi")])


def ruff_check(files: list[str], fix: bool) -> bool:
    """Python passes ruff's checks."""
    mode = ["--fix"] if fix else []
    command = [str(_ENV / "ruff"), "check", "--no-cache", "--quiet", *mode]
    return _run([*command, *_with_suffix(files, ".py", ".pyi")])


def mypy(files: list[str], fix: bool) -> bool:
    """The package and the generator pass mypy in strict mode."""
    del fix
    folders = ("python/torch_dipu/", "diopi_adapter/codegen/", "build_defs/", "tools/")
    sources = [
        name
        for name in _with_suffix(files, ".py")
        if name.startswith(folders) and not name.endswith("_test.py")
    ]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    cache = pathlib.Path(home) / "dipu" / "mypy"
    command = [str(_ENV / "mypy"), "--no-error-summary", f"--cache-dir={cache}"]
    return _run([*command, *sources])


def buildifier(files: list[str], fix: bool) -> bool:
    """Bazel files pass buildifier."""
    sources = [
        name
        for name in files
        if name.endswith(".bzl")
        or pathlib.Path(name).name in ("BUILD.bazel", "WORKSPACE")
    ]
    mode = ["-mode=fix"] if fix else ["-mode=check", "-lint=warn"]
    command = [os.environ["DIPU_BUILDIFIER"], *mode]
    return _run([*command, f"-warnings={_BUILDIFIER_WARNINGS}", *sources])


def rules(files: list[str], fix: bool) -> bool:
    """Sources keep the house rules that no other tool knows."""
    del fix
    problems = house_rules.problems(pathlib.Path("."), files)
    for problem in problems:
        print(problem)
    return not problems


_CHECKS: tuple[Check, ...] = (
    clang_format,
    ruff_format,
    ruff_check,
    buildifier,
    rules,
    mypy,
)


def source_files() -> list[str]:
    """Lists the files that git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    return sorted(name for name in listed.stdout.splitlines() if os.path.isfile(name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="rewrite the files")
    parser.add_argument("paths", nargs="*", help="only files below these")
    args = parser.parse_args()
    os.environ["DIPU_BUILDIFIER"] = os.path.abspath(os.environ["DIPU_BUILDIFIER"])
    os.chdir(os.environ["BUILD_WORKSPACE_DIRECTORY"])
    files = source_files()
    if args.paths:
        files = [name for name in files if name.startswith(tuple(args.paths))]
    failed = [check for check in _CHECKS if not check(files, args.fix)]
    for check in failed:
        print(f"lint: {check.__name__}: violated: {check.__doc__}")
    if not failed:
        print(f"lint: {len(files)} files are clean")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
