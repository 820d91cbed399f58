from __future__ import annotations

import shutil

import pytest

from results.errors import NoStore, StoreError
from results.queries import commits
from results.store import OpenMode, open_store


def fill(path, journals, n_commits):
    folder = path.with_suffix(".files")
    journals.write_journals(folder, journals.history(n_commits))
    with open_store(str(path)) as store:
        store.ingest([folder])


def test_a_fingerprint_stays_while_nothing_changes_and_differs_when_rows_come(database, journals, tmp_path):
    with open_store(database) as store:
        before = store.fingerprint()
        commits(store)
        if store.engine.dialect.name == "sqlite":  # other writers of a PostgreSQL server change it as well
            assert store.fingerprint() == before
        journals.write_journals(tmp_path / "more", journals.history(2))
        with open_store(database) as other:
            other.ingest([tmp_path / "more"])
        assert store.fingerprint() != before


def test_own_writing_changes_the_fingerprint(database, journals, tmp_path):
    with open_store(database) as store:
        before = store.fingerprint()
        journals.write_journals(tmp_path / "more", journals.history(2))
        store.ingest([tmp_path / "more"])
        assert store.fingerprint() != before


def test_a_replaced_file_is_opened_anew(tmp_path, journals):
    shown, other = tmp_path / "shown.db", tmp_path / "other.db"
    fill(shown, journals, 2)
    fill(other, journals, 3)
    with open_store(str(shown)) as store:
        before = store.fingerprint()
        assert len(commits(store)) == 2
        other.replace(shown)
        assert store.fingerprint() != before
        assert len(commits(store)) == 3


def test_a_file_that_replaced_one_whose_log_is_left_beside_it_is_not_mixed_with_it(tmp_path, journals):
    shown, other = tmp_path / "shown.db", tmp_path / "other.db"
    fill(shown, journals, 2)
    fill(other, journals, 3)
    content = other.read_bytes()
    with open_store(str(shown), mode=OpenMode.READ) as store:
        store.fingerprint()
        journals.write_journals(tmp_path / "more", journals.history(4))
        with open_store(str(shown)) as writing:
            writing.ingest([tmp_path / "more"])
        other.replace(shown)
        for _ in range(2):
            with pytest.raises(StoreError, match=r"Move shown.db-wal and shown.db-shm away"):
                store.fingerprint()
        assert shown.read_bytes() == content
        for name in ("shown.db-wal", "shown.db-shm"):
            (tmp_path / name).rename(tmp_path / f"{name}.before")
        store.fingerprint()
        assert len(commits(store)) == 3


def test_a_file_that_is_gone_is_an_error_until_it_is_back(tmp_path, journals):
    shown, aside = tmp_path / "shown.db", tmp_path / "aside.db"
    fill(shown, journals, 2)
    with open_store(str(shown)) as store:
        shown.replace(aside)
        with pytest.raises(NoStore):
            store.fingerprint()
        shutil.copy(aside, shown)
        store.fingerprint()
        assert len(commits(store)) == 2
