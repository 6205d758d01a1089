# SPDX-License-Identifier: Apache-2.0
"""One executable out of a package of the npm registry."""

_BUILD = """
package(default_visibility = ["//visibility:public"])

filegroup(name = "{name}", srcs = ["bin/{name}"])
"""

# Takes the place of the executable on machines without npm or the registry.
_MISSING = """#!/bin/sh
echo '{name} is missing: {reason}' >&2
exit 127
"""

def _fetch(rctx):
    """Unpacks the package; returns why that is not possible, or None."""
    npm = rctx.which("npm")
    if not npm:
        return "npm is not installed"
    spec = "%s@%s" % (rctx.attr.package, rctx.attr.version)
    result = rctx.execute([npm, "pack", spec, "--silent"])
    if result.return_code != 0:
        return "npm pack %s did not work" % spec
    archive = result.stdout.strip().split("\n")[-1]
    digest = rctx.execute(["sha256sum", archive]).stdout.split(" ")[0]
    if digest != rctx.attr.sha256:
        fail("%s: sha256 is %s, expected %s" % (spec, digest, rctx.attr.sha256))
    rctx.extract(archive)
    return None

def _impl(rctx):
    name = rctx.name
    reason = _fetch(rctx)
    if reason:
        rctx.file("bin/" + name, _MISSING.format(name = name, reason = reason))
    else:
        rctx.symlink("package/" + rctx.attr.file, "bin/" + name)
    rctx.file("BUILD.bazel", _BUILD.format(name = name))

npm_executable = repository_rule(
    implementation = _impl,
    attrs = {
        "file": attr.string(doc = "The executable inside the package."),
        "package": attr.string(),
        "sha256": attr.string(doc = "Of the package's archive."),
        "version": attr.string(),
    },
    doc = "Fetches with `npm pack`, so npm's own configuration applies.",
)
