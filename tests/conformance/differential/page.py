# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page without anything from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from tests.conformance.differential import summary
from tests.conformance.differential.entry import DTYPES, Result

_STYLE = """
body { font: 14px sans-serif; margin: 2em; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { border: 1px solid #ccc; padding: 2px 8px; text-align: left; }
th { background: #eee; position: sticky; top: 0; }
td.native { background: #cfeccf; }
td.mixed { background: #fdf3c8; }
td.fallback { background: #fbdcb5; }
td.fails { background: #f5b5b5; }
td.untested { background: #eee; }
details { max-width: 60em; }
"""

_SCRIPT = """
const box = document.getElementById("filter");
box.addEventListener("input", () => {
  const wanted = new RegExp(box.value, "i");
  for (const row of document.querySelectorAll("#entries tbody tr"))
    row.hidden = !wanted.test(row.dataset.text);
});
"""


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


def _totals(results: Sequence[Result]) -> str:
    head = ("kind", "dtype", *summary.STATUSES, "counted", "native of them", "share")
    rows = [
        _row(
            (
                total.kind,
                total.dtype,
                *(str(total.counts[status]) for status in summary.STATUSES),
                str(total.counted),
                str(total.native),
                f"{total.share:.1%}",
            )
        )
        for total in summary.totals(results)
    ]
    return f"<table>{_row(head, 'th')}{''.join(rows)}</table>"


def _later(results: Sequence[Result]) -> str:
    lists = [
        f"<details><summary>{family}: {len(names)}</summary>"
        f"<p>{html.escape(', '.join(names))}</p></details>"
        for family, names in summary.later(results).items()
    ]
    return "".join(lists)


def _blocking(results: Sequence[Result]) -> str:
    rows = [
        _row((html.escape(operator), str(count)))
        for operator, count in summary.blocking(results)
    ]
    head = _row(("operator", "entries it keeps from being native"), "th")
    return (
        f"<details><summary>{len(rows)} operators fall back</summary>"
        f"<table>{head}{''.join(rows)}</table></details>"
    )


def _cell(result: Result | None) -> str:
    if result is None:
        return "<td></td>"
    notes = [*result.problems, *(f"fallback: {name}" for name in result.fallback)]
    title = html.escape("\n".join(notes), quote=True)
    return (
        f'<td class="{result.status}" title="{title}">'
        f"{result.status} {result.error:.1e}</td>"
    )


def _entry(
    kind: str, name: str, by_dtype: dict[str, Result], dtypes: Sequence[str]
) -> str:
    cells = "".join(_cell(by_dtype.get(dtype)) for dtype in dtypes)
    statuses = " ".join(sorted({result.status for result in by_dtype.values()}))
    families = sorted({f for result in by_dtype.values() for f in result.families})
    text = html.escape(f"{kind} {name} {statuses} {' '.join(families)}", quote=True)
    note = f" <i>{html.escape(', '.join(families))}</i>" if families else ""
    return (
        f'<tr data-text="{text}"><td>{kind}</td><td>{html.escape(name)}{note}</td>'
        f"{cells}</tr>"
    )


def _entries(results: Sequence[Result]) -> str:
    rows: dict[tuple[str, str], dict[str, Result]] = {}
    for result in results:
        entry = result.entry
        rows.setdefault((entry.kind, entry.name), {})[entry.dtype] = result
    present = {result.entry.dtype for result in results}
    dtypes = [dtype for dtype in DTYPES if dtype in present]
    body = "".join(
        _entry(kind, name, by_dtype, dtypes)
        for (kind, name), by_dtype in sorted(rows.items())
    )
    head = _row(("kind", "entry", *dtypes), "th")
    return f'<table id="entries"><thead>{head}</thead><tbody>{body}</tbody></table>'


def render(device: str, results: Sequence[Result]) -> str:
    """The page."""
    title = f"Operators of {html.escape(device)}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{title}</title><style>{_STYLE}</style><h1>{title}</h1>"
        "<p>Compared with the CPU over PyTorch's databases. The number in a cell is "
        "the largest |actual - expected| / max(1, |expected|); point at a cell for "
        "its problems and fallbacks.</p>"
        f"<h2>Totals</h2>{_totals(results)}"
        "<p>Share: native among the tested entries outside these families:</p>"
        f"{_later(results)}<h2>Fallbacks</h2>{_blocking(results)}"
        '<h2>Entries</h2><p><input id="filter" placeholder="name, status, family"></p>'
        f"{_entries(results)}<script>{_SCRIPT}</script></html>\n"
    )
