from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from results.errors import UnknownRevision
from results.queries import (
    all_values_at,
    commits,
    history_of,
    latest_points,
    profile_of,
    series_where,
    throughput_by_batch,
    throughput_by_commit,
    values_at,
)
from results.questions.history_tables import run_values
from results.questions.revisions import commit_of, commits_of
from results.store import open_store
from tests.made_repositories import git


@pytest.fixture(scope="module")
def filled(shared_database, tmp_path_factory, journals):
    """A store with three commits of everything, on each kind of database; for reading only."""
    folder = tmp_path_factory.mktemp("data")
    journals.write_journals(folder, journals.history(3))
    with open_store(shared_database) as store:
        store.ingest([folder])
        yield store


@pytest.fixture
def growing(database, tmp_path, journals):
    """As `filled`, of one test's own."""
    journals.write_journals(tmp_path / "data", journals.history(3))
    with open_store(database) as store:
        store.ingest([tmp_path / "data"])
        yield store


def test_the_latest_points_are_those_of_the_newest_commit(filled, journals):
    rows = latest_points(filled)
    assert len(rows) == 3 * 3 * 2 * 2
    assert {row.commit for row in rows} == {journals.commit_hash(2)}


def test_a_point_the_newest_commit_left_out_comes_from_the_one_before(growing, tmp_path, journals):
    newest = replace(journals.history(4)[3], operations=("mlp",))
    journals.write_journals(tmp_path / "more", [newest])
    growing.ingest([tmp_path / "more"])
    found = {row.operation: row.commit for row in latest_points(growing)}
    assert found["mlp"] == newest.commit
    assert found["linear"] == journals.commit_hash(2)


def test_points_at_a_revision_are_that_commits(filled, journals):
    rows = latest_points(filled, revision=journals.commit_hash(0)[:10])
    assert {row.commit for row in rows} == {journals.commit_hash(0)}


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({"operation": "mlp"}, 12),
        ({"provider": ["eager", "fused"]}, 24),
        ({"batch": 64, "hidden": (256, 1024)}, 18),
        ({"machine": "bench-01", "environment": "py3.11-cpu-t2"}, 36),
        ({"machine": "elsewhere"}, 0),
        ({"dim": 64, "dtype": "float32", "activation": "gelu", "pass_": "forward"}, 18),
        ({"operation": None}, 36),
    ],
)
def test_every_axis_filters(filled, axes, expected):
    assert len(latest_points(filled, **axes)) == expected


def test_a_row_holds_what_the_journal_said(filled, journals):
    (row,) = latest_points(filled, operation="mlp", provider="fused", batch=64, hidden=1024)
    latency = journals.latency_s(journals.history(3)[2], "mlp", "fused", 64, 1024)
    assert row.latency_s == latency
    assert row.latency_ci_low_s < latency < row.latency_ci_high_s
    assert row.rows_per_s == pytest.approx(64 / latency)
    assert row.tflop_per_s == pytest.approx(2 * 2 * 64 * 1024 * 256 / latency / 1e12)
    assert row.percent_of_floor == pytest.approx(40)
    assert (row.bound, row.operator_count, row.kernel_launches) == ("compute", 2, None)
    assert row.speedup_vs_eager == pytest.approx(1.6)
    assert (row.commit_subject, row.sample_count, row.state) == ("Change number 2", 30, "ok")


@pytest.mark.parametrize(("latency_over_floor", "percent"), [(1.0, 100.0), (0.91, 109.89), (0.909, None), (0.05, None)])
def test_more_than_a_tenth_above_floor_speed_is_no_number_but_a_ceiling_that_is_not_valid(
    journal_store, journals, tmp_path, latency_over_floor, percent
):
    lines = list(journals.lines_of(journals.Sweep()))
    for line in lines:
        if line["kind"] == "timing":
            line["floor_s"] = line["latency_s"] / latency_over_floor
    write_lines(tmp_path / "fast.jsonl", lines)
    store = journal_store([])
    store.ingest([tmp_path / "fast.jsonl"])
    for row in latest_points(store, operation="mlp", provider="fused"):
        assert row.percent_of_floor == (None if percent is None else pytest.approx(percent, rel=1e-3))
        assert row.has_valid_ceiling is (percent is not None)
        assert row.bound_in_words == (row.bound if percent else "ceiling not valid")


def test_a_point_that_is_not_ok_has_a_reason_and_no_numbers(journal_store, journals):
    store = journal_store([journals.Sweep(states={("mlp", "fused"): "unavailable"})])
    for row in latest_points(store, operation="mlp", provider="fused"):
        assert (row.state, row.reason) == ("unavailable", "fused is unavailable in this test")
        assert row.latency_s is row.rows_per_s is row.bound is row.speedup_vs_eager is None


def test_throughput_by_commit_is_in_the_order_of_commits(filled, journals):
    rows = throughput_by_commit(filled, operation="mlp", hidden=1024, batch=64, provider="eager")
    assert [row.commit for row in rows] == [journals.commit_hash(i) for i in range(3)]


def test_throughput_by_commit_takes_the_newest_run_of_a_commit(growing, tmp_path, journals):
    again = replace(
        journals.history(3)[1], run_id="again", slowdowns={("mlp", "eager"): 2.0}, commit_subject="Change number 1"
    )
    lines = [json_with_later_start(line) for line in journals.lines_of(again)]
    write_lines(tmp_path / "again.jsonl", lines)
    growing.ingest([tmp_path / "again.jsonl"])
    rows = throughput_by_commit(growing, operation="mlp", hidden=1024, batch=64, provider="eager")
    assert [row.run_id == "again" for row in rows] == [False, True, False]


def json_with_later_start(line):
    return line | {"run": line["run"] | {"started_at": "2027-01-01T00:00:00+00:00"}}


def write_lines(path, lines):
    import json

    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_throughput_by_batch_never_mixes_commits(growing, tmp_path, journals):
    newest = replace(journals.history(4)[3], batches=(64,))
    journals.write_journals(tmp_path / "more", [newest])
    growing.ingest([tmp_path / "more"])
    rows = throughput_by_batch(growing, operation="mlp", hidden=1024)
    assert {(row.commit, row.batch) for row in rows} == {(newest.commit, 64)}
    older = throughput_by_batch(growing, operation="mlp", hidden=1024, revision=journals.commit_hash(2))
    assert [(row.provider, row.batch) for row in older] == [
        (provider, batch) for provider in ("compiled", "eager", "fused") for batch in (1, 64)
    ]


def test_a_profile_lists_operators_by_descending_time(filled):
    (row,) = latest_points(filled, operation="mlp", provider="eager", batch=64, hidden=1024)
    profile = profile_of(filled, point=row)
    assert (profile.state, profile.operator_count, profile.bound) == ("ok", 4, "compute")
    assert [operator.name for operator in profile.operators] == ["aten::addmm", "aten::t"]
    assert profile.kernels == ()


def test_on_cuda_a_profile_lists_kernels(journal_store, journals):
    store = journal_store([journals.Sweep(device="cuda")])
    row = latest_points(store, operation="mlp", provider="eager", batch=64, hidden=1024)[0]
    assert (row.dtype, row.kernel_launches) == ("bfloat16", 4)
    assert [kernel.name for kernel in profile_of(store, point=row).kernels] == ["gemm_tn"]


def test_dates_come_back_aware_and_equal(filled, journals):
    assert commits(filled)[0].date == journals.START
    assert latest_points(filled)[0].measured_at == journals.START + timedelta(days=2, hours=1, minutes=5)


def test_what_commits_are_compared_by_is_told_without_samples(filled, journals):
    commit = journals.commit_hash(1)
    plain = {"q25": None, "q75": None, "sample_count": None, "samples": None, "calls_per_sample": None, "processes": ()}
    newest = {row.series_id: row._replace(**plain) for row in values_at(filled, commit=commit)}
    found = all_values_at(filled, commit=commit)
    assert {row.series_id: row._replace(processes=()) for row in found} == newest
    assert all(row == row._replace(**(plain | {"processes": row.processes})) for row in found)


def test_points_that_have_a_parameter_in_common_share_its_value(filled, journals):
    """Thousands of points of a commit have a few values."""
    rows = all_values_at(filled, commit=journals.commit_hash(0), metric="latency_s")
    values = [one for row in rows for one in row.parameters if one.name == "pass"]
    assert len(values) > 1
    assert len(set(map(id, values))) == len(set(values))


def test_a_history_is_in_the_order_of_commits(filled, journals):
    row = next(row for row in values_at(filled, commit=journals.commit_hash(2)) if row.metric == "latency_s")
    (history,) = history_of(filled, series_ids=[row.series_id, 10**6])
    assert [value.commit for value in history.values] == [journals.commit_hash(i) for i in range(3)]
    assert history.values[2].value == row.value
    assert (history.series.unit, history.series.parameters) == ("s", row.parameters)


def test_values_by_run_are_those_of_the_history_that_are_ok(opened, tmp_path, journals):
    sweeps = journals.history(4, operations=("mlp",), batches=(1, 16), hiddens=(256,))
    sweeps[1] = replace(sweeps[1], states={("mlp", "fused"): "crashed"})
    journals.write_journals(tmp_path / "data", sweeps)
    opened.ingest([tmp_path / "data"])
    ids = [row.series_id for row in series_where(opened, metric="latency_s")][::-1]
    found = run_values(opened, series_ids=[*ids, 10**6])
    assert [one.series_id for one in found] == ids
    assert {len(one.values) for one in found} == {3, 4}
    for one, history in zip(found, history_of(opened, series_ids=ids), strict=True):
        ok = [value for value in history.values if value.state == "ok"]
        assert one.run_ids == tuple(value.run_id for value in ok)
        assert one.commits == tuple(value.commit for value in ok)
        assert one.values == tuple(value.value for value in ok)


def test_a_history_tells_why_a_value_is_missing_and_only_there(opened, tmp_path, journals):
    sweeps = journals.history(3, operations=("mlp",), batches=(1,), hiddens=(256,))
    sweeps[1] = replace(sweeps[1], states={("mlp", "fused"): "crashed"})
    journals.write_journals(tmp_path / "data", sweeps)
    opened.ingest([tmp_path / "data"])
    chosen = series_where(opened, metric="latency_s")
    by_provider = {
        next(parameter.value for parameter in history.series.parameters if parameter.name == "provider"): history.values
        for history in history_of(opened, series_ids=[row.series_id for row in chosen])
    }
    assert [(value.state, value.reason) for value in by_provider["fused"]] == [
        ("ok", None), ("crashed", "fused is crashed in this test"), ("ok", None),
    ]  # fmt: skip
    assert {(value.state, value.reason) for value in by_provider["eager"]} == {("ok", None)}


def test_a_revision_may_be_the_start_of_a_hash(filled, journals):
    assert commit_of(filled, journals.commit_hash(1)[:7].upper()) == journals.commit_hash(1)


def test_a_start_that_two_commits_share_is_refused_with_both(journal_store, journals):
    sweep = journals.Sweep(operations=("linear",))
    store = journal_store([replace(sweep, commit=f"abcd{i}" + "0" * 35) for i in range(2)])
    with pytest.raises(UnknownRevision, match="2 commits: abcd00000000, abcd10000000"):
        commit_of(store, "abcd")


@pytest.mark.parametrize("in_turn", [1, -1])
def test_of_two_unknown_revisions_the_one_that_is_no_name_is_told_first(filled, journals, in_turn):
    known = journals.commit_hash(1)
    assert commits_of(filled, known, known[:8]) == (known, known)
    for other in ("dddddddd", known):
        with pytest.raises(UnknownRevision, match="knows nosuch") as raised:
            commits_of(filled, *("nosuch", other)[::in_turn])
        assert not raised.value.is_plausible


def test_a_name_is_resolved_where_there_is_a_repository(journal_store, journals, tmp_path):
    git(tmp_path, "init", "-b", "main")
    git(tmp_path, "commit", "--allow-empty", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD")
    store = journal_store([journals.Sweep(commit=commit)])
    assert commit_of(store, "main", repository=tmp_path) == commit
    git(tmp_path, "commit", "--allow-empty", "-m", "two")
    assert commit_of(store, "HEAD~1", repository=tmp_path) == commit
    with pytest.raises(UnknownRevision, match="nothing is stored for HEAD") as raised:
        commit_of(store, "HEAD", repository=tmp_path)
    assert raised.value.commit == git(tmp_path, "rev-parse", "HEAD")


def test_in_a_shallow_clone_a_commit_that_git_lacks_is_told_with_how_to_fetch_it(journal_store, journals, tmp_path):
    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    whole.mkdir()
    git(whole, "init", "-b", "main")
    for subject in ("one", "two"):
        git(whole, "commit", "--allow-empty", "-m", subject)
    git(tmp_path, "clone", "--depth", "1", f"file://{whole}", str(shallow))
    store = journal_store([journals.Sweep(operations=("linear",))])
    for folder, is_told in ((shallow, True), (whole, False)):
        with pytest.raises(UnknownRevision) as raised:
            commit_of(store, "HEAD~5", repository=folder)
        assert ("`git fetch --unshallow`" in str(raised.value)) is is_told


@pytest.mark.parametrize("n_alike", [1, 2])
def test_a_tag_that_looks_like_the_start_of_a_hash_is_what_git_takes_it_for(
    journal_store, journals, tmp_path, monkeypatch, n_alike
):
    git(tmp_path, "init", "-b", "main")
    git(tmp_path, "commit", "--allow-empty", "-m", "one")
    git(tmp_path, "tag", "2024")
    commit = git(tmp_path, "rev-parse", "HEAD")
    alike = [f"2024{i}" + "0" * 35 for i in range(n_alike)]
    store = journal_store([journals.Sweep(commit=one, operations=("linear",)) for one in (commit, *alike)])
    assert commit_of(store, "2024", repository=tmp_path) == commit
    assert commit_of(store, alike[0][:6], repository=tmp_path) == alike[0]
    monkeypatch.setattr("results.questions.revisions._resolved_by_git", lambda *_: pytest.fail("git was asked"))
    assert commit_of(store, alike[0], repository=tmp_path) == alike[0]


def test_an_empty_store_answers_every_question_with_nothing(opened):
    assert latest_points(opened) == throughput_by_commit(opened) == throughput_by_batch(opened) == []
    assert commits(opened) == []
