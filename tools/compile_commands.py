# SPDX-License-Identifier: Apache-2.0
"""Writes compile_commands.json for editors, by asking Bazel for its actions.

Usage: bazel run //tools:compile_commands -- [target patterns]
"""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

# The folders that hold C++; `//...` would also configure all Python targets.
_DEFAULT = [
    "//core/...",
    "//diopi_adapter/...",
    "//kernels/...",
    "//python/...",
    "//softdevice/...",
    "//vendors/...",
]


def _bazel(workspace: pathlib.Path, *arguments: str) -> str:
    command = [os.environ.get("BAZEL", "bazel"), *arguments]
    result = subprocess.run(
        command, cwd=workspace, check=True, stdout=subprocess.PIPE, text=True
    )
    return result.stdout


def entries(workspace: pathlib.Path, root: str, actions: list[Any]) -> list[Any]:
    """Turns compile actions into entries; generated sources keep their path."""
    found = []
    for action in actions:
        arguments = action["arguments"]
        source = arguments[arguments.index("-c") + 1]
        if source.startswith("external/"):
            continue
        if not source.startswith("bazel-out/"):
            source = str(workspace / source)
        found.append({"directory": root, "file": source, "arguments": arguments})
    return found


def main() -> None:
    workspace = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
    targets = " + ".join(sys.argv[1:] or _DEFAULT)
    query = f'mnemonic("CppCompile", {targets})'
    options = ["--output=jsonproto", "--include_artifacts=false"]
    graph = json.loads(_bazel(workspace, "aquery", query, *options))
    root = _bazel(workspace, "info", "execution_root").strip()
    commands = entries(workspace, root, graph.get("actions", []))
    path = workspace / "compile_commands.json"
    path.write_text(json.dumps(commands, indent=1) + "\n")
    print(f"{path}: {len(commands)} commands")


if __name__ == "__main__":
    main()
