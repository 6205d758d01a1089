# SPDX-License-Identifier: Apache-2.0
"""A log of comparisons as one HTML page without anything from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from torch_dipu import _env
from torch_dipu.debug import logs, results

_STYLE = """
body { font: 14px sans-serif; margin: 2em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { border: 1px solid #ccc; padding: 3px 10px; text-align: left; }
th { background: #eee; position: sticky; top: 0; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.wrong td { background: #fbdada; }
pre { background: #f6f6f6; padding: 1em; overflow-x: auto; }
.good { color: #176b2c; } .bad { color: #a01818; }
"""


def _row(cells: Iterable[str], css: str = "") -> str:
    return f'<tr class="{css}">{"".join(cells)}</tr>'


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:.3g}</td>'
    if isinstance(value, int):
        return f'<td class="number">{value}</td>'
    return f"<td>{html.escape(str(value))}</td>"


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    head = _row(f"<th>{head}</th>" for head in heads)
    return f"<table>{head}{''.join(rows)}</table>"


def _totals(lines: Sequence[logs.Line]) -> str:
    heads = (
        "operator",
        "function",
        "calls compared",
        "wrong",
        "max absolute error",
        "max relative error",
        "max ulp",
        "saved call",
    )
    rows = []
    for total in logs.totals(lines):
        values = (
            total.operator,
            total.function,
            total.calls,
            total.wrong,
            total.max_absolute,
            total.max_relative,
            total.max_ulp,
            total.saved,
        )
        rows.append(_row(map(_cell, values), "wrong" if total.wrong else ""))
    return _table(heads, rows)


def _left_out(log: logs.Log) -> str:
    if not log.left_out:
        return ""
    heads = ("operator", "left out by sampling", "left out by the CPU", "reason")
    rows = [
        _row(map(_cell, (name, left.sampled, left.refused, left.reason)))
        for name, left in sorted(log.left_out.items())
    ]
    return f"<h2>Not compared</h2>{_table(heads, rows)}"


def _first(log: logs.Log) -> str:
    line = logs.first_wrong(log.lines)
    if not log.lines:
        return f'<p class="bad">{html.escape(log.tally()[0])}.</p>'
    if line is None:
        return '<p class="good">No result is wrong.</p>'
    problems = [
        f"{d['name']}: {d['problem'] or 'values differ'}, max absolute error "
        f"{d['max_absolute']:.3g}, {d['wrong']} wrong, worst at {d['worst']}"
        for d in line["differences"]
        if not d["close"]
    ]
    saved = line.get("saved")
    repeat = (
        f"repeat it: {results.replay_command(saved)}"
        if saved
        else f"{_env.AUTOCOMPARE_SAVE.name} names a folder for calls to be repeated"
    )
    frames = [f"called at {frame}" for frame in line["stack"]]
    text = "\n".join([*problems, *frames, repeat])
    title = f"{line['operator']}, call {line['call']}, comparison {line['sequence']}"
    return (
        f'<h2 class="bad">First wrong result: {html.escape(title)}</h2>'
        f"<pre>{html.escape(text)}</pre>"
    )


def render(log: logs.Log, title: str) -> str:
    """The page.

    Args:
        log: To be shown.
        title: For people.
    """
    wrong = sum(not line["close"] for line in log.lines)
    left_out = sum(left.sampled + left.refused for left in log.left_out.values())
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{html.escape(title)}</h1>"
        f"<p>{len(log.lines)} comparisons, {wrong} wrong; "
        f"{left_out} calls left out.</p>"
        f"{_first(log)}<h2>Operators</h2>{_totals(log.lines)}{_left_out(log)}"
        f"</body></html>\n"
    )
