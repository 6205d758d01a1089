# SPDX-License-Identifier: Apache-2.0
"""refusal_test: passes when analysis refuses a target, for a stated reason."""

def _impl(ctx):
    target = ctx.attr.target[0]
    if AnalysisFailureInfo not in target:
        return AnalysisTestResultInfo(
            success = False,
            message = "%s was accepted; it must be refused" % target.label,
        )
    causes = [
        cause.message
        for cause in target[AnalysisFailureInfo].causes.to_list()
    ]
    for message in causes:
        if ctx.attr.reason in message:
            return AnalysisTestResultInfo(success = True, message = "")
    return AnalysisTestResultInfo(
        success = False,
        message = "%s was refused, but not because of %r: %s" %
                  (target.label, ctx.attr.reason, causes),
    )

refusal_test = rule(
    implementation = _impl,
    analysis_test = True,
    attrs = {
        "reason": attr.string(
            doc = "Part of the message that refuses the target.",
            mandatory = True,
        ),
        "target": attr.label(
            cfg = analysis_test_transition(
                settings = {
                    "//command_line_option:allow_analysis_failures": "True",
                },
            ),
            doc = "A target tagged manual, since it cannot be built.",
            mandatory = True,
        ),
    },
    doc = "Proves that a rule of the architecture is enforced.",
)
