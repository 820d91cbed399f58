"""Comments of Markdown: they fit whatever is in them, and what has no room is counted."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from results.judgement.findings import FindingState
from results.output.changes import changes_rendered
from results.output.report import ReportFormat
from results.output.reports.comments import MOST_COUNTED, MOST_NOTES, Table, comment_of, escaped
from results.output.reports.explanation_report import explanations_as_markdown
from results.output.reports.finding_words import name_in_words
from results.rows import ParameterValue
from tests import made_explanations as made
from tests.made_findings import finding, histories, named

MOST_OF_GITHUB = 65_536


def explained(number):
    """A slowdown of a provider of its own, with tables behind it."""
    found = made.finding()
    shared = (ParameterValue(name="provider", value=f"p{number}"),)
    of_point = {"point_id": number}
    return made.explained(
        made.cpu(made.FUSED, 100, of_point=of_point),
        made.cpu(made.EAGER, 130, of_point=of_point),
        found=replace(found, surface=found.surface._replace(shared=shared)),
    )


def table(number, rows=1, width=10):
    return Table(title=f"T{number}", columns=("a",), rows=[("x" * width,)] * rows, is_open=False)


def test_explanations_of_a_thousand_calls_fit_a_comment_and_tell_how_many_tables_do_not():
    text = explanations_as_markdown([explained(i) for i in range(1000)], headline="A thousand")
    assert len(text.encode()) <= MOST_OF_GITHUB
    assert "### Why (1,000)" in text
    assert re.search(r"Without room here: 2,99\d more tables; `--format json` has all\.", text)
    assert text.count("<details>") == text.count("</details>")


def test_of_few_explanations_every_table_is_there():
    text = explanations_as_markdown([explained(i) for i in range(10)], headline="Ten")
    assert text.count(": One call (") == text.count(": Where the time goes (") == 10
    assert "Without room" not in text


@pytest.mark.parametrize("n_tables", [MOST_COUNTED, MOST_COUNTED + 3])
def test_the_first_tables_are_told_though_none_of_their_rows_has_room_and_later_ones_counted(n_tables):
    text = comment_of("Many", [table(0, rows=1000, width=900), *map(table, range(1, n_tables))], [])
    assert len(text.encode()) <= MOST_OF_GITHUB
    assert [f"### T{i} (1)" in text for i in range(1, n_tables)] == [i < MOST_COUNTED for i in range(1, n_tables)]
    assert ("Without room here: 3 more tables" in text) is (n_tables > MOST_COUNTED)


def test_a_text_without_end_takes_no_room_from_others():
    endless = finding(points=((ParameterValue(name="x", value="a|" * 70_000),),))
    found = (endless, finding(), named("linear"))
    text = changes_rendered([replace(histories()[0], findings=found)], report_format=ReportFormat.MARKDOWN)
    assert "have no room here" not in text
    assert text.count("a\\|a") > 100
    assert "…" in text
    assert "linear" in text
    assert len(comment_of("b" * 70_000, [], ["c" * 70_000] * 3)) < 10_000


def test_of_endless_notes_the_first_are_told_and_the_rest_counted():
    text = comment_of("Many places", [], [f"place {i}" for i in range(5000)])
    assert "… and 4,980 more" in text
    assert text.count("\n\nplace ") == MOST_NOTES


def test_what_is_the_machines_and_known_is_told_once():
    everything = next(one for one in histories()[0].findings if one.benchmark == "*")
    known = replace(everything, state=FindingState.ACKNOWLEDGED, why="the new driver")
    place = replace(histories()[0], findings=(known,))
    for report_format in (ReportFormat.TEXT, ReportFormat.MARKDOWN):
        text = changes_rendered([place], report_format=report_format)
        assert text.count("the new driver") == 1
        assert "Acknowledged" in text


@pytest.mark.parametrize(("report_format", "most"), [(ReportFormat.GITHUB, 10), (ReportFormat.MARKDOWN, 1000)])
def test_what_is_not_shown_is_not_explained(report_format, most):
    """Of ten thousand each would take its time."""
    asked = []
    place = replace(histories()[0], findings=tuple(named(f"suite_{i}") for i in range(5000)))
    text = changes_rendered([place], report_format=report_format, explained=lambda one: asked.append(one) or "by it")
    assert 0 < text.count("by it") <= len(asked) <= most
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("report_format", ReportFormat)
def test_a_cause_that_says_what_the_evidence_does_is_told_once(report_format):
    one = finding(why="8 series moved together")
    text = changes_rendered(
        [replace(histories()[0], findings=(one,))],
        report_format=report_format,
        explained=lambda _: "8 series moved together (cpu_mhz 2600 → 2000).",
    )
    # In JSON they are a field each.
    assert text.count("8 series moved together") == (2 if report_format is ReportFormat.JSON else 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=_foo_", "x=\\_foo\\_"),
        ("a._b_.c", "a.\\_b\\_.c"),
        ("time_it_all", "time_it_all"),
        ("_é_", "\\_é\\_"),
        ("$a$", "\\$a\\$"),
    ],
)
def test_a_name_keeps_its_underscores_and_is_no_formula(text, expected):
    assert escaped(text) == expected


def test_a_surface_is_named_alike_by_every_command():
    shared = [ParameterValue(name=name, value=name.upper()) for name in ("provider", "pass", "weights")]
    named_as = {
        name_in_words(finding(surface=finding().surface._replace(shared=tuple(order))))
        for order in (shared, sorted(shared, key=lambda one: one.name))
    }
    assert named_as == {"mlp latency_s [pass=PASS, provider=PROVIDER, weights=WEIGHTS]"}


@pytest.mark.parametrize(("text", "told"), [("GH-12", "GH\u200b-12"), ("time_gh-7", "time_gh-7"), ("GH-x", "GH-x")])
def test_the_other_way_to_name_an_issue_mentions_none_either(text, told):
    assert escaped(text) == told
