# SPDX-License-Identifier: Apache-2.0
"""dipu_wheel: builds a wheel whose bytes depend on its inputs only."""

load("@host//:facts.bzl", "MANYLINUX_TAG")
load("//build_defs:version.bzl", "VERSION")

def _destination(file, prefix):
    """Where a source lies in the wheel: its path below strip_prefix."""
    path = file.short_path
    if prefix and not path.startswith(prefix + "/"):
        fail("dipu_wheel: %s is not below strip_prefix %s" % (path, prefix))
    return path[len(prefix) + 1:] if prefix else path

def _license_name(file):
    """LICENSE for ours; <project>/<file> for what a third party wrote."""
    return file.short_path.split("licenses/")[-1]

def _contents(ctx):
    """Returns (destination, File) pairs without the metadata."""
    pairs = []
    for target in ctx.attr.srcs:
        for file in target[DefaultInfo].files.to_list():
            pairs.append((_destination(file, ctx.attr.strip_prefix), file))
    for target, destination in ctx.attr.files.items():
        for file in target[DefaultInfo].files.to_list():
            name = file.basename if destination.endswith("/") else ""
            pairs.append((destination + name, file))
    return pairs

def _impl(ctx):
    distribution = ctx.attr.distribution.replace("-", "_")
    tag = "%s-%s" % (ctx.attr.python_tag, ctx.attr.platform_tag)
    out = ctx.actions.declare_file(
        "%s-%s-%s.whl" % (distribution, ctx.attr.version, tag),
    )
    pairs = _contents(ctx)
    licenses = [(_license_name(f), f) for f in ctx.files.license_files]
    spec = ctx.actions.declare_file(ctx.label.name + ".wheel.json")
    ctx.actions.write(spec, json.encode(struct(
        distribution = ctx.attr.distribution,
        version = ctx.attr.version,
        tag = tag,
        summary = ctx.attr.summary,
        readme = ctx.file.readme.path if ctx.file.readme else "",
        license_expression = ctx.attr.license_expression,
        requires = ctx.attr.requires,
        requires_python = ctx.attr.requires_python,
        entry_points = ctx.attr.entry_points,
        files = [[name, file.path] for name, file in pairs],
        licenses = [[name, file.path] for name, file in licenses],
    )))
    ctx.actions.run(
        executable = ctx.executable._tool,
        arguments = [spec.path, out.path],
        inputs = [spec] + [file for _, file in pairs + licenses] +
                 ([ctx.file.readme] if ctx.file.readme else []),
        outputs = [out],
        mnemonic = "DipuWheel",
        progress_message = "Building wheel %s" % out.basename,
    )
    return [DefaultInfo(
        files = depset([out]),
        runfiles = ctx.runfiles([out]),
    )]

dipu_wheel = rule(
    implementation = _impl,
    attrs = {
        "distribution": attr.string(mandatory = True),
        "entry_points": attr.string_list_dict(
            doc = "Group to lines such as `name = module:object`.",
        ),
        "files": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Files to their path in the wheel; a folder ends with /.",
        ),
        "license_expression": attr.string(default = "Apache-2.0"),
        "license_files": attr.label_list(
            allow_files = True,
            default = ["//:LICENSE"],
            doc = "Licence texts; put third-party ones below licenses/<project>/.",
        ),
        "platform_tag": attr.string(
            default = MANYLINUX_TAG,
            doc = "`any` for a wheel without binaries.",
        ),
        "python_tag": attr.string(
            default = "py3-none",
            doc = "Interpreter and ABI, such as cp311-cp311.",
        ),
        "readme": attr.label(allow_single_file = [".md"]),
        "requires": attr.string_list(doc = "Requirements, PEP 508."),
        "requires_python": attr.string(default = ">=3.10"),
        "srcs": attr.label_list(
            allow_files = True,
            doc = "Files that keep their path below strip_prefix.",
        ),
        "strip_prefix": attr.string(),
        "summary": attr.string(mandatory = True),
        "version": attr.string(default = VERSION),
        "_tool": attr.label(
            cfg = "exec",
            default = "//build_defs:make_wheel",
            executable = True,
        ),
    },
    doc = "A wheel; its bytes depend on its inputs only.",
)
