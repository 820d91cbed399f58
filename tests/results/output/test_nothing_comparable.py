"""Why two commits have nothing to compare, told as it is: other machines, rulers, versions or axes; it never passes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from results.commands import no_data
from results.exit_codes import ExitCode
from results.judgement.exact_only import exact_only
from results.judgement.known_levels import with_known
from results.judgement.outcomes import Outcome
from results.judgement.verdicts import exit_code, judge
from results.output.report import ReportFormat, rendered
from results.output.reports.judgement_words import notes, warnings, why_nothing
from results.rows import KnownChange, KnownLevel
from tests.made_values import A, B, failed, row

CALM = [1.0, 1.002, 0.998]
OTHER_RULERS = (
    "Both commits were measured on m, e, by other rulers (3 at the base, 4 at the head), which do not compare: "
    "fusebench ab aaaaaaaaaa bbbbbbbbbb measures both by one."
)
OTHER_VERSIONS = (
    "Both commits were measured on m, e, but every benchmark has another version there, as if it measured "
    "something else: fusebench store join says of one that it does not."
)
OF_ASV = {"metric": "time", "parameters": {"n": 1}}


def judged(base, head):
    return judge(base, head, base_commit=A, head_commit=B)


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        ({}, {"machine": "n"}, "Nothing was measured at both commits on the same machine."),
        ({}, {"environment": "f", "series_id": 10**9}, "Nothing was measured at both commits on the same machine."),
        (
            {},
            {"version": "4"},
            OTHER_RULERS,
        ),
        (
            {"batch": 1},
            {"batch": 2},
            "Both commits were measured on m, e, but nothing at the same parameters: their axes are others.",
        ),
        (
            OF_ASV,
            OF_ASV | {"version": "90ab"},
            OTHER_VERSIONS,
        ),
    ],
)
def test_why_is_told_in_every_format_and_nothing_passes(base, head, told):
    found = judged([row(CALM, **base)], [row(CALM, commit=B, **head)])
    assert (why_nothing(found), warnings(found)) == (told, [told])
    assert exit_code(found) is ExitCode.NOTHING_COMPARABLE
    for report_format in set(ReportFormat) - {ReportFormat.MARKDOWN}:  # which tells it with escapes
        assert told.split(":")[0] in rendered(found, report_format=report_format)


def test_rulers_are_told_of_more_than_one():
    base = [row(CALM, version=version, run=version) for version in ("2", "3")]
    assert "(2 and 3 at the base, 4 at the head)" in why_nothing(judged(base, [row(CALM, version="4", commit=B)]))


def test_counts_alone_that_nobody_took_are_told_as_that():
    found = exact_only(judged([row(CALM)], [row(CALM, commit=B)]))
    assert exit_code(found) is ExitCode.NOTHING_COMPARABLE
    assert warnings(found) == ["No count, memory or error was measured at both commits on the same machine."]


def test_what_is_gone_and_known_alone_compares_nothing():
    other = row(CALM, commit=B, provider="new")
    found = judged([row(CALM)], [other])
    assert exit_code(found) is ExitCode.FAILED
    [gone] = found.verdicts
    change = KnownChange(
        series_id=gone.base.series_id, point_id=1, project="p", machine="m", environment="e", benchmark="mlp",
        metric="latency_s", parameters=(), commit=B, commit_date=None, decision="accepted", note=None,
        decided_by=None, decided_at=None,
    )  # fmt: skip
    known = with_known(found, [KnownLevel(change=change, value=None, later=())])
    assert [one.outcome for one in known.verdicts] == [Outcome.KNOWN]
    assert (known.n_compared, exit_code(known)) == (0, ExitCode.NOTHING_COMPARABLE)
    beside = judged([row(CALM), row(CALM, provider="eager")], [other, row(CALM, provider="eager", commit=B)])
    assert exit_code(with_known(beside, [KnownLevel(change=change, value=None, later=())])) is ExitCode.FINE
    assert known.n_gone == 1


def test_what_worked_at_neither_commit_is_told_as_that():
    failing = [failed(batch=batch) for batch in (1, 2)], [failed(batch=batch, commit=B) for batch in (1, 2)]
    found = judged(*failing)
    assert exit_code(found) is ExitCode.NOTHING_COMPARABLE
    assert warnings(found) == ["Both commits were measured, and nothing worked at either: 2 series."]
    beside = judged([*failing[0], row(CALM)], [*failing[1], row(CALM, commit=B)])
    assert exit_code(beside) is ExitCode.FINE
    assert notes(beside)[-1] == "Working at neither commit, not compared (2): mlp latency_s"
    [first, _] = beside.failing
    assert why_nothing(beside.only({first.series_id})).endswith("at either: 1 series.")
    mended = judged(failing[0], [row(CALM, batch=1, commit=B), failing[1][1]])
    assert [one.series_id for one in mended.failing] == [failing[1][1].series_id]
    broken = judged([row(CALM, batch=1), failing[0][1]], failing[1])
    assert [one.series_id for one in broken.failing] == [failing[1][1].series_id]


def test_a_machine_that_measured_the_base_alone_is_named():
    base = [row(CALM), row(CALM, machine="n"), row(CALM, machine="n", provider="eager")]
    assert notes(judged(base, [row(CALM, commit=B)]))[-1] == "The head was not measured on n, e."
    assert "not measured on" not in " ".join(notes(judged(base, [one._replace(commit=B) for one in base])))
    gone = judged(base, [row(CALM, commit=B), row(CALM, machine="n", commit=B)])
    assert "not measured on" not in " ".join(notes(gone))
    new = row(CALM, machine="n", commit=B, benchmark="linear")
    assert "not measured on" not in " ".join(notes(judged(base, [row(CALM, commit=B), new])))


@pytest.mark.parametrize(
    ("of_row", "told"),
    [
        (
            OF_ASV,
            "In another version at the head (fusebench store join says of one that it is the same), not compared (1)",
        ),
        ({}, "By another ruler at the head, not compared (1)"),
    ],
)
def test_what_both_measured_in_other_versions_is_not_told_as_measured_at_one_only(of_row, told):
    base, head = row(CALM, **of_row, version="a"), row(CALM, **of_row, version="b", commit=B)
    found = judged([base, row(CALM, batch=1)], [head, row(CALM, batch=1, commit=B)])
    text = " ".join(notes(found))
    assert told in text
    assert ("fusebench ab" in text) == (not of_row)
    assert "only" not in text
    kind = "in another version" if of_row else "by another ruler"
    assert f"{kind} at the head" in rendered(found, report_format=ReportFormat.JUNIT)


def test_an_empty_store_names_no_command_of_a_project_that_it_may_not_be_of(monkeypatch):
    monkeypatch.setattr(no_data, "commits", lambda _: [])
    error = SimpleNamespace(is_plausible=True, message="nothing is stored for HEAD", commit=A)
    assert no_data.why_not_measured(None, error) == f"nothing is stored for HEAD. {no_data.EMPTY_STORE}"


def test_what_another_ruler_measured_at_the_head_is_not_gone():
    base = [row(CALM, provider="eager"), row(CALM)]
    head = [row(CALM, provider="eager", commit=B), row(CALM, commit=B, version="4", run="again")]
    found = judged(base, head)
    assert exit_code(found) is ExitCode.FINE
    told = "By another ruler at the head, not compared (1): mlp latency_s. "
    assert f"{told}fusebench ab aaaaaaaaaa bbbbbbbbbb measures both by one." in notes(found)
    assert exit_code(judged(base, head[:1])) is ExitCode.FAILED
