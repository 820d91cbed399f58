"""A condition on a list of keys: any length, any text, one parameter."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.schema import Project
from results.database.transactions import reading, writing

TEXTS = ["plain", 'a "b"', "a'b", "{a,b}", "a\\b", "NULL", "", "null", "Grüße ☃", "a\tb\nc", "%s :x ?"]


@pytest.fixture
def filled(opened):
    with writing(opened.engine) as connection:
        connection.execute(sa.insert(Project), [{"id": i, "name": name} for i, name in enumerate([*TEXTS, "other"])])
    return opened


def names_where(store, condition, parameters=None):
    with reading(store.engine) as connection:
        return set(connection.execute(sa.select(Project.name).where(condition), parameters).scalars())


@pytest.mark.parametrize("make", [list, set, tuple, dict.fromkeys, iter])
def test_any_text_is_found_as_it_is(filled, make):
    assert names_where(filled, any_of(Project.name, keys=make(TEXTS))) == set(TEXTS)
    assert names_where(filled, any_of(Project.name, "names"), {"names": make(TEXTS)}) == set(TEXTS)


def test_a_list_may_be_longer_than_a_statement_has_variables(filled):
    assert names_where(filled, any_of(Project.id, keys=range(200_000))) == {*TEXTS, "other"}
    assert names_where(filled, any_of(Project.name, keys=[f"x{i}" for i in range(100_000)] + ["plain"])) == {"plain"}


def test_no_key_finds_nothing_and_its_opposite_everything(filled):
    assert names_where(filled, any_of(Project.id, keys=[])) == set()
    assert names_where(filled, any_of(Project.name, "names"), {"names": []}) == set()
    assert names_where(filled, ~any_of(Project.id, keys=[])) == {*TEXTS, "other"}


def test_conditions_join_with_others(filled):
    few = any_of(Project.name, keys=TEXTS[:3])
    assert names_where(filled, few & (Project.name != "plain")) == set(TEXTS[1:3])
    assert names_where(filled, few | (Project.name == "other")) == {*TEXTS[:3], "other"}
    assert names_where(filled, any_of(Project.id, "ids") & any_of(Project.id, "more"), {"ids": [1, 2], "more": [2, 3]})


def test_a_statement_of_another_list_is_the_same_statement(filled):
    texts = [str(any_of(Project.id, keys=keys).compile(filled.engine)) for keys in ([1], [1, 2, 3])]
    assert texts[0] == texts[1]
