"""Judgements by the latest runs of long histories are those by all runs."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from results import queries
from results.judgement.run_spreads import MOST_RUNS, run_spreads
from results.judgement.sides import controls_among
from results.judgement.verdicts import judge
from results.queries import all_values_at, judged_values
from results.questions import history_tables
from results.questions.history_tables import run_values
from results.rows import RunValues

N_COMMITS = 130


def latest_of(one, runs):
    """The series as it is read of these runs alone."""
    places = [i for i, run in enumerate(one.run_ids) if run in runs]
    columns = [tuple(column[i] for i in places) for column in one[1:4]]
    return RunValues(one.series_id, *columns, is_whole=False)


def long_history(journals):
    """Commits of two points, one of which some lack, and whose control failed in some; each time with its own noise."""
    chance = random.Random(7)
    sweeps = journals.history(N_COMMITS, operations=("mlp",), batches=(1,), hiddens=(256,))
    made = []
    for i, sweep in enumerate(sweeps):
        noise = {("mlp", name): math.exp(chance.gauss(0, 0.1)) for name in ("eager", "compiled", "fused")}
        providers = ("eager", "fused") if i % 4 else sweep.providers
        states = {("mlp", "eager"): "crashed"} if i % 9 == 3 else {}
        made.append(replace(sweep, slowdowns=noise, providers=providers, states=states, n_visits=i % 3))
    return made


@pytest.fixture
def long_store(opened, tmp_path, journals):
    journals.write_journals(tmp_path / "data", long_history(journals))
    assert opened.ingest([tmp_path / "data"]).problems == ()
    return opened


def judged_by_all(store, base, head, *, before, after):
    """The judgement with every run of every series read, by the reference of the spread."""

    def spreads(suspected):
        controls = controls_among(after, suspected)
        series = run_values(store, series_ids=suspected)
        return run_spreads(
            series, without=head, controls=controls, control_series=run_values(store, series_ids=controls.values())
        )

    found = judge(before, after, base_commit=base, head_commit=head, spreads=spreads)
    return queries._by_what_is_stored(store, found)


def test_two_commits_are_judged_as_by_all_runs(long_store, journals, monkeypatch):
    asked = []

    def counted(*arguments, **options):
        asked.append(options.get("latest"))
        return run_values(*arguments, **options)

    monkeypatch.setattr(queries, "run_values", counted)
    for places in ((N_COMMITS - 2, N_COMMITS - 1), (4, 8), (60, 61), (80, 100), (39, 120)):
        base, head = map(journals.commit_hash, places)
        before, after = (all_values_at(long_store, commit=commit) for commit in (base, head))
        found = judged_values(long_store, before, after, base=base, head=head)
        assert found == judged_by_all(long_store, base, head, before=before, after=after)
    assert set(asked) == {MOST_RUNS, None}, "the latest runs tell it of some, and not of others"


def test_of_a_long_history_the_latest_runs_are_read_and_of_a_short_one_all(long_store, monkeypatch):
    ids = [row.series_id for row in all_values_at(long_store, commit=long_history_head(long_store))]
    whole = run_values(long_store, series_ids=ids)
    latest = run_values(long_store, series_ids=ids, latest=MOST_RUNS)
    assert {one.is_whole for one in whole} == {True}
    assert {one.is_whole for one in latest} == {False}
    runs = set(max((one.run_ids for one in whole), key=len)[-MOST_RUNS:])
    assert latest == [latest_of(one, runs) for one in whole]
    monkeypatch.setattr(history_tables, "FEW_MORE", N_COMMITS / MOST_RUNS)
    assert run_values(long_store, series_ids=ids, latest=MOST_RUNS) == whole


def test_what_is_kept_of_the_latest_runs_is_what_a_new_question_reads(long_store, journals, tmp_path, monkeypatch):
    ids = [row.series_id for row in all_values_at(long_store, commit=long_history_head(long_store))]
    assert len(ids) > 4
    whole = {one.series_id: one for one in run_values(long_store, series_ids=ids, latest=MOST_RUNS)}

    def read(chosen):
        return [whole[one] for one in chosen] == run_values(long_store, series_ids=chosen, latest=MOST_RUNS)

    with monkeypatch.context() as patched:
        patched.setattr(history_tables, "_of_runs", None)  # all are kept
        assert read(ids[::-1])
    monkeypatch.setattr(history_tables, "MOST_KEPT", 3 * MOST_RUNS)
    assert all(read(chosen) for chosen in (ids[:2], ids[1:3], ids, ids[2:]))
    again = replace(long_history(journals)[-1], run_id="again")
    journals.write_journals(tmp_path / "more", [again])
    assert long_store.ingest([tmp_path / "more"]).problems == ()
    (newest, *_) = run_values(long_store, series_ids=ids[:1], latest=MOST_RUNS)
    assert newest.run_ids[-1] != whole[ids[0]].run_ids[-1]


def long_history_head(store):
    return queries.commits(store)[-1].commit
