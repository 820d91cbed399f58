"""Sides of a comparison and their judgements are kept for one state of the store, and for no other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from dashboard.views import judged_sides as kept
from dashboard.views.compare_drawing import compare_drawing_of
from dashboard.views.explore_choice import MOST_LINES, _lines, explore_view_of
from dashboard.views.explore_drawing import explore_drawing_of


@pytest.fixture
def counted(monkeypatch):
    """Count what is read and judged."""
    calls = []
    for made in (kept.all_values_at, kept.judged_values, kept.judged_commits):

        def call(*arguments, _made=made, **options):
            calls.append(_made.__name__)
            return _made(*arguments, **options)

        monkeypatch.setattr(kept, made.__name__, call)
    return calls


@pytest.fixture
def sweeps(journals):
    return journals.history(4, operations=("linear", "mlp"), batches=(1, 16), hiddens=(256,))


def test_other_choices_of_one_comparison_neither_read_nor_judge_again(journal_store, sweeps, counted):
    store = journal_store(sweeps[:3])
    every = compare_drawing_of(store, query="")
    assert counted == ["all_values_at", "all_values_at", "judged_values"]
    for query in ("?show=significant", "?contains=mlp", "?provider=fused", ""):
        chosen = compare_drawing_of(store, query=query)
        assert len(chosen.rows) <= len(every.rows)
    assert chosen == every
    assert counted == ["all_values_at", "all_values_at", "judged_values"]
    compare_drawing_of(store, query="?metric=peak_memory_bytes")
    assert counted[3:] == ["judged_values"]


def test_other_lines_colours_and_groups_of_a_benchmark_are_judged_once(journal_store, sweeps, counted):
    store = journal_store(sweeps)
    first = explore_drawing_of(store, query="?benchmark=mlp").judgement
    for query in ("&colour=provider", "&group=batch", "&scale=zero", "&where=provider=fused"):
        assert explore_drawing_of(store, query=f"?benchmark=mlp{query}").judgement == first
    assert counted == ["judged_commits"]
    earlier = explore_drawing_of(store, query=f"?benchmark=mlp&commit={first.base_commit}")
    assert earlier.judgement.head_commit == first.base_commit
    assert counted == ["judged_commits"] * 2


def test_finding_the_lines_of_a_group_among_n_takes_no_n_squared_comparisons(journal_store, journals):
    compared = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    few = journal_store(journals.history(2, operations=("mlp",), batches=(1,), hiddens=(256,)))
    lines = explore_view_of(few, query="?benchmark=mlp").lines
    many = [replace(lines[0], name=Name(f"size={number}")) for number in range(400)]
    problems = []
    assert len(_lines([f"size={number}" for number in range(400)], many, problems, known=many)) == MOST_LINES
    assert compared <= 5 * len(many)
    assert len(problems) == 1


def test_a_side_is_read_once_for_two_comparisons(journal_store, sweeps, counted, journals):
    store = journal_store(sweeps[:3])
    first, second, third = (journals.commit_hash(number) for number in range(3))
    compare_drawing_of(store, query=f"?commit={first}&commit={second}")
    compare_drawing_of(store, query=f"?commit={second}&commit={third}")
    assert counted.count("all_values_at") == 3
    assert counted.count("judged_values") == 2


def test_what_was_kept_is_forgotten_when_the_store_grows(journal_store, sweeps, journals, tmp_path):
    store = journal_store(sweeps[:3])
    query = f"?commit={journals.commit_hash(1)}&commit={journals.commit_hash(2)}"
    before = compare_drawing_of(store, query=query)
    again = journals.replace(sweeps[2], slowdowns={("mlp", "fused"): 2.0}, run_id="again")
    journals.write_journals(tmp_path / "more", [again])
    assert store.ingest([tmp_path / "more"]).problems == ()
    assert compare_drawing_of(store, query=query).rows != before.rows


def test_no_more_is_kept_than_there_is_room_for(journal_store, sweeps, monkeypatch, counted):
    monkeypatch.setattr(kept, "MOST_KEPT", 1)
    store = journal_store(sweeps[:2])
    compare_drawing_of(store, query="")
    assert len(kept.kept_of(store)) == 1
    compare_drawing_of(store, query="?show=significant")
    assert counted.count("judged_values") == 2


def test_large_sides_are_kept_as_long_as_their_rows_have_room_and_one_comparison_always(
    journal_store, sweeps, monkeypatch, counted, journals
):
    store = journal_store(sweeps)
    commits = [journals.commit_hash(number) for number in range(4)]
    for base, head in pairwise(commits):
        compare_drawing_of(store, query=f"?commit={base}&commit={head}")
    assert len(kept.kept_of(store)) == 7
    n_rows = sum(n for _, n in kept.kept_of(store).values())
    monkeypatch.setattr(kept, "MOST_ROWS", n_rows - 1)
    compare_drawing_of(store, query=f"?commit={commits[0]}&commit={commits[2]}")
    assert sum(n for _, n in kept.kept_of(store).values()) < n_rows
    monkeypatch.setattr(kept, "MOST_ROWS", 1)
    compare_drawing_of(store, query=f"?commit={commits[0]}&commit={commits[3]}")
    assert len(kept.kept_of(store)) == kept.OF_A_COMPARISON
    n_asked = len(counted)
    compare_drawing_of(store, query=f"?commit={commits[0]}&commit={commits[3]}&contains=mlp")
    assert len(counted) == n_asked
