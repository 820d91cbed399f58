"""Another database's measurements into this one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from results.commands.store import store
from results.database.schema import Ceiling, Quarantine, Series, Triage, Value
from results.errors import StoreError
from results.exit_codes import ExitCode
from results.queries import commits, history_of, latest_points, profile_of, values_at
from results.store import open_store
from results.upkeep.housekeeping import store_size
from results.upkeep.integrity import find_faults
from results.upkeep.merge import merge

A, B, C = "a" * 40, "b" * 40, "c" * 40
# What says where something came from, and not what it is.
NOT_CONTENT = {"source", "quarantine"}


@pytest.fixture
def data(tmp_path, write_asv_run, timed, journals):
    """Write asv runs of the given commits, journals of two sweeps, ceilings and a decision; the folder."""

    def write(name, *asv_commits, sweeps=0, value=1e-3):
        folder = tmp_path / name
        for commit in asv_commits:
            grid = {"result": [1.0, None, float("nan")], "params": [["10", "'x'", "2.5"]], "version": "g"}
            suite = {"s.time_it": timed(value, samples=[[value, value]]), "s.track_grid": grid}
            write_asv_run(folder / "tree", suite, commit=commit, date=1_700_000_000_000 + ord(commit[0]) * 1000)
        journals.write_journals(folder, journals.history(sweeps, operations=("mlp",)))
        if sweeps:
            ceilings = {"measured_at": f"2026-01-0{sweeps}T00:00:00Z", "copy_bytes_per_s": sweeps * 1e9}
            content = {"format": 1, "machine": "bench-01", "environments": {"py3.11-cpu-t2": ceilings}}
            (folder / "machines").mkdir()
            (folder / "machines" / "bench-01.json").write_text(json.dumps(content))
            known = f'project = "p"\ncommit = "{asv_commits[0]}"\ndecision = "accepted"\n'
            (folder / "decisions.toml").write_text(f"format = 1\n[[acknowledgement]]\n{known}")
        return folder

    return write


@pytest.fixture
def other(tmp_path):
    """A second, empty store."""
    with open_store(str(tmp_path / "other.db")) as opened:
        yield opened


def content_of(opened):
    """All rows counted, and every value, point and profile with names in place of ids."""
    with opened.reading() as connection:
        ids = list(connection.execute(sa.select(Series.id)).scalars())
        samples = sorted(map(repr, connection.execute(sa.select(Value.samples)).scalars()))
        triage = connection.execute(sa.select(sa.func.count()).select_from(Triage)).scalar()
        ceilings = connection.execute(sa.select(Ceiling.quantity, Ceiling.value)).all()
    histories = sorted(
        repr((found.series.project, found.series.benchmark, found.series.metric, found.series.parameters, found.values))
        for found in history_of(opened, series_ids=ids)
    )
    points = latest_points(opened)
    profiles = [repr(profile_of(opened, point=point)) for point in points]
    counts = {table: n for table, n in store_size(opened).n_rows.items() if table not in NOT_CONTENT}
    return histories, samples, triage, ceilings, profiles, counts


def test_an_empty_store_merged_with_another_holds_what_that_holds(opened, other, data):
    other.ingest([data("theirs", A, B, sweeps=2)], project="p")
    report = merge(opened, other)
    assert (report.n_runs_added, report.n_values, report.conflicts) == (4, other_values(other), ())
    assert content_of(opened) == content_of(other)
    assert find_faults(opened) == []


def other_values(other):
    return store_size(other).n_rows["value"]


def test_merging_again_brings_nothing(opened, other, data):
    other.ingest([data("theirs", A, B, sweeps=2)], project="p")
    merge(opened, other)
    before = content_of(opened)
    report = merge(opened, other)
    assert (report.n_runs_added, report.n_runs_completed, report.n_values, report.conflicts) == (0, 0, 0, ())
    assert content_of(opened) == before


def test_two_stores_that_overlap_make_one_that_holds_both(opened, other, data):
    opened.ingest([data("ours", A, B)], project="p")
    other.ingest([data("theirs", B, C, sweeps=1)], project="p")
    report = merge(opened, other)
    assert (report.n_runs_added, report.conflicts) == (2, ())
    found = {row.commit for row in commits(opened) if row.project == "p"}
    assert found == {A, B, C}
    assert len(values_at(opened, commit=B)) == 4


def test_the_order_of_merging_does_not_matter(tmp_path, data):
    paths = [data("ours", A, B, sweeps=1), data("theirs", B, C)]
    results = []
    for order in (paths, paths[::-1]):
        stores = [open_store(str(tmp_path / f"{len(results)}-{i}.db")) for i in range(2)]
        for opened, path in zip(stores, order, strict=True):
            opened.ingest([path], project="p")
        merge(*stores)
        results.append(content_of(stores[0]))
        for opened in stores:
            opened.close()
    assert results[0] == results[1]


def test_a_run_that_says_something_else_is_named_and_left_as_it_is_here(opened, other, data):
    opened.ingest([data("ours", A, B)], project="p")
    other.ingest([data("theirs", B, C, value=2e-3)], project="p")
    report = merge(opened, other)
    assert report.n_runs_added == 1
    (conflict,) = report.conflicts
    assert B in conflict
    assert "1 of its value rows are different there" in conflict
    assert next(row.value for row in values_at(opened, commit=B)) == 1e-3
    with opened.reading() as connection:
        (row,) = connection.execute(sa.select(Quarantine.__table__)).all()
    assert row.path.startswith(f"{other.name}#")
    other.ingest([data("theirs", B)], project="p")
    assert merge(opened, other).conflicts == ()
    assert store_size(opened).set_aside == ()


def test_a_run_of_which_the_other_knows_more_is_completed(opened, other, tmp_path, journals):
    sweep = journals.Sweep(commit=A, operations=("mlp",), providers=("eager",))
    opened.ingest(journals.write_journals(tmp_path / "ours", [sweep]))
    other.ingest(journals.write_journals(tmp_path / "theirs", [sweep, replace(sweep, providers=("fused",))]))
    report = merge(opened, other)
    assert (report.n_runs_added, report.n_runs_completed) == (0, 1)
    assert content_of(opened) == content_of(other)


def test_the_later_of_two_ceilings_counts(opened, other, data):
    opened.ingest([data("ours", A, sweeps=2)], project="p")
    other.ingest([data("theirs", A, sweeps=1)], project="p")
    merge(opened, other)
    with opened.reading() as connection:
        assert connection.execute(sa.select(Ceiling.value)).scalar() == 2e9
    merge(other, opened)
    with other.reading() as connection:
        assert connection.execute(sa.select(Ceiling.value)).scalar() == 2e9


def test_decisions_that_came_by_merge_survive_a_rebuild(tmp_path, other, data):
    from results.upkeep.rebuild import rebuild_store

    folder = data("theirs", A, sweeps=1)
    other.ingest([folder], project="p")
    db = str(tmp_path / "x.db")
    with open_store(db) as opened:
        merge(opened, other)
    rebuild_store(db, [folder / "tree", folder / "journal"], project="p", may_lose=False, on_progress=None)
    with open_store(db) as opened, opened.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(Triage)).scalar() == 4


def test_a_store_is_not_merged_into_itself(tmp_path, database):
    with (
        open_store(database) as opened,
        open_store(database) as again,
        pytest.raises(StoreError, match="is the database to merge into"),
    ):
        merge(opened, again)


def test_postgresql_can_be_merged_into_a_file(opened, other, data):
    opened.ingest([data("theirs", A, B, sweeps=1)], project="p")
    merge(other, opened)
    assert content_of(other) == content_of(opened)


def test_files_read_after_a_merge_add_nothing_they_brought(opened, other, data):
    folder = data("theirs", A, B, sweeps=1)
    other.ingest([folder], project="p")
    merge(opened, other)
    before = content_of(opened)[0]
    opened.ingest([folder], project="p")
    assert content_of(opened)[0] == before


@pytest.mark.parametrize(
    ("commits", "said"), [((A, B), "2 runs and 8 values added, 0 runs"), ((A,), "1 run and 4 values added, 0 runs")]
)
def test_store_merge_says_what_it_did(tmp_path, other, data, commits, said):
    other.ingest([data("theirs", *commits)], project="p")
    arguments = ["merge", other.name, "--db", str(tmp_path / "new.db")]
    answer = CliRunner().invoke(store, arguments, standalone_mode=False)
    assert answer.return_value == ExitCode.FINE
    assert said in answer.stdout
