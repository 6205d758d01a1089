# SPDX-License-Identifier: Apache-2.0
"""One family of DIOPI exports."""

load("//build_defs:cc.bzl", "dipu_cc_library")

def diopi_family(name, deps):
    """Compiles <name>.cc, thin exports over the compute functions in deps.

    Args:
      name: target and file name without extension.
      deps: compute functions that the family calls.
    """
    dipu_cc_library(
        name = name,
        srcs = [name + ".cc"],
        copts = ["-fvisibility=hidden"],
        deps = deps + [
            ":tensor_args",
            "//diopi_adapter/abi:diopi",
        ],
    )
