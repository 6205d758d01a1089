# SPDX-License-Identifier: Apache-2.0
"""A program built without the isolation of device memory, for comparison."""

_COPT = "//command_line_option:copt"

def _without_isolation_impl(settings, _attr):
    return {_COPT: settings[_COPT] + ["-DSOFT_DIRECT_ADDRESSES"]}

_without_isolation = transition(
    implementation = _without_isolation_impl,
    inputs = [_COPT],
    outputs = [_COPT],
)

def _direct_binary_impl(ctx):
    # A link, since both builds of the program have one name. It finds its
    # libraries from where it points to.
    output = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = output,
        target_file = ctx.attr.binary[0][DefaultInfo].files_to_run.executable,
        is_executable = True,
    )
    return [DefaultInfo(
        executable = output,
        runfiles = ctx.runfiles([output]),
    )]

direct_binary = rule(
    implementation = _direct_binary_impl,
    attrs = {
        "binary": attr.label(
            cfg = _without_isolation,
            doc = "The program; all it depends on is built anew.",
            executable = True,
            mandatory = True,
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    doc = "Builds a program with the translation of addresses compiled out.",
    executable = True,
)
