# SPDX-License-Identifier: Apache-2.0
"""Compares the whole device with the CPU and writes report.json and report.html.

    ./bazelw run //tests/conformance:report -- --device droplet --out DIR

Ends with status 1 when something differs from the CPU that exceptions.yaml does not
expect. Ctrl-C ends the run; the report then holds what was done, and the status is 1.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import sys
from collections.abc import Iterable, Sequence

from absl import app, flags

from tests.conformance.differential import floor, page, plan, session, summary
from tests.conformance.differential.entry import DTYPES, Entry, Result

_DEVICE = flags.DEFINE_string("device", "droplet", "Vendor, as for DIPU_DEVICE.")
_OUT = flags.DEFINE_string("out", None, "Folder for the report.", required=True)
_DTYPES = flags.DEFINE_list(
    "dtypes",
    ["float32", "float64", "float16", "bfloat16", "int64", "bool"],
    f"Dtypes; all: {','.join(DTYPES)}.",
)
_OPS = flags.DEFINE_string("ops", "", "Only entries whose name matches this.")
_KINDS = flags.DEFINE_list("kinds", list(summary.KINDS), "Only entries of these kinds.")
_SAMPLES = flags.DEFINE_integer("samples", 0, "Samples per check; 0 means all.", 0)
_JOBS = flags.DEFINE_integer("jobs", os.cpu_count() or 1, "Processes at a time.", 1)
_LIMIT_S = flags.DEFINE_integer("limit_s", 600, "Seconds an entry may take.", 1)
_RECORD = flags.DEFINE_string("record_native", "", "Write native.txt to this file.")


def _choose_vendor(name: str) -> None:
    """Uses the vendor of the source tree, or else an installed one."""
    os.environ["DIPU_DEVICE"] = name
    os.environ.pop("DIPU_VENDOR_LIBRARY", None)
    built = pathlib.Path(f"vendors/{name}/dist/libdipu_{name}.so")
    if built.exists():
        os.environ["DIPU_VENDOR_LIBRARY"] = str(built.absolute())


def _path(name: str) -> pathlib.Path:
    """A path as the user meant it, below the folder where the command was given."""
    return pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."), name)


def _wanted(entries: Iterable[Entry]) -> list[Entry]:
    pattern = re.compile(_OPS.value)
    return [
        entry
        for entry in entries
        if entry.dtype in _DTYPES.value
        and entry.kind in _KINDS.value
        and pattern.search(entry.name)
    ]


def _run(server: session.Session, entries: Sequence[Entry]) -> list[Result]:
    """Results in order; those that there are, when the user ends the run."""
    exceptions = session.exceptions()
    tasks = plan.whole(entries, exceptions, _SAMPLES.value)
    results = []
    try:
        for i, result in enumerate(server.run(tasks), 1):
            results.append(result)
            print(f"[{i}/{len(tasks)}] {result.entry}: {result.status}", flush=True)
    except KeyboardInterrupt:
        print(f"ended after {len(results)} of {len(tasks)} entries")
    return sorted(results, key=lambda result: result.entry)


def _write(results: Sequence[Result]) -> None:
    folder = _path(_OUT.value)
    folder.mkdir(parents=True, exist_ok=True)
    data = summary.as_json(_DEVICE.value, results)
    (folder / "report.json").write_text(json.dumps(data, indent=1) + "\n")
    (folder / "report.html").write_text(page.render(_DEVICE.value, results))
    if _RECORD.value:
        _path(_RECORD.value).write_text(floor.write(results))
    print(f"{summary.as_text(results)}\nreport: {folder}/report.html, report.json")


def _main(argv: Sequence[str]) -> None:
    del argv
    _choose_vendor(_DEVICE.value)
    server = session.Session(_JOBS.value, _LIMIT_S.value)
    families = dict(server.entries())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    entries = _wanted(families)
    results = _run(server, entries)
    for result in results:
        if result.crash:
            result.families = families[result.entry]
    _write(results)
    exceptions = session.exceptions()
    thorough = _SAMPLES.value == 0
    problems = [p for r in results for p in exceptions.judge(r, thorough)]
    print("\n".join(problems))
    sys.exit(1 if problems or len(results) < len(entries) else 0)


if __name__ == "__main__":
    app.run(_main)
