from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.store import compact_command, store
from results.errors import StoreError
from results.exit_codes import ExitCode
from results.queries import commits, latest_points
from results.store import open_store
from results.upkeep.housekeeping import compact, store_size
from results.upkeep.integrity import find_faults
from results.upkeep.rebuild import rebuild_store

A, B = "a" * 40, "b" * 40


def run(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture
def foreign(tmp_path, write_asv_run, timed):
    """An asv tree of two commits and its database."""
    grid = {"result": [1.0, 2.0, None], "params": [["10", "1e3", "'x'"]], "version": "g"}
    for commit in (A, B):
        write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3), "s.track_grid": grid}, commit=commit)
    db = tmp_path / "x.db"
    run(ingest, tmp_path / "tree", "--db", db)
    return tmp_path / "tree", db


def rebuild(db, *paths, may_lose=False):
    return rebuild_store(str(db), paths, project=None, may_lose=may_lose, on_progress=None)


def stored_rows(store):
    """Rows by table, but for what was judged: it is derived, and made again by whoever asks."""
    return {table: n for table, n in store_size(store).n_rows.items() if not table.startswith("judged_")}


def test_a_rebuilt_store_holds_what_the_old_one_held(foreign):
    tree, db = foreign
    with open_store(str(db)) as opened:
        before = stored_rows(opened)
    _, report = rebuild(db, tree)
    assert report.n_values == 8
    with open_store(str(db)) as opened:
        assert stored_rows(opened) == before
    assert sorted(path.name for path in db.parent.glob("x.db*")) == ["x.db"]


def test_a_rebuild_that_would_lose_runs_leaves_the_old_store_as_it_is(foreign):
    tree, db = foreign
    for path in tree.rglob("bbbb*.json"):
        path.unlink()
    with pytest.raises(StoreError, match=r"1 runs .* would be lost"):
        rebuild(db, tree)
    with open_store(str(db)) as opened:
        assert [row.commit for row in commits(opened)] == [A, B]
    rebuild(db, tree, may_lose=True)
    with open_store(str(db)) as opened:
        assert [row.commit for row in commits(opened)] == [A]


def test_a_rebuild_lets_a_reader_finish_with_the_old_store(foreign):
    tree, db = foreign
    reader = sqlite3.connect(db)
    reader.execute("BEGIN")
    before = reader.execute("SELECT count(*) FROM value").fetchone()
    for path in tree.rglob("bbbb*.json"):
        path.unlink()
    rebuild(db, tree, may_lose=True)
    assert reader.execute("SELECT count(*) FROM value").fetchone() == before
    reader.execute("ROLLBACK")
    assert reader.execute("SELECT count(*) FROM value").fetchone() < before
    reader.close()
    assert not list(db.parent.glob("*.rebuild-*"))


def test_a_damaged_store_is_told_and_can_be_made_anew(foreign):
    tree, db = foreign
    db.write_bytes(db.read_bytes()[:5000] + b"\xff" * 5000)
    answer = run(ingest, tree, "--db", db)
    assert "damaged" in str(answer.exception)
    db.unlink()
    assert run(ingest, tree, "--db", db).return_value == ExitCode.FINE


def test_prune_forgets_only_what_came_from_vanished_files_below_the_path(foreign, tmp_path):
    tree, db = foreign
    shutil.copytree(tree, tmp_path / "other" / "tree")
    (tmp_path / "other" / "asv.conf.json").write_text('{\n"project": "other"\n}')
    run(ingest, tmp_path / "other", "--db", db)
    for path in (*tree.rglob("bbbb*.json"), *(tmp_path / "other").rglob("bbbb*.json")):
        path.unlink()
    assert "Removed 1 run whose files are gone" in run(ingest, tree, "--db", db, "--prune").stdout
    with open_store(str(db)) as opened:
        assert {(row.project, row.commit) for row in commits(opened)} == {
            (tree.name, A), ("other", A), ("other", B),
        }  # fmt: skip
        assert find_faults(opened) == []


def test_what_was_pruned_comes_back_with_its_file(foreign):
    tree, db = foreign
    (path,) = tree.rglob("bbbb*.json")
    content = path.read_bytes()
    path.unlink()
    run(ingest, tree, "--db", db, "--prune")
    path.write_bytes(content)
    assert "4 values stored" in run(ingest, tree, "--db", db).stdout


def test_a_file_that_cannot_be_looked_at_is_not_taken_for_gone(opened, tmp_path, journals, monkeypatch):
    from results.upkeep.housekeeping import prune_missing_files

    journals.write_journals(tmp_path, journals.history(1))
    opened.ingest([tmp_path])

    stat = Path.stat

    def refused(path, **options):
        if path.suffix == ".jsonl":
            raise PermissionError(13, "Permission denied")
        return stat(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", refused)
        assert prune_missing_files(opened, [tmp_path]) == 0
    assert commits(opened)


def test_a_journals_runs_can_be_pruned_whole(opened, tmp_path, journals):
    from results.upkeep.housekeeping import prune_missing_files

    paths = journals.write_journals(tmp_path, journals.history(2))
    opened.ingest([tmp_path])
    paths[1].unlink()
    assert prune_missing_files(opened, [tmp_path]) == 1
    assert {row.commit for row in latest_points(opened)} == {journals.commit_hash(0)}
    assert find_faults(opened) == []


def test_the_size_of_a_store_counts_rows_by_table(opened, tmp_path, journals):
    journals.write_journals(tmp_path, journals.history(1))
    (tmp_path / "broken.jsonl").write_text("{\n{\n")
    opened.ingest([tmp_path])
    size = store_size(opened)
    assert (size.n_rows["run"], size.n_rows["measurement"], size.n_rows["profile"]) == (1, 36, 36)
    assert size.n_bytes > 0
    assert [Path(path).name for path, _ in size.set_aside] == ["broken.jsonl"]


def test_a_store_can_be_compacted_and_stays_whole(opened, tmp_path, journals):
    journals.write_journals(tmp_path, journals.history(2))
    opened.ingest([tmp_path])
    compact(opened)
    assert find_faults(opened) == []
    assert len(latest_points(opened)) == 36


def test_the_store_commands_answer(foreign):
    _, db = foreign
    assert "8  value" in run(store, "info", "--db", db).stdout
    assert "whole" in run(store, "check", "--db", db).stdout
    assert run(store, "compact", "--db", db).return_value == ExitCode.FINE


def test_compacting_what_became_no_smaller_reclaimed_nothing(tmp_path, monkeypatch):
    open_store(str(tmp_path / "x.db")).close()
    monkeypatch.setattr("results.commands.store.compact", lambda _: -435_000)
    answer = CliRunner().invoke(compact_command, ["--db", str(tmp_path / "x.db")])
    assert answer.stdout.endswith("Reclaimed 0 B.\n")
