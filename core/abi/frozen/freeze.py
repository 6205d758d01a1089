# SPDX-License-Identifier: Apache-2.0
"""Keeps a copy of today's headers as those of a released version.

The copy goes to core/abi/frozen/v<major>_<minor>. One that is there already is
left alone: a released header does not change, and pins.sha256 holds it to that.
"""

import os
import pathlib

from absl import app

from core.abi.frozen import headers


def freeze(abi: pathlib.Path) -> pathlib.Path:
    """Copies the headers of folder `abi`.

    Raises:
        FileExistsError: The version has been released.
    """
    folder = headers.contract_version(abi).folder
    target = abi / "frozen" / folder
    target.mkdir(parents=True)
    for path in sorted(abi.glob("*.h")):
        text = headers.in_folder(path.read_text(), folder)
        (target / path.name).write_text(text)
    with (target.parent / "pins.sha256").open("a") as pins:
        pins.write(headers.pins_of(target))
    return target


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected arguments: {argv[1:]}")
    root = pathlib.Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
    try:
        target = freeze(root / "core" / "abi")
    except FileExistsError as e:
        raise app.UsageError(
            f"{e.filename} exists: that version is released. Raise the MINOR of "
            "DIPU_ABI_VERSION in core/abi/base.h first"
        ) from e
    print(f"{target}: add it to FROZEN in core/abi/frozen/versions.bzl")


if __name__ == "__main__":
    app.run(main)
