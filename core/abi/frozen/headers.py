# SPDX-License-Identifier: Apache-2.0
"""What the tests and the freezing tool must know about the contract's headers."""

import dataclasses
import hashlib
import pathlib
import re

# Headers whose types are released. The others hold provisional tables, which
# the host uses only when the version is exactly its own.
RELEASED = ("base.h", "runtime.h", "vendor_api.h")

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'#include "core/abi/(?:frozen/\w+/)?(\w+\.h)"')
_VERSION = re.compile(
    r"#define DIPU_(\w+?)(?:_API)?_VERSION DIPU_VERSION\((\d+), (\d+)\)"
)


@dataclasses.dataclass(frozen=True, order=True)
class Version:
    """A version of the contract or of a table."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @property
    def folder(self) -> str:
        """Where the copy of a contract of this version lies."""
        return f"v{self.major}_{self.minor}"


def code_of(text: str) -> str:
    """The text without what may change freely: comments, spaces, where it lies."""
    code = _INCLUDE.sub(r'#include "\1"', _COMMENT.sub(" ", text))
    lines = (" ".join(line.split()) for line in code.splitlines())
    return "\n".join(line for line in lines if line)


def in_folder(text: str, folder: str) -> str:
    """The text with includes of the headers in core/abi/frozen/<folder>."""
    return _INCLUDE.sub(rf'#include "core/abi/frozen/{folder}/\1"', text)


def versions_in(text: str) -> dict[str, Version]:
    """The versions that a header defines, such as {"ABI": 1.0}."""
    return {
        name: Version(int(major), int(minor))
        for name, major, minor in _VERSION.findall(text)
    }


def contract_version(folder: pathlib.Path) -> Version:
    """DIPU_ABI_VERSION of the headers in a folder."""
    base = (folder / "base.h").read_text()
    found = re.search(r"#define DIPU_ABI_VERSION DIPU_VERSION\((\d+), (\d+)\)", base)
    if found is None:
        raise ValueError(f"{folder}/base.h does not define DIPU_ABI_VERSION")
    return Version(int(found[1]), int(found[2]))


def pins_of(folder: pathlib.Path) -> str:
    """The lines of pins.sha256 for the copies in a folder, as sha256sum -c reads."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {folder.name}/{path.name}\n"
        for path in sorted(folder.iterdir())
    )


def unpinned(frozen: pathlib.Path) -> list[str]:
    """Lines that are in pins.sha256 or in the files of folder `frozen` alone."""
    pinned = set((frozen / "pins.sha256").read_text().splitlines())
    folders = (path for path in frozen.iterdir() if re.match(r"v\d", path.name))
    found = {line for path in folders for line in pins_of(path).splitlines()}
    return sorted(pinned ^ found)
