# SPDX-License-Identifier: Apache-2.0
"""What the operator library exports: all of DIOPI's operators but those named here."""

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


def _output(*command: str) -> str:
    """What a program tells about the library."""
    return subprocess.run(
        [*command, os.environ["LIBRARY"]], check=True, capture_output=True, text=True
    ).stdout


def _exported() -> set[str]:
    symbols = _output("nm", "--dynamic", "--defined-only")
    return {line.split()[-1] for line in symbols.splitlines()}


def test_exports_all_operators_but_the_named_ones() -> None:
    """A function that is added or lost changes the list above."""
    assert _declared() - _exported() == _MISSING


def test_no_export_calls_another() -> None:
    """Kernels bear the name of the function that was called, not of another one."""
    rows = map(str.split, _output("readelf", "--relocs", "--wide").splitlines())
    used = {row[4] for row in rows if len(row) > 4 and row[2].startswith("R_")}
    assert "diopiRequireTensor" in used  # of the runtime
    assert not {name for name in used & _exported() if name.startswith("diopi")}
