"""Tables of many series hold what the history of each holds."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import groupby

import numpy as np
import pytest

from results.judgement.changes.from_histories import changes_of_place
from results.queries import history_of, history_tables
from results.questions import history_tables as module
from results.upkeep.housekeeping import prune_missing_files


@pytest.fixture(params=[module.FEW_SERIES, 0], ids=["few", "many"])
def n_few(request, monkeypatch):
    monkeypatch.setattr(module, "FEW_SERIES", request.param)


def test_a_table_holds_the_history_of_each_series(opened, journals, tmp_path, n_few):
    sweeps = journals.history(4, operations=("linear",), states={("linear", "compiled"): "crashed"}, disturbed="load")
    journals.write_journals(tmp_path, [*sweeps, journals.Sweep(machine="other", operations=("linear",))])
    opened.ingest([tmp_path])
    tables = history_tables(opened)
    assert [(one.machine, len(one.runs)) for one in tables] == [("bench-01", 4), ("other", 1)]
    for table in tables:
        of_series = history_of(opened, series_ids=[one.series_id for one in table.series])
        for row, history in enumerate(of_series):
            assert history.series == table.series[row]
            at = {run.run_id: i for i, run in enumerate(table.runs)}
            expected = np.full(len(table.runs), np.nan)
            for value in history.values:
                if value.value is not None:
                    expected[at[value.run_id]] = value.value
                    assert table.disturbed[row, at[value.run_id]] == (value.reason is not None)
            np.testing.assert_array_equal(table.values[row], expected)


def test_only_what_is_chosen_is_in_a_table(opened, journals, tmp_path):
    journals.write_journals(tmp_path, journals.history(2))
    opened.ingest([tmp_path])
    [table] = history_tables(opened, benchmark="mlp", metric="latency_s", parameters={"provider": "fused"})
    assert {(one.benchmark, one.metric) for one in table.series} == {("mlp", "latency_s")}
    assert np.isfinite(table.values).all()
    assert history_tables(opened, benchmark="unknown") == []


def test_runs_of_a_commit_are_together_though_another_of_the_same_second_was_measured_between(
    opened, journals, tmp_path
):
    """Commits of one second, as a rebase makes them, have no order where no repository gives one."""
    sweeps = journals.history(4, operations=("linear",))
    sweeps[2] = replace(sweeps[2], commit_date=sweeps[1].commit_date)
    again = [replace(sweeps[number], run_id=f"again-{number}") for number in (1, 2, 1)]
    again[2] = replace(again[2], run_id="again-once-more")
    journals.write_journals(tmp_path, sweeps)
    for hours, sweep in enumerate(again, start=2):
        lines = journals.lines_of(sweep)
        for line in lines:
            line["run"]["started_at"] = line["measured_at"] = (sweep.commit_date + timedelta(hours=hours)).isoformat()
        [path] = tmp_path.glob(f"journal/*/{sweep.commit[:8]}-*.jsonl")
        path.write_text(path.read_text() + "".join(json.dumps(line) + "\n" for line in lines))
    opened.ingest([tmp_path])
    [table] = history_tables(opened)
    commits = [run.commit for run in table.runs]
    assert [commit for commit, _ in groupby(commits)] == list(dict.fromkeys(commits))
    assert sorted(Counter(commits).values()) == [1, 1, 2, 3]
    assert changes_of_place(table).n_commits == 4
    assert np.isfinite(table.values).all()


def test_a_place_whose_files_are_gone_has_no_table(opened, journals, tmp_path):
    paths = journals.write_journals(tmp_path, [*journals.history(2), journals.Sweep(machine="other")])
    opened.ingest([tmp_path])
    paths[-1].unlink()
    prune_missing_files(opened, [tmp_path])
    assert [one.machine for one in history_tables(opened)] == ["bench-01"]
    assert history_tables(opened, machine="other") == []
