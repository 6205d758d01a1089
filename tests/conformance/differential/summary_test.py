# SPDX-License-Identifier: Apache-2.0
"""The numbers of the report."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from tests.conformance.differential import page, summary
from tests.conformance.differential.entry import CheckResult, Entry, Result


def result(name: str, dtype: str = "float32", **fields: object) -> Result:
    problems = fields.pop("problems", [])
    samples = fields.pop("samples", 1)
    check = CheckResult(samples, error=0.25, problems=problems)
    return Result(Entry("op", name, dtype), checks={"forward": check}, **fields)


RESULTS = [
    result("add", native=["add.Tensor"]),
    result("igamma", fallback=["igamma.out"]),
    result("norm", native=["sum.out"], fallback=["igamma.out", "norm.out"]),
    result("sin", problems=["1 of 2 elements <are> wrong"]),
    result("fft.fft", fallback=["_fft_r2c"], families=["fft"]),
    result("mul", samples=0),
    result("add", "bool", native=["add.Tensor"]),
]


def test_a_long_problem_keeps_its_end() -> None:
    check = CheckResult()
    check.report(f"sample 3 ({'Tensor, ' * 1000}): 1 element is wrong")
    (problem,) = check.problems
    assert problem.startswith("sample 3 (Tensor, ")
    assert problem.endswith("Tensor, ): 1 element is wrong")
    assert len(problem) < 600


def test_statuses() -> None:
    assert [r.status for r in RESULTS] == [
        "native",
        "fallback",
        "mixed",
        "fails",
        "fallback",
        "untested",
        "native",
    ]


def test_totals_leave_out_later_families_and_the_untested() -> None:
    floats, bools = summary.totals(RESULTS)
    assert (floats.kind, floats.dtype) == ("op", "float32")
    assert floats.counts["fallback"] == 2
    assert (floats.native, floats.counted) == (1, 4)
    assert floats.share == 0.25
    assert bools.share == 1.0


def test_a_failing_entry_is_not_native() -> None:
    (total,) = summary.totals([result("sin", problems=["wrong"], native=["sin.out"])])
    assert total.native == 0


def test_later_families_are_listed() -> None:
    assert summary.later(RESULTS)["fft"] == ["fft.fft"]
    assert summary.later(RESULTS)["complex"] == []


def test_blocking_operators_come_first() -> None:
    assert summary.blocking(RESULTS) == [("igamma.out", 2), ("norm.out", 1)]


def test_json_has_everything() -> None:
    data = json.loads(json.dumps(summary.as_json("droplet", RESULTS)))
    assert data["entries"][3]["problems"] == ["forward: 1 of 2 elements <are> wrong"]
    assert data["entries"][0]["error"] == 0.25
    assert data["totals"][0]["share"] == 0.25


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.titles: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "td" and found.get("class"):
            self.titles.setdefault(str(found["class"]), []).append(str(found["title"]))


def test_the_page_shows_status_problem_and_fallback() -> None:
    cells = _Cells()
    cells.feed(page.render("droplet", RESULTS))
    assert cells.titles["fails"] == ["forward: 1 of 2 elements <are> wrong"]
    assert "fallback: igamma.out" in cells.titles["fallback"]
    assert len(cells.titles["native"]) == 2


def test_the_terminal_gets_shares() -> None:
    assert "25.0%" in summary.as_text(RESULTS)
