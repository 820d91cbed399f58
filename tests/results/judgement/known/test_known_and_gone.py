"""Series that are gone at a commit, acknowledged there: known until they are measured again, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import sqlalchemy as sa

from results.database.schema import Commit, Series, Triage
from results.database.transactions import writing
from results.exit_codes import ExitCode
from results.judgement.commit_findings import findings_of
from results.judgement.findings import Turn
from results.judgement.outcomes import Change, Outcome
from results.output.reports.finding_words import size_in_words
from results.store import open_store
from tests import made_findings

NOTE = "pays for accuracy"


def test_what_is_gone_can_be_known_and_taken_back(fusebench, with_gone):
    base, head = with_gone("m-")
    gate = ("gate", "--base", base, "--head", head)
    assert fusebench(*gate).return_value == ExitCode.FAILED
    told = fusebench("store", "acknowledge", head, "--where", "provider=fused", "--note", "retired").stdout
    assert " of them gone there, written to " in told
    answer = fusebench(*gate)
    assert answer.return_value == ExitCode.FINE
    assert "retired" in answer.stdout
    assert "retired" in fusebench("status").stdout
    assert fusebench("store", "acknowledge", head, "--undo").return_value == ExitCode.FINE
    assert fusebench(*gate).return_value == ExitCode.FAILED


@pytest.mark.parametrize("reason", [None, "retired"])
def test_what_is_gone_is_told_as_gone_whatever_the_reason_given(reason):
    [failed] = [one for one in made_findings.judgement().verdicts if one.change is Change.GONE]
    known = failed if reason is None else failed._replace(change=Change.KNOWN, outcome=Outcome.KNOWN, reason=reason)
    [finding] = findings_of(replace(made_findings.judgement(), verdicts=(known,)))
    assert (finding.turn, size_in_words(finding)) == (Turn.FAILED, "gone")


@pytest.mark.parametrize(
    ("measured", "known_at", "expected"),
    [
        ("m--", 1, ExitCode.FINE),  # still gone
        ("m-m-", 1, ExitCode.FAILED),  # it came back, and is gone again
        ("m-m-", 3, ExitCode.FINE),
        ("mm-", 1, None),  # acknowledged where it was measured still
        ("--m-", 1, ExitCode.FAILED),  # and where no line is known that tells whether it had ever been
    ],
)
def test_what_is_gone_is_known_until_it_is_measured_again(fusebench, with_gone, measured, known_at, expected):
    commits = with_gone(measured)
    known = fusebench("store", "acknowledge", commits[known_at], "--where", "provider=fused", "--note", NOTE)
    base = commits[measured.index("m")]
    if expected is None:
        expected = ExitCode.FAILED
        assert "gone" not in known.stdout
    assert fusebench("gate", "--base", base, "--head", commits[-1]).return_value == expected


def test_what_was_gone_before_the_base_hides_nothing(fusebench, with_gone):
    _, known, base, head = with_gone("m-m-")
    fusebench("store", "acknowledge", known, "--note", NOTE)
    assert fusebench("gate", "--base", base, "--head", head).return_value == ExitCode.FAILED


def test_what_the_commit_did_not_set_out_to_measure_is_not_gone_there(fusebench, tmp_path, journals):
    wide, narrow = journals.history(2, operations=("mlp",))
    journals.write_journals(tmp_path / "data", [wide, replace(narrow, batches=(64,), providers=("eager", "fused"))])
    fusebench("ingest", "data")
    told = fusebench("store", "acknowledge", narrow.commit, "--metric", "latency_s", "--note", NOTE).stdout
    assert "accepted for 6 series, 2 of them gone there" in told
    gate = json.loads(fusebench("gate", "--base", wide.commit, "--head", narrow.commit, "--format", "json").stdout)
    gone = [change["parameters"] for change in gate["changes"] if change["outcome"] == "known"]
    assert [(one["provider"], one["batch"]) for one in gone] == [("compiled", 64)] * 2


def test_a_benchmark_of_asv_that_is_gone_can_be_known_by_a_decisions_file(fusebench, tmp_path, write_asv_run, timed):
    results = {"s.time_it": timed(1e-3), "s.time_gone": timed(1e-3)}
    write_asv_run(tmp_path / "tree", results, commit="a" * 40, date=1_700_000_000_000)
    del results["s.time_gone"]
    write_asv_run(tmp_path / "tree", results, commit="b" * 40, date=1_700_086_400_000)
    (tmp_path / "decisions.toml").write_text(
        f"""format = 1
[[acknowledgement]]
project = "p"
commit = "{"b" * 40}"
benchmark = "s.time_gone"
decision = "accepted"
note = "{NOTE}"
"""
    )
    fusebench("ingest", "tree", "--project", "p")
    gate = ("gate", "--base", "a" * 40, "--head", "b" * 40)
    assert fusebench(*gate).return_value == ExitCode.FAILED
    answer = fusebench("ingest", "decisions.toml")
    assert "nothing stored" not in answer.output
    assert fusebench(*gate).return_value == ExitCode.FINE


def test_of_commits_with_one_date_what_the_other_measured_is_gone_where_it_is_missing(fusebench, tmp_path, journals):
    base, head = journals.history(2, operations=("mlp",))
    head = replace(head, commit_date=base.commit_date, providers=("eager",))
    journals.write_journals(tmp_path / "head", [head])
    journals.write_journals(tmp_path / "base", [base])
    fusebench("ingest", "head")  # first: the order in which files came tells nothing of the commits
    fusebench("ingest", "base")
    gate = ("gate", "--base", base.commit, "--head", head.commit)
    assert fusebench(*gate).return_value == ExitCode.FAILED
    assert " of them gone there" in fusebench("store", "acknowledge", head.commit, "--note", NOTE).stdout
    assert fusebench(*gate).return_value == ExitCode.FINE


@pytest.mark.parametrize(
    ("beside_line", "expected"),
    [
        ((), ExitCode.FAILED),  # it came back, and is gone again
        ((2,), ExitCode.FINE),  # a branch from before the change has it still
        ((2, 3), ExitCode.FAILED),  # the branch that is judged may have it back
        ((1, 2), ExitCode.FAILED),  # and one that was merged may have taken the change back
    ],
)
def test_what_another_branch_measures_later_is_not_back_on_the_main_line(
    fusebench, with_gone, beside, beside_line, expected
):
    commits = with_gone("m-m-")
    fusebench("store", "acknowledge", commits[1], "--where", "provider=fused", "--note", NOTE)
    beside(*(commits[number] for number in beside_line))
    assert fusebench("gate", "--base", commits[0], "--head", commits[3]).return_value == expected


def test_what_another_branch_measures_later_has_not_recovered_on_the_main_line(fusebench, measured, beside):
    commits = measured(1.0, 1.5, 1.0, 1.5)
    fusebench("store", "acknowledge", commits[1], "--note", NOTE)
    beside(commits[2])
    assert fusebench("gate", "--base", commits[0], "--head", commits[3]).return_value == ExitCode.FINE


@pytest.mark.parametrize(
    ("is_joined_first", "options", "expected"),
    [
        (True, (), ExitCode.FINE),
        # Nobody was told of what is gone by then; it was accepted only by one who accepted whatever comes.
        (False, (), ExitCode.FAILED),
        (False, ("--later",), ExitCode.FINE),
    ],
)
def test_what_is_gone_where_the_version_changed_is_gone_if_the_two_are_joined(
    fusebench, tmp_path, journals, is_joined_first, options, expected
):
    base, head = journals.history(2, operations=("mlp",))
    head = replace(head, ruler_version="2", providers=("eager", "fused"))
    journals.write_journals(tmp_path / "data", [base, head])
    fusebench("ingest", "data")
    gate = ("gate", "--base", base.commit, "--head", head.commit)
    assert fusebench(*gate).return_value == ExitCode.NOTHING_COMPARABLE
    join = ("store", "join", "mlp", "1", "2")
    acknowledge = ("store", "acknowledge", head.commit, "--note", NOTE, *options)
    if is_joined_first:
        fusebench(*join)
        assert fusebench(*gate).return_value == ExitCode.FAILED
        assert "28 of them gone there" in fusebench(*acknowledge).stdout
    else:
        assert "gone there" not in fusebench(*acknowledge).stdout
        fusebench(*join)
    assert fusebench(*gate).return_value == expected


def test_what_comes_back_slower_is_a_finding_of_its_history_too(fusebench, tmp_path, journals):
    sweeps = [
        replace(sweep, noise=0.01 + 0.0001 * number, slowdowns={("mlp", "fused"): 2.0 if number > 10 else 1.0})
        for number, sweep in enumerate(journals.history(20, operations=("mlp",), batches=(1,), hiddens=(256,)))
    ]
    sweeps[10] = replace(sweeps[10], providers=("eager", "compiled"))
    journals.write_journals(tmp_path / "data", sweeps)
    fusebench("ingest", "data")

    def states():
        found = json.loads(fusebench("changes", "--all", "--format", "json").stdout)["findings"]
        return {(one["metric"], one["state"]) for one in found}

    before = states()
    assert ("latency_s", "confirmed") in before
    fusebench("store", "acknowledge", sweeps[10].commit, "--note", NOTE)
    assert states() == before
    fusebench("store", "acknowledge", sweeps[11].commit, "--note", NOTE)
    assert {state for _, state in states()} == {"acknowledged"}


def test_of_several_machines_the_gate_says_which_one_and_each_is_known_for_itself(fusebench, tmp_path, journals):
    base, head = journals.history(2, operations=("mlp",), batches=(1,), hiddens=(256,))
    head = replace(head, providers=("eager", "fused"))
    of_both = [replace(sweep, machine=machine) for sweep in (base, head) for machine in ("desk", "rack")]
    journals.write_journals(tmp_path / "data", of_both)
    fusebench("ingest", "data")
    fusebench("store", "acknowledge", head.commit, "--machine", "rack", "--note", NOTE)
    text = fusebench("gate", "--base", base.commit, "--head", head.commit).stdout
    failed, known = text.partition("Failed:\n")[2].split("Known:\n")
    assert ("fusebench on desk, py3.11-cpu-t2" in failed, "rack" in failed) == (True, False)
    assert ("fusebench on rack, py3.11-cpu-t2" in known, "desk" in known) == (True, False)


def test_what_is_known_of_a_commit_that_was_not_measured_here_is_not_asked_for_its_place(
    fusebench, with_gone, tmp_path
):
    base, head = with_gone("m-")
    with open_store(str(tmp_path / "known.db")) as store, writing(store.engine) as connection:
        elsewhere = dict(connection.execute(sa.select(Commit.__table__).limit(1)).one()._mapping)
        connection.execute(sa.insert(Commit).values({**elsewhere, "id": 99, "hash": "c" * 40}))
        series_ids = connection.execute(sa.select(Series.id)).scalars().all()
        rows = [
            {"id": i, "series_id": series_id, "commit_id": 99, "decision": "accepted"}
            for i, series_id in enumerate(series_ids)
        ]
        connection.execute(sa.insert(Triage), rows)
    assert fusebench("gate", "--base", base, "--head", head).return_value == ExitCode.FAILED


def test_what_was_stored_at_a_commit_is_known_there_too_where_only_joined_versions_show_it(
    fusebench, tmp_path, journals
):
    base, head = journals.history(2, operations=("mlp",), batches=(1,), hiddens=(256,))
    slower = replace(head, ruler_version="2", slowdowns={("mlp", "fused"): 1.5})
    journals.write_journals(tmp_path / "two", [base, slower])
    fusebench("ingest", str(tmp_path / "two"))
    fusebench("store", "acknowledge", head.commit, "--note", NOTE)
    gate = ("gate", "--base", base.commit, "--head", head.commit)
    assert fusebench(*gate).return_value == ExitCode.NOTHING_COMPARABLE
    fusebench("store", "join", "mlp", "1", "2")
    answer = fusebench(*gate)
    assert answer.return_value == ExitCode.FINE
    assert NOTE in answer.stdout
    words = " ".join(fusebench("store", "acknowledge", "--help").stdout.split())
    assert "so also where only joined versions show that it is worse" in words
