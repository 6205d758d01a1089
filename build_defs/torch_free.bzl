# SPDX-License-Identifier: Apache-2.0
"""torch_free_test: proves at analysis that a target cannot reach torch.

Visibility stops a direct dependency; this test also sees the indirect ones.
"""

_TorchUseInfo = provider(
    doc = "How a target reaches torch or Python.",
    fields = {"paths": "list of strings, each a chain of labels"},
)

# The tag of targets that bring torch or Python into a build.
_TAG = "torch_side"

_EDGES = ["contents", "deps", "library", "srcs"]

def _aspect_impl(target, ctx):
    label = str(target.label)
    if _TAG in ctx.rule.attr.tags:
        return [_TorchUseInfo(paths = [label])]
    paths = []
    for name in _EDGES:
        value = getattr(ctx.rule.attr, name, None) or []
        for dep in value if type(value) == "list" else [value]:
            if type(dep) == "Target" and _TorchUseInfo in dep:
                paths += [label + " -> " + p for p in dep[_TorchUseInfo].paths]

    # One chain is enough for the message and keeps the lists short.
    return [_TorchUseInfo(paths = paths[:1])]

_torch_use_aspect = aspect(
    implementation = _aspect_impl,
    attr_aspects = _EDGES,
)

def _impl(ctx):
    for target in ctx.attr.targets:
        if target[_TorchUseInfo].paths:
            fail("%s must load without torch, but uses it: %s" %
                 (target.label, target[_TorchUseInfo].paths[0]))
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, "#!/bin/sh\nexit 0\n", is_executable = True)
    return [DefaultInfo(executable = script)]

torch_free_test = rule(
    implementation = _impl,
    attrs = {
        "targets": attr.label_list(
            aspects = [_torch_use_aspect],
            mandatory = True,
        ),
    },
    doc = "Fails analysis when one of `targets` depends on torch or Python.",
    test = True,
)
