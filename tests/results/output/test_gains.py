"""What a model gains is of the calls at which it is known what to run; the others are counted."""

from __future__ import annotations

import pytest

from results.judgement.advice import Block, Question, advice_from
from results.output.advice import advice_as_json
from results.output.advice_words import gains_in_words
from tests.made_points import points

BLOCK = Block("mlp", 768, 3072, "gelu", "float32", "forward")


def test_a_known_model_gains_by_its_layers_at_each_batch():
    question = Question(model="bert-base", layers=12)
    advice = advice_from([*points(1, fused=2.0), *points(8, fused=0.5)], question)
    assert [(gain.eager_s, gain.advised_s) for gain in advice.gains] == [
        (pytest.approx(12e-3), pytest.approx(6e-3)),
        (pytest.approx(12e-3), pytest.approx(12e-3)),
    ]
    said = gains_in_words(advice, question).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert said == (
        "bert-base: together its 12 blocks take, against eager, 50 % less at 1 row (12 ms → 6 ms), as long at 8 rows; "
        "what the rest of the model takes is not in it."
    )


def test_a_module_gains_by_what_it_calls_how_often():
    question = Question(model="m.py:build", calls={(BLOCK, 1): 3, (BLOCK, 8): 1})
    advice = advice_from([*points(1, fused=2.0), *points(8, fused=4.0)], question)
    (gain,) = advice.gains
    assert gains_in_words(advice, question).startswith("m.py:build: together the 4 calls of its blocks take, against")
    once = Question(model="m.py:build", calls={(BLOCK, 1): 1})
    said = gains_in_words(advice_from(points(1, fused=2.0), once), once)
    assert said.startswith("m.py:build: the one call of its block takes, against eager, 50")
    assert (gain.n_calls, gain.eager_s) == (4, pytest.approx(4e-3))
    assert gain.advised_s == pytest.approx(3 * 0.5e-3 + 0.25e-3)


def test_a_gain_that_rests_on_times_in_doubt_says_so():
    question = Question(model="m.py:build", calls={(BLOCK, 1): 1})
    sure, doubtful = points(1, fused=2.0), points(1, fused=1.15, disturbed="the machine ran at 60 %")
    told = [gains_in_words(advice_from(rows, question), question) for rows in (sure, doubtful)]
    assert ["in doubt" in each for each in told] == [False, True]


UNDECIDED = points(8, fused=2.0, width=0.9, disturbed="others were busy")


def test_where_it_is_undecided_what_a_module_gains_is_not_known():
    question = Question(model="m.py:build", calls={(BLOCK, 8): 2})
    advice = advice_from(UNDECIDED, question)
    assert gains_in_words(advice, question).startswith(
        "m.py:build: what the 2 calls of its blocks gain is not known, as it is undecided what to run; "
    )
    assert advice_as_json(advice, question)["gains"][0]["time_vs_eager"] is None


def test_calls_that_are_undecided_are_left_out_of_a_gain_and_counted():
    question = Question(model="m.py:build", calls={(BLOCK, 1): 3, (BLOCK, 8): 1})
    advice = advice_from([*points(1, fused=2.0), *UNDECIDED], question)
    (gain,) = advice.gains
    assert (gain.n_calls, gain.n_unknown) == (3, 1)
    assert (gain.eager_s, gain.advised_s) == (pytest.approx(3e-3), pytest.approx(1.5e-3))
    said = gains_in_words(advice, question).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert said == (
        "m.py:build: 3 of the 4 calls of its blocks take, against eager, 50 % less (3 ms → 1.50 ms); the other 1 is "
        "not in it, as it is undecided what to run there; what the rest of the model takes is not in it."
    )


def test_calls_at_which_nothing_gave_a_time_are_left_out_of_a_gain():
    question = Question(model="m.py:build", calls={(BLOCK, 1): 3, (BLOCK, 64): 2})
    (gain,) = advice_from(points(1, fused=2.0), question).gains
    assert (gain.n_calls, gain.n_unknown) == (3, 2)


def test_a_known_model_gains_at_the_batches_that_are_decided():
    question = Question(model="bert-base", layers=12)
    said = gains_in_words(advice_from([*points(1, fused=2.0), *UNDECIDED], question), question)
    assert said.replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "bert-base: together its 12 blocks take, against eager, 50 % less at 1 row (12 ms → 6 ms); what they gain at "
        "8 rows is not known, as it is undecided what to run; what the rest of the model takes is not in it."
    )
    nothing = gains_in_words(advice_from(UNDECIDED, question), question)
    assert nothing.startswith("bert-base: what its 12 blocks gain at 8 rows is not known")
