# SPDX-License-Identifier: Apache-2.0
"""Rules behind the C++ macros: what of a library its users see and link."""

def _is_shared_only(library):
    return library.dynamic_library and not (
        library.static_library or library.pic_static_library
    )

def _shared_part(linker_input):
    """The shared libraries of one input, without archives and options."""
    return cc_common.create_linker_input(
        libraries = depset([
            library
            for library in linker_input.libraries
            if _is_shared_only(library)
        ]),
        owner = linker_input.owner,
    )

def _shared_interface_impl(ctx):
    contents = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.contents],
    )
    library = ctx.attr.library

    # What the file needs follows it: a program finds them by its own RUNPATH.
    inputs = library[CcInfo].linking_context.linker_inputs.to_list() + [
        _shared_part(linker_input)
        for linker_input in contents.linking_context.linker_inputs.to_list()
    ]
    return [
        CcInfo(
            compilation_context = contents.compilation_context,
            linking_context = cc_common.create_linking_context(
                linker_inputs = depset(inputs, order = "topological"),
            ),
        ),
        DefaultInfo(
            files = library[DefaultInfo].files,
            runfiles = library[DefaultInfo].default_runfiles,
        ),
    ]

shared_interface = rule(
    implementation = _shared_interface_impl,
    attrs = {
        "contents": attr.label_list(
            doc = "What the file is made of; users get the headers.",
            providers = [CcInfo],
        ),
        "library": attr.label(
            doc = "What users link in place of the archives of `contents`.",
            providers = [CcInfo],
        ),
    },
    doc = "Joins the headers of static libraries with a shared object.",
    provides = [CcInfo],
)

def _by_file(linker_input):
    """Names the shared libraries of one input as plain linker arguments."""
    kept = []
    files = []
    for library in linker_input.libraries:
        if _is_shared_only(library):
            # The plain file, not its link in Bazel's folder of libraries.
            files.append(library.resolved_symlink_dynamic_library or
                         library.dynamic_library)
        else:
            kept.append(library)
    flags = [f.path for f in files]
    if flags:
        flags = ["-Wl,--as-needed"] + flags + ["-Wl,--no-as-needed"]
    return cc_common.create_linker_input(
        additional_inputs = depset(linker_input.additional_inputs + files),
        libraries = depset(kept),
        owner = linker_input.owner,
        user_link_flags = depset(linker_input.user_link_flags + flags),
    )

def _link_by_file_impl(ctx):
    merged = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    )
    inputs = merged.linking_context.linker_inputs.to_list()
    return [CcInfo(
        compilation_context = merged.compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(
                [_by_file(linker_input) for linker_input in inputs],
                order = "topological",
            ),
        ),
    )]

link_by_file = rule(
    implementation = _link_by_file_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
    doc = """Passes on `deps` with shared libraries as plain linker arguments.

Bazel would add its own build folders to the RUNPATH of whatever links them;
this way the file records the SONAME, and only if it uses the library.""",
    provides = [CcInfo],
)

def _link_only_impl(ctx):
    merged = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    )
    return [CcInfo(linking_context = merged.linking_context)]

link_only = rule(
    implementation = _link_only_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
    doc = "Passes on what `deps` are linked from, without their headers.",
    provides = [CcInfo],
)
