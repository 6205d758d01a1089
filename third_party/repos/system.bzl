# SPDX-License-Identifier: Apache-2.0
"""Rule sets that Bazel expects as repositories, without any download.

Bazel 4 as Debian packages it asks for rules_cc, rules_java and
remote_coverage_tools. The native rules do all that is needed, so the first two
are shims that re-export them. Bazel 7 finds its rule sets beside itself.
"""

_CC_RULES = [
    "cc_binary",
    "cc_import",
    "cc_library",
    "cc_proto_library",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "fdo_prefetch_hints",
    "fdo_profile",
    "objc_import",
    "objc_library",
]

_JAVA_RULES = [
    "java_binary",
    "java_import",
    "java_library",
    "java_runtime",
    "java_toolchain",
]

# Rule sets that Debian ships beside Bazel 7, by folder below /usr/share/bazel.
_BAZEL_7_REPOSITORIES = {
    "bazel_skylib": "tools/skylib",
    "rules_cc": "rules/cc",
    "rules_java": "rules/java",
    "rules_license": "rules/license",
    "rules_proto": "rules/proto",
    "rules_python": "rules/python",
}

_COVERAGE_BUILD = """
package(default_visibility = ["//visibility:public"])

filegroup(name = "coverage_report_generator", srcs = ["report.py"])

filegroup(name = "lcov_merger", srcs = ["merge.py"])
"""

def _native_shim_impl(rctx):
    folder = rctx.attr.folder
    lines = ["%s = native.%s\n" % (name, name) for name in rctx.attr.rules]
    rctx.file("BUILD.bazel", "")
    rctx.file(folder + "/BUILD.bazel", "")
    rctx.file(folder + "/defs.bzl", "".join(lines))

native_shim = repository_rule(
    implementation = _native_shim_impl,
    attrs = {"folder": attr.string(), "rules": attr.string_list()},
    doc = "A repository whose <folder>/defs.bzl re-exports native rules.",
)

def _coverage_tools_impl(rctx):
    rctx.file("BUILD.bazel", _COVERAGE_BUILD)
    for name in ["report.py", "merge.py"]:
        rctx.symlink(Label("//tools:lcov.py"), name)

coverage_tools = repository_rule(
    implementation = _coverage_tools_impl,
    doc = "Stands in for Bazel's Java coverage tools; every test names it.",
)

def system_repositories():
    """Defines the repositories that the running Bazel expects."""
    coverage_tools(name = "remote_coverage_tools")

    # Debian's Bazel reports no version, so ask for a feature of 6 and later.
    if hasattr(native, "package_relative_label"):
        for name, folder in _BAZEL_7_REPOSITORIES.items():
            native.local_repository(
                name = name,
                path = "/usr/share/bazel/" + folder,
            )
    else:
        native_shim(name = "rules_cc", folder = "cc", rules = _CC_RULES)
        native_shim(name = "rules_java", folder = "java", rules = _JAVA_RULES)
