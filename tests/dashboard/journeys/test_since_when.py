"""Who leads at a shape since when, and what nobody has judged: told on every page that it concerns."""

from __future__ import annotations

import json

import pytest

from dashboard.app import footer_of
from dashboard.pages.notices import unjudged_note
from dashboard.pages.overview import flip_cards
from dashboard.pages.throughput import page_props
from dashboard.tables.winner_flips import flips_in_words, flips_table
from dashboard.views.throughput.answer import answer_from
from dashboard.views.throughput.drawing import throughput_drawing_of
from dashboard.views.winner_flips import winner_flips_of
from results.queries import unjudged_places
from results.upkeep.judged_series import judge_unjudged

N, AT = 8, 3


@pytest.fixture
def flipped(journal_store, journals):
    """Eight commits; the fourth makes mlp's fused half as slow again, so that compiled leads from there on."""
    sweeps = journals.history(N, operations=("mlp",), batches=(1, 16), hiddens=(256,))
    for sweep in sweeps[AT:]:
        sweep.slowdowns["mlp", "fused"] = 1.5
    return journal_store(sweeps)


def text_of(components):
    return json.dumps(
        [one.to_plotly_json() for one in components], default=lambda child: child.to_plotly_json(), ensure_ascii=False
    )


def test_a_flip_further_back_than_the_newest_two_commits_is_dated(flipped, journals):
    flips = winner_flips_of(flipped)
    assert {one.since.commit for one in flips} == {journals.commit_hash(AT)}
    assert {(one.before.contender, one.lead.contender) for one in flips} == {("fused", "compiled")}
    assert all(one.margin > 1 for one in flips)
    assert journals.commit_hash(AT)[:8] in text_of(flips_table(flips))


def test_the_overview_says_how_many_shapes_lead_otherwise_since_when(flipped, journals):
    words = flips_in_words(winner_flips_of(flipped))
    assert len(words) == 1
    assert words[0].startswith("compiled leads at 2 shapes of mlp on bench-01 since ")
    assert journals.commit_hash(AT)[:8] in words[0]
    assert words[0].endswith("; fused did before")
    assert words[0] in text_of(flip_cards(words))
    assert flip_cards([]) == flips_table([]) == []


def test_what_is_left_out_of_many_flips_of_one_commit_is_not_called_older(flipped):
    flips = winner_flips_of(flipped) * 10
    assert "… and 8 shapes more, since no later commits" in text_of(flips_table(flips))
    assert "… and 14 more, since no later commits" in text_of(flip_cards([f"line {one}" for one in range(20)]))


def test_the_answer_of_a_shape_says_the_same(flipped, journals):
    drawing = throughput_drawing_of(flipped, query="?operation=mlp&batch=16&hidden=256")
    answer = answer_from(drawing.by_batch, batch=16, over_commits=drawing.up_to_answer)
    since = f"compiled is the fastest here since {journals.commit_hash(AT)[:8]}"
    assert [one for one in answer.details if one.startswith(since)], answer.details


def test_the_answer_of_an_earlier_commit_knows_nothing_of_later_ones(flipped, journals):
    before = journals.commit_hash(AT - 1)
    drawing = throughput_drawing_of(flipped, query=f"?operation=mlp&batch=16&hidden=256&commit={before}")
    answer = answer_from(drawing.by_batch, batch=16, over_commits=drawing.up_to_answer)
    assert f"fused is the fastest here at all {AT} commits that decide it" in answer.details[0]


def test_flips_are_found_anew_when_the_store_has_changed(flipped, journals, tmp_path):
    before = winner_flips_of(flipped)
    assert winner_flips_of(flipped) is before
    later = journals.history(N + 1, operations=("mlp",), batches=(1, 16), hiddens=(256,))[-1]
    journals.write_journals(tmp_path / "later", [later])
    flipped.ingest([tmp_path / "later"])
    assert {one.since.commit for one in winner_flips_of(flipped)} == {journals.commit_hash(N)}


def test_what_nobody_has_judged_is_said_below_every_page_until_somebody_does(flipped):
    words, command, _ = unjudged_note(unjudged_places(flipped))
    assert words in footer_of(flipped, is_kept=True)
    assert footer_of(flipped, is_kept=False) == []
    n_series = unjudged_places(flipped)[0].n_series
    assert f"in the newest values of {n_series} series (fusebench on bench-01) is not kept yet" in words
    assert command.children == "fusebench changes"
    judge_unjudged(flipped)
    assert unjudged_note(unjudged_places(flipped)) == []


def test_without_a_provider_the_answer_says_so(flipped):
    props = page_props(throughput_drawing_of(flipped, query="?operation=mlp&providers="), is_from_url=True)
    assert "No provider is chosen; choose one above." in text_of(props["answer"])
