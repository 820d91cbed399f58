"""Judgements of series in the store: the findings of a store are the same with them and without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.judging.changes import changes
from results.commands.status import status
from results.commands.store import merge_command
from results.database.schema import JudgedSeries, Value
from results.database.transactions import writing
from results.judgement.changes import judged
from results.queries import history_tables, judged_series, ranked_changes, unjudged_places
from results.store import OpenMode, open_store
from results.upkeep.housekeeping import store_size
from results.upkeep.integrity import find_faults
from results.upkeep.judged_series import judge_unjudged, keep_judged
from results.upkeep.merge import merge

N = 30


def commit(number):
    return f"{number:08x}{0:032x}"


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """Write asv runs of some commits; six benchmarks, of which two are slower from the fifteenth on. The folder."""

    def write(name, numbers, *, benchmarks=range(6), machine="laptop"):
        for number in numbers:
            suite = {
                f"s.time_{i}": timed(
                    1e-3 * (1.2 if i < 2 and number >= 15 else 1) * (1 + (number * (7 + i) % 11) / 2e3)
                )
                for i in benchmarks
            }
            write_asv_run(
                tmp_path / name, suite, commit=commit(number), machine=machine,
                date=1_700_000_000_000 + number * 86_400_000,
            )  # fmt: skip
        return tmp_path / name

    return write


def run(program, *arguments, code=0):
    answer = CliRunner().invoke(program, list(map(str, arguments)), standalone_mode=False)
    assert answer.exception is None, answer.output
    assert answer.return_value == code
    return answer


def fresh(store):
    """Return the findings of a judgement that knows of none before."""
    with writing(store.engine) as connection:
        rows = connection.execute(sa.select(JudgedSeries.__table__)).all()
        connection.execute(sa.delete(JudgedSeries))
    found = ranked_changes(store)
    assert len(found.judged) == sum(len(one.series) for one in history_tables(store))
    if rows:
        with writing(store.engine) as connection:
            connection.execute(sa.insert(JudgedSeries), [dict(row._mapping) for row in rows])
    return found.findings


def assert_same(store, *, n_judged):
    """Check that the findings are those of a new judgement; n_judged: how many series had to be judged again."""
    found = ranked_changes(store)
    assert found.findings == fresh(store)
    assert len(found.judged) == n_judged
    assert find_faults(store) == []


def test_what_ingest_judged_is_only_read_afterwards(database, tree):
    run(ingest, tree("runs", range(N)), "--db", database)
    with open_store(database) as store:
        assert len(judged_series(store)) == 6
        assert [one.finding.benchmark for one in ranked_changes(store).findings] == ["s.time_0", "s.time_1"]
        assert_same(store, n_judged=0)


def test_after_an_ingest_of_more_only_what_grew_is_judged(database, tree):
    folder = tree("runs", range(20))
    run(ingest, folder, "--db", database)
    tree("runs", range(20, N), benchmarks=[0, 3])
    with open_store(database) as store:
        store.ingest([folder])
        assert_same(store, n_judged=2)
        assert [one.n_series for one in unjudged_places(store)] == [6]
        assert judge_unjudged(store) == 2
        assert_same(store, n_judged=0)
        assert unjudged_places(store) == []
        assert judge_unjudged(store) == 0


def test_a_place_is_judged_alone(database, tree):
    run(ingest, tree("runs", range(20)), "--db", database)
    folder = tree("runs", range(20), machine="other")
    with open_store(database) as store:
        store.ingest([folder])
        assert [one.machine for one in unjudged_places(store)] == ["other"]


def test_what_a_killed_ingest_left_is_told_and_judged_by_the_next(database, tree):
    folder = tree("runs", range(N))
    run(ingest, folder, "--db", database, "--no-judge")
    words = "Nobody has looked for changes in the newest values of 6 series"
    assert words in " ".join(run(status, "--db", database).output.split())
    assert "0 values stored" in run(ingest, folder, "--db", database).output
    assert words not in " ".join(run(status, "--db", database).output.split())
    with open_store(database) as store:
        assert_same(store, n_judged=0)


def test_asking_for_changes_leaves_nothing_unjudged(database, tree):
    run(ingest, tree("runs", range(N)), "--db", database, "--no-judge")
    run(ingest, tree("others", range(N)), "--db", database, "--no-judge", "--project", "others")
    run(changes, "--db", database, "--where", "project=runs", "--where", "benchmark=s.time_0")
    with open_store(database) as store:
        assert [one.project for one in unjudged_places(store)] == ["others"]


def test_asking_by_another_limit_leaves_what_is_unjudged(database, tree):
    run(ingest, tree("runs", range(N)), "--db", database, "--no-judge")
    run(changes, "--db", database, "--least-change", "0.1")
    run(changes, "--db", database, "--control", "s.time_*")
    with open_store(database) as store:
        assert len(unjudged_places(store)) == 1


def test_what_another_detector_judged_is_unjudged(database, tree, monkeypatch):
    folder = tree("runs", range(N))
    run(ingest, folder, "--db", database)
    monkeypatch.setattr("results.queries.detector_digest", lambda: b"a later one")
    with open_store(database) as store:
        assert len(unjudged_places(store)) == 1


def test_an_ingest_of_what_is_known_leaves_nothing_unjudged(database, tree):
    folder = tree("runs", range(N))
    run(ingest, folder, "--db", database)
    with open_store(database) as store:
        store.ingest([folder])
        assert unjudged_places(store) == []


def test_runs_that_went_leave_the_rest_unjudged(database, tree):
    folder = tree("runs", range(N))
    run(ingest, folder, "--db", database)
    next(folder.glob(f"*/{N - 1:08x}*")).unlink()
    run(ingest, folder, "--db", database, "--prune", "--no-judge")
    with open_store(database) as store:
        assert len(unjudged_places(store)) == 1


def test_an_acknowledgement_counts_at_once(database, tree, tmp_path):
    run(ingest, tree("runs", range(N)), "--db", database)
    file = tmp_path / "decisions.toml"
    file.write_text(
        f'format = 1\n[[acknowledgement]]\nproject = "runs"\ncommit = "{commit(15)}"\ndecision = "accepted"\n'
    )
    with open_store(database) as store:
        store.ingest([file])
        assert {one.finding.state for one in ranked_changes(store).findings} == {"acknowledged"}
        assert_same(store, n_judged=0)


def test_other_thresholds_find_what_they_would_alone(database, tree, tmp_path):
    run(ingest, tree("runs", range(N)), "--db", database)
    settings = tmp_path / "settings.toml"
    settings.write_text("[tool.fusebench]\nleast_change = 0.3\n")
    told = [run(changes, "--db", database, *options).output for options in ((), ("--settings", settings))]
    assert "+20" in told[0]
    assert "+20" not in told[1]
    assert [run(changes, "--db", database, *options).output for options in ((), ("--settings", settings))] == told
    with open_store(database) as store:
        assert {one.least_change for one in judged_series(store).values()} == {0.03, 0.3}
        assert_same(store, n_judged=0)
    run(changes, "--db", database, "--least-change", "0.1")
    with open_store(database) as store:
        assert {one.least_change for one in judged_series(store).values()} == {0.03, 0.1}


def test_controls_by_hand_leave_what_is_kept(database, tree):
    run(ingest, tree("runs", range(N)), "--db", database)
    with open_store(database) as store:
        before = judged_series(store)
        run(changes, "--db", database, "--control", "s.time_*")
        assert judged_series(store) == before


def test_after_a_merge_what_grew_is_judged_again(make_database, tree):
    ours, theirs = make_database(), make_database()
    run(ingest, tree("ours", range(20)), "--db", ours, "--project", "p")
    run(ingest, tree("theirs", range(15, N), benchmarks=[1, 4]), "--db", theirs, "--project", "p")
    with open_store(ours) as store, open_store(theirs) as other:
        merge(store, other)
        assert_same(store, n_judged=2)


def test_merging_judges_what_it_brought(make_database, tree):
    ours, theirs = make_database(), make_database()
    run(ingest, tree("ours", range(20)), "--db", ours, "--project", "p")
    run(ingest, tree("theirs", range(15, N), benchmarks=[1, 4]), "--db", theirs, "--project", "p", "--no-judge")
    run(merge_command, theirs, "--db", ours)
    with open_store(ours) as store:
        assert unjudged_places(store) == []
        assert_same(store, n_judged=0)


def test_a_value_that_anybody_changed_is_judged_again(database, tree):
    run(ingest, tree("runs", range(N)), "--db", database)
    with open_store(database) as store:
        last = sa.select(sa.func.max(Value.series_id)).scalar_subquery()
        with writing(store.engine) as connection:
            connection.execute(sa.update(Value).where(Value.series_id == last).values(median=Value.median * 2))
        assert_same(store, n_judged=1)


def test_changes_keeps_what_was_not_judged(database, tree):
    run(ingest, tree("runs", range(N)), "--db", database, "--no-judge")
    with open_store(database) as store:
        assert not judged_series(store)
    first, second = (run(changes, "--db", database).output for _ in range(2))
    assert first == second
    with open_store(database) as store:
        assert_same(store, n_judged=0)


def test_a_rebuilt_store_is_judged(database, tree):
    folder = tree("runs", range(N))
    run(ingest, folder, "--db", database)
    run(ingest, folder, "--db", database, "--rebuild")
    with open_store(database) as store:
        assert_same(store, n_judged=0)


def test_an_interrupted_judgement_loses_no_value(database, tree, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("results.commands.judging.new_values.judge_unjudged", interrupt)
    folder = tree("runs", range(N))
    answer = CliRunner().invoke(ingest, [str(folder), "--db", database])
    assert answer.exit_code != 0
    assert f"{6 * N} values stored" in answer.output
    assert "Every value is stored; what was not judged yet is judged by who asks for it." in answer.output
    with open_store(database) as store:
        assert store_size(store).n_rows["value"] == 6 * N
        assert_same(store, n_judged=6)


def test_a_store_that_may_not_be_written_stays_as_it_is(tmp_path, tree, monkeypatch):
    db = tmp_path / "read.db"
    run(ingest, tree("runs", range(N)), "--db", db, "--no-judge")
    monkeypatch.setattr("results.database.engines._is_writable", lambda _: False)
    before = Path(db).read_bytes()
    with open_store(str(db), mode=OpenMode.READ) as store:
        found = ranked_changes(store)
        keep_judged(store, found.judged)
        assert len(found.judged) == 6
        assert len(found.findings) == 2
        assert not judged_series(store)
    assert "+20" in run(changes, "--db", db).output
    assert Path(db).read_bytes() == before


def test_a_copy_keeps_what_was_judged(tmp_path, tree):
    run(ingest, tree("runs", range(N)), "--db", tmp_path / "one.db")
    shutil.copy(tmp_path / "one.db", tmp_path / "two.db")
    judged._of_detector.cache_clear()  # as in another process
    with open_store(str(tmp_path / "two.db")) as store:
        assert_same(store, n_judged=0)
