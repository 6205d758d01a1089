# SPDX-License-Identifier: Apache-2.0
"""Released versions of the vendor contract, and what is built from each."""

load("//build_defs:cc.bzl", "cc_library", "dipu_cc_shared", "dipu_cc_test")

# One folder per released minor version, oldest first.
FROZEN = [
    "v1_0",
    "v1_1",
]

# Every header, as core/abi:headers lists them.
HEADERS = [
    "base.h",
    "communicator.h",
    "generator.h",
    "graph.h",
    "ipc.h",
    "operators.h",
    "profiler.h",
    "runtime.h",
    "vendor_api.h",
    "virtual_memory.h",
]

_C11 = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]

def header_defines(version):
    """The defines that tell plugin.c and reader_test.cc their header.

    Args:
      version: one of FROZEN, or "today".

    Returns:
      Strings for local_defines: the header, and the minor of its contract.
    """
    folder = "core/abi" if version == "today" else "core/abi/frozen/" + version
    released = FROZEN[-1] if version == "today" else version
    return [
        'DIPU_VENDOR_API_H=\\"%s/vendor_api.h\\"' % folder,
        "DIPU_CONTRACT_MINOR=" + released.split("_")[1],
    ]

def frozen_version(version, plugins):
    """Builds a plug-in and a reader from one version of the headers.

    Makes abi_<version>, libplugin_<version>.so and reader_<version>_test. The
    headers include one another by paths of their own, so none of these can see
    today's.

    Args:
      version: one of FROZEN, or "today".
      plugins: the plug-ins that the reader opens.
    """
    if version == "today":
        abi = "//core/abi"
    else:
        abi = ":abi_" + version
        cc_library(
            name = "abi_" + version,
            hdrs = ["%s/%s" % (version, h) for h in HEADERS],
        )
    dipu_cc_shared(
        name = "libplugin_%s.so" % version,
        testonly = True,
        srcs = ["plugin.c"],
        copts = _C11,
        local_defines = header_defines(version),
        version_script = "plugin.lds",
        visibility = [
            "//core/loader/tests:__pkg__",
            "//tests/unit/core:__pkg__",
        ],
        deps = [abi],
    )
    dipu_cc_test(
        name = "reader_%s_test" % version,
        srcs = ["reader_test.cc"],
        args = ["$(rootpath %s)" % p for p in plugins],
        data = plugins,
        gtest_main = False,
        linkopts = ["-ldl"],
        local_defines = header_defines(version),
        deps = [
            abi,
            "//third_party/googletest:gtest",
        ],
    )
