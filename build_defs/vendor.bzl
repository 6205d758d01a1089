# SPDX-License-Identifier: Apache-2.0
"""dipu_vendor: everything that a vendor package is made of, in one call."""

load("@host//:facts.bzl", "MANYLINUX_TAG")
load("//build_defs:cc.bzl", "dipu_cc_shared")
load("//build_defs:py.bzl", "dipu_pytest")
load("//build_defs:torch_free.bzl", "torch_free_test")
load("//build_defs:wheel.bzl", "dipu_wheel")

_VERSION_SCRIPT = """\
{
  global: dipu_vendor_query;
  local: *;
};
"""

_PACKAGE = '''\
# SPDX-License-Identifier: Apache-2.0
"""The {vendor} device for torch_dipu: the vendor library and how to find it."""

import os

__all__ = ["library_path"]


def library_path() -> str:
    """Returns the absolute path of the vendor library."""
    folder = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(folder, "libdipu_{vendor}.so")
'''

def _text_impl(ctx):
    ctx.actions.write(ctx.outputs.out, ctx.attr.content)
    return [DefaultInfo(files = depset([ctx.outputs.out]))]

_text = rule(
    implementation = _text_impl,
    attrs = {
        "content": attr.string(mandatory = True),
        "out": attr.output(mandatory = True),
    },
    doc = "A file with the given text.",
)

def _side_by_side_impl(ctx):
    files = {}
    for file in ctx.files.srcs:
        if file.basename not in files:
            files[file.basename] = file
    links = []
    for file in files.values():
        link = ctx.actions.declare_file(ctx.label.name + "/" + file.basename)
        ctx.actions.symlink(output = link, target_file = file)
        links.append(link)
    return [DefaultInfo(
        files = depset(links),
        runfiles = ctx.runfiles(links),
    )]

side_by_side = rule(
    implementation = _side_by_side_impl,
    attrs = {"srcs": attr.label_list(allow_files = True)},
    doc = """Puts files into one folder, called like the target.

Of files with the same name the first one counts.""",
)

def dipu_vendor(
        name,
        plugin_deps,
        operator_library = None,
        conversions = None,
        nondeterministic = None,
        private_libraries = [],
        licenses = [],
        license_expression = "Apache-2.0",
        readme = "README.md"):
    """Defines the vendor library, its checks and its wheel.

    Makes these targets:
      libdipu_<name>.so  the vendor library, which exports dipu_vendor_query
      dist               it and all it needs side by side, in the folder dist/
      exports_test       what the files export and need
      torch_free_test    nothing of it can reach torch
      wheel              torch_dipu_<name>, found by entry point

    Args:
      name: the vendor, as DIPU_DEVICE names it.
      plugin_deps: libraries that make up the vendor library.
      operator_library: the shared object with the diopi* functions, if any.
      conversions: conversions.yaml, if functions of it lack types or layouts;
        see docs/conversions.md.
      nondeterministic: nondeterministic.yaml, if functions of it may give other
        results when they are called again; see docs/debugging.md.
      private_libraries: further shared objects that are shipped beside it.
      licenses: licence texts of what private_libraries contain.
      license_expression: SPDX expression over all files of the wheel.
      readme: the page that package indexes show.
    """
    allowed = "abcdefghijklmnopqrstuvwxyz_0123456789"
    if name.strip(allowed) or name[0].isdigit() or len(name) > 32:
        fail(("%s is no name for a vendor: at most 32 of a-z, '_' and, but for " +
              "the first, 0-9. Rename the folder and what is inside") % repr(name))
    plugin = "libdipu_%s.so" % name
    script = "libdipu_%s.lds" % name
    package = "torch_dipu_" + name
    _text(
        name = name + "_version_script",
        out = script,
        content = _VERSION_SCRIPT,
    )
    dipu_cc_shared(
        name = plugin,
        # Errors and tables that it has given out point into it.
        linkopts = ["-Wl,-z,nodelete"],
        version_script = script,
        visibility = ["//visibility:public"],
        deps = plugin_deps,
    )
    operators = [operator_library] if operator_library else []
    tables = _conversions(conversions) if conversions else []
    if nondeterministic:
        tables.append(nondeterministic_table(
            name = "nondeterministic_table",
            entries = nondeterministic,
        ))
    side_by_side(
        name = "dist",
        srcs = [plugin] + operators + private_libraries + tables,
        visibility = ["//visibility:public"],
    )
    _checks(plugin, plugin_deps, operators)
    _text(
        name = package + "_init",
        out = package + "/__init__.py",
        content = _PACKAGE.format(vendor = name),
    )
    dipu_wheel(
        name = "wheel",
        distribution = package,
        entry_points = {
            "torch_dipu.vendors": ["%s = %s:library_path" % (name, package)],
        },
        files = {
            ":dist": package + "/",
            ":%s_init" % package: package + "/",
        },
        license_expression = license_expression,
        license_files = ["//:LICENSE"] + licenses,
        readme = readme,
        summary = "The %s device for torch_dipu" % name,
        visibility = ["//visibility:public"],
    )

def _conversions(rules):
    table = "diopi_conversions.tsv"
    functions = "//diopi_adapter/abi:diopi_functions.tsv"
    native.genrule(
        name = "conversions_table",
        srcs = [rules, functions],
        outs = [table],
        cmd = " ".join([
            "$(execpath //diopi_adapter/codegen:conversions)",
            "--rules=$(execpath %s)" % rules,
            "--functions=$(execpath %s)" % functions,
            "--out=$@",
        ]),
        tools = ["//diopi_adapter/codegen:conversions"],
    )
    return [table]

def nondeterministic_table(name, entries, **kwargs):
    """The file beside a vendor library that names functions which do not repeat.

    Args:
      name: target name; the file is diopi_nondeterministic.tsv.
      entries: nondeterministic.yaml.
      **kwargs: as for genrule.

    Returns:
      The name of the file.
    """
    table = "diopi_nondeterministic.tsv"
    functions = "//diopi_adapter/abi:diopi_functions.tsv"
    native.genrule(
        name = name,
        srcs = [entries, functions],
        outs = [table],
        cmd = " ".join([
            "$(execpath //diopi_adapter/codegen:nondeterministic)",
            "--entries=$(execpath %s)" % entries,
            "--functions=$(execpath %s)" % functions,
            "--out=$@",
        ]),
        tools = ["//diopi_adapter/codegen:nondeterministic"],
        **kwargs
    )
    return table

def _checks(plugin, plugin_deps, operators):
    torch_free_test(
        name = "torch_free_test",
        size = "small",
        targets = plugin_deps,
    )
    dipu_pytest(
        name = "exports_test",
        srcs = ["//build_defs:vendor_exports_test.py"],
        data = [plugin, ":dist"] + operators,
        env = {
            "DIPU_DIST": "$(rootpaths :dist)",
            "DIPU_MANYLINUX_TAG": MANYLINUX_TAG,
            "DIPU_OPERATORS": " ".join(["$(rootpath %s)" % o for o in operators]),
            "DIPU_PLUGIN": "$(rootpath %s)" % plugin,
        },
        deps = ["//build_defs:elf"],
    )
