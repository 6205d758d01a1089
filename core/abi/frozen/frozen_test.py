# SPDX-License-Identifier: Apache-2.0
"""Released headers do not change, and whoever tries is told how to do it right."""

import pathlib
import re
import shutil
import subprocess

import pytest

from core.abi.frozen import freeze, headers

ABI = pathlib.Path("core/abi")
FROZEN = ABI / "frozen"
COPIES = sorted(path for path in FROZEN.glob("v*") if path.is_dir())
VERSION = headers.contract_version(ABI)

HOW_TO_CHANGE = """
A released header is a promise to libraries that exist. To add to it:
  1. append the field at the end of its struct, below `/* since 1.N */`;
  2. raise the MINOR of DIPU_ABI_VERSION and of the table's version;
  3. describe it in core/abi/CHANGELOG.md and pin it in core/abi/tests/layout.h;
  4. keep a copy: ./bazelw run //core/abi/frozen:freeze
To correct words, change comments only."""

NEVER_CHANGES = (
    "A released header never changes: undo the edit, and freeze a new minor "
    f"instead.{HOW_TO_CHANGE}"
)


@pytest.mark.parametrize("name", headers.RELEASED)
def test_released_headers_are_unchanged(name: str) -> None:
    copy = FROZEN / VERSION.folder / name
    assert copy.exists(), f"there is no copy of version {VERSION}.{HOW_TO_CHANGE}"
    today = headers.code_of((ABI / name).read_text())
    released = headers.code_of(copy.read_text())
    assert today == released, f"core/abi/{name} differs from {copy}.{HOW_TO_CHANGE}"


def test_copies_are_as_they_were_released() -> None:
    assert headers.unpinned(FROZEN) == [], (
        "these lines stand in core/abi/frozen/pins.sha256 or describe a file there, "
        f"but not both. {NEVER_CHANGES}"
    )


@pytest.mark.parametrize("folder", COPIES, ids=lambda p: p.name)
def test_copies_are_complete_and_apart(folder: pathlib.Path) -> None:
    assert headers.contract_version(folder).folder == folder.name
    for path in folder.glob("*.h"):
        for include in re.findall(r'#include "(.*)"', path.read_text()):
            assert include.startswith(f"{folder}/"), f"{path} includes {include}"
            assert pathlib.Path(include).exists()


def test_something_is_built_from_every_copy() -> None:
    text = (FROZEN / "versions.bzl").read_text()
    listed = re.search(r"^FROZEN = \[(.*?)\]", text, re.DOTALL | re.MULTILINE)
    assert listed is not None
    assert re.findall(r'"(\w+)"', listed[1]) == sorted(
        (path.name for path in COPIES),
        key=lambda name: [int(part) for part in name[1:].split("_")],
    ), "FROZEN in core/abi/frozen/versions.bzl lists each folder, oldest first"


def test_every_version_is_in_the_changelog() -> None:
    log = (ABI / "CHANGELOG.md").read_text()
    found = {}
    for path in ABI.glob("*.h"):
        found.update(headers.versions_in(path.read_text()))
    assert f"## Contract {found.pop('ABI')}\n" in log, HOW_TO_CHANGE
    assert len(found) == 11, "every table has a version"
    for table, version in sorted(found.items()):
        line = rf"\b{table.lower()} {version}\b"
        assert re.search(line, log), f"no entry `{line}`.{HOW_TO_CHANGE}"


# A copy of today's headers, to be spoilt.
@pytest.fixture
def spoil(tmp_path: pathlib.Path):
    """Returns a function: header, old text, new text -> what the compiler says."""

    def run(name: str, old: str, new: str) -> str:
        abi = tmp_path / "core" / "abi"
        (abi / "tests").mkdir(parents=True)
        for path in ABI.glob("*.h"):
            shutil.copyfile(path, abi / path.name)
        shutil.copyfile(ABI / "tests/layout.h", abi / "tests/layout.h")
        text = (abi / name).read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        (abi / name).write_text(text.replace(old, new))
        command = ["g++", "-std=c++17", "-fsyntax-only", "-x", "c++", f"-I{tmp_path}"]
        done = subprocess.run(
            [*command, str(abi / "tests/layout.h")], capture_output=True, text=True
        )
        assert (done.returncode == 0) == ("error" not in done.stderr)
        return done.stderr

    return run


RESET = "  dipu_error* (*reset)(int32_t device);\n"
SPOILT = {
    "inserts": (RESET, "  void (*extra)(void);\n" + RESET),
    "retypes a function": (RESET, RESET.replace("int32_t", "int64_t")),
    "retypes a value": (
        "int32_t multi_processor_count;",
        "uint32_t multi_processor_count;",
    ),
    "reorders": (
        "  int32_t multi_processor_count;\n  int32_t max_threads_per_block;\n",
        "  int32_t max_threads_per_block;\n  int32_t multi_processor_count;\n",
    ),
    "removes": (RESET, ""),
    "renumbers": ("DIPU_MEMORY_PINNED = 2", "DIPU_MEMORY_PINNED = 3"),
    "appends without a new version": (
        "} dipu_event_api;",
        "  void (*extra)(void);\n} dipu_event_api;",
    ),
}


@pytest.mark.parametrize("change", SPOILT)
def test_a_change_fails_with_instructions(spoil, change: str) -> None:
    old, new = SPOILT[change]
    message = spoil("runtime.h", old, new)
    assert "error" in message
    for hint in ("append below", "CHANGELOG", "core/abi/frozen/frozen_test.py"):
        assert hint in message, message


def test_what_is_not_spoilt_compiles(spoil) -> None:
    assert spoil("runtime.h", RESET, RESET + "  /* more words */\n") == ""


def test_appending_with_a_new_version_compiles(spoil) -> None:
    text = (ABI / "runtime.h").read_text()
    start = text.index("#define DIPU_EVENT_API_VERSION")
    end = text.index("} dipu_event_api;")
    new = text[start:end].replace("EVENT_API_VERSION DIPU_VERSION(1, 0)", "@", 1)
    new = new.replace("@", "EVENT_API_VERSION DIPU_VERSION(1, 1)")
    new += "  /* since 1.1 */\n  void (*extra)(void);\n"
    assert spoil("runtime.h", text[start:end], new) == ""


def test_freezing_makes_such_a_copy(tmp_path: pathlib.Path) -> None:
    for path in ABI.glob("*.h"):
        shutil.copyfile(path, tmp_path / path.name)
    target = freeze.freeze(tmp_path)
    for path in ABI.glob("*.h"):
        copy = (target / path.name).read_text()
        assert headers.code_of(copy) == headers.code_of(path.read_text())
        assert '"core/abi/base.h"' not in copy
    with pytest.raises(FileExistsError):
        freeze.freeze(tmp_path)


@pytest.fixture
def release(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder like core/abi/frozen, with a copy of today's headers."""
    for path in ABI.glob("*.h"):
        shutil.copyfile(path, tmp_path / path.name)
    return freeze.freeze(tmp_path).parent


def test_freezing_pins_the_copy(release: pathlib.Path) -> None:
    assert headers.unpinned(release) == []


@pytest.mark.parametrize(
    "spoil_file",
    [
        lambda path: path.write_text(path.read_text() + "\n"),
        lambda path: path.unlink(),
        lambda path: shutil.copyfile(path, path.with_name("more.h")),
        lambda path: shutil.copytree(path.parent, path.parent.with_name("v0_9")),
    ],
    ids=["a blank line", "a file that is gone", "a file too many", "a folder too many"],
)
def test_a_copy_that_changes_is_seen(release: pathlib.Path, spoil_file) -> None:
    spoil_file(release / VERSION.folder / "runtime.h")
    assert headers.unpinned(release)
