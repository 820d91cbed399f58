"""Commits of other branches beside a history: drawn or left out, counted in words, and judged nowhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa

from dashboard.pages.regressions import page_props
from dashboard.tables.surfaces import commits_of
from dashboard.views.compare_choice import compare_choice_of
from dashboard.views.explore_drawing import explore_drawing_of, note_of_lines
from dashboard.views.overview import overview_of
from dashboard.views.regressions_drawing import regressions_drawing_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from dashboard.views.throughput.notes import note_of_commits
from dashboard.views.winner_flips import winner_flips_of
from results.database.schema import Commit
from results.database.transactions import writing
from results.store import open_store

N, FIRST_BAD = 40, 25
SIDE = (*range(7, 36, 4), N - 1)
OF_OTHERS = f"{len(SIDE)} measured commits of other branches are left out"


@pytest.fixture(scope="module")
def branched(tmp_path_factory, journals):
    """A store of 40 commits, of which nine are of another branch, the newest too; fused is a quarter slower at last."""
    sweeps = []
    for number, sweep in enumerate(journals.history(N, operations=("mlp",), batches=(16,), hiddens=(256,))):
        factor = 1.25 if number >= FIRST_BAD else 1.0
        slowdowns = {("mlp", "fused"): 20.0 if number in SIDE else factor * (1 + 0.004 * (number * 7 % 5 - 2))}
        sweeps.append(replace(sweep, slowdowns=slowdowns))
    folder = tmp_path_factory.mktemp("branched")
    journals.write_journals(folder, sweeps)
    with open_store(str(folder / "fusebench.db")) as store:
        store.ingest([folder])
        with writing(store.engine) as connection:
            connection.execute(sa.update(Commit).values(is_on_main_line=True))
            beside = Commit.hash.in_([sweeps[number].commit for number in SIDE])
            connection.execute(sa.update(Commit).where(beside).values(is_on_main_line=False))
        yield store


def test_the_newest_commit_of_the_line_is_compared_with_the_one_before_it_there(branched, journals):
    [comparison] = overview_of(branched).comparisons
    line = [journals.commit_hash(number) for number in range(N) if number not in SIDE]
    assert [comparison.base.commit, comparison.head.commit] == line[-2:]
    assert OF_OTHERS in str(commits_of(comparison))
    assert compare_choice_of(branched, query="", problems=[])[0].commit == tuple(line[-2:])
    drawing = explore_drawing_of(branched, query="?benchmark=mlp")
    assert [drawing.judgement.base_commit, drawing.judgement.head_commit] == line[-2:]


def test_a_commit_of_another_branch_that_is_asked_for_is_compared_with_the_one_measured_before_it(branched, journals):
    drawing = explore_drawing_of(branched, query=f"?benchmark=mlp&commit={journals.commit_hash(SIDE[0])[:12]}")
    assert drawing.judgement.head_commit == journals.commit_hash(SIDE[0])
    assert drawing.judgement.base_commit == journals.commit_hash(SIDE[0] - 1)
    asked = compare_choice_of(branched, query=f"?commit={journals.commit_hash(SIDE[0])[:12]}", problems=[])[0]
    assert asked.commit == (journals.commit_hash(SIDE[0] - 1), journals.commit_hash(SIDE[0]))


def test_curves_say_how_many_commits_are_not_judged(branched):
    words = f"{N} commits, {len(SIDE)} of other branches not judged"
    assert words in note_of_lines(explore_drawing_of(branched, query="?benchmark=mlp"))
    note = note_of_commits(throughput_drawing_of(branched, query=""))
    assert f"{N} commits at this batch, {len(SIDE)} of other branches not judged" in note
    assert "fused -1.2 %" in note, "against the one before it on the line"


def test_the_course_of_a_finding_is_that_of_the_line(branched, journals):
    drawing = regressions_drawing_of(branched, query="")
    assert drawing.chosen.finding.first_bad == journals.commit_hash(FIRST_BAD)
    assert len(drawing.chart.positions) == N - len(SIDE)
    assert drawing.left_out == OF_OTHERS
    assert OF_OTHERS in str(page_props(drawing, is_from_url=True, refusal=None)["facts"])


def test_another_branch_takes_no_lead_over(branched):
    assert winner_flips_of(branched) == ()
