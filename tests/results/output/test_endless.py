"""Reports of endless numbers, and of thousands."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np

from results.judgement.changes.from_histories import changes_of_place
from results.judgement.verdicts import judge
from results.output.changes import changes_rendered
from results.output.report import ReportFormat, rendered
from results.output.reports.judgement_words import headline
from tests.made_findings import finding, histories
from tests.made_values import A, B, row
from tests.results.judgement.test_changes_of_place import series, table, times


def test_json_has_no_number_that_readers_of_json_refuse():
    """An endless value, as asv's track_ may return, and what is computed of it, are null."""
    endless = [row(value, benchmark="suite.track_size", metric="track", unit="") for value in (3.0, math.inf)]
    found = judge([endless[0]], [endless[1]._replace(commit=B)], base_commit=A, head_commit=B)

    def refuse(name):
        raise AssertionError(name)

    (change,) = json.loads(rendered(found, report_format=ReportFormat.JSON), parse_constant=refuse)["changes"]
    assert (change["base"], change["head"]) == (3.0, None)
    histories_ = [replace(one, findings=(finding(floor=math.inf, ratio=math.inf),)) for one in histories()[:1]]
    (told,) = json.loads(changes_rendered(histories_, report_format=ReportFormat.JSON), parse_constant=refuse)[
        "findings"
    ]
    assert (told["ratio"], told["floor"]) == (None, None)


def test_thousands_are_told_apart_in_the_first_line():
    rows = [row((1.0,), series_id=i, provider="fused", batch=i) for i in range(1200)]
    found = judge(rows, [one._replace(commit=B) for one in rows], base_commit=A, head_commit=B)
    assert headline(found).endswith("1,200 compared: 1,200 unchanged")


def test_series_with_values_that_have_no_ratio_are_named():
    values = times(3, n=6)
    values[1, 2], values[2, 3] = 0, np.inf
    given = table([series(i, benchmark=f"b{i}") for i in range(3)], values)
    assert changes_of_place(given).without_ratio == ("b1", "b2")
    assert changes_of_place(given, only=[0, 2]).without_ratio == ("b2",)
