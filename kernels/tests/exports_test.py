# SPDX-License-Identifier: Apache-2.0
"""The operator library exports all of DIOPI's operators but those named here."""

import csv
import os
import subprocess

# Inference of language models, for which the library has no kernels: penalties
# of tokens, attention over caches, and a product that spans devices.
_MISSING = {
    "diopiApplyPenalty",
    "diopiApplyPenaltyV2",
    "diopiContextAttentionInference",
    "diopiDestIndexCopyKV",
    "diopiMatmulAllReduce",
    "diopiPagedAttention",
    "diopiPromptFlashAttention",
    "diopiTokenAttentionInference",
    "diopiTokenSoftmaxReduceVInference",
}

_HEADERS = {"functions.h", "functions_ext.h"}


def _declared() -> set[str]:
    with open(os.environ["SIGNATURES"], encoding="utf-8") as table:
        rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["name"] for row in rows if row["header"] in _HEADERS}


def _exported() -> set[str]:
    symbols = subprocess.run(
        ["nm", "--dynamic", "--defined-only", os.environ["LIBRARY"]],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {line.split()[-1] for line in symbols.splitlines()}


def test_exports_all_operators_but_the_named_ones() -> None:
    """A function that is added or lost changes the list above."""
    assert _declared() - _exported() == _MISSING
