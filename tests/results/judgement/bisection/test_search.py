"""The search ends, names the commit where there is one, and errs rarely where its trials err."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from results.judgement.bisection.search import Answer, Ask, Ended, Ending, Trial, bracket_of, n_trials_left, next_step


def searched(n, answer_of):
    """Search by `answer_of(ask)`; return the end and the trials."""
    trials = []
    while isinstance(step := next_step(n, trials), Ask):
        answer = answer_of(step)
        trials.append(
            Trial(place=step.place, answer=answer, against=step.against, is_confirmation=step.is_confirmation)
        )
        assert len(trials) < 4 * n + 10, "a search without an end"
    return step, trials


def truth(ask, culprit):
    return Answer.BAD if ask.against < culprit <= ask.place else Answer.GOOD


@st.composite
def ranges(draw):
    n = draw(st.integers(1, 120))
    culprit = draw(st.integers(1, n))
    # The ends were measured: they can be.
    unjudged = draw(st.sets(st.integers(1, n - 1))) if n > 1 else set()
    return n, culprit, unjudged


@given(ranges())
def test_the_commit_is_found_or_the_least_range_that_holds_it(given_range):
    n, culprit, unjudged = given_range
    end, trials = searched(n, lambda ask: Answer.SKIPPED if ask.place in unjudged else truth(ask, culprit))
    assert end.last_good < culprit <= end.first_bad
    assert set(range(end.last_good + 1, end.first_bad)) <= unjudged
    expected = Ending.FOUND if end.first_bad - end.last_good == 1 else Ending.RANGE
    assert end.ending is expected
    assert trials[-1].is_confirmation
    assert trials[-1].answer is Answer.BAD


@given(ranges())
def test_no_commit_is_asked_about_twice_while_nothing_contradicts_itself(given_range):
    n, culprit, unjudged = given_range
    _, trials = searched(n, lambda ask: Answer.SKIPPED if ask.place in unjudged else truth(ask, culprit))
    asked = [trial.place for trial in trials if not trial.is_confirmation]
    assert len(asked) == len(set(asked))
    if not unjudged:
        assert len(asked) <= n_trials_left(n, [])


@given(st.integers(1, 60), st.lists(st.sampled_from(list(Answer)), min_size=1, max_size=12))
def test_whatever_is_answered_the_search_ends(n, answers):
    given_answers = iter(answers * (n + 10) * 10)
    end, _ = searched(n, lambda _: next(given_answers))
    assert end.last_good < end.first_bad


@given(st.integers(1, 60), st.lists(st.sampled_from(list(Answer)), min_size=1, max_size=12), st.data())
def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(n, answers, data):
    given_answers = iter(answers * (n + 10) * 10)
    end, trials = searched(n, lambda _: next(given_answers))
    kept = data.draw(st.integers(0, len(trials)))
    rest = iter(trials[kept:])
    resumed = list(trials[:kept])
    while isinstance(step := next_step(n, resumed), Ask):
        following = next(rest)
        assert (step.place, step.against) == (following.place, following.against)
        resumed.append(following)
    assert step == end


def test_trials_that_err_once_in_a_hundred_accuse_an_innocent_commit_less_often_than_that():
    rng = random.Random(7)
    accused, n_found, n_searches = 0, 0, 2000
    for _ in range(n_searches):
        n = rng.randint(5, 200)
        culprit = rng.randint(1, n)
        unjudged = {place for place in range(1, n) if rng.random() < 0.1}

        def answer(ask, unjudged=unjudged, culprit=culprit):
            if ask.place in unjudged:
                return Answer.SKIPPED
            right = truth(ask, culprit)
            return right if rng.random() >= 0.01 else {"good": Answer.BAD, "bad": Answer.GOOD}[right]

        end, _ = searched(n, answer)
        is_right = end.last_good < culprit <= end.first_bad
        n_found += is_right and end.ending in {Ending.FOUND, Ending.RANGE}
        accused += not is_right and end.ending in {Ending.FOUND, Ending.RANGE}
    # Of eight trials one errs in 8 % of searches; the confirmation lets a hundredth of those pass.
    assert accused <= 0.01 * n_searches
    assert n_found >= 0.97 * n_searches


def test_a_refuted_commit_is_asked_about_again_and_its_neighbour_too():
    wrong = Trial(place=4, answer=Answer.BAD)
    good = Trial(place=2, answer=Answer.GOOD)
    third = Trial(place=3, answer=Answer.GOOD)
    refuted = Trial(place=4, answer=Answer.GOOD, against=3, is_confirmation=True)
    begun = [wrong, good, third]
    assert next_step(8, begun) == Ask(place=4, against=3, is_confirmation=True)
    assert next_step(8, [*begun, refuted]) == Ask(place=3)
    assert next_step(8, [*begun, refuted, third]) == Ask(place=4)
    corrected = [*begun, refuted, third, Trial(place=4, answer=Answer.GOOD)]
    assert next_step(8, corrected) == Ask(place=6)
    insisting = [*begun, refuted, third, wrong]
    assert next_step(8, insisting) == Ended(ending=Ending.UNCONFIRMED, last_good=3, first_bad=4)


def test_ends_that_do_not_differ_any_more_end_the_search():
    refuted = Trial(place=1, answer=Answer.GOOD, against=0, is_confirmation=True)
    end = next_step(1, [refuted, Trial(place=1, answer=Answer.GOOD)])
    assert end.ending is Ending.VANISHED
    assert bracket_of(1, [Trial(place=1, answer=Answer.GOOD)]) is None
