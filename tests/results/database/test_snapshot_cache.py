"""What is cached of a database is never older than the rows that the same transaction sees."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from results.database.schema import Project
from results.database.snapshot_cache import MAX_ENTRIES, cached_for_snapshot
from results.database.transactions import reading, writing
from results.store import open_store


@pytest.fixture
def names(opened):
    """A function: the projects' names, by way of what is cached; it counts how often it had to look."""

    def ask(connection=None, key="names"):
        if connection is None:
            with reading(opened.engine) as newer:
                return ask(newer, key)

        def find():
            ask.n_looks += 1
            return list(connection.execute(sa.select(Project.name).order_by(Project.name)).scalars())

        return cached_for_snapshot(connection, key, find)

    ask.n_looks = 0
    return ask


def is_kept(names):
    """Whether a look is spared soon: on a server the transactions of others make new snapshots."""
    for _ in range(50):
        looks = names.n_looks
        names()
        if names.n_looks == looks:
            return True
    return False


def add(store, name):
    with writing(store.engine) as connection:
        connection.execute(sa.insert(Project).values(id=ord(name), name=name))


def test_an_unchanged_database_is_asked_once(names):
    assert [names(), names(), names()] == [[], [], []]
    assert is_kept(names)
    looks = names.n_looks
    names(key="others")
    assert names.n_looks == looks + 1


def test_what_another_process_wrote_is_seen(names, opened, database):
    assert names() == []
    with open_store(database) as other:
        add(other, "a")
    assert names() == ["a"]
    assert is_kept(names)
    assert names() == ["a"]


def test_what_the_same_connection_wrote_is_seen(names, opened):
    assert names() == []
    add(opened, "a")
    assert names() == ["a"]


def test_what_was_undone_is_not_remembered(names, opened):
    assert names() == []
    with pytest.raises(sa.exc.IntegrityError), writing(opened.engine) as connection:
        connection.execute(sa.insert(Project), [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}])
    assert names() == []


def test_a_writer_sees_what_it_has_written_so_far(names, opened):
    names()
    with writing(opened.engine) as connection:
        assert names(connection) == []
        connection.execute(sa.insert(Project).values(id=1, name="a"))
        assert names(connection) == ["a"]


def test_a_transaction_sees_one_state_throughout(names, opened, database):
    with reading(opened.engine) as connection:
        assert names(connection) == []
        with open_store(database) as other:
            add(other, "a")
        assert names(connection, key="asked later") == []
        assert names(connection) == []
    assert names(key="asked later") == ["a"]
    assert names() == ["a"]


def test_a_transaction_that_began_before_a_change_remembers_the_old_state_only(names, opened, database):
    """The state is looked up late: not what was true when the transaction began, nor what is true by now."""
    names()
    with reading(opened.engine) as connection:
        before = list(connection.execute(sa.select(Project.name)).scalars())
        with open_store(database) as other:
            add(other, "a")
        assert names(connection) == before == []
    assert names() == ["a"]


def test_what_was_not_asked_for_longest_goes_first(names):
    def goes_first():
        for i in range(MAX_ENTRIES + 1):
            names(key=i)
            names(key="often")
        looks = [names.n_looks]
        for key in ("often", 0):
            names(key=key)
            looks.append(names.n_looks)
        return [now - looks[0] for now in looks] == [0, 0, 1]

    assert any(goes_first() for _ in range(50))  # as in `is_kept`
