"""A new version of the ruler starts new series; what kept its meaning may be declared to go on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

from results.commands.store import store as store_command
from results.exit_codes import ExitCode
from results.queries import history_of, series_where
from results.store import open_store


@pytest.fixture
def measured(database, journals, tmp_path):
    """A database of one point, at one commit by version 1 of the ruler and at the next by version 2."""
    first, second = journals.history(2, operations=("mlp",), providers=("eager",), batches=(1,), hiddens=(256,))
    journals.write_journals(tmp_path / "data", [first, replace(second, ruler_version="2")])
    with open_store(database) as store:
        assert not store.ingest([tmp_path / "data"]).problems
    return database


def commits_by_version(database, metric):
    """The commits in the history of each version's series of a metric."""
    with open_store(database) as store:
        series = series_where(store, benchmark="mlp", metric=metric)
        histories = history_of(store, series_ids=[row.series_id for row in series])
    return {history.series.version: [value.commit for value in history.values] for history in histories}


@pytest.mark.parametrize("metric", ["latency_s", "operator_count"])
def test_each_version_has_a_series_of_its_own(measured, journals, metric):
    commits = {version: [journals.commit_hash(i)] for i, version in enumerate("12")}
    assert commits_by_version(measured, metric) == commits


def test_a_metric_that_kept_its_meaning_goes_on_once_that_is_declared(measured, journals, tmp_path):
    arguments = ["join", "mlp", "1", "2", "--metric", "latency_s", "--file", str(tmp_path / "decisions.toml")]
    answer = CliRunner().invoke(store_command, [*arguments, "--db", measured], standalone_mode=False)
    assert answer.return_value == ExitCode.FINE
    both = [journals.commit_hash(0), journals.commit_hash(1)]
    assert commits_by_version(measured, "latency_s") == {"1": both, "2": both}
    assert commits_by_version(measured, "operator_count") == {"1": both[:1], "2": both[1:]}
