# SPDX-License-Identifier: Apache-2.0
"""Facts about the build machine that end up in file names."""

def _host_facts_impl(rctx):
    result = rctx.execute(["getconf", "GNU_LIBC_VERSION"])
    words = result.stdout.strip().split(" ")
    if result.return_code != 0 or words[0] != "glibc":
        fail("host_facts: getconf GNU_LIBC_VERSION says %r; glibc is needed" %
             (result.stdout + result.stderr))
    tag = "manylinux_" + "_".join(words[1].split(".")[:2]) + "_x86_64"
    rctx.file("BUILD.bazel", "")
    rctx.file("facts.bzl", "MANYLINUX_TAG = %r\n" % tag)

host_facts = repository_rule(
    implementation = _host_facts_impl,
    doc = "Derives the wheel platform tag from the glibc built against.",
)
